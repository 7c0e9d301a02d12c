"""A server process is killed anywhere in the tool loop: no call runs twice, and what is stored is truthful and can be continued."""

import asyncio
import json
import random
import signal
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.processes.counting import Reader
from tests.support import stub
from tests.support.cases import ROUNDS
from tests.support.served import Deployment, LiveSocket, Server
from tests.support.stub import DONE, SSE_HEAD, Stub, chunk

pytestmark = [pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

CHATS = 5
KILLS = 5 if ROUNDS > 1 else 2
"""Kills per round, each with CHATS answers at different steps: fifty kills in the ten rounds of ``make faults``."""
STEP = 0.25
"""The seconds that each step takes: the model's call, the tool's run, and the model's answer."""

PACKAGE = """
import os, time

def remember(key: str) -> str:
    "Remembers a key."
    with open(os.environ["REMEMBERED"], "a") as file:
        file.write(key + "\\n")
    time.sleep(float(os.environ["STEP"]))
    return "remembered " + key
"""

SWEEP = """
import json
from chatui.models import Conversation, Message, ToolCall, Turn
from chatui.turns import sweep
from renderer.frames import Transcript
from renderer.ocml import document
Turn.objects.filter(state="running").update(lease_until="2020-01-01T00:00:00Z")
swept = [str(turn.pk) for turn in sweep.interrupt_abandoned()]
found = []
for turn in Turn.objects.order_by("started_at"):
    rows = list(Message.objects.filter(conversation=turn.conversation).order_by("position"))
    text = document.dump(Transcript(())) + "\\n".join(row.text for row in rows)
    found.append({
        "turn": str(turn.pk), "conversation": str(turn.conversation_id), "state": turn.state,
        "question": str(turn.question_id), "is_empty": not turn.messages.exists(),
        "is_accepted": document.check(text).is_accepted,
        "calls": [row.call_id for row in rows if row.terminator == "<|call|>"],
        "replies": {row.call_id: document.parse_frame(row.text).body for row in rows if row.role == "tool"},
        "claims": list(ToolCall.objects.filter(turn=turn).values_list("call_id", flat=True)),
    })
print(json.dumps([swept, found]))
"""


class Model:
    """Calls the tool with a unique key, and answers once the history has a tool reply."""

    def __init__(self) -> None:
        self.server: Stub | None = None
        self.keys: list[str] = []

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        assert self.server is not None
        body = self.server.posted
        writer.write(SSE_HEAD + chunk(reasoning_content="hm "))
        await writer.drain()
        if any(message["role"] == "tool" for message in body["messages"]) or not body.get("tools"):
            await asyncio.sleep(STEP)
            writer.write(chunk(content="It is remembered.") + chunk("stop") + DONE)
        else:
            await asyncio.sleep(STEP)
            self.keys.append(uuid4().hex)
            call = {"index": 0, "id": uuid4().hex, "function": {"name": "remember", "arguments": json.dumps({"key": self.keys[-1]})}}
            writer.write(chunk("tool_calls", tool_calls=[call]) + DONE)
        await writer.drain()


def deployment_with_tool(data: Path, model: Stub, *, asks: bool = False) -> Deployment:
    """A deployment with the ``remember`` tool; ``asks``: each call waits for its person's approval."""
    package = data / "packages"
    (package / "keeper-1.0.dist-info").mkdir(parents=True)
    (package / "keeper.py").write_text(PACKAGE)
    (package / "keeper-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: keeper\nVersion: 1.0\n")
    (package / "keeper-1.0.dist-info" / "entry_points.txt").write_text("[chatui.tools]\nremember = keeper:remember\n")
    return Deployment(
        data,
        CHATUI_BACKEND_URL=model.url,
        CHATUI_BACKEND_MODEL="stub",
        CHATUI_TOOLS="remember",
        CHATUI_TOOLS_WITHOUT_APPROVAL="" if asks else "remember",
        CHATUI_MAX_RUNNING_ANSWERS="20",
        PYTHONPATH=str(package),
        REMEMBERED=str(data / "remembered"),
        STEP=str(STEP),
    )


async def start_chats_and_kill(server: Server, client: Any) -> None:
    """Start chats, so that they are at various stages, and kill their process."""
    async with AsyncExitStack() as sockets:
        reading = []
        for _ in range(CHATS):
            reader = Reader(await sockets.enter_async_context(LiveSocket(server, client)))
            await reader.ask()
            reading.append(asyncio.create_task(reader.read()))
            await asyncio.sleep(STEP * 0.7)
        await asyncio.sleep(random.uniform(0, STEP))
        await asyncio.to_thread(server.stop, signal.SIGKILL)
        await asyncio.gather(*reading, return_exceptions=True)


def remembered(data: Path) -> Counter[str]:
    path = data / "remembered"
    return Counter(path.read_text().split() if path.exists() else [])


async def test_a_kill_at_any_step_runs_no_call_twice_and_leaves_a_reply_for_each(tmp_path: Path) -> None:
    answer = Model()
    async with stub.running(answer) as model:
        answer.server = model
        deployment = deployment_with_tool(tmp_path, model)
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            swept: list[str] = []
            found: list[dict[str, Any]] = []
            for number in range(KILLS):
                if number:
                    server = await asyncio.to_thread(deployment.start)
                await start_chats_and_kill(server, await asyncio.to_thread(server.sign_in, "ada"))
                swept, found = json.loads(await asyncio.to_thread(deployment.manage, "shell", "--no-imports", "-c", SWEEP))
                check_calls(found)
            ran = remembered(tmp_path)
            assert ran and max(ran.values()) == 1, "no call ran twice"
            cut = [turn for turn in found if turn["turn"] in swept and turn["state"] == "interrupted"]
            assert cut, "the premise: answers were interrupted"
            server = await asyncio.to_thread(deployment.start)
            await continue_or_regenerate(server, cut)
        finally:
            await asyncio.to_thread(deployment.stop)
    again = remembered(tmp_path)
    assert all(again[key] == 1 for key in again) and set(ran) <= set(again), "and none twice after the restart"


def check_calls(found: list[dict[str, Any]]) -> None:
    """Check that what is stored is true: each call has a reply, and only a call that was claimed has succeeded."""
    for turn in found:
        assert turn["state"] in ("completed", "interrupted") and turn["is_accepted"], turn
        assert sorted(turn["calls"]) == sorted(turn["replies"]), turn
        for call_id, body in turn["replies"].items():
            reply = json.loads(body)
            if reply["ok"]:
                assert call_id in turn["claims"]
            else:
                assert reply["error"]["code"] == "E-TOOL-CANCELLED"
                assert ("is not known" in reply["error"]["message"]) == (call_id in turn["claims"])


async def continue_or_regenerate(server: Server, turns: list[dict[str, Any]]) -> None:
    """Continue each interrupted answer, or regenerate it where nothing of it is stored."""
    client = await asyncio.to_thread(server.sign_in, "ada")
    async with LiveSocket(server, client) as socket:
        for turn in turns:
            ask = {"client_id": str(uuid4()), "conversation": turn["conversation"]}
            if turn["is_empty"]:
                await socket.send("regenerate", **ask, question=turn["question"], effort="low")
            else:
                await socket.send("continue", **ask, turn=turn["turn"])
            accepted = (await socket.until("chatui:accepted", "chatui:refused"))[-1]
            assert accepted["type"] == "chatui:accepted", (accepted, turn)
            await socket.send("subscribe", conversation=turn["conversation"])
            ended = (await socket.until("response.completed", "response.failed", "response.incomplete", "chatui:idle"))[-1]
            assert ended["type"] in ("response.completed", "chatui:idle") and ended.get("state", "completed") == "completed", ended
