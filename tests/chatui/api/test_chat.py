"""Chat Completions for API clients: one text, whole or streamed, and no field for reasoning."""

import json

import pytest

from renderer.frames import Terminator
from tests.chatui.api.asking import Program, json_of
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/v1/chat/completions"
SECRET = "the hidden marmalade"


@pytest.fixture
def program(key: str, backend: ScriptedBackend) -> Program:
    backend.script = [*frame(ANALYSIS, SECRET), *frame(PREAMBLE, "I look."), *frame(FINAL, "Four.", Terminator.RETURN), ended()]
    return Program(key)


async def test_a_completion_is_one_text_without_reasoning(program: Program, backend: ScriptedBackend) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "One?"}]},
        {"role": "assistant", "content": "One.", "reasoning": "I was told", "reasoning_content": "so"},
        {"role": "user", "content": "Two and two?"},
    ]
    answer = await program.ask({"model": "demo", "messages": messages}, PATH)
    choice = answer["choices"][0]
    assert (
        choice["message"] == {"role": "assistant", "content": "I look. \n\nFour. ", "refusal": None, "annotations": []}
        and choice["finish_reason"] == "stop"
    )
    assert answer["usage"] == {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
    sent = [(frame.header.role, frame.body) for frame in backend.requests[-1].frames]
    assert sent == [("developer", "Be brief."), ("user", "One?"), ("assistant", "One."), ("user", "Two and two?")]


async def test_a_stream_has_the_same_text_and_ends_with_its_usage(program: Program) -> None:
    chunks = await program.stream({"messages": [{"role": "user", "content": "?"}], "stream_options": {"include_usage": True}}, PATH)
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks[:-1]) == "I look. \n\nFour. "
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop" and chunks[-1]["choices"] == [] and chunks[-1]["usage"]["total_tokens"] == 30
    assert "marmalade" not in json.dumps(chunks) and "reasoning" not in json.dumps(chunks)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 5),
        ("n", 0),
        ("stop", [""]),
        ("stop", ["x"] * 17),
        ("stop", 5),
        ("logprobs", 1),
        ("seed", -1),
        ("min_p", 1.5),
        ("presence_penalty", 3),
        ("functions", [{"name": "old"}]),
        ("modalities", ["audio"]),
        ("response_format", "json"),
        ("reasoning_effort", "x"),
    ],
)
async def test_unsupported_fields_are_refused_by_name(field: str, value: object, program: Program, backend: ScriptedBackend) -> None:
    response = await program.post(PATH, {"messages": [{"role": "user", "content": "?"}], field: value})
    assert response.status_code == 400 and json_of(response)["error"]["param"] == field and not backend.requests
