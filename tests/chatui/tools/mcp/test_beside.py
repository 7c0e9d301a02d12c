"""What a server sends beside its answers: progress, changed tools and requests of its own; and the older transport, which is named."""

import asyncio
import json
import sys
import time
from typing import Any

import pytest

from tests.support import peer as peers
from tests.support.cost import relative_cost
from tests.support.limits import limit, set_limits
from tests.support.mcp_calls import ADD, Listener, NotListedError, Turn, listed
from tests.support.mcp_server import Mcp, called, events
from tests.support.peer import PeerRequest, peer
from tests.support.tool_calls import BusyError

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def progress(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, **params}}


@pytest.mark.parametrize(
    ("params", "may_speak", "expected"),
    [
        ({"progress": 1, "total": 4, "message": "Row 1"}, True, (25, "Row 1")),
        ({"progress": 1, "total": 4, "message": "Row 1"}, False, (25, "")),
        ({"progress": 7, "total": 4}, True, (100, "")),
        ({"progress": 7, "message": "<b>\u202eRow\n<|end|>"}, True, (None, "<b>Row end|>")),
        ({"progress": 7, "message": "x" * 10_000}, True, (None, "x" * 99 + "…")),
        ({"progress": 7, "message": "Row"}, False, None),
        ({"progress": "7", "total": True, "message": 3}, True, None),
        ({"progress": float("inf"), "total": 2}, True, None),
        ({"progress": 10**400, "total": 10**401}, True, None),
        ({"progress": 10**400, "message": "Row"}, True, (None, "Row")),
    ],
)
def test_progress_is_a_percentage_and_words_only_where_the_server_may_speak(params: Any, may_speak: bool, expected: Any) -> None:
    assert reported(progress(**params), may_speak=may_speak) == ([] if expected is None else [expected])


def reported(*messages: Any, may_speak: bool = False) -> list[tuple[int | None, str]]:
    """What the person is shown of a call, before whose answer the server sends these."""
    heard = Listener()
    with peer(Mcp(on={"tools/call": events(*messages)})) as server:
        assert Turn(url=server.url, speaks_to_person=may_speak).for_person(heard).call() == "streamed"
    return heard.reports


def test_a_flood_of_progress_is_one_report_a_second_and_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    flood = [progress(progress=number, total=5_000) for number in range(5_000)]
    assert limit("chatui.tools.mcp", "REPORT_SECONDS") == 1.0, "docs/tools.md: at most once a second"
    set_limits(monkeypatch, "chatui.tools.mcp", REPORT_SECONDS=3600.0)
    assert reported(*flood) == [(0, "")]
    other = [{**each, "method": "notifications/message"} for each in flood]
    assert relative_cost(lambda: reported(*flood), lambda: reported(*other), pairs=3) < 2
    set_limits(monkeypatch, "chatui.tools.mcp", REPORT_SECONDS=0.0)
    assert len(reported(*flood[:50])) == 50, "after that while, there is another one"


def test_a_call_asks_for_progress_if_a_person_sees_it() -> None:
    mcp = Mcp(is_stateless=False, on={"tools/call": events(progress(progress=1, total=2))})
    with peer(mcp) as server:
        turn = Turn(url=server.url)
        assert turn.call() == turn.for_person(Listener()).call() == "streamed"
    unseen, seen = called(mcp, "tools/call")
    assert "_meta" not in unseen["params"] and seen["params"]["_meta"]["progressToken"]


def test_a_changed_list_is_listed_again_and_waits_for_confirmation(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.tools", RELIST_SECONDS=0.2)
    mcp = Mcp(is_stateless=False, on={"tools/call": events(*[CHANGED] * 500)})

    async def run(turn: Turn) -> None:
        await turn.result()
        mcp.tools = [{**ADD, "description": "Adds two numbers, and more."}]
        async with asyncio.timeout(10):
            while not turn.is_changed():
                await asyncio.sleep(0.02)

    with peer(mcp) as server:
        asyncio.run(run(Turn(url=server.url)))
    assert len(called(mcp, "tools/list")) == 2, "once before the call, and once for all notifications"


async def _older(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
    if request.method == "POST":
        await peers.send(writer, b"Method Not Allowed", 405, "text/plain")
    else:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\r\ndata: /messages?id=1\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(60)


def test_the_older_transport_is_named() -> None:
    with peer(_older) as server, pytest.raises(NotListedError, match="older transport HTTP"):
        listed(url=server.url)
    with peer(peers.saying(b"", 405)) as server, pytest.raises(NotListedError, match="status 405"):
        listed(url=server.url)


def test_waiting_for_a_place_is_not_timed_and_what_was_never_sent_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.tools", MAX_CALLS=3)

    pauses = [0.6]

    async def slow(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(pauses[-1])
        await peers.send(writer, {"jsonrpc": "2.0", "id": request.json["id"], "result": {"content": [{"type": "text", "text": "ok"}]}})

    async def three(turn: Turn) -> list[Any]:
        return list(await asyncio.gather(*(turn.result(2.0) for _ in range(4)), return_exceptions=True))

    async def never(turn: Turn) -> None:
        pauses.append(60)
        before = len(server.requests)
        held = [asyncio.create_task(turn.result(60.0)) for _ in range(3)]
        async with asyncio.timeout(30):
            while len(server.requests) < before + 3:
                await asyncio.sleep(0.01)
        began = time.monotonic()
        with pytest.raises(BusyError):
            await turn.result(0.2, lambda: began + 0.5 - time.monotonic())
        assert time.monotonic() - began >= 0.5, "the limit of the answer, and not its own"
        assert len(server.requests) == before + 3
        for each in held:
            each.cancel()
        await asyncio.wait(held)

    with peer(Mcp(on={"tools/call": slow})) as server:
        found = asyncio.run(three(Turn(url=server.url)))
        asyncio.run(never(Turn(url=server.url)))
    assert [json.loads(each) for each in found] == ["ok"] * 4, "one place, four calls of 0.6 seconds, and a limit of two for each"


IMPATIENT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    results = {"initialize": {"protocolVersion": "2025-06-18"}, "tools/list": {"tools": [%s]}}
    if method == "tools/call":
        for each in range(50):
            asked = {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
            print(json.dumps({"jsonrpc": "2.0", "id": f"ask{each}", "method": "elicitation/create", "params": asked}), flush=True)
        results[method] = {"content": [{"type": "text", "text": "done"}]}
    if method and number is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "result": results.get(method, {})}), flush=True)
"""


class Slow(Listener):
    """Somebody who answers no form. ``open``: how many wait."""

    open = 0

    async def ask(self, speaker: str, form: Any) -> Any:
        self.open += 1
        try:
            return await asyncio.Future()
        finally:
            self.open -= 1


def test_the_forms_of_a_program_end_with_its_call() -> None:
    slow = Slow()
    turn = Turn(command=[sys.executable, "-c", IMPATIENT % json.dumps(ADD)], speaks_to_person=True)

    async def run() -> str:
        found = await turn.for_person(slow).result(20)
        async with asyncio.timeout(5):
            while slow.open:
                await asyncio.sleep(0.02)
        return found

    assert asyncio.run(run()) == '"done"'
