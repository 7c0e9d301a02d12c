"""Running code in the operator's service: the protocol of ``docs/tools.md``, against a real peer that also violates it."""

import asyncio
import base64
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatui.audit_log.record import SHELL
from chatui.lifecycle.erasure import erase
from chatui.models.conversation import Conversation
from chatui.models.files import StoredFile
from chatui.models.user import User
from chatui.transfer import files
from tests.chatui.store.uploads import uploaded
from tests.support.cases import for_each
from tests.support.limits import limit
from tests.support.python_tool import (
    Files,
    at_service,
    code_of,
    conversation,
    forget,
    forget_ended,
    named_by_service,
    shown_executor,
    take_away,
    told_of_packages,
)
from tests.support.tool_calls import RefusedError, ToolTurn
from tests.support.tool_servers import on_tools_loop

KEY = "k" * 20
MEBIBYTE = 2**20
MAX_BYTES = limit("chatui.tools.python", "MAX_BYTES")


@dataclass
class Peer:
    """Answers each request with these bytes after a delay. ``requests``: all so far; ``was_left``: whether a client disconnected early."""

    answer: bytes
    seconds: float = 0.0
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    was_left: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

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


def with_peer(peer: Peer, task: Callable[[ToolTurn], Any], stored: Files | None = None, **settings: Any) -> Any:
    """What the task returns of a turn whose code runs at this peer. ``stored``: the files of its conversation, if files are on."""

    async def run() -> Any:
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        async with server:
            with at_service(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", KEY, **settings):
                return await task(conversation(files=stored))

    return asyncio.run(run())


def ran(peer: Peer, stored: Files | None = None, **settings: Any) -> str:
    """What the model is told of code that ran at this peer."""
    return str(with_peer(peer, lambda turn: code_of(turn, "print(1)"), stored, **settings))


async def received(peer: Peer, count: int) -> list[str]:
    """The first lines of so many requests."""
    async with asyncio.timeout(30):
        while len(peer.requests) < count:
            await asyncio.sleep(0.005)
    return [line for line, _, _ in peer.requests]


def ended(turn: ToolTurn) -> str:
    return f"DELETE /sessions/{turn.conversation_id} HTTP/1.1"


def taken_away(turn: ToolTurn) -> str:
    return f"POST /sessions/{turn.conversation_id}/taken-away HTTP/1.1"


def test_code_is_sent_and_its_output_returned() -> None:
    peer = Peer(response_bytes(output="1\n", failed=True, new=True, ended="it died", files=[["a.png", 3]]))

    async def task(turn: ToolTurn) -> tuple[ToolTurn, str]:
        return turn, await code_of(turn, "print(1)")

    turn, told = with_peer(peer, task, tool_seconds=60.0, tool_reply_chars=16_000)
    assert told == (
        "1\n[Files made or changed in /mnt/data: a.png (3 bytes)]\n"
        "[The interpreter ended: it died. Its variables and files are lost; the next call begins with a new one.]"
    )
    [(line, headers, body)] = peer.requests
    assert line == "POST /run HTTP/1.1" and headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(body) == {"session": str(turn.conversation_id), "code": "print(1)", "seconds": 50.0, "max_chars": 14_500}
    assert str(turn.person_id).encode() not in body
    assert "began with a new interpreter, without the variables" in ran(Peer(response_bytes(output="x", failed=True, new=True)))
    assert ran(Peer(response_bytes(output="x", new=True))) == "x"


def test_files_are_returned_within_limits_and_only_if_stored() -> None:
    large = base64.b64encode(bytes(MEBIBYTE + 1)).decode()
    contents = [["d/a.csv", "YSxi"], ["b", "not base64!"], ["c", 3], "d", ["large", large], ["sixth", "YSxi"]]
    peer, stored, limits = Peer(response_bytes(output="", contents=contents)), Files(), {"files_of_answer": 5, "file_mb": 1}
    told = ran(peer, stored, **limits)
    assert stored.stored == {"d/a.csv": b"a,b"} and "[The person does not get these files: large (too large)]" in told
    sent = json.loads(peer.requests[0][2])
    assert (sent["max_files"], sent["max_file_bytes"]) == (5, MEBIBYTE)
    few = Peer(response_bytes(output="x", contents=contents[:1]))
    assert ran(few) == "x" and "max_files" not in json.loads(few.requests[0][2])
    assert ran(Peer(response_bytes(output="y", contents="x")), Files(), **limits) == "y"


def test_a_file_with_a_too_long_name_is_left_out() -> None:
    fits, long, stored = "ä" * 1000, "ä" * 1000 + "\ud800", Files()
    told = ran(Peer(response_bytes(output="", contents=[[long, "YSxi"], [fits, "YSxi"]])), stored, files_of_answer=5)
    assert stored.stored == {fits: b"a,b"} and "(its name is too long)" in told


def test_the_length_of_a_reply_is_limited_by_its_files() -> None:
    whole, stored, limits = base64.b64encode(bytes(MEBIBYTE)).decode(), Files(), {"files_of_answer": 2, "file_mb": 1}
    ran(Peer(response_bytes(output="", contents=[["a", whole], ["b", whole]])), stored, **limits)
    assert [len(data) for data in stored.stored.values()] == [MEBIBYTE] * 2
    with pytest.raises(RefusedError):
        ran(Peer(response_bytes(output="", contents=[["a", whole]] * 3)), Files(), **limits)


def test_a_deleted_conversation_is_forgotten_there() -> None:
    peer = Peer(http(b"", "204 No Content"))

    async def task(turn: ToolTurn) -> str:
        await asyncio.to_thread(forget, turn)
        return ended(turn)

    assert [with_peer(peer, task)] == [line for line, _, _ in peer.requests]


@for_each([http(b"", "204 No Content"), http(b"{}")])
def test_removed_files_are_reported_by_name(answer: bytes) -> None:
    peer = Peer(answer)

    async def task(turn: ToolTurn) -> str:
        take_away(turn, "plan.csv", "ä\n")
        await received(peer, 1)
        return taken_away(turn)

    expected = with_peer(peer, task)
    [(line, headers, body)] = peer.requests
    assert line == expected and headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(body) == {"version": 1, "files": ["plan.csv", "ä\n"]}


@for_each([http(b"", f"{status} No") for status in (302, 401, 404, 405, 500, 501)] + [b"", b"junk\r\n\r\n"])
def test_a_service_without_file_support_ends_the_session(answer: bytes) -> None:
    """It could not be asked to delete the file only, and nothing of the file may remain there."""
    peer = Peer(answer)

    async def task(turn: ToolTurn) -> None:
        take_away(turn, "plan.csv")
        assert await received(peer, 2) == [taken_away(turn), ended(turn)]

    with_peer(peer, task)


def test_only_the_end_of_a_programs_conversation_whose_code_ran_is_told() -> None:
    peer = Peer(response_bytes(output=""))

    async def task(turn: ToolTurn) -> None:
        forget_ended(turn)
        await code_of(turn, "print(1)")
        forget_ended(conversation())
        forget_ended(turn)
        await received(peer, 2)
        forget_ended(turn)
        await code_of(conversation(), "print(1)")
        assert await received(peer, 3) == ["POST /run HTTP/1.1", ended(turn), "POST /run HTTP/1.1"]

    with_peer(peer, task)


@pytest.fixture
def new_service() -> Iterator[Peer]:
    """The service, as called by a process that has run no code yet."""
    peer = Peer(http(b"", "404 Not Found"))
    server = on_tools_loop(asyncio.start_server(peer.serve, "127.0.0.1", 0))
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with at_service(peer.url):
        yield peer
    server.get_loop().call_soon_threadsafe(server.close)


def received_requests(peer: Peer, count: int) -> list[str]:
    until = time.monotonic() + 10
    while len(peer.requests) < count and time.monotonic() < until:
        time.sleep(0.01)
    return [line for line, _, _ in peer.requests]


def test_a_process_that_ran_no_code_notifies_it_too(new_service: Peer) -> None:
    turn = conversation()
    forget(turn)
    assert received_requests(new_service, 1) == [ended(turn)]
    take_away(turn, "plan.csv")
    assert received_requests(new_service, 3) == [ended(turn), taken_away(turn), ended(turn)]
    forget(turn, turn)
    assert [line for line, _, _ in new_service.requests] == [ended(turn), taken_away(turn), *[ended(turn)] * 3], (
        "when it is waited for, the service was notified"
    )
    forget_ended(turn)
    with at_service(new_service.url, tools={}):
        forget(turn)
    assert len(new_service.requests) == 5, "no request for a program whose code never ran here, nor where nobody is offered Python"


@pytest.mark.parametrize(("of_call", "of_code"), [(60.0, 50.0), (600.0, 500.0), (8.0, 4.0), (2.0, 1.0)])
def test_code_is_interrupted_before_its_call_ends(of_call: float, of_code: float) -> None:
    peer = Peer(response_bytes(output=""))
    ran(peer, tool_seconds=of_call)
    assert json.loads(peer.requests[0][2])["seconds"] == of_code


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
    with pytest.raises(RefusedError, match=r"^Python cannot be used at the moment\.$"):
        ran(Peer(answer))


def test_its_reply_is_bounded() -> None:
    listed = [["../\x1b", 1], "x", ["b", "c"]] + [["f", 1]] * 100
    told = ran(Peer(response_bytes(output="x" * 30_000, ended="y" * 1000, files=listed)), tool_reply_chars=16_000)
    assert told.count("x") < 14_600 and "characters omitted here" in told and "y" * 200 in told and "y" * 201 not in told
    assert "../? (1 bytes)" in told and 0 < told.count("f (1 bytes)") < 20


def test_cancelling_a_call_disconnects_from_the_service() -> None:
    peer = Peer(response_bytes(output=""), seconds=30)

    async def task(turn: ToolTurn) -> None:
        running = asyncio.create_task(code_of(turn, "print(1)"))
        await received(peer, 1)
        running.cancel()
        await asyncio.wait({running})
        async with asyncio.timeout(5):
            await peer.was_left.wait()

    with_peer(peer, task)


def test_the_key_is_in_no_repr() -> None:
    with at_service("http://127.0.0.1:9", KEY):
        assert KEY not in shown_executor()


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
def test_the_service_may_name_its_packages_of_which_the_model_is_told(answer: bytes, expected: tuple[str, ...]) -> None:
    peer = Peer(answer)

    async def task(turn: ToolTurn) -> tuple[Any, str]:
        return await named_by_service(), told_of_packages()

    note = f"Installed: {', '.join(expected)}; no other packages can be installed." if expected else ""
    assert with_peer(peer, task) == (expected, note)
    assert [line for line, _, _ in peer.requests] == ["GET /packages HTTP/1.1"]
