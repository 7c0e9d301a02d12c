"""Answer formats in each wire format: described to the model in words, and sent to the server so that it constrains the answer alone."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chatui.answer_formats import AnswerFormat, answer_format
from chatui.backends import registry
from chatui.backends.base import Endpoint, EndReason, SampleRequest, Usage
from chatui.codes import ProductCode
from renderer.frame_kinds import is_answer
from renderer.frames import Frame, Header, Role
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.wire import BEGUN, DAY, LLAMA, SGLANG, VLLM, ended, ids_of, llama, message_event, sse, vllm
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.stub import DONE, SSE_HEAD, Stub, chunk
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
WANTED = answer_format("sum", SCHEMA, "The sum.")
LOOSE = replace(WANTED, is_strict=False)
ANY = AnswerFormat("json_object")
IN_WORDS = "# Response Formats\n\n## sum\n\n// The sum.\n"
REFUSED = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + b'{"error": {"message": "schema"}}'
BUSY = b"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n"
CHAT_ANSWER = SSE_HEAD + chunk("stop", content='{"sum":4}') + DONE
RESPONSES_ANSWER = BEGUN + message_event('{"sum":4}') + ended()


def plays(*answers: bytes) -> Callable[[asyncio.StreamWriter], Any]:
    rest = list(answers)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(rest.pop(0))
        await writer.drain()

    return answer


def request(answer_format: AnswerFormat | None = WANTED) -> SampleRequest:
    return replace(sample_request("2 + 2?", Frame(Header(Role.DEVELOPER), "Be kind.")), answer_format=answer_format)


async def sampled(
    kind: str, sample_request: SampleRequest, *answers: bytes, words: Vocabulary | None = None, **options: Any
) -> tuple[Outcome, list[Any]]:
    """``words``: for a kind of token ids."""
    load = (lambda: words) if words else None
    async with stub.running(plays(*answers), **options) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind=kind, vocabulary=load)
        result = await outcome(backend, replace(sample_request, today=DAY))
        await backend.aclose()
    return result, posts(server)


def posts(server: Stub) -> list[Any]:
    return [each.body for each in server.requests if each.method == "POST"]


@pytest.mark.parametrize(
    ("answer_format", "sent"),
    [
        (WANTED, {"type": "json_schema", "json_schema": {"name": "sum", "description": "The sum.", "schema": SCHEMA, "strict": True}}),
        (LOOSE, {"type": "json_schema", "json_schema": {"name": "sum", "description": "The sum.", "schema": SCHEMA, "strict": False}}),
        (ANY, {"type": "json_object"}),
        (None, None),
    ],
)
async def test_chat_completions_have_a_response_format(answer_format: AnswerFormat | None, sent: object) -> None:
    result, [body] = await sampled("chat", request(answer_format), CHAT_ANSWER)
    assert result.visible == '{"sum":4}'
    assert body.get("response_format") == sent
    system = body["messages"][0]["content"]
    assert system.startswith("Be kind.")
    assert ("# Response Formats" in system) is (answer_format is not None)
    assert (IN_WORDS in system) is (answer_format in (WANTED, LOOSE))


@pytest.mark.parametrize(
    ("answer_format", "sent"),
    [
        (WANTED, {"type": "json_schema", "name": "sum", "description": "The sum.", "schema": SCHEMA, "strict": True}),
        (ANY, {"type": "json_object"}),
        (None, None),
    ],
)
@pytest.mark.parametrize("server", [{}, LLAMA])
async def test_responses_have_a_text_format(answer_format: AnswerFormat | None, sent: object, server: dict[str, Any]) -> None:
    result, [body] = await sampled("responses", request(answer_format), RESPONSES_ANSWER, **server)
    assert result.visible == '{"sum":4}'
    assert (body.get("text") or {}).get("format") == sent
    assert ("response_format" in body) is (answer_format is not None and bool(server))
    assert ("# Response Formats" in body["instructions"]) is (answer_format is not None)


@pytest.mark.parametrize(
    ("kind", "field", "answer"),
    [("chat", "response_format", CHAT_ANSWER), ("responses", "text", RESPONSES_ANSWER)],
)
async def test_a_server_that_refuses_a_format_is_asked_in_words_only(kind: str, field: str, answer: bytes) -> None:
    result, [first, second] = await sampled(kind, request(), REFUSED, answer)
    assert result.visible == '{"sum":4}'
    assert field in first
    assert second == {name: value for name, value in first.items() if name != field}
    plain, [_] = await sampled(kind, request(None), REFUSED)
    assert plain.error is not None
    assert plain.error.code is ProductCode.BACKEND_REFUSED
    busy, [_] = await sampled(kind, request(), BUSY)
    assert busy.error is not None
    assert busy.error.code is ProductCode.BACKEND_BUSY


ANALYSIS = "<|channel|>analysis<|message|>Two and two. <|end|><|start|>assistant<|channel|>final"
HEADER = f"{ANALYSIS} <|constrain|>json<|message|>"


def llama_stream(vocabulary: Vocabulary, text: str, stop: int | None = None) -> bytes:
    """A stream as llama.cpp sends it: one chunk for each token."""
    chunks = []
    for number in ids_of(vocabulary, text):
        spelled = (
            vocabulary.decode([number]).decode()
            if number < 199_998
            else next(name for name in MARKERS if ids_of(vocabulary, name) == [number])
        )
        chunks.append(llama(spelled, number))
    if stop is not None:
        chunks += [llama("", stop), llama("", stop=True, stop_type="eos", tokens_evaluated=100, tokens_predicted=7)]
        chunks[-1]["tokens"] = []
    return SSE_HEAD + sse(*chunks)


MARKERS = ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>")
RETURN = 200002


def sglang(seen: list[int], finish: object = None) -> dict[str, Any]:
    return {"text": "", "output_ids": seen, "meta_info": {"completion_tokens": len(seen), "prompt_tokens": 100, "finish_reason": finish}}


def streams(dialect: str, vocabulary: Vocabulary, thought: str) -> tuple[bytes, bytes]:
    """What the model writes first, continuing in prose where it is not constrained; and what it writes from its answer on."""
    prose, value = ids_of(vocabulary, f"{thought}<|message|>It is four."), ids_of(vocabulary, '{"sum":4}')
    if dialect == "llama.cpp":
        return llama_stream(vocabulary, f"{thought}<|message|>It is four."), llama_stream(vocabulary, '{"sum":4}', RETURN)
    if dialect == "vLLM":
        usage = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}
        return SSE_HEAD + sse(vllm(*prose)), SSE_HEAD + sse(vllm(*value), vllm(RETURN, finish="stop"), usage) + DONE
    matched = {"type": "stop", "matched": RETURN}
    return SSE_HEAD + sse(sglang(prose)), SSE_HEAD + sse(sglang(value), sglang([*value, RETURN], matched)) + DONE


def schema_in(body: dict[str, Any]) -> object:
    """The schema that constrains the sampling of a token server; None if it is free."""
    if "prompt" not in body:
        written = body["sampling_params"].get("json_schema")
        return None if written is None else json.loads(written)
    bound = body.get("json_schema") or (body.get("structured_outputs") or {}).get("json")
    return bound and {name: value for name, value in bound.items() if name != "x-guidance"}


SERVERS: dict[str, dict[str, Any]] = {"llama.cpp": LLAMA, "vLLM": VLLM, "SGLang": SGLANG}


@pytest.mark.parametrize("dialect", SERVERS)
@pytest.mark.parametrize("thought", [ANALYSIS, f"{ANALYSIS} <|constrain|>json"])
async def test_over_token_ids_the_schema_applies_from_the_answer_on(vocabulary: Vocabulary, dialect: str, thought: str) -> None:
    result, [first, second] = await sampled(
        "harmony", replace(request(), max_tokens=500), *streams(dialect, vocabulary, thought), **SERVERS[dialect], words=vocabulary
    )
    assert result.error is None
    assert (result.visible, result.hidden) == ('{"sum":4}', "Two and two. ")
    [answer] = [done.frame for done in result.finished if is_answer(done.frame.header)]
    assert answer.body == '{"sum":4}'
    assert (schema_in(first), schema_in(second)) == (None, SCHEMA)
    before, after = (body.get("prompt") or body.get("input_ids") for body in (first, second))
    written = ids_of(vocabulary, HEADER)
    assert after == [*before, *written]
    assert bytes(vocabulary.decode([number for number in before if number < 199_998])).decode().count(IN_WORDS) == 1
    assert result.ended is not None
    assert result.ended.reason is EndReason.STOP
    counted = len(ids_of(vocabulary, '{"sum":4}')) + 1 if dialect == "SGLang" else 7
    assert result.ended.usage == Usage(100 - len(written), counted + len(written))


@pytest.mark.parametrize("dialect", SERVERS)
async def test_a_token_server_that_refuses_a_schema_is_asked_without_it(vocabulary: Vocabulary, dialect: str) -> None:
    first, second = streams(dialect, vocabulary, ANALYSIS)
    result, bodies = await sampled("harmony", request(), first, REFUSED, second, words=vocabulary, **SERVERS[dialect])
    assert result.visible == '{"sum":4}'
    assert [schema_in(body) for body in bodies] == [None, SCHEMA, None]
    broken, _ = await sampled("harmony", request(), first, BUSY, words=vocabulary, **SERVERS[dialect])
    assert broken.error is not None
    assert broken.visible == ""


async def test_over_token_ids_a_call_is_not_constrained(vocabulary: Vocabulary) -> None:
    call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}"
    answer = SSE_HEAD + sse(vllm(*ids_of(vocabulary, call)), vllm(200012, finish="stop")) + DONE
    result, [body] = await sampled("harmony", request(), answer, words=vocabulary, **VLLM)
    assert result.calls == [("functions.f", "{}")]
    assert schema_in(body) is None
