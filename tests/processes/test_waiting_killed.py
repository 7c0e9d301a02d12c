"""A server process is killed while calls wait for approval, or right after a decision: nothing runs without approval, nothing runs twice,
and the approval cards of the killed process have no effect any more."""

import asyncio
import json
import random
import re
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.processes.counting import Reader
from tests.processes.test_tool_killed import STEP, SWEEP, Model, continue_or_regenerate, deployment_with_tool, remembered
from tests.support import stub
from tests.support.cases import ROUNDS
from tests.support.served import LiveSocket, Server

pytestmark = [pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

DECISIONS = ("once", "once", "declined", "", "")
"""What the person decides in each chat before the process is killed; empty where the call still waits."""


async def card_of(client: httpx.Client, accepted: dict[str, Any]) -> str:
    """The address of a turn's approval card, once it exists."""
    address = f"/c/{accepted['conversation']}/turns/{accepted['turn']}/calls/"
    async with asyncio.timeout(60):
        while True:
            page = (await asyncio.to_thread(client.get, address)).text
            if found := re.search(r'action="(/c/[^"]+/calls/[^"]+/)"', page):
                return found[1]
            await asyncio.sleep(0.05)


async def decided(client: httpx.Client, card: str, decision: str) -> int:
    """The HTTP status of a decision; 0 if the server was killed before it answered."""
    headers = {"accept": "application/json", "x-csrftoken": client.cookies["chatui_csrf"]}
    try:
        return (await asyncio.to_thread(client.post, card, data={"decision": decision}, headers=headers)).status_code
    except httpx.HTTPError:
        return 0


async def ask_decide_and_kill(server: Server) -> dict[str, str]:
    """Ask, decide and kill the server; returns the decision on each call by the address of its card."""
    client = await asyncio.to_thread(server.sign_in, "ada")
    cards = []
    async with AsyncExitStack() as sockets:
        for _ in DECISIONS:
            socket = await sockets.enter_async_context(LiveSocket(server, client))
            reader = Reader(socket)
            await reader.ask()
            cards.append(await card_of(client, reader.accepted))
        answers = [
            asyncio.create_task(decided(client, card, decision)) for card, decision in zip(cards, DECISIONS, strict=True) if decision
        ]
        await asyncio.sleep(random.uniform(0, 3 * STEP))
        await asyncio.to_thread(server.stop, signal.SIGKILL)
        await asyncio.gather(*answers)
    return dict(zip(cards, DECISIONS, strict=True))


def check_calls(found: list[dict[str, Any]]) -> None:
    """Check that each call has a reply, and that it succeeded only if it was claimed."""
    for turn in found:
        assert turn["state"] in ("completed", "interrupted") and turn["is_accepted"], turn
        assert sorted(turn["calls"]) == sorted(turn["replies"]), turn
        for call_id, body in turn["replies"].items():
            reply = json.loads(body)
            assert (call_id in turn["claims"]) if reply["ok"] else reply["error"]["code"] in ("E-TOOL-CANCELLED", "E-X-TOOL-DECLINED"), (
                reply
            )


async def test_a_kill_while_calls_wait_runs_nothing_that_nobody_allowed_and_nothing_twice(tmp_path: Path) -> None:
    answer = Model()
    async with stub.running(answer) as model:
        answer.server = model
        deployment = deployment_with_tool(tmp_path, model, asks=True)
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            allowed = 0
            for number in range(ROUNDS):
                if number:
                    server = await asyncio.to_thread(deployment.start)
                cards = await ask_decide_and_kill(server)
                allowed += sum(decision == "once" for decision in cards.values())
                swept, found = json.loads(await asyncio.to_thread(deployment.manage, "shell", "--no-imports", "-c", SWEEP))
                check_calls(found)
                assert swept, "the premise: calls waited"
                assert len(remembered(tmp_path)) <= allowed, "only what was allowed ran"
            ran = remembered(tmp_path)
            assert max(ran.values(), default=1) == 1, "no call ran twice"
            server = await asyncio.to_thread(deployment.start)
            client = await asyncio.to_thread(server.sign_in, "ada")
            assert {await decided(client, card, "once") for card in cards} == {409}, "no call waits for a decision any more"
            cut = [turn for turn in found if turn["turn"] in swept and turn["state"] == "interrupted"]
            assert cut, "the premise: answers were interrupted"
            deployment.environment["CHATUI_TOOLS"] = ""
            await continue_or_regenerate(server, cut[:1])
        finally:
            await asyncio.to_thread(deployment.stop)
    assert remembered(tmp_path) == ran, "and none after the restart"
