"""The endpoints that start an answer: ``/v1/responses`` and ``/v1/chat/completions``, and how any format begins and streams one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts import key_admission
from chatui.accounts.key_admission import LiveKey
from chatui.answer_formats import AnswerFormat
from chatui.api import answering, background, reasoning_access, request_parts, stored_responses
from chatui.api.answering import Answering, StreamForm
from chatui.api.bodies import body_of, checked
from chatui.api.chat_chunks import ChatChunks, several, usage_of
from chatui.api.chat_request import ChatRequest
from chatui.api.errors import CONTEXT, ApiError, check_format, invalid, of_code, of_end, unsupported
from chatui.api.functions import parse_tools
from chatui.api.guarded import rate_of
from chatui.api.message_events import MessageEvents
from chatui.api.messages_request import MessagesRequest
from chatui.api.parsed_messages import ParsedMessages, unknown_call
from chatui.api.reasoning_access import address_of
from chatui.api.recordings import BackgroundEvents
from chatui.api.request_parts import MAX_IGNORED, ProgramRequest
from chatui.api.response_events import ResponseEvents
from chatui.api.response_object import ResponseHead
from chatui.api.response_request import ResponsesRequest, no_conversation, no_previous
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError, busy_error, is_transient
from chatui.model_servers.choice import ModelChoice
from chatui.observability.error_reports import log_without_content
from chatui.permissions.access import NotFoundError
from chatui.turns import prefill
from chatui.turns.asks import SEEN_CHARS, Ask, AskKind, EarlierCall, EarlierMessage, EarlierReply, FunctionOffer, ProgramAsk
from chatui.turns.program_start import NotStoredError, StillRunningError, UnknownCallError, UnreadableSummaryError
from chatui.turns.slots import slots
from chatui.turns.streams.program import Ended
from renderer.errors import ErrorCode

log = logging.getLogger(__name__)

Events = TypeVar("Events", bound=ResponseEvents)
AnyRequest = ResponsesRequest | ChatRequest | MessagesRequest
Writer = ResponseEvents | ChatChunks | MessageEvents
RESPONSES_FORM, CHAT_FORM = StreamForm(is_named=True), StreamForm(is_named=False)

RESTART_SECONDS = 5
"""When a program may ask again a process that is being restarted."""


async def responses(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Create a response, streamed or whole."""
    body = await body_of(request, key)
    check_format(key.for_responses)
    wanted = checked(ResponsesRequest, body)
    wanted.refuse_what_is_not_served()
    return with_ignored_fields(await _responded(request, key, wanted), wanted)


async def _responded(request: HttpRequest, key: LiveKey, wanted: ResponsesRequest) -> HttpResponseBase:
    if wanted.background and wanted.stream:
        background.check_room(key)
    answer = await begin(address_of(request), key, wanted)
    if wanted.background:
        return background.start_response(answer, partial(events_of, answer, wanted, BackgroundEvents), stream=bool(wanted.stream))
    events = events_of(answer, wanted, ResponseEvents)
    if wanted.stream:
        return answering.streamed(stream(answer, events, RESPONSES_FORM), partial(left, answer, events))
    await until_end(answer, events)
    return JsonResponse(events.whole)


IGNORED = "x-chatui-ignored"
"""The header with the names of the request's fields that changed nothing."""


def with_ignored_fields(response: HttpResponseBase, wanted: ProgramRequest) -> HttpResponseBase:
    """The response, with the names of the fields of its request that changed nothing."""
    return with_ignored(response, wanted.without_effect)


def with_ignored(response: HttpResponseBase, ignored: Iterable[str]) -> HttpResponseBase:
    """The response, with the names of what changed nothing."""
    if ignored := tuple(dict.fromkeys(ignored))[:MAX_IGNORED]:
        response.headers[IGNORED] = ", ".join(ignored)
    return response


async def chat(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Create a chat completion, streamed or whole."""
    body = await body_of(request, key)
    check_format(key.for_chat)
    wanted = checked(ChatRequest, body)
    wanted.refuse_what_is_not_served()
    if wanted.n and wanted.n > 1:  # each counts
        key = await pools.commands.run(key_admission.count_more, key, wanted.n - 1)
        found = await _several(address_of(request), key, wanted)
        for name, value in rate_of(key).items():
            found.headers[name] = value
        return with_ignored_fields(found, wanted)
    answer = await begin(address_of(request), key, wanted)
    chunks = chunks_of(answer, wanted)
    if wanted.stream:
        return with_ignored_fields(answering.streamed(stream(answer, chunks, CHAT_FORM), partial(left, answer, chunks)), wanted)
    await until_end(answer, chunks)
    return with_ignored_fields(JsonResponse(chunks.whole()), wanted)


async def _several(address: str, key: LiveKey, wanted: ChatRequest) -> HttpResponseBase:
    """Several answers to one request: as many requests that are not stored, without tools of the product."""
    count = wanted.n or 1
    one, key = wanted.model_copy(update={"store": False, "stream_options": None}), replace(key, tools=())
    answers: list[Answering] = []
    try:
        while len(answers) < count:
            answers.append(await begin(address, key, one))
    except BaseException:
        for answer in answers:
            await answering.stop(answer.started)
        raise
    head = head_of(answers[0])
    pairs = [(answer, chunks_of(answer, one, head, index)) for index, answer in enumerate(answers)]
    if wanted.stream:
        return answering.streamed(_stream_several(pairs, wants_usage=wanted.wants_usage), partial(_all_left, pairs))
    await _all([until_end(*pair) for pair in pairs])
    return JsonResponse(several(writer for _, writer in pairs))


async def _all(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Wait for all. If one fails, the others are ended."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _FailedError(Exception):
    """One of several answers failed, which its stream has said."""


async def _stream_several(pairs: Sequence[tuple[Answering, ChatChunks]], *, wants_usage: bool) -> AsyncIterator[bytes]:
    """The chunks of all answers as they come. The first failure ends them all."""
    chunks: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1)

    async def follow(answer: Answering, writer: ChatChunks) -> None:
        async with aclosing(stream(answer, writer, CHAT_FORM)) as own:
            async for chunk in own:
                if chunk is not answering.DONE:
                    await chunks.put(chunk)
        if writer.has_failed:
            raise _FailedError

    work = asyncio.create_task(_all([follow(*pair) for pair in pairs]))
    try:
        while not (work.done() and chunks.empty()):
            getting = asyncio.create_task(chunks.get())
            await asyncio.wait([work, getting], return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                yield getting.result()
            else:
                getting.cancel()
        if wants_usage and not work.exception():
            yield answering.event(usage_of(writer for _, writer in pairs), named=False)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    yield answering.DONE


def chunks_of(answer: Answering, wanted: ChatRequest, head: ResponseHead | None = None, index: int = 0) -> ChatChunks:
    """A writer for the chunks of an answer. ``head``: of the whole completion, if this is one of several, with its ``index``."""
    is_formatted = answer.asked.answer_format is not None
    return ChatChunks(head or head_of(answer), wants_usage=wanted.wants_usage, is_formatted=is_formatted, index=index)


async def begin(address: str, key: LiveKey, wanted: AnyRequest) -> Answering:
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
        raise still_running(wanted) from None
    except NotFoundError:
        raise (no_conversation() if isinstance(wanted, ResponsesRequest) and wanted.conversation else no_previous()) from None


def still_running(wanted: ResponsesRequest | ChatRequest | MessagesRequest) -> ApiError:
    """The error for a request that continues where an answer is being written."""
    if isinstance(wanted, ResponsesRequest) and wanted.conversation:
        return invalid("An answer is being written in this conversation.", param="conversation", code="conversation_locked", status=409)
    return invalid("The previous response is still being written.", param="previous_response_id", status=409)


async def _asked(key: LiveKey, wanted: AnyRequest) -> tuple[Ask, ProgramAsk]:
    """What a request asks for, in any format, for the turn that it begins. Raises ApiError for the first fault that is found."""
    if isinstance(wanted, ResponsesRequest) and wanted.references():
        wanted = await stored_responses.resolved(key, wanted)
    responses = wanted if isinstance(wanted, ResponsesRequest) else None  # only this format continues what is stored here
    choice, read = await pools.commands.run(request_parts.choice_of, key, wanted.model), wanted.read()
    # In a thread: schemas may have hundreds of kilobytes and many patterns, and must not block others.
    parsed = await asyncio.to_thread(_schemas, wanted, key) if wanted.may_have_schemas or key.tools else _schemas(wanted, key)
    (offer, given_tools), answer_format = parsed
    previous = responses.previous() if responses is not None else None
    conversation = responses.continued() if responses is not None else None
    instructions = (responses.instructions or "") if responses is not None else ""
    continues = read.is_prefilled and await _may_continue(choice, read, wanted, is_free=answer_format is None and not offer.must_call)
    goes_on, has_orders = bool(previous or conversation), bool(instructions)
    before, question = read.question(wanted.messages_field, goes_on=goes_on, has_orders=has_orders, continues=continues)
    must_fit = responses is None or responses.truncation != "auto"
    check_length((*read.orders, question or "", *map(text_in, before)), MAX_CHARS if must_fit else MAX_STORED_CHARS, wanted.messages_field)
    check_length((instructions,), MAX_CHARS, "instructions")  # nothing of them is ever left out
    effort = wanted.effort or choice.effort
    program = ProgramAsk(
        stream=reasoning_access.stream_for(key, wanted, offer),
        offer=offer,
        before=before,
        previous=previous,
        conversation=conversation,
        only_key=key.only_key,
        instructions=instructions,
        standing_instructions="\n\n".join(text for text in read.orders if text),
        max_tokens=wanted.max_output_tokens if isinstance(wanted, ResponsesRequest) else wanted.token_limit,
        sampling=wanted.sampling(),
        must_fit=must_fit,
        is_kept=wanted.store is not False,
        settings_as_sent={**wanted.echoed_settings(effort), **given_tools},
        at_once=key.at_once,
        stop=() if offer.must_call else wanted.stop_texts,
        is_prefilled=continues,
    )
    kind = AskKind.CONTINUE if question is None else AskKind.SEND
    own = Ask(kind, uuid4(), effort, choice=choice.value, text=question or "", answer_format=answer_format, key=key.id, program=program)
    return own, program


def _schemas(wanted: AnyRequest, key: LiveKey) -> tuple[tuple[FunctionOffer, dict[str, Any]], AnswerFormat | None]:
    """What may have schemas: its functions, with the fields about them, and its format."""
    return parse_tools(wanted, key), wanted.answer_format()


async def _may_continue(choice: ModelChoice, read: ParsedMessages, wanted: AnyRequest, *, is_free: bool) -> bool:
    """Whether the model continues the answer that comes last. ``is_free``: no format and no call is required.

    Raises:
        ApiError: it must not.
    """
    if not await prefill.can_continue(choice.value):
        return False
    if not is_free:
        raise unsupported(wanted.messages_field, "An answer cannot be continued where a format or a call is required.")
    begun = text_in(read.messages[-1])
    if len(begun) > prefill.MAX_CHARS:
        raise unsupported(wanted.messages_field, f"An answer cannot be continued that has more than {prefill.MAX_CHARS} characters.")
    if await asyncio.to_thread(prefill.has_marks, begun):
        raise unsupported(wanted.messages_field, "An answer cannot be continued that has what marks hidden text (markers, labels, tags).")
    return True


MAX_CHARS = SEEN_CHARS
"""The most characters in one request that a model must get whole: it is not given more."""
MAX_STORED_CHARS = 4 * MAX_CHARS
"""The most characters in any request: they are stored."""


def text_in(each: EarlierMessage | EarlierCall | EarlierReply) -> str:
    """What a program sent in it."""
    match each:
        case EarlierMessage(text=text) | EarlierCall(arguments=text) | EarlierReply(output=text):
            return text


def check_length(texts: Iterable[str], most: int, field: str) -> None:
    """Raises ApiError for more than ``most`` characters in all."""
    chars = sum(map(len, texts))
    if chars > most:
        raise invalid(f"The messages have {chars} characters in all; at most {most} can be read here.", param=field, code=CONTEXT)


def head_of(answer: Answering) -> ResponseHead:
    asked, turn = answer.asked, answer.started.turn
    return ResponseHead(asked.client_id, asked.choice or "", turn.started_at, answer.program.settings_as_sent)


def events_of(answer: Answering, wanted: ResponsesRequest, kind: type[Events]) -> Events:
    """A writer for the events of the response."""
    return kind(head_of(answer), wants_summary=wanted.summary is not None, thought=wanted.thought)


async def stream(answer: Answering, writer: Writer, form: StreamForm) -> AsyncGenerator[bytes, None]:
    """The stream of an answer, in bytes."""
    yield _written(writer.begin(), form)
    has_ended = False
    try:
        async with aclosing(answer.events()) as events:
            async for event in events:
                if event is None:
                    yield form.still_here
                    continue
                told_now = _written(writer.feed(event), form)
                has_ended = writer.ended is not None
                if told_now:
                    yield told_now
                if has_ended:
                    break
    except Exception as error:  # noqa: BLE001 - the status was already sent, so the error is reported in the stream
        code = _noted(error)
        # If the regular end could not be written, this error is the only event.
        if not has_ended:
            yield _written(writer.feed(Ended("failed", code)), form) or _written([form.error(of_code(code))], form)
    if form.done:
        yield form.done


def _written(bodies: Iterable[Mapping[str, Any]], form: StreamForm) -> bytes:
    """The events of one step are sent in one write."""
    return b"".join(answering.event(body, named=form.is_named) for body in bodies)


def _noted(error: Exception) -> ErrorCode:
    if isinstance(error, DatabaseBusyError):
        return error.code
    if is_transient(error):
        return busy_error(error).code
    log_without_content(log, None, error)
    return ProductCode.INTERNAL


def left(answer: Answering, writer: Writer) -> None:
    """The reader of a stream has left: the turn stops, unless it is over."""
    if writer.ended is None:
        answering.stop_from_thread(answer.started)


def _all_left(pairs: Sequence[tuple[Answering, ChatChunks]]) -> None:
    for pair in pairs:
        left(*pair)


async def until_end(answer: Answering, writer: Writer) -> None:
    """Wait for the whole answer. Raises ApiError if there is none."""
    async for event in answer.events():
        if event is not None:
            for _ in writer.feed(event):
                pass  # it is not streamed
    ended = writer.ended or Ended("failed")
    if ended.state in ("failed", "interrupted"):
        error = of_end(ended, writer.messages_field)
        error.may_retry = ended.retry_after is not None
        raise error
