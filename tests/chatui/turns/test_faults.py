"""A model server that fails in every known way, over real HTTP: what users see, what staff can read, and what is stored."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.utils.html import escape

from chatui.backends import http, registry
from chatui.backends.base import Endpoint, SampleLimits
from chatui.codes import ProductCode
from chatui.display.failures import number
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from renderer.errors import Code, ErrorCode
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.chat.test_backend import then
from tests.chatui.backends.harmony.test_backend import VLLM, ids_of, sse, vllm
from tests.chatui.backends.responses.test_backend import BEGUN, THOUGHT, message_event
from tests.chatui.conftest import signed_in
from tests.chatui.store import pieces
from tests.support import stub
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.sampling import PATIENT
from tests.support.stub import SSE_HEAD, Answer, chunk
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

QUESTION = "What is the capital of France?"
SECRET = "SECRET-OF-THE-SERVER"
WORDS = "Half an answer"
HASTY = replace(PATIENT, first=0.7, idle=0.7)


@dataclass(frozen=True)
class Dialect:
    """The same reply in each wire format: reasoning that holds the secret, and then some words of the answer."""

    thought: bytes
    half: bytes
    options: dict[str, Any]
    server: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(params=["chat", "responses", "harmony"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    if request.param == "chat":
        thought = SSE_HEAD + chunk(reasoning_content=SECRET)
        return Dialect(thought, thought + chunk(content=WORDS), {"kind": "chat"})
    if request.param == "responses":
        thought = THOUGHT.replace(b"SECRET", SECRET.encode())
        return Dialect(thought, thought + BEGUN.removeprefix(SSE_HEAD) + message_event(WORDS), {"kind": "responses"})
    words: Vocabulary = request.getfixturevalue("vocabulary")
    hidden = ids_of(words, f"<|channel|>analysis<|message|>{SECRET}")
    shown = ids_of(words, f"<|end|><|start|>assistant<|channel|>final<|message|>{WORDS}")
    thought = SSE_HEAD + sse(vllm(*hidden))
    return Dialect(thought, thought + sse(vllm(*shown)), {"kind": "harmony-vllm", "vocabulary": lambda: words}, VLLM)


@dataclass
class ObservedResult:
    """The result of one question: on the user's socket, page and transcript, and in the database."""

    raw: str
    end: dict[str, Any]
    visible: str
    page: str
    turn: Turn
    messages: list[Message]
    pieces: list[tuple[str, str]]


async def ask_model_at(
    ada: User, monkeypatch: pytest.MonkeyPatch, url: str, dialect: Dialect, limits: SampleLimits = PATIENT
) -> ObservedResult:
    backend = registry.build(Endpoint(url, model="stub", limits=limits), **dialect.options)
    monkeypatch.setattr(connected, "backend", lambda choice="": backend)
    monkeypatch.setattr(http, "PAUSES", (0.3, 0.1))
    conversation = await Conversation.objects.acreate(owner=ada, title="Geography")
    async with BrowserSocket(ada) as browser:
        await browser.send("subscribe", conversation=str(conversation.pk))
        await browser.send_message(QUESTION, conversation=str(conversation.pk))
        events = await browser.until(*ENDS, timeout=30)
        await running.settle()
        raw = "".join(browser.raw)
    await backend.aclose()
    turn, messages = await stored(conversation)
    left = await database_sync_to_async(pieces.saved)(turn.pk)
    page = await database_sync_to_async(lambda: signed_in(ada).get(f"/c/{conversation.pk}/").content.decode())()
    return ObservedResult(raw, events[-1], shown_text(events), page, turn, messages, left)


@database_sync_to_async
def stored(conversation: Conversation) -> tuple[Turn, list[Message]]:
    turn = conversation.turns.get()
    return turn, list(turn.messages.order_by("position"))


async def garbage(writer: asyncio.StreamWriter) -> None:
    writer.write(SSE_HEAD + bytes(range(256)) * 400)
    await writer.drain()


def endless_line(head: bytes) -> Answer:
    """100 MB without a line break. Nobody reads that far: the client closes the connection."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head + b"data: ")
        for _ in range(1600):
            writer.write(b"x" * 65_536)
            await writer.drain()

    return answer


def dripping(head: bytes) -> Answer:
    """An occasional byte keeps the connection alive, but is no answer."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(b":")
            await writer.drain()
            await asyncio.sleep(0.05)

    return answer


Fault = tuple[Callable[[Dialect], Answer], ErrorCode, SampleLimits]

BEFORE: dict[str, Fault] = {
    "hangs": (lambda _: then(30.0), ProductCode.TIMEOUT, HASTY),
    "hangs behind its head": (lambda _: then(SSE_HEAD, 30.0), ProductCode.TIMEOUT, HASTY),
    "drips": (lambda _: dripping(SSE_HEAD), ProductCode.TIMEOUT, HASTY),
    "resets": (lambda _: then("reset"), ProductCode.BACKEND, PATIENT),
    "sends garbage": (lambda _: garbage, Code.STREAM_TRUNCATED, PATIENT),
    "sends a line of 100 MB": (lambda _: endless_line(SSE_HEAD), Code.STREAM_TRUNCATED, PATIENT),
    "answers 500": (lambda _: stub.responds("500 Oops", SECRET.encode()), ProductCode.BACKEND, PATIENT),
    "answers 429": (lambda _: stub.responds("429 Busy", SECRET.encode(), "Retry-After: 0\r\n"), ProductCode.BACKEND_BUSY, PATIENT),
    "answers 200 with an error": (
        lambda _: stub.responds("200 OK", b'{"error":{"message":"' + SECRET.encode() + b'","code":500}}'),
        ProductCode.BACKEND,
        PATIENT,
    ),
    "thinks and breaks off": (lambda dialect: then(dialect.thought, "reset"), Code.STREAM_TRUNCATED, PATIENT),
    "thinks and hangs": (lambda dialect: then(dialect.thought, 30.0), ProductCode.TIMEOUT, HASTY),
}

LATER: dict[str, Fault] = {
    "hangs": (lambda dialect: then(dialect.half, 30.0), ProductCode.TIMEOUT, HASTY),
    "drips": (lambda dialect: dripping(dialect.half), ProductCode.TIMEOUT, HASTY),
    "resets": (lambda dialect: then(dialect.half, 0.3, "reset"), Code.STREAM_TRUNCATED, PATIENT),
    "ends without an end": (lambda dialect: then(dialect.half), Code.STREAM_TRUNCATED, PATIENT),
    "sends half an event": (lambda dialect: then(dialect.half, b'data: {"choi'), Code.STREAM_TRUNCATED, PATIENT),
    "sends a line of 100 MB": (lambda dialect: endless_line(dialect.half), Code.STREAM_TRUNCATED, PATIENT),
    "sends an error": (
        lambda dialect: then(dialect.half, b'data: {"error":{"message":"' + SECRET.encode() + b'","code":500}}\n\n'),
        ProductCode.BACKEND,
        PATIENT,
    ),
}


def assert_reported(seen: ObservedResult, code: ErrorCode) -> None:
    """One sentence with its code, the question still there, and nothing from the server except for staff."""
    assert (seen.end["type"], seen.end["code"]) == ("response.failed", code) and escape(code.sentence) in seen.end["html"]
    assert (seen.turn.state, seen.turn.error_code) == ("failed", code)
    assert (
        number(seen.turn.pk) in seen.page and code.value not in seen.page and escape(code.sentence) in seen.page and QUESTION in seen.page
    )
    assert 'data-action="' in seen.page, "something can be done about it"
    assert SECRET not in seen.raw + seen.page
    assert seen.turn.finished_at is not None and not seen.pieces


async def test_an_unreachable_server(ada: User, monkeypatch: pytest.MonkeyPatch, dialect: Dialect) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        seen = await ask_model_at(ada, monkeypatch, f"http://127.0.0.1:{unused.getsockname()[1]}", dialect)
    assert_reported(seen, ProductCode.BACKEND_UNREACHABLE)
    assert seen.messages == [] and seen.visible == ""


@pytest.mark.parametrize("fault", BEFORE)
async def test_a_server_that_fails_before_its_answer(fault: str, ada: User, monkeypatch: pytest.MonkeyPatch, dialect: Dialect) -> None:
    make, code, limits = BEFORE[fault]
    async with stub.running(make(dialect), **dialect.server) as server:
        seen = await ask_model_at(ada, monkeypatch, server.url, dialect, limits)
    assert_reported(seen, code)
    assert seen.visible == "" and not any(message.is_visible for message in seen.messages), "no empty answer is stored"
    thought = [message.text for message in seen.messages]
    assert bool(thought) == ("thinks" in fault) and all(SECRET in text for text in thought), "the reasoning is stored for staff"
    if code in (ProductCode.BACKEND_BUSY, ProductCode.BACKEND) and fault.startswith("answers"):
        assert SECRET in seen.turn.error_detail, "the server's error is for staff"
    request_count = sum(request.method == "POST" for request in server.requests)
    assert (request_count > 1) == (code in (ProductCode.BACKEND, ProductCode.BACKEND_BUSY)), "asked again only where that can help"


@pytest.mark.parametrize("fault", LATER)
async def test_a_server_that_fails_in_its_answer(fault: str, ada: User, monkeypatch: pytest.MonkeyPatch, dialect: Dialect) -> None:
    make, code, limits = LATER[fault]
    async with stub.running(make(dialect), **dialect.server) as server:
        seen = await ask_model_at(ada, monkeypatch, server.url, dialect, limits)
    assert_reported(seen, code)
    assert WORDS in seen.visible and WORDS in seen.page, "what was shown stays"
    shown = [message for message in seen.messages if message.is_visible]
    assert len(shown) == 1 and WORDS in shown[0].text and not shown[0].is_complete
    assert SECRET in "".join(message.text for message in seen.messages if not message.is_visible)
    assert sum(request.method == "POST" for request in server.requests) == 1, "a second answer could differ"
