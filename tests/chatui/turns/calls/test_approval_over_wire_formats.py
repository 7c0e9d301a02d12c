"""Approval of tool calls over each wire format: what the model server is sent after a call was allowed or declined."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from chatui.backends.base import Backend, Endpoint
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.backends.responses.backend import ResponsesBackend
from chatui.model_servers import connected
from chatui.models.user import User
from chatui.turns import running
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.wire import VLLM, event, ids_of, posts, sse, vllm
from tests.chatui.turns.calls.calling import RAN
from tests.chatui.turns.calls.test_approval import decide, ended, offer, wait_for_approvals
from tests.chatui.turns.calls.test_wire_formats import ANSWER, DAY, one_after_the_other, transcript
from tests.chatui.turns.test_turns import ask, begin
from tests.support import stub
from tests.support.sampling import PATIENT
from tests.support.stub import DONE, chunk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.served]

ARGUMENTS = '{"key": "a"}'
Made = Callable[[Endpoint], Backend]


def chat(_: Vocabulary) -> tuple[Made, list[bytes], dict[str, Any]]:
    call = {"index": 0, "id": "c0", "function": {"name": "send", "arguments": ARGUMENTS}}
    first = chunk(reasoning="I send it.") + chunk("tool_calls", tool_calls=[call]) + DONE
    return ChatCompletionsBackend, [first, chunk("stop", content=ANSWER) + DONE], {}


def responses(_: Vocabulary) -> tuple[Made, list[bytes], dict[str, Any]]:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque=="}
    call = {"type": "function_call", "id": "f0", "call_id": "c0", "name": "send", "arguments": ARGUMENTS}
    message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    end = event("response.completed", response={"status": "completed", "model": "stub"})
    first = b"".join(event("response.output_item.done", output_index=place, item=item) for place, item in enumerate((reasoning, call)))
    return ResponsesBackend, [first + end, event("response.output_item.done", output_index=0, item=message) + end], {}


def token_ids(vocabulary: Vocabulary) -> tuple[Made, list[bytes], dict[str, Any]]:
    thought = "<|channel|>analysis<|message|>I send it.<|end|><|start|>assistant"
    call = f"{thought}<|channel|>commentary to=functions.send <|constrain|>json<|message|>{ARGUMENTS}<|call|>"
    final = f"<|channel|>final<|message|>{ANSWER}<|return|>"
    streams = [sse(vllm(*ids_of(vocabulary, text), finish="stop", stop=stop)) + DONE for text, stop in ((call, 200012), (final, 200002))]
    return lambda endpoint: HarmonyCompletionsBackend(endpoint, vocabulary=lambda: vocabulary, today=lambda: DAY), streams, VLLM


def text_sent(body: dict[str, Any], vocabulary: Vocabulary) -> str:
    """What the server is sent about the call, as text: the reasoning before it, the call and the reply."""
    if "prompt" in body:
        return vocabulary.decode([number for number in body["prompt"] if number < 199_998]).decode()
    return json.dumps(body.get("messages") or body["input"])


@pytest.mark.parametrize("written", [chat, responses, token_ids])
@pytest.mark.parametrize(
    ("decision", "says", "runs"), [("once", "sent", ["send a"]), ("declined", "E-X-TOOL-DECLINED", []), ("never", "E-X-TOOL-DECLINED", [])]
)
async def test_nothing_runs_before_the_decision_and_the_reply_states_it(
    written: Callable[[Vocabulary], tuple[Made, list[bytes], dict[str, Any]]],
    decision: str,
    says: str,
    runs: list[str],
    ada: User,
    monkeypatch: pytest.MonkeyPatch,
    vocabulary: Vocabulary,
) -> None:
    make_backend, answers, server_is = written(vocabulary)
    offer(monkeypatch)
    async with stub.running(one_after_the_other(*answers), **server_is) as server:
        backend = make_backend(Endpoint(server.url, limits=PATIENT))
        monkeypatch.setattr(connected, "backend", lambda choice="": backend)
        turn_id = (await begin(ada, ask())).turn.pk
        [row] = await wait_for_approvals(turn_id)
        assert (RAN, len(posts(server))) == ([], 1)
        assert await decide(ada, row, decision) == 200
        turn, _ = await ended(turn_id)
        await running.settle()
        await backend.aclose()
    assert (turn.state, turn.error_code, RAN) == ("completed", "", runs)
    first, second = posts(server)
    assert says in text_sent(second, vocabulary)
    assert says not in text_sent(first, vocabulary)
    assert ("opaque==" in json.dumps(second)) is (written is responses), "its reasoning is sent back unchanged"
    frames, seen = await transcript(turn)
    assert seen[-1] == ("", ANSWER)
    assert ("tool_activity" in [name for name, _ in seen]) is bool(runs)
    assert [frame.header.role for frame in frames if frame.header.call_id] == ["assistant", "tool"]
