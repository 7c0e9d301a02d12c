"""An API client's functions over each wire format of the model server and both API formats: the request sent, and the call returned."""

import json
from typing import Any

import pytest

from chatui.models.message import Message
from chatui.tools.functions import model_name
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.api.asking import Program, text_of
from tests.chatui.api.functions import CHAT, calls_of, nested
from tests.chatui.backends.wire import VLLM, event, ids_of, posts, sse, vllm
from tests.chatui.turns.calls.test_wire_formats import ANSWER, PARAMETERS, model
from tests.support.stub import DONE, chunk
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]

CITY = '{"city": "Tokyo"}'
THOUGHT = "the hidden marmalade"
FUNCTION: dict[str, Any] = {"type": "function", "name": "weather-now", "description": "The weather.", "parameters": PARAMETERS}


def of_chat(name: str) -> list[bytes]:
    call = {"index": 0, "id": "c0", "function": {"name": name, "arguments": CITY}}
    first = chunk(reasoning=THOUGHT) + chunk("tool_calls", tool_calls=[call]) + DONE
    return [first, chunk("stop", content=ANSWER) + DONE]


def of_responses(name: str) -> list[bytes]:
    thought = {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": THOUGHT}]}
    call = {"type": "function_call", "id": "f", "call_id": "c0", "name": name, "arguments": CITY}
    message_item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    ended = event("response.completed", response={"status": "completed", "model": "stub"})
    first = b"".join(event("response.output_item.done", output_index=place, item=item) for place, item in enumerate([thought, call]))
    return [first + ended, event("response.output_item.done", output_index=0, item=message_item) + ended]


def of_token_ids(name: str, words: Vocabulary) -> list[bytes]:
    head = f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json"
    texts = ((f"{head}<|message|>{CITY}<|call|>", 200012), (f"<|channel|>final<|message|>{ANSWER}<|return|>", 200002))
    return [sse(vllm(*ids_of(words, text), finish="stop", stop=stop)) + DONE for text, stop in texts]


@pytest.mark.parametrize(
    ("kind", "asks_by"), [("chat", "responses"), ("responses", "responses"), ("harmony", "responses"), ("chat", "chat")]
)
@pytest.mark.parametrize("called", [model_name("weather-now"), "weather-now"])
async def test_a_call_is_returned_and_its_reply_sent_to_the_model(
    kind: str, asks_by: str, called: str, program: Program, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = model_name("weather-now")
    by_ids = kind == "harmony"
    answers = of_token_ids(called, vocabulary) if by_ids else (of_chat if kind == "chat" else of_responses)(called)
    async with model(monkeypatch, kind, *answers, vocabulary=vocabulary, **(VLLM if by_ids else {})) as server:
        response = await (call_over_responses if asks_by == "responses" else call_over_chat)(program)
    first, second = (request_text(post, vocabulary) for post in posts(server))
    assert name in first and "The weather." in first and "22 degrees" not in first and "22 degrees" in second
    assert await Message.objects.filter(channel="analysis", text__contains=THOUGHT).aexists(), "the premise: it was thought"
    assert "marmalade" not in response


def request_text(post: dict[str, Any], words: Vocabulary) -> str:
    """The request to the model server, as text; for token ids without the markers."""
    if "prompt" not in post:
        return json.dumps(post, ensure_ascii=False)
    return words.decode([each for each in post["prompt"] if each < len(words.bytes_of)]).decode()


async def call_over_responses(program: Program) -> str:
    first = await program.ask({"input": "How is the weather?", "tools": [FUNCTION]})
    assert calls_of(first) == [("weather-now", {"city": "Tokyo"})]
    call = first["output"][-1]["call_id"]
    reply = {"type": "function_call_output", "call_id": call, "output": "22 degrees"}
    second = await program.ask({"input": [reply], "previous_response_id": first["id"], "tools": [FUNCTION]})
    assert text_of(second) == ANSWER
    return json.dumps([first, second])


async def call_over_chat(program: Program) -> str:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "How is the weather?"}], "tools": nested(FUNCTION)}
    first = (await program.ask(body, CHAT))["choices"][0]
    [call] = first["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("weather-now", {"city": "Tokyo"})
    reply = {"role": "tool", "tool_call_id": call["id"], "content": "22 degrees"}
    second = (await program.ask(body | {"messages": [*body["messages"], first["message"], reply]}, CHAT))["choices"][0]
    assert second["message"]["content"] == ANSWER and second["finish_reason"] == "stop"
    return json.dumps([first, second])
