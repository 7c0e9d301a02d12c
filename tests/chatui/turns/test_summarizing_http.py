"""Reasoning summaries over real HTTP: a model server and a summarizer on loopback, and the real llama.cpp server as both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator

import pytest

from chatui.backends.base import Backend, SampleRequest
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store.transcripts import frame_of
from chatui.turns import running, sampling, summarizing
from renderer.summary import frame as summary_frame
from tests.browser.relay import Relay
from tests.llama.fixture import llama_server as llama_server
from tests.support import stub
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.several import Configure
from tests.support.several import closing as closing
from tests.support.several import configure as configure
from tests.support.summarizer import THOUGHT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.served]

QUESTION = "How do I get to work fastest when it rains?"
STEP = "Compared three ways to travel"
TWO = """
[[backend]]
name = "big"
url = "{big}"
models = ["big-model"]
summaries = "model"
summarizer = "small/small-model"
summary_review = {review}
[[backend]]
name = "small"
url = "{small}"
models = ["other-model", "small-model"]
"""
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"FIRST_SECONDS": 0.0, "STEP_SECONDS": 0.05, "POLL_SECONDS": 0.01}.items():
        monkeypatch.setattr(summarizing, name, seconds)


def thinks(gate: asyncio.Event) -> Answer:
    """A model server that thinks, waits, and answers."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD + stub.chunk(reasoning=THOUGHT))
        await writer.drain()
        await gate.wait()
        writer.write(stub.chunk(content="Take the bicycle.") + stub.chunk(finish="stop", content="") + stub.DONE)
        await writer.drain()

    return answer


def writes(line: str) -> Answer:
    """A summarizer that thinks aloud before its line."""
    return stub.plays(stub.chunk(reasoning="I sum up.") + stub.chunk(content=line) + stub.chunk(finish="stop", content="") + stub.DONE)


async def _hangs(writer: asyncio.StreamWriter) -> None:
    writer.write(stub.SSE_HEAD)
    await writer.drain()
    await asyncio.sleep(60)


async def _drips(writer: asyncio.StreamWriter) -> None:
    writer.write(stub.SSE_HEAD)
    while True:
        writer.write(stub.chunk(reasoning="more and more "))
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.usefixtures("closing")
@pytest.mark.parametrize(("review", "verdict", "is_shown"), [("false", "", True), ("true", "allow", True), ("true", "block", False)])
async def test_a_line_over_http_is_checked_and_shown(review: str, verdict: str, is_shown: bool, ada: User, configure: Configure) -> None:
    gate, requests = asyncio.Event(), []

    async def small(writer: asyncio.StreamWriter) -> None:
        requests.append(1)
        await writes(verdict if review == "true" and len(requests) % 2 == 0 else STEP)(writer)

    async with stub.running(thinks(gate)) as big, stub.running(small) as other:
        configure(TWO.format(big=big.url, small=other.url, review=review))
        async with BrowserSocket(ada) as socket:
            await socket.send_message(QUESTION)
            accepted = (await socket.until("chatui:accepted"))[-1]
            await socket.send("subscribe", conversation=accepted["conversation"])
            async with asyncio.timeout(10):
                while len(requests) < (2 if review == "true" else 1):
                    await asyncio.sleep(0.01)
                await asyncio.sleep(3)
            gate.set()
            await socket.until(*ENDS)
            await running.settle()
            assert (STEP in "".join(socket.raw)) == is_shown
        assert {request.body["model"] for request in other.requests if request.method == "POST"} == {"small-model"}
        assert all(THOUGHT not in json.dumps(request.body) for request in big.requests if request.method == "POST")
    assert await Message.objects.filter(name="reasoning_summary", is_visible=True).aexists() == is_shown
    assert (await Turn.objects.aget()).state == "completed"


@pytest.mark.usefixtures("closing")
@pytest.mark.parametrize(
    "small",
    [_hangs, _drips, stub.responds("500 Internal Server Error", b"{}"), stub.plays(b"data: garbage\n\n" * 50), stub.plays(b"")],
    ids=["hangs", "drips", "fails", "garbage", "nothing"],
)
async def test_a_bad_summarizer_delays_no_token_and_is_disconnected(small: Answer, ada: User, configure: Configure) -> None:
    gate = asyncio.Event()
    async with stub.running(thinks(gate)) as big, stub.running(small) as other:
        configure(TWO.format(big=big.url, small=other.url, review="false"))
        async with BrowserSocket(ada) as socket:
            await socket.send_message(QUESTION)
            accepted = (await socket.until("chatui:accepted"))[-1]
            await socket.send("subscribe", conversation=accepted["conversation"])
            async with asyncio.timeout(10):
                while not [request for request in other.requests if request.method == "POST"]:
                    await asyncio.sleep(0.01)
            gate.set()
            # The summarizer's limit is longer than this: an answer that waited for it would be late.
            await socket.until("response.delta", "response.delta.flush", timeout=summarizing.ASK_SECONDS / 2)
            await socket.until(*ENDS, timeout=summarizing.ASK_SECONDS / 2)
            await running.settle()
    assert (await Turn.objects.aget()).state == "completed"
    assert not await Message.objects.filter(name="reasoning_summary").aexists()


@pytest.fixture
def relay(llama_server: str) -> Iterator[Relay]:
    relay = Relay(llama_server)
    yield relay
    relay.close()


@pytest.mark.extended
@pytest.mark.llama
@pytest.mark.usefixtures("closing")
async def test_the_real_server_as_model_and_summarizer(
    llama_server: str, relay: Relay, ada: User, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is too small to summarize. Its text is shown or blocked, and nothing hidden is shown with it."""
    monkeypatch.setattr(summarizing, "MIN_CHARS", 20)
    answered, words_of = asyncio.Event(), sampling.text_of

    async def recorded(backend: Backend, request: SampleRequest, max_chars: int, charged: sampling.Charged, what: str) -> str:
        answer = await words_of(backend, request, max_chars, charged, what)
        answered.set()
        return answer

    monkeypatch.setattr(sampling, "text_of", recorded)
    relay.hold_after(12)
    both = TWO.format(big=relay.url, small=llama_server, review="false")
    configure(
        both.replace('"big-model"', '"gpt-oss-tiny"').replace('"other-model", "small-model"', '"gpt-oss-tiny"').replace("/small-model", "")
    )
    async with BrowserSocket(ada) as socket:
        await socket.send_message("Think hard: how do I get to work fastest?")
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.send("subscribe", conversation=accepted["conversation"])
        await asyncio.wait_for(answered.wait(), 20)
        await asyncio.sleep(0.2)
        relay.release()
        await socket.until(*ENDS, timeout=30)
        await running.settle()
        raw = "".join(socket.raw)
    steps = [event["text"] for frame in socket.raw for event in json.loads(frame) if event["type"] == "chatui:summary"]
    stored = [
        summary_frame.steps_of(frame_of(message).body)
        async for message in Message.objects.filter(name="reasoning_summary", is_visible=True)
    ]
    assert stored == ([steps] if steps else []), "the shown text equals the stored text"
    assert "RAW-COT-CANARY" not in raw and "bicycle" in raw
    assert (await Turn.objects.aget()).state == "completed"
