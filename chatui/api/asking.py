"""The endpoints that start an answer: ``/v1/responses`` and ``/v1/chat/completions``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts.api_keys import LiveKey
from chatui.api import answering, background, reasoning_access, request_parts, stored_responses
from chatui.api.answering import Answering
from chatui.api.chat_chunks import ChatChunks
from chatui.api.chat_request import ChatRequest
from chatui.api.errors import check_format, invalid, of_code
from chatui.api.guarded import body_of, checked
from chatui.api.reasoning_access import address_of
from chatui.api.recordings import BackgroundEvents
from chatui.api.request_parts import parse_tools, unknown_call
from chatui.api.response_events import ResponseEvents
from chatui.api.response_object import ResponseHead
from chatui.api.response_request import ResponsesRequest, no_previous
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError, busy_error, is_transient
from chatui.observability.error_reports import log_without_content
from chatui.permissions.access import NotFoundError
from chatui.turns.asks import Ask, AskKind, ProgramAsk
from chatui.turns.program_start import NotStoredError, StillRunningError, UnknownCallError, UnreadableSummaryError
from chatui.turns.slots import slots
from chatui.turns.streams.program import Ended
from renderer.errors import ErrorCode

log = logging.getLogger(__name__)

Events = TypeVar("Events", bound=ResponseEvents)

RESTART_SECONDS = 5
"""When a program may ask again a process that is being restarted."""


async def responses(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Create a response, streamed or whole."""
    body = await body_of(request, key)
    check_format(key.for_responses)
    wanted = checked(ResponsesRequest, body)
    wanted.refuse_what_is_not_served()
    if wanted.background and wanted.stream:
        background.check_room(key)
    answer = await begin(address_of(request), key, wanted)
    if wanted.background:
        return background.start_response(answer, partial(events_of, answer, wanted, BackgroundEvents), stream=bool(wanted.stream))
    events = events_of(answer, wanted, ResponseEvents)
    if wanted.stream:
        return answering.streamed(_stream(answer, events, is_named=True), partial(_left, answer, events))
    await until_end(answer, events)
    return JsonResponse(events.whole)


async def chat(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Create a chat completion, streamed or whole."""
    body = await body_of(request, key)
    check_format(key.for_chat)
    wanted = checked(ChatRequest, body)
    wanted.refuse_what_is_not_served()
    answer = await begin(address_of(request), key, wanted)
    chunks = ChatChunks(head_of(answer), wants_usage=wanted.wants_usage, is_formatted=answer.asked.answer_format is not None)
    if wanted.stream:
        return answering.streamed(_stream(answer, chunks, is_named=False), partial(_left, answer, chunks))
    await until_end(answer, chunks)
    return JsonResponse(chunks.whole())


async def begin(address: str, key: LiveKey, wanted: ResponsesRequest | ChatRequest) -> Answering:
    """Begin the answer to a request. Raises ApiError, and whatever ``answering.begin`` raises."""
    if slots().is_closed:
        # The process is ending. A person's question would be answered after the restart, but of a program's only a part is stored.
        raise of_code(ProductCode.SERVER_BUSY, RESTART_SECONDS)
    asked, program = await _asked(key, wanted)
    try:
        answer = await answering.begin(key, asked, program)
        return await reasoning_access.recorded(address, answer) if program.stream.sends_reasoning else answer
    except NotStoredError:
        raise invalid("What is not stored cannot go on from a stored response: send the whole input.", param="store") from None
    except UnknownCallError:
        raise unknown_call(wanted.messages_field) from None
    except UnreadableSummaryError:
        sentence = "The compacted conversation was not made here for the owner of this key, or too long ago."
        raise invalid(sentence, param="input", code="invalid_compaction") from None
    except StillRunningError:
        raise invalid("The previous response is still being written.", param="previous_response_id", status=409) from None
    except NotFoundError:
        raise no_previous() from None


async def _asked(key: LiveKey, wanted: ResponsesRequest | ChatRequest) -> tuple[Ask, ProgramAsk]:
    if isinstance(wanted, ResponsesRequest) and wanted.references():
        wanted = await stored_responses.resolved(key, wanted)
    choice = request_parts.chosen(await pools.commands.run(request_parts.choices_of, key), wanted.model, key.models)
    # In threads: schemas may have hundreds of kilobytes and many patterns, and must not block others.
    read, (offer, given_tools) = wanted.read(), await asyncio.to_thread(parse_tools, wanted, key)
    answer_format = await asyncio.to_thread(wanted.answer_format)
    previous = wanted.previous() if isinstance(wanted, ResponsesRequest) else None
    before, question = read.question(wanted.messages_field, goes_on=previous is not None)
    effort = wanted.effort or choice.effort
    program = ProgramAsk(
        stream=reasoning_access.stream_for(key, wanted, offer),
        offer=offer,
        before=before,
        previous=previous,
        only_key=key.only_key,
        instructions=(wanted.instructions or "") if isinstance(wanted, ResponsesRequest) else "",
        standing_instructions="\n\n".join(text for text in read.orders if text),
        max_tokens=wanted.max_output_tokens if isinstance(wanted, ResponsesRequest) else wanted.token_limit,
        sampling=wanted.sampling(),
        must_fit=not (isinstance(wanted, ResponsesRequest) and wanted.truncation == "auto"),
        is_kept=wanted.store is not False,
        settings_as_sent={**wanted.given(effort), **given_tools},
        at_once=key.at_once,
    )
    kind = AskKind.CONTINUE if question is None else AskKind.SEND
    own = Ask(kind, uuid4(), effort, choice=choice.value, text=question or "", answer_format=answer_format, key=key.id, program=program)
    return own, program


def head_of(answer: Answering) -> ResponseHead:
    asked, turn = answer.asked, answer.started.turn
    return ResponseHead(asked.client_id, asked.choice or "", turn.started_at, answer.program.settings_as_sent)


def events_of(answer: Answering, wanted: ResponsesRequest, kind: type[Events]) -> Events:
    """A writer for the events of the response."""
    return kind(head_of(answer), wants_summary=wanted.summary is not None, thought=wanted.thought)


async def _stream(answer: Answering, writer: ResponseEvents | ChatChunks, *, is_named: bool) -> AsyncIterator[bytes]:
    yield _written(writer.begin(), is_named=is_named)
    has_ended = False
    try:
        async with aclosing(answer.events()) as events:
            async for event in events:
                if event is None:
                    yield answering.STILL_HERE
                    continue
                told_now = _written(writer.feed(event), is_named=is_named)
                has_ended = writer.ended is not None
                if told_now:
                    yield told_now
                if has_ended:
                    break
    except Exception as error:  # noqa: BLE001 - the status was already sent, so the error is reported in the stream
        code = _noted(error)
        # If the regular end could not be written, this error is the only event.
        if not has_ended:
            yield _written(writer.feed(Ended("failed", code)), is_named=is_named) or answering.event(_error(code), named=is_named)
    yield answering.DONE


def _error(code: ErrorCode) -> Mapping[str, Any]:
    return {"type": "error", "error": of_code(code).body()}


def _written(bodies: Iterable[Mapping[str, Any]], *, is_named: bool) -> bytes:
    """The events of one step are sent in one write."""
    return b"".join(answering.event(body, named=is_named) for body in bodies)


def _noted(error: Exception) -> ErrorCode:
    if isinstance(error, DatabaseBusyError):
        return error.code
    if is_transient(error):
        return busy_error(error).code
    log_without_content(log, None, error)
    return ProductCode.INTERNAL


def _left(answer: Answering, writer: ResponseEvents | ChatChunks) -> None:
    if writer.ended is None:
        answering.stop_from_thread(answer.started)


async def until_end(answer: Answering, writer: ResponseEvents | ChatChunks) -> None:
    """Wait for the whole answer. Raises ApiError if there is none."""
    async for event in answer.events():
        if event is not None:
            for _ in writer.feed(event):
                pass  # it is not streamed
    ended = writer.ended or Ended("failed")
    if ended.state in ("failed", "interrupted"):
        error = of_code(ended.code, ended.retry_after)
        error.may_retry = ended.retry_after is not None
        raise error
