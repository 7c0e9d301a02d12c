"""The core guarantee for tools: their names, descriptions, arguments, replies and errors contain markers, and people get none of them."""

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

import chatui.asgi  # noqa: F401 - sets up logging, which must not happen in the middle of a test, because its log lines would be missed
from chatui.backends.base import EndReason
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.tools import catalogue
from chatui.tools.functions import tool
from chatui.tools.tool import Tool, ToolError
from renderer.frames import Header, Terminator
from tests.canary.leaks.test_streaming import assert_silent, begin, everything_of, pages_of
from tests.canary.listening import BusRecorder, open_debug_view
from tests.canary.remote_tools import WAYS, remote_tools
from tests.support import environment
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.canary import Canary
from tests.support.offering import made
from tests.support.scripted import ANALYSIS, ScriptedBackend, Step, answer, ended, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


CHOOSING = "tools"
"""The page on which people choose among the tools that the operator offers, which it names."""


@pytest.fixture
def remote(canary: Canary, tmp_path: Path) -> Iterator[dict[str, Tool]]:
    with remote_tools(canary, tmp_path) as tools:
        yield tools


def offer(monkeypatch: pytest.MonkeyPatch, canary: Canary, remote: dict[str, Tool]) -> dict[str, str]:
    """Tools with markers wherever their authors write text, and tools of other servers; returns their names by what they do."""
    returned = canary.plant("what a tool returns")
    failure = canary.plant("what a tool tells the model of its failure")
    raised = canary.plant("what a tool raises")

    @tool(label="Looking something up for {shown}")
    async def works(shown: str, hidden: str) -> dict[str, str]:
        await asyncio.sleep(0.2)
        return {"found": returned}

    works.__annotations__["hidden"] = Annotated[str, Field(description=canary.plant("description of an argument"))]

    async def tells() -> None:
        raise ToolError(failure)

    def breaks() -> None:
        raise ValueError(raised)

    async def hangs() -> None:
        await asyncio.Event().wait()

    names = {kind: each.name for kind, each in remote.items()}
    tools = {each.name: each for each in remote.values()}
    for function in (works, tells, breaks, hangs):
        function.__doc__ = f"Looks up {canary.plant(f'description of {function.__name__}')}."
        # The product accepts only lower-case letters; markers have others.
        name = names[function.__name__] = canary.plant(f"name of {function.__name__}")
        tools[name] = replace(made(function, "under_test", canary.plant("package of a tool")), name=name)
    monkeypatch.setattr(catalogue, "tools", lambda: tools)
    settings = {"tools": dict.fromkeys(tools, ()), "tools_without_approval": list(tools), "tool_seconds": 2.0, "tool_combinations": "any"}
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", **settings})
    return names


def call(canary: Canary, name: str, number: int, **arguments: Any) -> list[Step]:
    header = Header(
        "assistant", "commentary", recipient=f"functions.{name}", call_id=canary.plant(f"id of call {number}"), constrain="json"
    )
    return [*frame(header, json.dumps(arguments), Terminator.CALL)]


@pytest.mark.asyncio
async def test_only_a_tools_status_line_is_visible(
    canary: Canary,
    ada: User,
    bela: User,
    grace: User,
    backend: ScriptedBackend,
    remote: dict[str, Tool],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    layer = BusRecorder(monkeypatch)
    names = offer(monkeypatch, canary, remote)
    hidden = canary.plant("argument")
    backend.script = [
        *frame(ANALYSIS, canary.plant("thought before a call")),
        *call(canary, names["works"], 1, shown="St. Gallen", hidden=hidden),
        *call(canary, names["tells"], 2),
        *call(canary, names["breaks"], 3),
        *call(canary, names["hangs"], 4),
        *call(canary, canary.plant("name of no tool"), 5, **{canary.plant("name of an argument"): canary.plant("argument of no tool")}),
        *call(canary, names["works"], 6, shown=7, hidden=canary.plant("wrong argument")),
        *(
            step
            for number, (kind, way) in enumerate(product(remote, WAYS), 7)
            for step in call(canary, names[kind], number, how=f"{way} {canary.plant(f'argument of a call over {kind}')}")
        ),
        ended(EndReason.TOOL_CALLS),
    ]
    backend.following = [answer("Here it is.", canary.plant("thought after a call"))]
    async with BrowserSocket(ada) as socket, BrowserSocket(bela) as stranger:
        accepted = await begin(socket)
        while not await Message.objects.filter(name="tool_activity").aexists():
            await asyncio.sleep(0.02)
        midway = [*await everything_of(ada, accepted, but=CHOOSING), *await everything_of(bela, accepted)]
        await socket.until(*ENDS)
    turn = await Turn.objects.aget(pk=accepted["turn"])
    replies = {row.error_code async for row in Message.objects.filter(turn=turn, role="tool")}
    assert replies == {"", "E-X-TOOL-FAILED", "E-TOOL-TIMEOUT", "E-CALL-SCHEMA"}, "the premise: every kind of reply"
    pages = [*await everything_of(ada, accepted, but=CHOOSING), *await everything_of(bela, accepted)]
    search = await pages_of(ada, f"/search/?q={hidden}")
    assert "a tool failed (ValueError)" in caplog.text, "the premise: the log is not empty"
    assert_silent(canary, layer, caplog, [socket, stranger], *midway, *pages)
    assert hidden.encode() not in search[0].split(b"<main")[-1].replace(f'value="{hidden}"'.encode(), b"")
    assert any(b"Looking something up for St. Gallen" in page for page in pages) and any("St. Gallen" in text for text in socket.raw)
    await open_debug_view(grace, accepted["conversation"])
    [debug] = await pages_of(grace, f"/c/{accepted['conversation']}/debug/")
    seen = canary.found(debug)
    # What an MCP server says with a status from 500 on reaches nobody, not even the model; an API's failure is its answer.
    for kind, reaching in (("an MCP server", set(WAYS) - {"breaks"}), ("an HTTP API", set(WAYS))):
        reached = {way for way in WAYS if f"what {kind} says when it {way}" in seen}
        assert reached == reaching, "the premise: the servers' text arrived, and permitted staff see it"
    offered = json.dumps([[each.name, each.description, each.parameters] for each in backend.requests[0].tools])
    assert len([what for what in canary.found(offered.encode()) if "over MCP" in what or "operation" in what or "OpenAPI" in what]) > 5
    assert any("argument" in what for what in seen) and any("returns" in what for what in seen), "permitted staff see calls and replies"
    assert b"duration_ms" in debug
