"""A cancelled sample of a server that has proved nothing shows nothing: the sign may be what is missing."""

import asyncio
import json
from collections.abc import Callable

import pytest

from chatui.backends import http
from chatui.backends.base import Backend, Endpoint, SampleRequest, Taker
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.continuation import continue_in_words
from chatui.backends.responses.backend import ResponsesBackend
from renderer.events import RawEvent
from tests.chatui.backends.test_wall import Event, bodies, frames, message_events
from tests.support import stub
from tests.support.sampling import PATIENT, sample_request
from tests.support.stub import SSE_HEAD, chunk


def sse(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def in_chat(text: str) -> list[bytes]:
    return [chunk(content=piece) for piece in text.partition("</")]


def in_responses(text: str) -> list[bytes]:
    return [sse(event) for event in message_events(0, text)[:2]]


HELD = "SECRET thoughts about the question, and how to say it.</think>"


@pytest.mark.asyncio
@pytest.mark.served
@pytest.mark.parametrize("in_words", [False, True])
@pytest.mark.parametrize(("new", "written"), [(ChatCompletionsBackend, in_chat), (ResponsesBackend, in_responses)])
async def test_nothing_of_a_cancelled_sample_is_shown_without_proof(
    new: Callable[[Endpoint], Backend], written: Callable[[str], list[bytes]], in_words: bool
) -> None:
    sent, events = asyncio.Event(), list[RawEvent]()

    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in (SSE_HEAD, *written(HELD)):
            writer.write(piece)
            await writer.drain()
        sent.set()
        await asyncio.sleep(30)

    async def take(backend: Backend, request: SampleRequest) -> None:
        def taken(event: RawEvent) -> None:
            assert task.cancelling(), "nothing comes before the end"
            events.append(event)

        if in_words:
            await continue_in_words(request, Taker(taken), backend.sample)
        else:
            await http.sample(backend, request, Taker(taken))

    async with stub.running(answer) as server:
        backend = new(Endpoint(server.url, limits=PATIENT))
        task = asyncio.create_task(take(backend, sample_request("Hello!")))
        await asyncio.wait_for(sent.wait(), 10)
        await asyncio.sleep(0.2)  # it has arrived, and is held
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await backend.aclose()
    finished = frames(events)
    assert bodies(finished) == []
    assert "SECRET" in "".join(done.frame.body for done in finished), "it is stored for staff"
