"""The endpoints of the API for models and stored responses, and the Response items of an answer's stored input and output."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts.api_keys import LiveKey
from chatui.api import background, reasoning_access, recordings, request_parts
from chatui.api.errors import ApiError, invalid
from chatui.api.recordings import queued
from chatui.api.response_object import (
    Item,
    ResponseHead,
    call_item,
    item,
    message_item,
    reasoning_item,
    response_id,
    response_object,
)
from chatui.database import pools
from chatui.display import programs
from chatui.display.programs import StoredPart, StoredProgramAnswer
from chatui.permissions.access import NotFoundError
from chatui.turns import running
from chatui.turns.running import TurnPlace
from chatui.turns.streams.program import Called, Ended
from renderer.gate import Audience


def item_of_output(part: StoredPart) -> Item:
    """An item for a part of the answer."""
    if part.is_thought:
        return reasoning_item(part.key, [], "completed", part.text)
    if part.steps is not None:
        return reasoning_item(part.key, part.steps, "completed")
    if part.function:
        return call_item(part.key, Called(part.call_id, part.function, part.text))
    return message_item(part.key, part.text, "completed" if part.is_whole else "incomplete", is_preamble=part.is_preamble)


def item_of_input(part: StoredPart) -> Item:
    """An item for a message of the input. A request can send it again."""
    if part.role == "tool":
        return item("function_call_output", part.key, call_id=part.call_id, output=part.text)
    if part.role != "user":
        return item_of_output(part)
    return item("message", part.key, role="user", content=[{"type": "input_text", "text": part.text}])


MAX_ITEMS = 100


async def models(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """The models that the key may ask for."""
    choices = await pools.commands.run(request_parts.choices_of, key)
    data = [{"id": choice.value, "object": "model", "created": 0, "owned_by": "chatui"} for choice in choices]
    return JsonResponse({"object": "list", "data": data})


async def model(request: HttpRequest, key: LiveKey, model_id: str) -> HttpResponseBase:
    """One of them."""
    choice = request_parts.chosen(await pools.commands.run(request_parts.choices_of, key), model_id)
    return JsonResponse({"id": choice.value, "object": "model", "created": 0, "owned_by": "chatui"})


async def stored(request: HttpRequest, key: LiveKey, answer_id: str) -> HttpResponseBase:
    """A stored response, whole or as a resumed stream."""
    _may_speak(key)
    audience = await reasoning_access.audience_of(request, key)
    answer = await _stored(key, answer_id, audience)
    if request.GET.get("stream") == "true":
        return await background.resumed(request, key, answer)
    if audience is Audience.TRUSTED_PROGRAM:
        await reasoning_access.record_reading(reasoning_access.address_of(request), key, answer.conversation_id)
    return JsonResponse(_object(answer))


async def delete(request: HttpRequest, key: LiveKey, answer_id: str) -> HttpResponseBase:
    """Delete a stored response."""
    _may_speak(key)
    found = _uuid(answer_id)
    await pools.commands.run(programs.delete_answer, key.owner, found, key.only_key)
    return JsonResponse({"id": response_id(found), "object": "response", "deleted": True})


async def cancel(request: HttpRequest, key: LiveKey, answer_id: str) -> HttpResponseBase:
    """Stop a response that is being written. The reply is what there is of it now, without reasoning."""
    _may_speak(key)
    await reasoning_access.audience_of(request, key)
    answer = await _stored(key, answer_id)
    if answer.state != "running":
        raise invalid("The response is not being written any more.", code="response_not_running")
    await running.stop(TurnPlace(answer.turn_id, answer.process))
    return JsonResponse(_object(answer) | {"status": "cancelled", "incomplete_details": {"reason": "cancelled"}})


async def input_items(request: HttpRequest, key: LiveKey, answer_id: str) -> HttpResponseBase:
    """The input of a stored response, the latest item first. It holds no reasoning, for anybody."""
    _may_speak(key)
    await reasoning_access.audience_of(request, key)
    parts = await pools.commands.run(programs.input_of, key.owner, _uuid(answer_id), key.only_key)
    items = [item_of_input(part) for part in parts]
    if request.GET.get("order", "desc") == "desc":
        items.reverse()
    after = next((place + 1 for place, item in enumerate(items) if item["id"] == request.GET.get("after")), 0)
    wished = request.GET.get("limit", "20")
    limit = min(int(wished), MAX_ITEMS) if wished.isdecimal() and len(wished) < 6 else 20
    page = items[after : after + limit]
    return JsonResponse(
        {
            "object": "list",
            "data": page,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": len(items) > after + limit,
        }
    )


async def _stored(key: LiveKey, answer_id: str, audience: Audience = Audience.PROGRAM) -> StoredProgramAnswer:
    return await pools.commands.run(programs.stored_answer, key.owner, _uuid(answer_id), key.only_key, audience)


def _may_speak(key: LiveKey) -> None:
    if not key.for_responses:
        raise ApiError(403, "invalid_request", "insufficient_scope", "This key may not use this format.")


def _uuid(answer_id: str) -> UUID:
    try:
        return UUID(answer_id.removeprefix("resp_"))
    except ValueError:
        raise NotFoundError from None


def _object(answer: StoredProgramAnswer) -> Item:
    ended = None if answer.state == "running" else Ended(answer.state, answer.code, answer.input_tokens, answer.output_tokens)
    head = ResponseHead(answer.id, answer.model, answer.created_at, answer.given)
    recording = recordings.recording_of(answer.id) if ended is None else None
    if recording is not None and not recording.has_begun:
        return queued(head)
    return response_object(head, [item_of_output(part) for part in answer.parts], ended, answer.finished_at)
