"""Creates background responses and resumes their interrupted streams, also of a response that another process writes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts.key_admission import LiveKey
from chatui.api import answering, reasoning_access, recordings, recordings_elsewhere
from chatui.api.answering import Answering, KeyWatch
from chatui.api.errors import INVALID, SERVER_ERROR, TOO_MANY, ApiError, invalid, of_code
from chatui.api.recordings import BackgroundEvents, Recording
from chatui.api.recordings_elsewhere import FollowedElsewhere, LostError
from chatui.turns.stored_program import StoredProgramAnswer

log = logging.getLogger(__name__)

FROM_BEGINNING = -1
NUMBER_DIGITS = 9


def start_response(answer: Answering, new_writer: Callable[[], BackgroundEvents], *, stream: bool) -> HttpResponseBase:
    """The reply to the request that asked for a response in the background. The response is written even if nobody reads it.

    ``new_writer`` as for ``Recording``.
    """
    recordings_elsewhere.listen()
    recording = recordings.record(answer, new_writer)
    if stream:
        return answering.streamed(_stream(recording, answer.key, FROM_BEGINNING), lambda: None)
    return JsonResponse(next(new_writer().begin())["response"])


async def resumed(request: HttpRequest, key: LiveKey, answer: StoredProgramAnswer) -> HttpResponseBase:
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
    return answering.streamed(_stream(recording, key, after), lambda: None)


async def _recording_elsewhere(key: LiveKey, answer: StoredProgramAnswer) -> FollowedElsewhere | None:
    if not answer.given.get("background"):
        return None
    try:
        return await recordings_elsewhere.find(answer.id, answer.process, key.owner.pk)
    except LostError:
        if answer.state != "running":
            return None  # nothing is missing from the whole response
    sentence = "The process that writes this response does not answer now. Try again, or read the response as it is so far."
    raise ApiError(503, SERVER_ERROR, "server_busy", sentence, param="stream").after(1)


def check_room(key: LiveKey) -> None:
    """Check that the owner of the key may follow one more response. Raises ApiError."""
    if recordings.readers[key.owner.pk] >= recordings.MAX_READERS:
        raise ApiError(429, TOO_MANY, "too_many_at_once", "Too many streams are followed at once.").after(1)


async def _stream(recording: Recording | FollowedElsewhere, key: LiveKey, after: int) -> AsyncIterator[bytes]:
    watch, number = KeyWatch(key), after
    try:
        async with aclosing(recording.follow(after, lambda: watch.wait)) as events:
            async for body in events:
                if not watch.wait:
                    if code := await watch.why_over():
                        # Not an event of the response, which continues for others: it only ends this stream.
                        yield answering.event({"type": "error", "sequence_number": number + 1, "error": of_code(code).body()})
                        break
                    if body is None:
                        yield answering.STILL_HERE
                if body is not None:
                    number = body["sequence_number"]
                    yield answering.event(body)
    except LostError:
        # The reader notices the missing end, and requests the response.
        log.warning("a background response could not be followed to its end: the process that has it does not answer")
    yield answering.DONE


def _after(wished: str | None) -> int:
    if not wished:
        return FROM_BEGINNING
    if not wished.isdecimal() or len(wished) > NUMBER_DIGITS:
        raise invalid("It has to be the number of an event.", param="starting_after")
    return int(wished)
