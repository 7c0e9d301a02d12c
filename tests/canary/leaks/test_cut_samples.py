"""A cancelled sample of a server that has proved nothing shows nothing: the sign may be what is missing."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint, Taker
from renderer.events import RawEvent
from renderer.frame_kinds import ANSWER
from renderer.frames import Frame
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


WRITTEN = {"chat": in_chat, "responses": in_responses}
HELD = "SECRET thoughts about the question, and how to say it.</think>"


@pytest.mark.asyncio
@pytest.mark.served
@pytest.mark.parametrize("cut", [None, "Half an answer"])
@pytest.mark.parametrize("kind", WRITTEN)
async def test_nothing_of_a_cancelled_sample_is_shown_without_proof(kind: str, cut: str | None) -> None:
    """``cut``: an answer to be continued, whose rest is asked for in words."""
    is_read, events = asyncio.Event(), list[RawEvent]()

    class Watched:
        read_so_far = b""

        def answered(self, status: int, headers: Mapping[str, str]) -> None:
            pass

        def read(self, piece: bytes) -> None:
            self.read_so_far += piece
            if b"think>" in self.read_so_far:
                is_read.set()

    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in (SSE_HEAD, *WRITTEN[kind](HELD)):
            writer.write(piece)
            await writer.drain()
        await asyncio.Event().wait()

    def take(event: RawEvent) -> None:
        assert task.cancelling(), "nothing comes before the end"
        events.append(event)

    async with stub.running(answer) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind=kind)
        request = replace(sample_request("Hello!"), cut_answer=None if cut is None else Frame(ANSWER, cut))

        async def sample() -> None:
            await backend.sample(request, Taker(take))

        backend.watch(lambda *_: Watched())
        task = asyncio.create_task(sample())
        await is_read.wait()
        await asyncio.sleep(0)  # it is held
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await backend.aclose()
    finished = frames(events)
    assert bodies(finished) == []
    assert "SECRET" in "".join(done.frame.body for done in finished), "it is stored for staff"
