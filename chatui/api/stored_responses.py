"""The endpoints of the API for models and stored responses, and the Response items of an answer's stored input and output."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase, JsonResponse, QueryDict

from chatui.accounts.key_admission import LiveKey
from chatui.api import background, reasoning_access, recordings, request_parts, storage_jobs
from chatui.api.errors import NOT_FOUND, ApiError, check_format, invalid
from chatui.api.messages_errors import speaks_messages
from chatui.api.messages_models import model_list, model_object
from chatui.api.parsed_messages import MAX_MESSAGES
from chatui.api.recordings import queued
from chatui.api.response_events import ResponseEvents
from chatui.api.response_object import (
    TOOL_CALL,
    Item,
    ResponseHead,
    is_of,
    item,
    key_of,
    message_item,
    response_id,
    response_object,
)
from chatui.api.response_request import ResponsesRequest, is_reference
from chatui.database import pools
from chatui.display import programs
from chatui.display.programs import StoredPart
from chatui.model_servers import connected
from chatui.model_servers.choice import ModelChoice
from chatui.permissions.access import NotFoundError
from chatui.turns import running
from chatui.turns.running import TurnPlace
from chatui.turns.stored_program import StoredProgramAnswer, stored_answer
from renderer.gate import Audience


def item_of_input(part: StoredPart) -> Item:
    """An item for a stored message. A request can send it again."""
    if part.role == "tool":
        return item("function_call_output", part.key, call_id=part.call_id, output=part.text)
    if part.role == "user":
        return item("message", part.key, role="user", content=[{"type": "input_text", "text": part.text}])
    if part.function:
        return item("function_call", part.key, call_id=part.call_id, name=part.function, arguments=part.text)
    return message_item(part.key, part.text, "completed" if part.is_whole else "incomplete", is_preamble=part.is_preamble)


MAX_REFERRED_CHARS = 1024 * 1024
"""The most characters of the items that a request refers to, each time that it does: as many as it may have itself."""


async def resolved(key: LiveKey, wanted: ResponsesRequest) -> ResponsesRequest:
    """The request with stored items in the place of its references to them. References to reasoning and to receipts of tools are left out:
    neither item holds anything that a model reads.

    Raises:
        ApiError: the key may read no such item.
    """
    ids = wanted.references()
    if len(ids) > MAX_MESSAGES:
        raise invalid(f"A request may have {MAX_MESSAGES} messages.", param="input", code="too_many_messages")
    parts = await storage_jobs.run(key, programs.parts_of, key.owner, [found for each in ids if (found := key_of(each))], key.only_key)
    stored = {item["id"]: item for item in map(item_of_input, parts)}
    room = MAX_REFERRED_CHARS
    items = []
    for index, given in enumerate(wanted.input or ()):
        public_id = given.get("id") if is_reference(given) else None
        if not is_reference(given):
            items.append(given)
        elif isinstance(public_id, str) and public_id in stored:
            items.append(stored[public_id])
            room -= len(json.dumps(stored[public_id]))
            if room < 0:
                raise invalid("The items that are referred to are too long in all.", param="input", code="body_too_large", status=413)
        elif not is_of(public_id, "reasoning", TOOL_CALL):
            sentence = "There is no such item to refer to, or it is not yours."
            raise ApiError(404, NOT_FOUND, "item_not_found", sentence, param=f"input[{index}].id")
    return wanted.model_copy(update={"input": items})


MAX_ITEMS = 100
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""How long a cancelled response may take to end before the reply is what there is of it, in seconds before each look."""


async def models(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """The models that the key may ask for."""
    found = await pools.commands.run(_all_described, key)
    return JsonResponse(model_list(found) if speaks_messages(request) else {"object": "list", "data": found})


async def model(request: HttpRequest, key: LiveKey, model_id: str) -> HttpResponseBase:
    """One of the models that the key may use."""
    found = await pools.commands.run(lambda: _described(request_parts.choice_of(key, model_id)))
    return JsonResponse(model_object(found) if speaks_messages(request) else found)


_STARTED = int(time.time())
"""When this process began: nothing here knows when a model was made."""


def _all_described(key: LiveKey) -> list[dict[str, Any]]:
    return [_described(choice) for choice in request_parts.choices_of(key)]


def _described(choice: ModelChoice) -> dict[str, Any]:
    """A model as clients know it. How many tokens it reads is there if it is known, under the two names that are in use."""
    context = connected.known_context(choice.value)
    lengths = {"context_length": context, "max_model_len": context} if context else {}
    return {"id": choice.value, "object": "model", "created": _STARTED, "owned_by": "chatui", **lengths}


async def stored(request: HttpRequest, key: LiveKey, answer_id: str) -> HttpResponseBase:
    """A stored response, whole or as a resumed stream."""
    check_format(key.for_responses)
    audience = reasoning_access.audience_of(request, key)
    answer = await _stored(key, answer_id, audience)
    if request.GET.get("stream") == "true":
        return await background.resumed(request, key, answer)
    if audience is Audience.TRUSTED_PROGRAM:
        await reasoning_access.record_reading(reasoning_access.address_of(request), key, answer.conversation_id)
    return JsonResponse(object_of(answer, audience))


async def delete(request: HttpRequest, key: LiveKey, answer_id: str) -> HttpResponseBase:
    """Delete a stored response."""
    check_format(key.for_responses)
    found = _uuid(answer_id)
    await storage_jobs.run(key, programs.delete_answer, key.owner, found, key.only_key)
    return JsonResponse({"id": response_id(found), "object": "response", "deleted": True})


async def cancel(request: HttpRequest, key: LiveKey, answer_id: str) -> HttpResponseBase:
    """Stop a response that is being written. The reply is what there is of it then, without reasoning."""
    check_format(key.for_responses)
    answer = await _stored(key, answer_id)
    if answer.state != "running":
        raise invalid("The response is not being written any more.", code="response_not_running")
    await running.stop(TurnPlace(answer.turn_id, answer.process))
    for pause in PAUSES:
        await asyncio.sleep(pause)
        if not await is_running(key, answer.id):
            break
    answer = await _stored(key, answer_id)
    stopped = {} if answer.state != "running" else {"status": "cancelled", "incomplete_details": {"reason": "cancelled"}}
    return JsonResponse(object_of(answer) | stopped)


async def input_items(request: HttpRequest, key: LiveKey, answer_id: str) -> HttpResponseBase:
    """The input of a stored response, the latest item first. It holds no reasoning, for anybody."""
    check_format(key.for_responses)
    parts = await storage_jobs.run(key, programs.input_of, key.owner, _uuid(answer_id), key.only_key)
    return JsonResponse(page_of([item_of_input(part) for part in parts], request.GET))


def page_of(items: list[Item], query: QueryDict) -> Item:
    """A part of a list, which is in order of time: the latest first, unless the query says otherwise."""
    if query.get("order", "desc") == "desc":
        items = items[::-1]
    after = next((index + 1 for index, item in enumerate(items) if item["id"] == query.get("after")), 0)
    wished = query.get("limit", "20")
    limit = min(max(int(wished), 1), MAX_ITEMS) if wished.isdecimal() and len(wished) < 6 else 20
    return list_of(items[after : after + limit], has_more=len(items) > after + limit)


def list_of(items: Sequence[Item], *, has_more: bool = False) -> Item:
    """Items as a list of the API."""
    return {
        "object": "list",
        "data": list(items),
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": has_more,
    }


async def is_running(key: LiveKey, answer_id: UUID) -> bool:
    """Whether a response is still being written. Raises NotFoundError if the key may read no such response."""
    return await storage_jobs.run(key, programs.is_running, key.owner, answer_id, key.only_key)


async def _stored(key: LiveKey, answer_id: str, audience: Audience = Audience.PROGRAM) -> StoredProgramAnswer:
    return await storage_jobs.run(key, stored_answer, key.owner, _uuid(answer_id), key.only_key, audience)


def _uuid(answer_id: str) -> UUID:
    try:
        return UUID(answer_id.removeprefix("resp_"))
    except ValueError:
        raise NotFoundError from None


def object_of(answer: StoredProgramAnswer, audience: Audience = Audience.PROGRAM) -> Item:
    """The response object of a stored answer, read for this audience. An answer that is still being written has all of its text so far:
    from this process what it has recorded, from another what that has stored, about once a second."""
    head = ResponseHead(answer.id, answer.model, answer.created_at, answer.given)
    is_running = answer.state == "running"
    recording = recordings.recording_of(answer.id) if is_running and audience is Audience.PROGRAM else None
    if not (recording.has_begun if recording else answer.events) and is_running and answer.given.get("background"):
        return queued(head)
    writer = ResponseEvents(head, wants_summary=bool((answer.given.get("reasoning") or {}).get("summary")))
    for event in recording.visible_events if recording else answer.events:
        for _ in writer.feed(event):
            pass  # it is not streamed
    return writer.whole or response_object(head, writer.so_far())
