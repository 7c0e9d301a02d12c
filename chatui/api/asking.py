"""The addresses of the API at which a program asks: ``/v1/responses`` and ``/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from uuid import uuid4

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts.api_keys.checking import WAY, LiveKey
from chatui.api import answering
from chatui.api.answering import Answering
from chatui.api.bodies import checked, json_of
from chatui.api.errors import ApiError, invalid, of_code
from chatui.api.requests import settings
from chatui.api.requests.chat import ChatRequest
from chatui.api.requests.responses import ENCRYPTED, ResponsesRequest, no_previous
from chatui.api.writing import sse
from chatui.api.writing.chat_chunks import ChatChunks
from chatui.api.writing.response_events import ResponseEvents
from chatui.api.writing.response_object import Head
from chatui.audit_log.record import Cause, Visitor
from chatui.database import pools
from chatui.permissions import attempts
from chatui.permissions.access import NotFoundError
from chatui.turns.asked.by_program import ProgramAsk
from chatui.turns.programs.starting import NotStoredError, StillRunningError
from chatui.turns.streams.program import Ended, ProgramStream

ASKED_FOR_REASONING = "asked for raw reasoning"


async def responses(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Create a response, streamed or whole."""
    if not key.for_responses:
        raise _wrong_format()
    wanted = checked(ResponsesRequest, json_of(request))
    wanted.refuse_what_is_not_served()
    answer = await _begin(request, key, wanted)
    events = ResponseEvents(_head(answer), wants_summary=wanted.wants_summary)
    if wanted.stream:
        return sse.streamed(_stream(answer, events, is_named=True), partial(_left, answer, events))
    await _until_end(answer, events)
    return JsonResponse(events.whole)


async def chat(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Create a chat completion, streamed or whole."""
    if not key.for_chat:
        raise _wrong_format()
    wanted = checked(ChatRequest, json_of(request))
    wanted.refuse_what_is_not_served()
    answer = await _begin(request, key, wanted)
    chunks = ChatChunks(_head(answer), wants_usage=wanted.wants_usage)
    if wanted.stream:
        return sse.streamed(_stream(answer, chunks, is_named=False), partial(_left, answer, chunks))
    await _until_end(answer, chunks)
    return JsonResponse(chunks.whole())


async def _begin(request: HttpRequest, key: LiveKey, wanted: ResponsesRequest | ChatRequest) -> Answering:
    asked = await _asked(key, wanted)
    await _note_attempts(request, key, wanted.hidden_asked_for())
    try:
        return await answering.begin(key, asked)
    except NotStoredError:
        raise invalid("What is not stored cannot go on from a stored response: send the whole input.", param="store") from None
    except StillRunningError:
        raise invalid("The previous response is still being written.", param="previous_response_id", status=409) from None
    except NotFoundError:
        raise no_previous() from None


async def _asked(key: LiveKey, wanted: ResponsesRequest | ChatRequest) -> ProgramAsk:
    choice = settings.chosen(await pools.commands.run(settings.choices_of, key), wanted.model)
    read = wanted.read()
    before, question = read.question("input" if isinstance(wanted, ResponsesRequest) else "messages")
    effort = wanted.effort or choice.effort
    return ProgramAsk(
        id=uuid4(),
        key_id=key.id,
        question=question,
        stream=ProgramStream(),
        choice=choice.value,
        effort=effort,
        before=before,
        previous=wanted.previous() if isinstance(wanted, ResponsesRequest) else None,
        instructions=(wanted.instructions or "") if isinstance(wanted, ResponsesRequest) else "",
        carried="\n\n".join(text for text in read.orders if text),
        max_tokens=wanted.max_output_tokens if isinstance(wanted, ResponsesRequest) else wanted.most_tokens,
        sampling=wanted.sampling(),
        must_fit=not (isinstance(wanted, ResponsesRequest) and wanted.truncation == "auto"),
        is_kept=wanted.store is not False,
        given=wanted.given(effort),
    )


async def _note_attempts(request: HttpRequest, key: LiveKey, fields: list[str]) -> None:
    """Asking for raw reasoning is recorded; the answer comes without. What libraries ask for by themselves counts against nobody."""
    if fields:
        cause = Cause.CLIENT if fields == [ENCRYPTED] else Cause.PERSON
        visitor = Visitor(key.owner, request.META.get("REMOTE_ADDR") or "", WAY, cause)
        await pools.commands.run(attempts.record_attempt, visitor, None, ASKED_FOR_REASONING)


def _head(answer: Answering) -> Head:
    asked, turn = answer.asked, answer.started.turn
    return Head(asked.id, asked.choice, turn.started_at, asked.given)


async def _stream(answer: Answering, writer: ResponseEvents | ChatChunks, *, is_named: bool) -> AsyncIterator[bytes]:
    for body in writer.begin():
        yield sse.event(body, named=is_named)
    async for event in answer.events():
        if event is None:
            yield sse.STILL_HERE
            continue
        for body in writer.feed(event):
            yield sse.event(body, named=is_named)
        if writer.ended is not None:
            break
    yield sse.DONE


def _left(answer: Answering, writer: ResponseEvents | ChatChunks) -> None:
    if writer.ended is None:
        answering.stop_from_thread(answer.started)


async def _until_end(answer: Answering, writer: ResponseEvents | ChatChunks) -> None:
    """Wait for the whole answer. Raises ApiError where there is none."""
    async for event in answer.events():
        if event is not None:
            for _ in writer.feed(event):
                pass  # nobody reads along
    ended = writer.ended or Ended("failed")
    if ended.state in ("failed", "interrupted"):
        error = of_code(ended.code, ended.retry_after)
        error.may_retry = ended.retry_after is not None
        raise error


def _wrong_format() -> ApiError:
    return ApiError(403, "invalid_request", "insufficient_scope", "This key may not use this format.")
