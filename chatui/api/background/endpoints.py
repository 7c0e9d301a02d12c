"""Answers requests about background responses: creates them, and resumes an interrupted stream."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts.api_keys.checking import LiveKey
from chatui.api import reasoning_access
from chatui.api.answering import Answering
from chatui.api.background import other_processes, recordings
from chatui.api.background.events import BackgroundEvents, queued
from chatui.api.background.other_processes import FollowedElsewhere, LostError, SilentError
from chatui.api.background.recordings import Recording
from chatui.api.errors import INVALID, SERVER_ERROR, TOO_MANY, ApiError, invalid, of_code
from chatui.api.key_watch import KeyWatch
from chatui.api.writing import sse
from chatui.api.writing.response_events import Event
from chatui.api.writing.response_object import Head
from chatui.display.programs.answers import StoredAnswer

log = logging.getLogger(__name__)

FROM_BEGINNING = -1
NUMBER_DIGITS = 9


def start_response(answer: Answering, head: Head, *, wants_summary: bool, stream: bool) -> HttpResponseBase:
    """The reply to the request that asked for a response in the background. The response is written even if nobody reads it."""
    other_processes.listen()
    recording = recordings.record(answer, partial(BackgroundEvents, head, wants_summary=wants_summary))
    if stream:
        return sse.streamed(_stream(recording, answer.key, FROM_BEGINNING), lambda: None)
    return JsonResponse(queued(head))


async def resumed(request: HttpRequest, key: LiveKey, answer: StoredAnswer) -> HttpResponseBase:
    """The stream of a response after ``starting_after``. The caller has checked that the key may read it, except for raw reasoning."""
    recording = recordings.recording_of(answer.id) or await _recording_elsewhere(key, answer)
    if recording is None:
        sentence = "Only what is written in the background can be streamed again, and only for a while: read it as a whole."
        raise invalid(sentence, param="stream", code="stream_not_available")
    if recording.views_hidden:
        if not key.views_hidden:
            if not reasoning_access.asks_for_reasoning(request):  # an explicit request for reasoning was recorded when it was parsed
                await reasoning_access.record_attempt(reasoning_access.address_of(request), key)
            raise ApiError(403, INVALID, "insufficient_scope", "This stream holds raw reasoning, which this key may not read (any more).")
        await reasoning_access.record_reading(reasoning_access.address_of(request), key, answer.conversation_id)
    after = _after(request.GET.get("starting_after"))
    check_room(key)
    return sse.streamed(_stream(recording, key, after), lambda: None)


async def _recording_elsewhere(key: LiveKey, answer: StoredAnswer) -> FollowedElsewhere | None:
    if not answer.given.get("background"):
        return None
    try:
        return await other_processes.found(answer.id, answer.process, key.owner.pk)
    except SilentError:
        if answer.state != "running":
            return None  # nothing is missing from the whole response
    sentence = "The process that writes this response does not answer now. Try again, or read the response as it is so far."
    error = ApiError(503, SERVER_ERROR, "server_busy", sentence, param="stream")
    error.retry_after = 1
    raise error


def check_room(key: LiveKey) -> None:
    """Check that the owner of the key may follow one more response. Raises ApiError."""
    try:
        recordings.check_room(key.owner.pk)
    except recordings.TooManyReadersError:
        error = ApiError(429, TOO_MANY, "too_many_at_once", "Too many streams are followed at once.")
        error.retry_after = 1
        raise error from None


async def _stream(recording: Recording | FollowedElsewhere, key: LiveKey, after: int) -> AsyncIterator[bytes]:
    watch, number = KeyWatch(key), after
    async with aclosing(_unless_lost(recording, after, watch)) as events:
        async for body in events:
            if not watch.wait:
                if code := await watch.why_over():
                    # Not an event of the response, which continues for others: it only ends this stream.
                    yield sse.event({"type": "error", "sequence_number": number + 1, "error": of_code(code).body()})
                    break
                if body is None:
                    yield sse.STILL_HERE
            if body is not None:
                number = body["sequence_number"]
                yield sse.event(body)
    yield sse.DONE


async def _unless_lost(recording: Recording | FollowedElsewhere, after: int, watch: KeyWatch) -> AsyncGenerator[Event | None, None]:
    """Ends early if the process with the recording is gone: the reader notices the missing end, and requests the response."""
    try:
        async with aclosing(recording.follow(after, lambda: watch.wait)) as events:
            async for body in events:
                yield body
    except LostError:
        log.warning("a background response could not be followed to its end: the process that has it does not answer")


def _after(wished: str | None) -> int:
    if not wished:
        return FROM_BEGINNING
    if not wished.isdecimal() or len(wished) > NUMBER_DIGITS:
        raise invalid("It has to be the number of an event.", param="starting_after")
    return int(wished)
