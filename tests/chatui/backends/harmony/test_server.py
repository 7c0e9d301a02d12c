"""What a token-id backend knows about its server: the product, the models and the context length."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest

from chatui.backends import discovery, registry
from chatui.backends.auto import KIND_OF
from chatui.backends.base import BackendError, Endpoint, SampleRequest
from chatui.backends.context_window import weight, weight_of
from chatui.backends.discovery import Discovered
from chatui.backends.harmony import backend as backend_module
from chatui.codes import ProductCode
from renderer.frames import Frame, Header
from renderer.harmony.prompt import Prompt, SystemMessage, build
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.chatui.backends.test_wire_formats import plays
from tests.chatui.backends.wire import DAY, LLAMA, SGLANG, VLLM, ids_of, posts, sse, vllm
from tests.support import stub
from tests.support.sampling import PATIENT, outcome, sample_request
from tests.support.stub import SSE_HEAD

UNREACHABLE = "http://127.0.0.1:9"
PROPS = {"/props": {"default_generation_settings": {"n_ctx": 2048}}}
UNKNOWN = {"models": {"data": [{"id": "x", "owned_by": "library"}, {"id": "y"}]}}


def no_vocabulary() -> Any:
    raise VocabularyError("missing")


def back_end(url: str, dialect: str | None = None, model: str | None = None) -> Any:
    kind = registry.HARMONY if dialect is None else KIND_OF[dialect]
    return registry.build(Endpoint(url, model=model, limits=PATIENT), kind=kind, vocabulary=no_vocabulary)


async def test_the_server_is_asked_once_for_its_models_and_its_context() -> None:
    async with stub.running(stub.plays(b""), **VLLM) as server:
        backend = back_end(server.url)
        assert backend.known_context("tiny") is None and backend.name.startswith("Model server at 127.0.0.1")
        assert [await backend.models() for _ in range(2)] == [("tiny",)] * 2
        assert [request.path for request in server.requests] == ["/v1/models"]
        assert (backend.known_context("tiny"), backend.known_context(None)) == (4096, 4096)
        assert backend.name.startswith("vLLM at 127.0.0.1")
        await backend.aclose()


async def test_a_named_dialect_works_without_detection_and_an_unknown_server_does_not() -> None:
    named = back_end(UNREACHABLE, "SGLang")
    assert await named.models() == () and named.name == "SGLang at 127.0.0.1:9" and named.known_context(None) is None
    unknown = back_end(UNREACHABLE)
    with pytest.raises(BackendError) as raised:
        await unknown.models()
    assert raised.value.code is ProductCode.BACKEND_UNREACHABLE
    await named.aclose()
    await unknown.aclose()
    async with stub.running(stub.plays(b""), **UNKNOWN) as server:
        unknown = back_end(server.url)
        with pytest.raises(BackendError) as raised:
            await unknown.models()
        await unknown.aclose()
    assert raised.value.code is ProductCode.BACKEND_SETUP


@pytest.mark.parametrize(
    ("dialect", "options", "context", "asked"),
    [
        ("llama.cpp", {**UNKNOWN, "extra": PROPS}, 2048, True),
        ("SGLang", {**UNKNOWN, "extra": PROPS}, None, False),
        ("llama.cpp", {**SGLANG, "extra": PROPS}, 4096, False),
    ],
)
async def test_a_named_dialect_says_where_the_context_length_is(
    dialect: str, options: dict[str, Any], context: int | None, asked: bool
) -> None:
    async with stub.running(stub.plays(b""), **options) as server:
        backend = back_end(server.url, dialect)
        await backend.models()
        assert backend.known_context(None) == context
        assert ("/props" in [request.path for request in server.requests]) is asked
        await backend.aclose()


async def test_what_another_has_detected_is_used_without_asking() -> None:
    backend = back_end(UNREACHABLE, "vLLM")
    backend.use_discovery(Discovered("vLLM", ("found",), (("found", 77),)))
    assert await backend.models() == ("found",) and backend.known_context(None) == 77
    await backend.aclose()


async def test_the_context_is_that_of_the_named_model() -> None:
    backend = back_end(UNREACHABLE, "vLLM", model="b")
    backend.use_discovery(Discovered("vLLM", ("a", "b"), (("a", 1000), ("b", 2000))))
    assert [backend.known_context(name) for name in (None, "a", "b", "c")] == [2000, 1000, 2000, None]
    assert back_end(UNREACHABLE, "vLLM").known_context("a") is None


async def test_the_server_is_asked_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its models may have changed."""
    for kept, requests in ((discovery.KEEP_SECONDS, 1), (-1.0, 2)):
        monkeypatch.setattr(discovery, "KEEP_SECONDS", kept)
        async with stub.running(stub.plays(b""), **VLLM) as server:
            backend = back_end(server.url)
            assert [await backend.models() for _ in range(2)] == [("tiny",)] * 2
            assert len(server.requests) == requests
            await backend.aclose()
        detected = back_end(UNREACHABLE, "vLLM")
        detected.use_discovery(Discovered("vLLM", ("found",)))
        assert await detected.models() == (("found",) if requests == 1 else ())
        await detected.aclose()


async def test_a_server_that_says_no_context_length_is_asked_for_it_once() -> None:
    async with stub.running(stub.plays(b""), **LLAMA) as server:
        backend = back_end(server.url)
        assert backend.known_context(None) is None, "before anything is known"
        assert await backend.models() == ("tiny",) and backend.known_context(None) is None
        assert [request.path for request in server.requests].count("/props") == 1
        await backend.aclose()


async def test_each_exchange_can_be_watched(vocabulary: Vocabulary) -> None:
    seen: list[str] = []

    class Watched:
        def answered(self, status: int, headers: Mapping[str, str]) -> None:
            seen.append(f"{status} {headers['content-type']}")

        def read(self, piece: bytes) -> None:
            seen.extend(["read"] if b"data: " in piece and seen[-1] != "read" else [])

    def asked(method: str, path: str, body: bytes) -> Watched:
        seen.append(f"{method} {path}")
        return Watched()

    async with stub.running(stub.plays(sse(vllm(*ids_of(vocabulary, "<|channel|>final<|message|>Hi<|return|>")))), **VLLM) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        backend.watch(asked)
        assert (await outcome(backend, sample_request("Hello!"))).visible == "Hi"
        await backend.aclose()
    assert seen == ["GET /v1/models", "200 application/json", "POST /v1/completions", "200 text/event-stream", "read"]


async def test_a_context_length_from_a_refusal_is_that_of_the_default_model(vocabulary: Vocabulary) -> None:
    refused = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + json.dumps(
        {"error": {"message": "This model's maximum context length is 1000 tokens. However, your request has 1200 input tokens."}}
    )
    answer = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "<|channel|>final<|message|>Hi<|return|>")))
    async with stub.running(plays(refused.encode(), answer), **VLLM) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        turns = [frame for number in range(6) for frame in (Frame(Header("user"), "word " * 150), Frame(Header("assistant", "final"), "."))]
        assert (await outcome(backend, sample_request("Hello!", *turns))).visible == "Hi"
        assert [backend.known_context(name) for name in (None, "tiny", "other")] == [1000, 1000, 4096]
        await backend.aclose()


async def test_after_a_refusal_a_shorter_prompt_is_sent_even_if_it_should_have_fitted(vocabulary: Vocabulary) -> None:
    refused = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + json.dumps(
        {"error": {"message": "This model's maximum context length is 1100 tokens."}}
    )
    answer = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "<|channel|>final<|message|>Hi<|return|>")))
    turns = [frame for _ in range(6) for frame in (Frame(Header("user"), "word " * 150), Frame(Header("assistant", "final"), "."))]
    async with stub.running(plays(refused.encode(), answer), **VLLM) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        assert (await outcome(backend, sample_request("Hello!", *turns, max_tokens=1))).visible == "Hi"
        await backend.aclose()
    first, second = (post["prompt"] for post in posts(server))
    assert len(second) < len(first) < 1100 and second[-8:] == first[-8:]


@pytest.mark.parametrize(("size", "kept"), [(460, (False, True)), (5000, (True, True))])
async def test_a_question_whose_answer_is_finished_in_words_is_never_left_out(
    vocabulary: Vocabulary, size: int, kept: tuple[bool, bool]
) -> None:
    answer = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "<|channel|>final<|message|>Hi<|return|>")))
    turns = Frame(Header("user"), "first " * 150), Frame(Header("assistant", "final"), "."), Frame(Header("user"), "second " * 250)
    async with stub.running(plays(answer), models={"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": size}]}) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        request = SampleRequest(turns, cut_answer=Frame(Header("assistant", "final"), ""))
        assert (await outcome(backend, request)).visible == "Hi"
        await backend.aclose()
    text = vocabulary.decode([number for number in server.posted["prompt"] if number < 199_998]).decode()
    assert ("first" in text, "second" in text) == kept


@pytest.mark.parametrize(
    ("reported", "asked", "expected"),
    [("tiny", None, "tiny"), ("SECRET", None, "tiny"), (None, None, "tiny"), ("SECRET", "mine", "mine"), ("tiny", "mine", "tiny")],
)
async def test_an_answer_names_its_model(vocabulary: Vocabulary, reported: str | None, asked: str | None, expected: str) -> None:
    chunk = vllm(*ids_of(vocabulary, "<|channel|>final<|message|>Hi<|return|>")) | ({"model": reported} if reported else {})
    async with stub.running(stub.plays(sse(chunk)), **VLLM) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        ended = (await outcome(backend, replace(sample_request("Hello!"), model=asked))).ended
        await backend.aclose()
    assert ended is not None and ended.model == expected and server.posted["model"] == (asked or "tiny")


@pytest.mark.parametrize("failing", [-1, 0, 1])
async def test_a_question_must_fit_with_one_token_for_its_answer(vocabulary: Vocabulary, failing: int) -> None:
    answer = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "<|channel|>final<|message|>Hi<|return|>")))
    prompt = Prompt([Frame(Header("user"), "word " * 200)], SystemMessage(date=DAY.isoformat()))
    size = len(build(prompt, vocabulary)) + 1 + failing
    async with stub.running(plays(answer), models={"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": size}]}) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        result = await outcome(backend, replace(sample_request("word " * 200), today=DAY))
        await backend.aclose()
    if failing == -1:
        assert result.error is not None and result.error.code is ProductCode.QUESTION_TOO_LONG
        assert result.error.context is not None and result.error.context.used > result.error.context.size > 0
        assert not [request for request in server.requests if request.method == "POST"]
    else:
        assert (result.visible, server.posted["max_tokens"]) == ("Hi", 1)


@pytest.mark.parametrize("thoughts", [(), (Frame(Header("assistant", "analysis"), "hidden " * 30),)])
async def test_how_full_the_context_is_does_not_tell_how_much_was_thought(vocabulary: Vocabulary, thoughts: tuple[Frame, ...]) -> None:
    answer = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "<|channel|>final<|message|>Hi there.<|return|>")))
    async with stub.running(plays(answer), **VLLM) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        ended = (await outcome(backend, sample_request("Hello!", Frame(Header("user"), "Hi."), *thoughts))).ended
        await backend.aclose()
    assert ended is not None and ended.context is not None and ended.context.size == 4096
    assert ended.context.used == int(len(server.posted["prompt"]) - weight_of(thoughts)) + int(weight("Hi there."))


async def test_without_a_time_zone_the_date_is_that_of_universal_time(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Clock":
            here = cls(2026, 1, 1, 23, 30, tzinfo=timezone(timedelta(hours=-1)))
            return here.astimezone(tz) if tz else here.replace(tzinfo=None)

    monkeypatch.setattr(backend_module, "datetime", Clock)
    async with stub.running(stub.plays(b""), **VLLM) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    assert "Current date: 2026-01-02" in vocabulary.decode([number for number in server.posted["prompt"] if number < 199_998]).decode()
