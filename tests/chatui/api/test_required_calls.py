"""Required tool calls: servers are asked to enforce them, over token ids the call is started for the model, and none is made up."""

import asyncio
import json
from typing import Any

import pytest

from chatui.models.message import Message
from chatui.models.user import User
from chatui.tools.functions import model_name
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.api.asking import Program, json_of, key_of, text_of
from tests.chatui.api.functions import CHAT, calls_of, nested
from tests.chatui.api.test_calls_in_wire_formats import CITY, FUNCTION, THOUGHT, of_chat, of_responses, of_token_ids, request_text
from tests.chatui.backends.wire import VLLM, ids_of, posts, sse, vllm
from tests.chatui.turns.calls.test_wire_formats import ANSWER, model
from tests.support import stub
from tests.support.stub import DONE, Stub
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]

OTHER: dict[str, Any] = FUNCTION | {"name": "other"}
NAMED = {"type": "function", "name": "weather-now"}
LISTED = {"type": "allowed_tools", "mode": "required", "tools": [NAMED]}
CALLED = ("weather-now", {"city": "Tokyo"})
FORMATS = {"chat": of_chat, "responses": of_responses}


def names_of(tools: list[dict[str, Any]]) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in tools]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("choice", "is_forced", "offered"),
    [
        ("auto", False, 2),
        ("none", False, 0),
        ("required", True, 2),
        (NAMED, True, 1),
        (LISTED, True, 1),
        (LISTED | {"mode": "auto"}, False, 1),
    ],
)
async def test_the_server_is_asked_to_enforce_the_required_call(
    kind: str, choice: Any, is_forced: bool, offered: int, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = model_name("weather-now")
    answers = FORMATS[kind](name)
    async with model(monkeypatch, kind, answers[choice == "none"]) as server:
        found = await program.ask({"input": "How is the weather?", "tools": [FUNCTION, OTHER], "tool_choice": choice})
    [sent] = posts(server)
    assert sent.get("tool_choice") == ("required" if is_forced else None)
    # If only one function is required and offered, "required" is enough, and the server need not support names.
    assert names_of(sent.get("tools", [])) == [name, "other"][:offered]
    assert ("Do not answer before you have called" in json.dumps(sent)) is is_forced
    assert calls_of(found) == ([] if choice == "none" else [CALLED])


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("status", ["400 Bad Request", "501 Not Implemented"])
async def test_a_server_that_refuses_the_choice_is_asked_in_words_only(
    kind: str, status: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = FORMATS[kind](model_name("weather-now"))
    refusal = stub.responds(status, b'{"error": {"message": "Only \'auto\' tool_choice is supported"}}')
    async with model(monkeypatch, kind, *answers) as server:
        plays = server.answer

        async def picky(writer: asyncio.StreamWriter) -> None:
            await (refusal if "tool_choice" in server.posted else plays)(writer)

        server.answer = picky
        found = await program.ask({"input": "How is the weather?", "tools": [FUNCTION], "tool_choice": NAMED})
    assert calls_of(found) == [CALLED]
    first, second = posts(server)
    assert first["tool_choice"] == "required" and {**first, "tool_choice": None} == {**second, "tool_choice": None}


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("chat", "401 Unauthorized", "invalid_api_key"),
        ("chat", "400 Bad Request", "context_length_exceeded"),
        ("chat", "429 Too Many Requests", "insufficient_quota"),
        ("responses", "400 Bad Request", "invalid_api_key"),
    ],
)
async def test_an_unrelated_refusal_is_not_retried(
    kind: str, status: str, code: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = FORMATS[kind](model_name("weather-now"))
    refusal = stub.responds(status, json.dumps({"error": {"message": "no", "code": code}}).encode())
    async with model(monkeypatch, kind, *answers) as server:
        server.answer = refusal
        response = await program.post("/v1/responses", {"input": "?", "tools": [FUNCTION], "tool_choice": NAMED})
    assert response.status_code >= 400
    assert ["tool_choice" in post for post in posts(server)] == [True]


async def without_a_call(server: Stub, program: Program, requests: int) -> list[Any]:
    """The results that a client gets in both formats, whole and streamed."""
    body = {"input": "How is the weather?", "tools": [FUNCTION], "tool_choice": "required"}
    chat = {"messages": [{"role": "user", "content": "?"}], "tools": nested(FUNCTION), "tool_choice": "required"}
    results = []
    for address, request_body in (("/v1/responses", body), (CHAT, chat)):
        response = await program.post(address, request_body)
        assert response.status_code == 500
        results.append(json_of(response))
        streamed = await program.post(address, request_body | {"stream": True})
        results.append(b"".join([piece async for piece in streamed]).decode())  # type: ignore[attr-defined]
    assert len(posts(server)) == 4 * requests, "it is not asked again without end"
    return results


@pytest.mark.parametrize("kind", [*FORMATS, "harmony"])
async def test_an_answer_instead_of_a_call_is_an_error(
    kind: str, program: Program, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = model_name("weather-now")
    answers = of_token_ids(name, vocabulary) if kind == "harmony" else FORMATS[kind](name)
    # Over token ids the call is started twice after the answer that is dropped.
    requests, options = (3, VLLM) if kind == "harmony" else (1, {})
    async with model(monkeypatch, kind, *[answers[1]] * 4 * requests, vocabulary=vocabulary, **options) as server:
        results = await without_a_call(server, program, requests)
    for each in results:
        text = each if isinstance(each, str) else json.dumps(each)
        assert "model_error" in text and ANSWER not in text and "call_id" not in text and '"tool_calls"' not in text
    if kind == "harmony":
        assert all("tool_choice" not in post and "before you have called" in request_text(post, vocabulary) for post in posts(server))


async def test_over_token_ids_a_call_replaces_the_answer(program: Program, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    thought = f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>"
    wrong, right = ('{"town": 1}', CITY)
    texts = (thought, wrong, thought, right)
    answers = [sse(vllm(*ids_of(vocabulary, text), finish="stop", stop=200012)) + DONE for text in texts]
    body = {"input": "How is the weather?", "tools": [FUNCTION, OTHER], "tool_choice": NAMED}
    async with model(monkeypatch, "harmony", *answers * 2, vocabulary=vocabulary, **VLLM) as server:
        found = await program.ask(body)
        events = await program.stream(body)
    assert calls_of(found) == [CALLED] and text_of(found) == ""
    sent = posts(server)
    assert len(sent) == 8 and "The arguments do not fit" in request_text(sent[2], vocabulary), "a mismatch is not returned"
    assert THOUGHT in request_text(sent[1], vocabulary) and all(ANSWER not in request_text(post, vocabulary) for post in sent)
    assert await Message.objects.filter(channel="analysis", text__contains=THOUGHT).aexists(), "the premise: it was thought"
    assert not await Message.objects.filter(text__contains=ANSWER).aexists(), "dropped text is not stored"
    for dumped in (json.dumps(found), json.dumps(events)):
        assert ANSWER not in dumped and "marmalade" not in dumped


@pytest.mark.parametrize("kind", FORMATS)
async def test_after_a_call_of_our_own_tool_the_model_may_answer(kind: str, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from channels.db import database_sync_to_async

    program = Program(await database_sync_to_async(key_of)(ada, tools=("get_weather",)))
    answers = FORMATS[kind]("get_weather")
    async with model(monkeypatch, kind, *answers) as server:
        found = await program.ask({"input": "How is the weather?", "tool_choice": "required"})
    assert text_of(found) == ANSWER
    assert [post.get("tool_choice") for post in posts(server)] == ["required", None]
