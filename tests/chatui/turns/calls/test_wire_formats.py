"""The tool loop in whole turns against a scripted peer of each wire format: what the server is sent and what users see."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import requests
from chatui.turns import running
from renderer.frames import Frame, Transcript
from renderer.harmony.vocabulary import Vocabulary
from renderer.ocml import document
from tests.chatui.backends.formats import Format
from tests.chatui.backends.wire import VLLM, day_in, event, ids_of, one_after_the_other, posts, sse, vllm
from tests.renderer.harmony.test_prompt import of_oracle
from tests.support import offering, stub
from tests.support.sampling import PATIENT
from tests.support.scripted import connect
from tests.support.stub import DONE, SSE_HEAD, Stub, chunk
from tests.support.turns import ask, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]

ANSWER = "It is 20 °C in Tokyo."


async def get_weather(city: str) -> dict[str, object]:
    """Gets the current weather in a city."""
    await asyncio.sleep(0.1 if city == "Tokyo" else 0)
    return {"city": city, "celsius": 20}


PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


@asynccontextmanager
async def model(
    monkeypatch: pytest.MonkeyPatch, kind: str, *answers: bytes, vocabulary: Vocabulary | None = None, **options: Any
) -> AsyncIterator[Stub]:
    """A model server that gives these answers in the wire format ``kind``, and all turns ask. ``vocabulary``: for token ids."""
    offering.offer(monkeypatch, get_weather)
    whole = [each if each.startswith(SSE_HEAD) else SSE_HEAD + each for each in answers]
    async with stub.running(one_after_the_other(*whole), **options) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind=kind, vocabulary=(lambda: vocabulary) if vocabulary else None)
        connect(monkeypatch, backend)
        yield server
        await running.settle()
        await backend.aclose()


def model_of(monkeypatch: pytest.MonkeyPatch, of: Format, *answers: bytes) -> AbstractAsyncContextManager[Stub]:
    return model(monkeypatch, of.kind, *answers, vocabulary=of.vocabulary, **of.server)


@database_sync_to_async
def transcript(turn: Turn) -> tuple[list[Frame], list[tuple[str, str]]]:
    """The frames of the conversation, which must be a valid document, and the named parts that users see of it."""
    rows = list(Message.objects.filter(conversation=turn.conversation).order_by("position"))
    report = document.check(document.dump(Transcript(())) + "\n".join(row.text for row in rows))
    assert report.is_clean, report.problems
    frames = [document.parse_frame(row.text) for row in rows]
    return frames, [(row.name or row.intent, frame.body) for row, frame in zip(rows, frames, strict=True) if row.is_visible]


async def test_chat_completions_two_parallel_calls_with_a_preamble_and_signed_reasoning(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    details = [
        {"type": "reasoning.text", "text": "I lo", "index": 0},
        {"type": "reasoning.text", "text": "ok.", "index": 0, "signature": "s"},
    ]
    both = [
        {"index": number, "id": f"c{number}", "function": {"name": "get_weather", "arguments": json.dumps({"city": city})}}
        for number, city in enumerate(("Tokyo", "Paris"))
    ]
    first = b"".join([
        chunk(reasoning="I lo", reasoning_details=details[:1]),
        chunk(reasoning="ok.", reasoning_details=details[1:]),
        chunk(content="I look it up."),
        chunk("tool_calls", tool_calls=both),
        DONE,
    ])  # fmt: skip
    async with model(monkeypatch, "chat", first, chunk("stop", content=ANSWER) + DONE) as server:
        turn = await run(ada, ask())
        assert turn.state == "completed"
    sent = posts(server)
    function = {"name": "get_weather", "description": "Gets the current weather in a city.", "parameters": PARAMETERS}
    assert [post["tools"] for post in sent] == [[{"type": "function", "function": function}]] * 2
    _, *loop = sent[1]["messages"]
    assert loop[0] == {
        "role": "assistant",
        "content": "I look it up.",
        "reasoning_details": [{"type": "reasoning.text", "text": "I look.", "index": 0, "signature": "s"}],
        "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Tokyo"}'}}],
    }
    assert [(message["role"], message.get("tool_call_id")) for message in loop] == [
        ("assistant", None), ("tool", "c0"), ("assistant", None), ("tool", "c1"),
    ]  # fmt: skip
    assert json.loads(loop[1]["content"])["content"] == {"city": "Tokyo", "celsius": 20}
    _, seen = await transcript(turn)
    assert seen[1:] == [
        ("preamble", "I look it up."), ("tool_activity", "Using a tool"), ("tool_activity", "Using a tool"), ("", ANSWER),
    ]  # fmt: skip


async def test_responses_two_parallel_calls_get_their_encrypted_reasoning_back_unchanged(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque=="}
    calls = [
        {
            "type": "function_call",
            "id": f"f{number}",
            "call_id": f"c{number}",
            "name": "get_weather",
            "arguments": json.dumps({"city": city}),
        }
        for number, city in enumerate(("Tokyo", "Paris"))
    ]
    final_item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
    first = b"".join(
        event("response.output_item.done", output_index=place, item=item) for place, item in enumerate([reasoning, final_item, *calls])
    ) + event("response.completed", response={"status": "completed", "model": "stub"})
    message = {"type": "message", "id": "m2", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    second = event("response.output_item.done", output_index=0, item=message)
    second += event("response.completed", response={"status": "completed", "model": "stub"})
    async with model(monkeypatch, "responses", first, second) as server:
        turn = await run(ada, ask())
        assert turn.state == "completed"
    sent = posts(server)
    [tool] = sent[0]["tools"]
    assert (tool["type"], tool["name"], tool["parameters"], tool["strict"]) == ("function", "get_weather", PARAMETERS, False)
    assert sent[0]["include"] == ["reasoning.encrypted_content"]
    _, *loop = sent[1]["input"]
    assert loop[0] == reasoning and loop[1]["type"] == "message"
    assert [(item["type"], item["call_id"]) for item in loop[2:]] == [
        ("function_call", "c0"), ("function_call_output", "c0"), ("function_call", "c1"), ("function_call_output", "c1"),
    ]  # fmt: skip
    frames, seen = await transcript(turn)
    assert [name for name, _ in seen[1:]] == ["preamble", "tool_activity", "tool_activity", ""]
    assert not any("opaque" in frame.body for frame in frames), "it is sent back to its server, and stored nowhere"
    stored = requests.unpack(bytes((await Turn.objects.aget(pk=turn.pk)).request or b""))
    assert stored and stored.body and "opaque" not in stored.body and json.loads(stored.body)["input"][1]["type"] == "reasoning"


async def test_token_ids_stop_at_each_call_and_the_prompt_matches_openai_harmony(
    ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary, oracle: Any
) -> None:
    import openai_harmony as oh

    def called(city: str) -> str:
        head = "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
        return f'{head}{{"city":"{city}"}}<|call|>'

    thought = "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant"
    thought += "<|channel|>commentary<|message|>I look it up.<|end|><|start|>assistant"
    answers = [
        sse(vllm(*ids_of(vocabulary, text), finish="stop", stop=stop)) + DONE
        for text, stop in (
            (thought + called("Tokyo"), 200012),
            (called("Paris"), 200012),
            (f"<|channel|>final<|message|>{ANSWER}<|return|>", 200002),
        )
    ]

    async with model(monkeypatch, "harmony", *answers, vocabulary=vocabulary, **VLLM) as server:
        turn = await run(ada, ask())
        assert (turn.state, turn.error_code) == ("completed", "")
    frames, seen = await transcript(turn)
    assert seen[-1] == ("", ANSWER) and [name for name, _ in seen[1:]] == ["preamble", "tool_activity", "tool_activity", ""]
    prompts = [post["prompt"] for post in posts(server)]
    system = (
        oh.SystemContent.new().with_conversation_start_date(day_in(vocabulary, prompts[0])).with_reasoning_effort(oh.ReasoningEffort.MEDIUM)
    )
    developer = oh.DeveloperContent.new().with_function_tools([
        oh.ToolDescription.new("get_weather", "Gets the current weather in a city.", parameters=PARAMETERS)
    ])  # fmt: skip
    recorded = [frame for frame in frames if frame.header.name != "tool_activity"]
    assert len(prompts) == 3
    for prompt, length in zip(prompts, (1, 5, 7), strict=True):
        assert prompt == of_oracle(oracle, recorded[:length], system, developer), length
