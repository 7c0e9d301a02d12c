"""``python`` in whole turns: a scripted model writes code, and the real sandbox runs it, over each wire format."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from chatui.backends.base import Backend, Endpoint
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.backends.responses.backend import ResponsesBackend
from chatui.delivery.bus import PROCESS
from chatui.models import Turn, User
from chatui.tools import execution, found
from chatui.tools.python import availability, python_tool
from chatui.turns import running
from chatui.turns.running import Place
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.harmony.test_backend import VLLM, ids_of, sse, vllm
from tests.chatui.tools.python.sandbox import sandbox
from tests.chatui.tools.python.test_interpreter import PNG, state_of
from tests.chatui.turns.calls.test_wire_formats import ANSWER, DAY, event, model, posts, transcript
from tests.chatui.turns.test_turns import ask, begin, run
from tests.support import environment
from tests.support.stub import DONE, chunk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.served]

PLOT = f"open('plot.png', 'wb').write(bytes.fromhex({PNG!r}))"
TO_PYTHON = "<|channel|>analysis to=python code<|message|>"
PLOTTED = f"{len(PNG) // 2}\n[Files made or changed in /mnt/data: plot.png ({len(PNG) // 2} bytes)]"


@pytest_asyncio.fixture(autouse=True)
async def _sandboxed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Python is offered, in the real sandbox as a user without rights; afterwards no interpreter is left."""
    monkeypatch.setattr(availability, "launch", sandbox)
    environment.change(monkeypatch, {"tools": {"python": ()}})
    for each in (availability._examined, python_tool.executor):
        each.cache_clear()
    assert availability.verdict().is_on, availability.verdict().reason
    yield
    executor: Any = python_tool.executor()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(executor.close(), execution.tools_loop()))
    for each in (availability._examined, python_tool.executor):
        each.cache_clear()


def offer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "tools", lambda: {"run_python": python_tool.PYTHON})
    environment.change(
        monkeypatch, {"backend_url": "http://127.0.0.1:9", "tools": {"python": ()}, "tools_without_approval": ["python"], "tool_calls": 25}
    )


def over_chat(*codes: str) -> list[bytes]:
    functions = [{"name": "run_python", "arguments": json.dumps({"code": code})} for code in codes]
    calls = [chunk("tool_calls", tool_calls=[{"index": 0, "id": f"c{n}", "function": each}]) for n, each in enumerate(functions)]
    return [*(call + DONE for call in calls), chunk("stop", content=ANSWER) + DONE]


async def test_over_token_ids_code_is_called_and_answered_as_trained(
    ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary
) -> None:
    texts = [
        (f"<|channel|>analysis<|message|>I compute.<|end|><|start|>assistant{TO_PYTHON}x = 6*7\nx<|call|>", 200012),
        (f"{TO_PYTHON}{PLOT}<|call|>", 200012),
        ("<|channel|>commentary to=python code<|message|>print(x)\n1/0<|call|>", 200012),
        (f"<|channel|>final<|message|>{ANSWER}<|return|>", 200002),
    ]  # fmt: skip
    answers = [sse(vllm(*ids_of(vocabulary, text), finish="stop", stop=stop)) + DONE for text, stop in texts]

    def made(endpoint: Endpoint) -> Backend:
        return HarmonyCompletionsBackend(endpoint, vocabulary=lambda: vocabulary, today=lambda: DAY)

    async with model(monkeypatch, made, *answers, **VLLM) as server:
        offer(monkeypatch)
        turn = await run(ada, ask())
        assert (turn.state, turn.error_code) == ("completed", "")
    frames, seen = await transcript(turn)
    replies = [(frame.header.channel, frame.header.name, frame.body) for frame in frames if frame.header.role == "tool"]
    assert replies[:2] == [("analysis", "python", "42"), ("analysis", "python", PLOTTED)]
    assert replies[2][:2] == ("commentary", "python") and replies[2][2].startswith("42\nTraceback")
    assert [name for name, _ in seen[1:]] == ["tool_activity"] * 3 + [""] and seen[-1][1] == ANSWER
    assert not any("42" in text or "plot" in text for _, text in seen[1:-1])
    assert (
        "Use this tool to execute Python code"
        in vocabulary.decode([token for token in posts(server)[0]["prompt"] if token < 199_998]).decode()
    )


async def test_over_chat_completions_two_answers_share_the_interpreter(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async with model(monkeypatch, ChatCompletionsBackend, *over_chat("x = 5", PLOT), *over_chat("x + 1")) as server:
        offer(monkeypatch)
        first = await run(ada, ask())
        second = await run(ada, ask(text="And now?", conversation=first.conversation_id))
        assert (first.state, second.state) == ("completed", "completed")
    contents = [message["content"] for message in posts(server)[-1]["messages"] if message["role"] == "tool"]
    assert contents[-1] == "6" and PLOTTED in [m["content"] for m in posts(server)[2]["messages"] if m["role"] == "tool"]


async def test_over_responses(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "run_python", "arguments": json.dumps({"code": PLOT})}
    done = event("response.completed", response={"status": "completed", "model": "stub"})
    message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    answers = [event("response.output_item.done", output_index=0, item=item) + done for item in (call, message)]
    async with model(monkeypatch, ResponsesBackend, *answers) as server:
        offer(monkeypatch)
        turn = await run(ada, ask())
        assert turn.state == "completed"
    assert posts(server)[1]["input"][-1]["output"] == PLOTTED


async def test_stop_ends_the_interpreter_within_a_second(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async with model(monkeypatch, ChatCompletionsBackend, *over_chat("import os; os.getpid()", "while True: pass")) as server:
        offer(monkeypatch)
        started = await begin(ada, ask())
        sessions: Any = python_tool.executor()
        while len(posts(server)) < 2 or not any(session.waiting for session in sessions._sessions.values()):
            await asyncio.sleep(0.02)
        [session] = sessions._sessions.values()
        first_process = session.interpreter.first_process
        await asyncio.sleep(0.3)
        assert state_of(first_process)
        began = time.monotonic()
        await running.stop(Place(started.turn.pk, PROCESS))
        while state_of(first_process):
            await asyncio.sleep(0.01)
        assert time.monotonic() - began < 1 and not sessions._sessions
        await running.settle()
    turn = await Turn.objects.aget(pk=started.turn.pk)
    assert turn.state == "stopped"


async def test_a_deleted_conversation_loses_its_interpreter(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async with model(monkeypatch, ChatCompletionsBackend, *over_chat("x = 1")):
        offer(monkeypatch)
        turn = await run(ada, ask())
        sessions: Any = python_tool.executor()
        assert list(sessions._sessions) == [turn.conversation_id]
        await asyncio.to_thread(python_tool.forget_from_thread, turn.conversation_id)
        while sessions._sessions:
            await asyncio.sleep(0.01)
