"""Each fault of a model server over each wire format: users get one sentence, operators one log line and one count, and no content.

What was shown stays, and is stored; a server is asked again only where that can help.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from channels.db import database_sync_to_async
from django.utils.html import escape

from chatui.backends import http
from chatui.backends.base import SampleLimits
from chatui.codes import ProductCode
from chatui.model_servers import connected
from chatui.models.message import Message
from chatui.models.turn import Turn, TurnPiece
from chatui.models.user import User
from chatui.observability import measures
from chatui.turns import running
from renderer.errors import ErrorCode
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.faults import FAULTS
from tests.chatui.backends.formats import KINDS, SECRET, WORDS, Format, format_of
from tests.chatui.backends.test_route import certificate
from tests.chatui.backends.wire import posts
from tests.chatui.conftest import signed_in
from tests.support import failed_answers, stub
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.cases import extended, is_drawn
from tests.support.sampling import PATIENT
from tests.support.staff_pages import failure_number
from tests.support.turns import ask, run
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served, pytest.mark.faults]


class ObservedResult:
    """The observed result of one question."""

    def __init__(
        self, turn: Turn, messages: list[Message], pieces: int, page: str, records: list[logging.LogRecord], counted: dict[str, float]
    ) -> None:
        self.turn, self.messages, self.pieces, self.page, self.counted = turn, messages, pieces, page, counted
        self.ends = [record for record in records if record.getMessage() == "turn ended"]
        self.failures = [record for record in records if record.getMessage() == "a model server failed"]
        self.logged = "\n".join(str(record.__dict__) for record in records)


def counts() -> dict[str, float]:
    found = (*measures.TURNS.collect(), *measures.MODEL_SERVER_ERRORS.collect())
    samples = (sample for family in found for sample in family.samples if sample.name.endswith("_total"))
    return {f"{sample.name} {sample.labels}": sample.value for sample in samples}


async def seen_of(
    ada: User,
    url: str,
    of: Format,
    limits: SampleLimits,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> ObservedResult:
    backend = of.backend(url, key="hunter2-hunter2", model="tiny", limits=limits, separates="proved")
    monkeypatch.setattr(connected, "backend", lambda choice="": backend)
    monkeypatch.setattr(http, "PAUSES", (0.01, 0.01))
    caplog.clear()
    before = counts()
    try:
        turn = await run(ada, ask(text="What is the capital of France?"))
    finally:
        await backend.aclose()
    page = await database_sync_to_async(lambda: signed_in(ada).get(f"/c/{turn.conversation_id}/").content.decode())()
    counted = {name: value - before.get(name, 0) for name, value in counts().items() if value != before.get(name, 0)}
    messages = [message async for message in turn.messages.order_by("position")]
    return ObservedResult(turn, messages, await TurnPiece.objects.filter(turn=turn).acount(), page, list(caplog.records), counted)


def problems(seen: ObservedResult, code: ErrorCode, *, of_request: bool, keeps_words: bool) -> list[str]:
    """The deviations from the expected result, one word each."""
    failed = [name for name in seen.counted if "model_server_errors" in name]
    ended = [name for name in seen.counted if "turns_ended" in name]
    shown = [message for message in seen.messages if message.is_visible]
    expected = {
        "state": not of_request or seen.turn.state == "failed",
        "end": seen.turn.finished_at is not None and not seen.pieces,
        "number": not of_request or (failure_number(seen.turn.pk) in seen.page and code.value not in seen.page),
        "something to do about it": 'data-action="' in seen.page,
        "what is stored of it": bool(shown) == keeps_words and all(WORDS in message.text for message in shown),
        "that it is not whole": not (of_request and shown and shown[-1].is_complete),
        "content for staff only": all(SECRET in message.text for message in seen.messages if not message.is_visible),
        f"code {seen.turn.error_code}": seen.turn.error_code == code,
        "sentence": seen.page.count(escape(failed_answers.notice(seen.turn).sentence)) == 1,
        "words": (WORDS in seen.page) == keeps_words,
        "question": "capital of France" in seen.page,
        "line of the turn": len(seen.ends) == 1 and getattr(seen.ends[0], "code", "") == code.value,
        f"lines of the server: {len(seen.failures)}": len(seen.failures) == of_request,
        "code of the line": all(getattr(record, "code", "") == code.value for record in seen.failures),
        "warnings": sum(record.levelno >= logging.WARNING for record in seen.ends + seen.failures) == of_request,
        f"count of the turn {ended}": len(ended) == 1 and code.value in ended[0] and seen.counted[ended[0]] == 1,
        f"count of the server {failed}": len(failed) == of_request and all(code.value in name for name in failed),
        "content on the page": SECRET not in seen.page,
        "content in the log": SECRET not in seen.logged and WORDS not in seen.logged and "hunter2" not in seen.logged,
        "content in a count": SECRET not in str(seen.counted),
        "traceback": not any(record.exc_info for record in seen.ends + seen.failures),
    }
    return [name for name, is_so in expected.items() if not is_so]


@pytest.mark.parametrize("kind", [extended(kind) if kind == "harmony-vllm" else kind for kind in KINDS])
async def test_each_fault_is_one_sentence_one_line_and_one_count(
    kind: str, ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, vocabulary: Vocabulary
) -> None:
    assert len(FAULTS) > 40 and len({fault.name for fault in FAULTS}) == len(FAULTS)
    caplog.set_level(logging.DEBUG)
    of = format_of(vocabulary, kind)
    wrong = {}
    for fault in [each for each in FAULTS if each.is_of_ids or not kind.startswith("harmony")]:
        if kind != "chat" and fault.of_request and not fault.keeps_words and not is_drawn(3, kind, fault.name):
            continue  # before a word was shown, no format matters
        async with stub.running(fault.answer(of), **of.server) as server:
            seen = await seen_of(ada, server.url, of, fault.limits, monkeypatch, caplog)
        found = problems(seen, fault.code, of_request=fault.of_request, keeps_words=fault.keeps_words)
        found += [f"asked {len(posts(server))} times"] if (len(posts(server)) > 1) != fault.is_asked_again else []
        if found:
            wrong[fault.name] = found
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


@asynccontextmanager
async def certified_by_nobody(directory: Path) -> AsyncIterator[str]:
    """The address of a server with a certificate that no authority has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(directory, "localhost"))
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_an_unreachable_server_is_reported_in_the_same_way(
    kind: str, tmp_path: Path, ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, vocabulary: Vocabulary
) -> None:
    caplog.set_level(logging.DEBUG)
    of = format_of(vocabulary, kind)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refused = f"127.0.0.1:{unused.getsockname()[1]}"
        async with stub.running(stub.plays(b"")) as plain, certified_by_nobody(tmp_path) as uncertified:
            addresses = {
                "nobody listens": (f"http://{refused}", ProductCode.BACKEND_UNREACHABLE),
                "no such name": ("http://no-such-server.invalid", ProductCode.BACKEND_UNREACHABLE),
                "no TLS": (plain.url.replace("http:", "https:"), ProductCode.BACKEND_UNREACHABLE),
                "certified by nobody": (uncertified, ProductCode.BACKEND_SETUP),
            }
            wrong = {}
            for name, (url, code) in addresses.items():
                seen = await seen_of(ada, url, of, PATIENT, monkeypatch, caplog)
                if found := problems(seen, code, of_request=True, keeps_words=False):
                    wrong[name] = found
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("chat", name) for name in ("500", "thinks and breaks off", "resets in its answer", "a line without end in its answer")),
        *((kind, "thinks and breaks off") for kind in ("responses", "harmony-llamacpp")),
    ],
)
async def test_a_page_is_told_in_one_sentence_and_keeps_what_was_shown(
    kind: str, name: str, ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary
) -> None:
    of, [fault] = format_of(vocabulary, kind), [each for each in FAULTS if each.name == name]
    async with of.playing(fault.answer(of), separates="proved") as (_, backend):
        monkeypatch.setattr(connected, "backend", lambda choice="": backend)
        monkeypatch.setattr(http, "PAUSES", (0.01, 0.01))
        async with BrowserSocket(ada) as browser:
            await browser.send_message("What is the capital of France?")
            conversation = (await browser.until("chatui:accepted"))[-1]["conversation"]
            await browser.send("subscribe", conversation=conversation)
            events = await browser.until(*ENDS, timeout=30)
            await running.settle()
    assert (events[-1]["type"], events[-1]["code"]) == ("response.failed", fault.code) and escape(fault.code.sentence) in events[-1]["html"]
    assert SECRET not in "".join(browser.raw)
    assert (WORDS in "".join(browser.raw)) is fault.keeps_words
