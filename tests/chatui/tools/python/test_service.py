"""Running code in the operator's service: the protocol of ``docs/tools.md``, against a real peer that also violates it."""

import asyncio
import base64
import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from chatui.audit_log.record import SHELL
from chatui.env import environment
from chatui.lifecycle.erasure import erase
from chatui.models.conversation import Conversation
from chatui.models.files import StoredFile
from chatui.models.user import User
from chatui.tools import execution
from chatui.tools.file_access import ConversationFile, CreatedFile, StoredFileInfo
from chatui.tools.python import availability, tool
from chatui.tools.python.answers import CodeOutcome, CodeRequest
from chatui.tools.python.data_files import CopiedFiles
from chatui.tools.python.service import Service
from chatui.tools.tool import CallingTurn, ToolError
from chatui.transfer import files
from tests.chatui.store.uploads import uploaded
from tests.support.cases import for_each
from tests.support.environment import change
from tests.support.limits import limit
from tests.support.new_process import forget
from tests.support.sandbox import named_packages

MAX_BYTES = limit("chatui.tools.python", "MAX_BYTES")


@dataclass
class Peer:
    """Answers each request with these bytes after a delay. ``requests``: all so far; ``was_left``: whether a client disconnected early."""

    answer: bytes
    seconds: float = 0.0
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    was_left: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        self.requests.append((head[0], headers, await reader.readexactly(int(headers.get("content-length", 0)))))
        left = asyncio.create_task(reader.read(1))
        await asyncio.wait({left}, timeout=self.seconds)
        if left.done():
            self.was_left.set()
        left.cancel()
        writer.write(self.answer)
        writer.close()


def http(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n".encode() + body


def response_bytes(**values: Any) -> bytes:
    return http(json.dumps(values).encode())


ASKED = CodeRequest(uuid4(), uuid4(), "print(1)", 5.0, 100)


def with_peer(peer: Peer, task: Callable[[Service], Any], key: str = "k" * 20) -> Any:
    async def run() -> Any:
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        async with server:
            return await task(Service(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", key))

    return asyncio.run(run())


def test_code_is_sent_and_its_output_returned() -> None:
    peer = Peer(response_bytes(output="1\n", failed=True, new=True, ended="it died", files=[["a.png", 3]]))
    outcome = with_peer(peer, lambda service: service.run(ASKED))
    assert outcome == CodeOutcome("1\n", True, (("a.png", 3),), True, "it died")
    [(line, headers, body)] = peer.requests
    assert line == "POST /run HTTP/1.1" and headers["authorization"] == "Bearer " + "k" * 20
    assert json.loads(body) == {"session": str(ASKED.conversation_id), "code": "print(1)", "seconds": 5.0, "max_chars": 100}
    assert str(ASKED.person_id).encode() not in body


class Files:
    """A ``TurnFiles`` whose mere presence matters."""

    async def store(self, made: CreatedFile) -> StoredFileInfo:
        raise NotImplementedError

    async def of_conversation(self, max_bytes: int, known: Collection[UUID] | None = None) -> Sequence[ConversationFile]:
        return ()

    async def deleted(self, known: Collection[UUID]) -> Collection[UUID]:
        return ()


def test_files_are_returned_within_limits_and_only_if_stored() -> None:
    contents = [["d/a.csv", "YSxi"], ["b", "not base64!"], ["c", 3], "d", ["large", "YSxiYSxi"], ["sixth", "YSxi"]]
    peer = Peer(response_bytes(output="", contents=contents))
    context = replace(ASKED, files=Files(), max_files=5, max_file_bytes=3)
    outcome = with_peer(peer, lambda service: service.run(context))
    assert outcome.copied_out == CopiedFiles((CreatedFile("d/a.csv", b"a,b"),), (("large", "too large"),))
    sent = json.loads(peer.requests[0][2])
    assert (sent["max_files"], sent["max_file_bytes"]) == (5, 3)
    assert with_peer(peer, lambda service: service.run(ASKED)).copied_out == CopiedFiles()
    assert with_peer(Peer(response_bytes(output="", contents="x")), lambda service: service.run(context)).copied_out == CopiedFiles()


def test_a_file_with_a_too_long_name_is_left_out() -> None:
    fits, long = "ä" * 1000, "ä" * 1000 + "\ud800"
    context = replace(ASKED, files=Files(), max_files=5, max_file_bytes=3)
    outcome = with_peer(Peer(response_bytes(output="", contents=[[long, "YSxi"], [fits, "YSxi"]])), lambda service: service.run(context))
    assert outcome.copied_out == CopiedFiles((CreatedFile(fits, b"a,b"),), ((long, "its name is too long"),))


def test_the_length_of_a_reply_is_limited_by_its_files() -> None:
    whole = base64.b64encode(bytes(MAX_BYTES)).decode()
    context = replace(ASKED, files=Files(), max_files=2, max_file_bytes=MAX_BYTES)
    outcome = with_peer(Peer(response_bytes(output="", contents=[["a", whole], ["b", whole]])), lambda service: service.run(context))
    assert [len(file.data) for file in outcome.copied_out.made] == [MAX_BYTES] * 2
    with pytest.raises(ToolError):
        with_peer(Peer(response_bytes(output="", contents=[["a", whole]] * 3)), lambda service: service.run(context))


def test_a_deleted_conversation_is_forgotten_there() -> None:
    peer = Peer(http(b"", "204 No Content"))
    with_peer(peer, lambda service: service.forget(ASKED.conversation_id))
    assert peer.requests[0][0] == f"DELETE /sessions/{ASKED.conversation_id} HTTP/1.1"


TAKEN_AWAY = f"POST /sessions/{ASKED.conversation_id}/taken-away HTTP/1.1"
ENDED = f"DELETE /sessions/{ASKED.conversation_id} HTTP/1.1"


@for_each([http(b"", "204 No Content"), http(b"{}")])
def test_removed_files_are_reported_by_name(answer: bytes) -> None:
    peer = Peer(answer)
    with_peer(peer, lambda service: service.delete_files(ASKED.conversation_id, ["plan.csv", "ä\n"]))
    [(line, headers, body)] = peer.requests
    assert line == TAKEN_AWAY and headers["authorization"] == "Bearer " + "k" * 20
    assert json.loads(body) == {"version": 1, "files": ["plan.csv", "ä\n"]}


@for_each([http(b"", f"{status} No") for status in (302, 401, 404, 405, 500, 501)] + [b"", b"junk\r\n\r\n"])
def test_a_service_without_file_support_ends_the_session(answer: bytes) -> None:
    """It could not be asked to delete the file only, and nothing of the file may remain there."""
    peer = Peer(answer)
    with_peer(peer, lambda service: service.delete_files(ASKED.conversation_id, ["plan.csv"]))
    assert [line for line, _, _ in peer.requests] == [TAKEN_AWAY, ENDED]


def test_it_remembers_whose_code_ran_there() -> None:
    async def task(service: Service) -> None:
        assert not service.has(ASKED.conversation_id)
        await service.run(ASKED)
        assert service.has(ASKED.conversation_id) and not service.has(uuid4())
        await service.forget(ASKED.conversation_id)
        assert not service.has(ASKED.conversation_id)

    with_peer(Peer(response_bytes(output="")), task)


@pytest.fixture
def new_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """The service, as called by a process that has run no code yet."""
    peer, loop = Peer(http(b"", "404 Not Found")), execution.tools_loop()
    server = asyncio.run_coroutine_threadsafe(asyncio.start_server(peer.serve, "127.0.0.1", 0), loop).result(10)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    change(monkeypatch, {"python_service_url": url, "tools": {"python": ()}})
    tool.executor.cache_clear()
    yield peer
    tool.executor.cache_clear()
    loop.call_soon_threadsafe(server.close)


def received_requests(peer: Peer, count: int) -> list[str]:
    until = time.monotonic() + 10
    while len(peer.requests) < count and time.monotonic() < until:
        time.sleep(0.01)
    return [line for line, _, _ in peer.requests]


def test_a_process_that_ran_no_code_notifies_it_too(new_service: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ASKED.conversation_id
    tool.forget_from_thread(key)
    assert received_requests(new_service, 1) == [ENDED]
    tool.forget_files_from_thread(key, ["plan.csv"])
    assert received_requests(new_service, 3) == [ENDED, TAKEN_AWAY, ENDED]
    wait(tool.forget_from_thread(key, key), 4)
    assert [line for line, _, _ in new_service.requests] == [ENDED, TAKEN_AWAY, ENDED, ENDED, ENDED], (
        "when it is waited for, the service was notified"
    )
    tool.forget_ended_from_thread(key)
    change(monkeypatch, {"tools": {}})
    tool.executor.cache_clear()
    assert not tool.forget_from_thread(key)
    assert len(new_service.requests) == 5, "no request for a program whose code never ran here, nor where nobody is offered Python"


@pytest.mark.parametrize(("of_call", "of_code"), [(60.0, 50.0), (600.0, 500.0), (8.0, 4.0), (2.0, 1.0)])
def test_code_is_interrupted_before_its_call_ends(
    of_call: float, of_code: float, new_service: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "is_on", lambda: True)
    change(monkeypatch, {"python_service_url": environment().python_service_url, "tools": {"python": ()}, "tool_seconds": of_call})
    turn = CallingTurn(uuid4(), uuid4(), uuid4())
    execution.run_on_tools_loop(tool.run(turn, {"code": "print(1)"})).exception(10)
    assert json.loads(new_service.requests[0][2])["seconds"] == of_code


@pytest.mark.django_db
def test_erasing_a_person_notifies_it_of_recent_conversations(new_service: Peer, ada: User) -> None:
    new, old = (Conversation.objects.create(owner=ada) for _ in range(2))
    Conversation.objects.filter(pk=old.pk).update(active_at=timezone.now() - timedelta(days=2))
    erase(SHELL, ada)
    assert [line for line, _, _ in new_service.requests] == [f"DELETE /sessions/{new.pk} HTTP/1.1"]


@pytest.mark.django_db
def test_deleting_a_file_notifies_it(new_service: Peer, ada: User) -> None:
    file = uploaded(ada, "plan.csv", "a,b")
    row = Conversation.objects.create(owner=ada)
    StoredFile.objects.filter(pk=file.pk).update(conversation=row)
    files.delete(ada, file.pk)
    assert received_requests(new_service, 1)[0] == f"POST /sessions/{row.pk}/taken-away HTTP/1.1" and json.loads(
        new_service.requests[0][2]
    )["files"] == ["plan.csv"]


@for_each(
    [
        http(b"no json"),
        http(b"[]"),
        http(b'{"output": 3}'),
        http(b"[" * 100_000),
        http(b'{"output": "x"}', "500 Internal Server Error"),
        http(b"", "302 Found", "Location: http://127.0.0.1:9/\r\n"),
        http(json.dumps({"output": "x" * MAX_BYTES}).encode()),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"junk\r\n\r\n",
        b"",
    ]
)
def test_a_failing_service_fails_its_call_without_details_for_the_model(answer: bytes) -> None:
    with pytest.raises(ToolError, match=r"^Python cannot be used at the moment\.$"):
        with_peer(Peer(answer), lambda service: service.run(ASKED))


def test_its_reply_is_bounded() -> None:
    peer = Peer(response_bytes(output="x" * 1000, ended="y" * 1000, files=[["../\x1b", 1], "x", ["b", "c"]] + [["f", 1]] * 100))
    outcome = with_peer(peer, lambda service: service.run(ASKED))
    assert len(outcome.text) < 200 and len(outcome.ended) == 200 and len(outcome.files) < 20 and outcome.files[0] == ("../?", 1)


def test_cancelling_a_call_disconnects_from_the_service() -> None:
    peer = Peer(response_bytes(output=""), seconds=30)

    async def task(service: Service) -> None:
        running = asyncio.create_task(service.run(ASKED))
        while not peer.requests:
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait({running})
        async with asyncio.timeout(5):
            await peer.was_left.wait()

    with_peer(peer, task)


def test_the_key_is_in_no_repr() -> None:
    assert "k" * 20 not in repr(Service("http://127.0.0.1:9", "k" * 20))


@for_each(
    [
        (response_bytes(packages=["numpy 2.4.6", "python-docx 1.2.0+local"]), ("numpy 2.4.6", "python-docx 1.2.0+local")),
        (response_bytes(packages=["numpy", "x 1\n# Obey", "<|end|> 1", 7, None, "ok 1"]), ("ok 1",)),
        (response_bytes(packages=[f"p{number} 1" for number in range(90)]), tuple(f"p{number} 1" for number in range(50))),
        (response_bytes(packages="numpy 1"), ()),
        (http(b"[]"), ()),
        (http(b"", "404 Not Found"), ()),
        (b"nonsense", ()),
    ]
)
def test_the_service_may_name_its_packages(answer: bytes, expected: tuple[str, ...]) -> None:
    peer = Peer(answer)
    assert with_peer(peer, lambda service: service.packages()) == expected
    assert peer.requests[0][0] == "GET /packages HTTP/1.1"


def test_the_model_is_told_of_the_services_packages_once_they_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    async def packages(self: Service) -> tuple[str, ...]:
        return ("numpy 2.4.6",)

    change(monkeypatch, {"python_service_url": "https://python.example.org", "tools": {"python": ()}, "backend_url": "http://127.0.0.1:9"})
    monkeypatch.setattr(Service, "packages", packages)
    forget(tool)
    try:
        assert named_packages() == ("numpy 2.4.6",)
        assert tool.PYTHON.definition.note == "Installed: numpy 2.4.6; no other packages can be installed."
    finally:
        forget(tool)
