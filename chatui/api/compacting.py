"""``POST /v1/responses/compact``: the model summarizes a long conversation, and the program receives the summary as a sealed token."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import BaseModel, ConfigDict, Field

from chatui.accounts.key_admission import LiveKey
from chatui.api import asking, ignored_parts, storage_jobs
from chatui.api.bodies import body_of, checked
from chatui.api.errors import check_format, invalid, of_code
from chatui.api.reasoning_access import address_of
from chatui.api.request_parts import ignored_in
from chatui.api.response_events import ResponseEvents
from chatui.api.response_object import Item, item, response_id, usage
from chatui.api.response_request import ResponsesRequest, items_of, no_previous
from chatui.api.stored_responses import is_running, item_of_input
from chatui.codes import ProductCode
from chatui.display import programs
from chatui.permissions.access import NotFoundError
from chatui.prompts import REQUEST
from chatui.turns import program_start, sealed
from chatui.turns.sealed import Purpose
from chatui.turns.streams.program import Ended


class CompactRequest(BaseModel):
    """The input to compact, after a stored response if one is named. Other fields are ignored, and named."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    model: str
    input: str | list[Any] | None = Field(None, repr=False)
    instructions: str | None = Field(None, repr=False)
    previous_response_id: str | None = None


async def compact(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """The compacted conversation, as a single item. Nothing stays here."""
    body = await body_of(request, key)
    check_format(key.for_responses)
    wanted = checked(CompactRequest, body)
    messages = [*await _before(key, wanted), *items_of(wanted.input), {"role": "user", "content": REQUEST}]
    asked = ResponsesRequest(model=wanted.model, input=messages, instructions=wanted.instructions, store=False, tool_choice="none")
    answer = await asking.begin(address_of(request), key, asked)
    events = ResponseEvents(asking.head_of(answer), wants_summary=False)
    await asking.until_end(answer, events)
    if events.ended is None or events.ended.state != "completed":
        # The program discards the messages that the notes replace, so cut notes are useless.
        raise of_code((events.ended and events.ended.code) or ProductCode.NO_ANSWER)
    token = sealed.seal(key.owner.pk, Purpose.COMPACTION, [_notes(events)])
    if token is None:
        raise of_code(ProductCode.TOO_LARGE)
    head = asking.head_of(answer)
    made = JsonResponse(
        {
            "id": response_id(head.id),
            "object": "response.compaction",
            "created_at": int(head.created_at.timestamp()),
            "output": [_compaction(token)],
            "usage": usage(events.ended) or usage(Ended("completed", None, 0, 0)),
        }
    )
    return asking.with_ignored(made, (*ignored_in(body, CompactRequest.model_fields.keys()), *ignored_parts.in_items(wanted.input)))


async def _before(key: LiveKey, wanted: CompactRequest) -> list[dict[str, Any]]:
    if not wanted.previous_response_id:
        return []
    try:
        answer_id = UUID(wanted.previous_response_id.removeprefix("resp_"))
        if await is_running(key, answer_id):
            raise invalid("The previous response is still being written.", param="previous_response_id", status=409)
        notes = await storage_jobs.run(key, program_start.reseal_notes, key.owner, answer_id, key.only_key)
        parts = await storage_jobs.run(key, programs.input_of, key.owner, answer_id, key.only_key)
        output = await storage_jobs.run(key, programs.output_of, key.owner, answer_id, key.only_key)
    except (ValueError, NotFoundError):
        raise no_previous() from None
    parts_to_send = [*parts, *output]
    calls = {part.call_id for part in parts_to_send if part.function and part.role != "tool"}
    items = [item_of_input(part) for part in parts_to_send if part.role != "tool" or part.call_id in calls]
    return [*(_compaction(token) for token in notes), *items]


def _compaction(token: str) -> Item:
    return item("compaction", uuid4().hex, encrypted_content=token)


def _notes(events: ResponseEvents) -> str:
    finals = [item for item in events.output if item["type"] == "message" and item["phase"] == "final_answer"]
    text = "".join(part["text"] for item in finals for part in item["content"])
    if not text.strip():
        raise of_code(ProductCode.NO_ANSWER)
    return text
