"""Discovery: what a server reports about itself is read, in bounded time."""

import asyncio
import contextlib
import json
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends import discovery, registry
from chatui.backends.auto import AutoBackend
from chatui.backends.base import BackendError, Endpoint, SampleLimits
from chatui.backends.discovery import Discovered, discover
from chatui.backends.http import Upstream
from chatui.codes import ProductCode
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.backends.recorded import GREETING
from tests.chatui.backends.wire import LLAMA, SGLANG, VLLM, recorded, sse
from tests.support import stub
from tests.support.sampling import HASTY, PATIENT, outcome, sample_request
from tests.support.served import free_port

pytestmark = pytest.mark.served


def listed(owner: str, *names: str) -> dict[str, object]:
    return {"object": "list", "data": [{"id": name, "owned_by": owner} for name in names]}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"models": listed("me", "tiny"), "server_header": "llama.cpp"}, Discovered("llama.cpp", ("tiny",))),
        ({"models": listed("vllm", "gpt-oss-20b", "other")}, Discovered("vLLM", ("gpt-oss-20b", "other"))),
        ({"models": listed("library", "gpt-oss:20b")}, Discovered("Ollama", ("gpt-oss:20b",))),
        ({"models": listed("me", "a"), "extra": {"/api/version": {"version": "1"}}}, Discovered("Ollama", ("a",))),
        ({"models": listed("me", "a"), "extra": {"/version": {"version": "1"}}}, Discovered("vLLM", ("a",))),
        ({"models": listed("me", "a")}, Discovered(None, ("a",))),
        ({"models": {"data": [{"id": 7}, "x", {"id": "good"}]}}, Discovered(None, ("good",))),
        ({"models": {"nothing": "here"}}, Discovered(None, ())),
    ],
)
async def test_a_server_is_recognized_by_its_header_owner_or_version(options: dict[str, Any], expected: Discovered) -> None:
    async with stub.running(stub.plays(b""), **options) as server:
        assert await discover(server.url + "/v1", "key", PATIENT) == expected
    assert server.requests[0].headers["authorization"] == "Bearer key"


# Lists as these servers send them, shortened to what may be read. In each, the models whose names begin with "x" write no answers.
_TEXT, _SOUND = {"input_modalities": ["text", "image"], "output_modalities": ["text"]}, {"input_modalities": ["audio"]}
DESCRIBED: dict[str, dict[str, Any]] = {
    "llama.cpp": {
        "server_header": "llama.cpp",
        "models": {
            "object": "list",
            "models": [
                {"name": "gpt-oss-20b", "model": "gpt-oss-20b", "type": "model", "capabilities": ["completion", "multimodal"]},
                {"name": "x-embed", "model": "x-embed", "type": "model", "capabilities": ["embedding"]},
            ],
            "data": [{"id": name, "object": "model", "owned_by": "llamacpp", "meta": {}} for name in ("gpt-oss-20b", "x-embed")],
        },
    },
    "OpenRouter": {
        "models": {
            "data": [
                {"id": "openai/gpt-oss-120b", "architecture": {"modality": "text->text", **_TEXT, "tokenizer": "GPT"}},
                {"id": "x/embed", "architecture": {"modality": "text->embeddings", **_TEXT, "output_modalities": ["embeddings"]}},
                {"id": "x/image", "architecture": {**_TEXT, "output_modalities": ["image"]}},
                {"id": "image-and-text", "architecture": {**_TEXT, "output_modalities": ["image", "text"]}},
                {"id": "x/whisper", "architecture": {**_SOUND, "output_modalities": ["text"]}},
            ]
        }
    },
    "LM Studio": {
        "models": listed("organization_owner", "openai/gpt-oss-20b", "x-embed-nomic", "qwen2-vl"),
        "extra": {
            "/api/v0/models": {
                "data": [
                    {"id": "openai/gpt-oss-20b", "object": "model", "type": "llm", "max_context_length": 131072},
                    {"id": "x-embed-nomic", "object": "model", "type": "embeddings", "max_context_length": 2048},
                    {"id": "qwen2-vl", "object": "model", "type": "vlm"},
                ]
            }
        },
    },
    "LiteLLM": {
        "server_header": "uvicorn\r\nx-litellm-version: 1.74.0",
        "models": listed("openai", "gpt-oss", "x-embed", "x-speech", "x-rank"),
        "extra": {
            "/model/info": {
                "data": [
                    {"model_name": name, "litellm_params": {"model": f"openai/{name}"}, "model_info": {"id": "0", "mode": mode}}
                    for name, mode in (
                        *(("gpt-oss", "chat"), ("x-embed", "embedding"), ("x-speech", "audio_transcription")),
                        *(("x-rank", "rerank"), ("not-listed", "image_generation")),
                    )
                ]
            },
        },
    },
    "Mistral": {
        "models": {
            "data": [
                {
                    "id": "small",
                    "capabilities": {"completion_chat": True, "completion_fim": False, "function_calling": True},
                    "type": "base",
                },
                {"id": "x-moderation", "capabilities": {"completion_chat": False, "moderation": True}, "type": "base"},
            ]
        }
    },
    "Infinity": {"models": {"data": [{"id": "x-bge", "capabilities": ["embed"]}, {"id": "x-rank", "capabilities": ["rerank"]}]}},
    "Speaches": {
        "models": {
            "data": [
                {"id": "x-whisper", "task": "automatic-speech-recognition", "owned_by": "Systran"},
                {"id": "x-kokoro", "task": "text-to-speech", "owned_by": "speaches-ai"},
            ]
        }
    },
    "a server that says nothing": {"models": listed("someone", "nomic-embed-text", "whisper-1")},
    "only what a model can do besides": {"models": {"data": [{"id": "a", "capabilities": ["vision", "audio"], "model_type": "bert"}]}},
    "both": {"models": {"data": [{"id": "a", "capabilities": ["completion", "embedding"]}]}},
    "words of other shapes": {"models": {"data": [{"id": "a", "type": ["embedding", 7], "task": 3, "capabilities": None}, {"id": "b"}]}},
}


@pytest.mark.parametrize("product", DESCRIBED)
async def test_models_that_write_no_answers_are_left_out_by_what_the_server_reports(product: str) -> None:
    described = DESCRIBED[product]
    names = [entry["id"] for entry in described["models"]["data"]]
    if product == "words of other shapes":
        names[0] = "x"
        described["models"]["data"][0]["id"] = "x"
    async with stub.running(stub.responds("404 Not Found", b"{}"), **described) as server:
        found = await discover(server.url + "/v1", None, PATIENT)
    assert found.models == tuple(name for name in names if not name.startswith("x"))
    assert found.left_out == tuple(name for name in names if name.startswith("x"))


async def test_ollama_says_of_each_model_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "SHOWN_AT_ONCE", 1)  # the peer answers the last request
    able = {"gpt-oss:20b": ["completion", "tools", "thinking"], "nomic-embed-text:latest": ["embedding"], "old": None}

    async def shown(writer: asyncio.StreamWriter) -> None:
        capabilities = able[server.requests[-1].body["model"]]
        body = {"modelfile": "FROM x", "details": {"family": "x"}, **({"capabilities": capabilities} if capabilities else {})}
        await stub.responds("200 OK", json.dumps(body).encode(), "Connection: close\r\n")(writer)

    async with stub.running(shown, models=listed("library", *able)) as server:
        found = await discover(server.url, "key", PATIENT)
        assert (found.models, found.left_out) == (("gpt-oss:20b", "old"), ("nomic-embed-text:latest",))
        assert {request.path for request in server.requests if request.method == "POST"} == {"/api/show"}
        server.answer = stub.responds("500 Internal Server Error", b"{}")
        assert (await discover(server.url, "key", PATIENT)).models == tuple(able), "one that does not tell keeps its models"


async def test_a_missing_list_of_models_or_server_is_a_plain_error() -> None:
    async with stub.running(stub.plays(b"")) as server:
        with pytest.raises(BackendError) as refused:
            await discover(server.url, None, PATIENT)
    assert refused.value.code == ProductCode.BACKEND_SETUP
    with pytest.raises(BackendError) as unreachable:
        await discover(server.url, None, PATIENT)
    assert unreachable.value.code == ProductCode.BACKEND_UNREACHABLE


async def test_a_silent_server_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as never_accepts:
        started = time.monotonic()
        with pytest.raises(BackendError) as slow:
            await discover(f"http://127.0.0.1:{never_accepts.getsockname()[1]}", None, HASTY)
    assert slow.value.code == ProductCode.TIMEOUT
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(("limits", "code"), [(PATIENT, ProductCode.BACKEND), (HASTY, ProductCode.TIMEOUT)], ids=["closes", "falls silent"])
async def test_a_response_that_breaks_off_is_a_plain_error(limits: SampleLimits, code: ProductCode) -> None:
    stays = asyncio.Event()

    async def breaks_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
        if code is ProductCode.TIMEOUT:
            await stays.wait()
        writer.close()

    async with await asyncio.start_server(breaks_off, "127.0.0.1", 0) as server:
        upstream = Upstream(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", None, limits)
        with pytest.raises(BackendError) as raised:
            await upstream.get("/v1/models")
        with pytest.raises(BackendError) as sampled:
            await upstream.post("/v1/chat/completions", {})
        assert await upstream.try_get("/props") is None
        stays.set()
        await upstream.aclose()
    assert raised.value.code == sampled.value.code == code


async def test_models_are_requested_once_and_identify_the_server() -> None:
    async with stub.running(stub.plays(b""), models=listed("vllm", "gpt-oss-20b")) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT))
        assert await backend.models() == await backend.models() == ("gpt-oss-20b",)
        assert backend.name.startswith("vLLM at 127.0.0.1")
        await backend.aclose()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("named", "requested", "shown"),
    [
        ("gpt-oss-20b", "gpt-oss-20b", "gpt-oss-20b"),
        ("gpt-oss-20b-2025-08-05", "gpt-oss-20b", "gpt-oss-20b-2025-08-05"),
        ("tiny", "gpt-oss-20b", "tiny"),
        ("tiny", None, "tiny"),
        ("gpt-oss-20b SECRET", "gpt-oss-20b", "gpt-oss-20b"),
        ("SECRET", "gpt-oss-20b", "gpt-oss-20b"),
        ("SECRET", None, "tiny"),
        (None, "gpt-oss-20b", "gpt-oss-20b"),
    ],
)
async def test_a_models_name_is_the_requested_or_offered_one(named: str | None, requested: str | None, shown: str | None) -> None:
    text, end = ({"model": named, "choices": [{"delta": delta}]} for delta in ({"content": "Hi"}, {}))
    answer = stub.plays(sse(text, end | {"choices": [{"delta": {}, "finish_reason": "stop"}]}) + stub.DONE)
    for lists_it in (True, False):
        async with stub.running(answer, models=listed("library", "tiny") if lists_it else None) as server:
            backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="chat")
            ended = (await outcome(backend, replace(sample_request("Hello!"), model=requested))).ended
            await backend.aclose()
        is_known = lists_it or shown != "tiny"
        assert ended is not None and ended.model == (shown if is_known else requested)


# Detection of the wire format when no kind is configured: the server is asked, and the choice is reported with its reason.


Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
GPT_OSS, ANOTHER = {"tokens": [200005, 200008]}, {"tokens": [27, 91, 8]}
SECRET = "sk-7261-secret"
CHAT = stub.plays(stub.chunk(content=GREETING) + stub.chunk(finish="stop", content="") + stub.DONE)


def as_body(body: object) -> Answer:
    return stub.responds("200 OK", json.dumps(body).encode())


def by_path(**answers: Answer) -> Callable[[stub.Stub], Answer]:
    """Answer each request by the last part of its path."""

    def of(server: stub.Stub) -> Answer:
        async def answer(writer: asyncio.StreamWriter) -> None:
            name = server.requests[-1].path.rpartition("/")[2]
            await answers.get(name, stub.responds("404 Not Found", b"{}"))(writer)

        return answer

    return of


LLAMA_IDS = stub.plays(recorded("llamacpp/x-raw-completion-greet.sse"))
VLLM_IDS = stub.plays(recorded("vllm/v-raw-completions-greet.sse"))
NO_IDS = stub.plays(sse({"choices": [{"index": 0, "text": "analysis", "finish_reason": None}]}))
REFUSED = stub.responds("400 Bad Request", b"{}")
SEVERAL: dict[str, Any] = {"server_header": "llama.cpp", "models": {"data": [{"id": "a"}, {"id": "b"}]}}


async def chosen(
    answers: Callable[[stub.Stub], Answer], server: dict[str, Any], vocabulary: Callable[[], Vocabulary], *, trusted: bool = False
) -> tuple[str, str, stub.Stub]:
    """The detected kind, the reason, and the paths that the server saw. The answer to a question must come in that kind."""
    async with stub.running(CHAT, **server) as running:
        running.answer = answers(running)
        backend = built(running.url, vocabulary, trusts_summaries=trusted)
        assert isinstance(backend, AutoBackend) and backend.kind == "auto"
        result = await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
        assert result.visible == GREETING
        choice = await backend.choice()
        return choice.kind, choice.why, running


def built(url: str, vocabulary: Callable[[], Vocabulary], limits: SampleLimits = PATIENT, **options: Any) -> AutoBackend:
    backend = registry.build(Endpoint(url, SECRET, limits=limits, **options), kind="auto", vocabulary=vocabulary)
    assert isinstance(backend, AutoBackend)
    return backend


def missing() -> Vocabulary:
    raise VocabularyError("not here")


async def test_token_ids_are_chosen_for_gpt_oss_on_llama_cpp_and_vllm(vocabulary: Vocabulary, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    kind, why, server = await chosen(by_path(tokenize=as_body(GPT_OSS), completion=LLAMA_IDS), LLAMA, lambda: vocabulary)
    assert kind == "harmony-llamacpp" and "token ids" in why
    assert next(request.body["n_predict"] for request in server.requests if request.path == "/completion") == 1, "one token is enough"
    kind, why, server = await chosen(by_path(tokenize=as_body(GPT_OSS), completions=VLLM_IDS), VLLM, lambda: vocabulary)
    assert kind == "harmony-vllm" and "token ids" in why
    lines = [record.getMessage() for record in caplog.records if "wire format" in record.getMessage()]
    assert len(lines) == 2 and lines[0].startswith("wire format harmony-llamacpp chosen for the model server at 127.0.0.1:")
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("answers", "server", "has_vocabulary", "trusted", "why"),
    [
        ({}, {"models": {"data": [{"id": "m", "owned_by": "library"}]}}, True, False, "Ollama is not known to give token ids"),
        ({}, {"models": {"data": [{"id": "m"}]}}, True, False, "does not say what it is"),
        ({}, {}, True, False, "does not say what it is (HTTP 404)"),
        ({"tokenize": as_body(ANOTHER)}, VLLM, True, False, "is not gpt-oss"),
        ({}, VLLM, True, False, "did not say how it tokenizes"),
        ({"tokenize": as_body(GPT_OSS), "completions": VLLM_IDS}, VLLM, False, False, "run python manage.py fetch_vocabulary"),
        ({"tokenize": as_body(GPT_OSS), "completions": VLLM_IDS}, VLLM, True, True, "summaries"),
        ({"tokenize": as_body(GPT_OSS), "completions": NO_IDS}, VLLM, True, False, "does not return the ids"),
        ({"tokenize": as_body(GPT_OSS), "generate": REFUSED}, SGLANG, True, False, "does not return the ids"),
        ({"tokenize": as_body(GPT_OSS), "completion": LLAMA_IDS}, SEVERAL, True, False, "several models"),
    ],
)
async def test_chat_is_chosen_with_a_reason_where_token_ids_are_unavailable(
    vocabulary: Vocabulary, answers: dict[str, Answer], server: dict[str, Any], has_vocabulary: bool, trusted: bool, why: str
) -> None:
    load = (lambda: vocabulary) if has_vocabulary else missing
    kind, message, _ = await chosen(_with_chat(answers), server, load, trusted=trusted)
    assert kind == "chat" and why in message


def _with_chat(answers: dict[str, Answer]) -> Callable[[stub.Stub], Answer]:
    """``completions`` ends two addresses: vLLM's for token ids, and that of Chat Completions."""

    def of(server: stub.Stub) -> Answer:
        async def answer(writer: asyncio.StreamWriter) -> None:
            path = server.requests[-1].path
            if path == "/v1/chat/completions":
                await CHAT(writer)
            else:
                await answers.get(path.rpartition("/")[2], stub.responds("404 Not Found", b"{}"))(writer)

        return answer

    return of


async def test_a_server_that_is_down_is_probed_at_the_first_contact(vocabulary: Vocabulary) -> None:
    port = free_port()
    backend = built(f"http://127.0.0.1:{port}", lambda: vocabulary)
    result = await outcome(backend, sample_request("Hello!"))
    assert result.error is not None and result.error.code is ProductCode.BACKEND_UNREACHABLE
    assert backend.kind == "auto", "nothing is guessed"
    running = stub.Stub(CHAT, models=LLAMA["models"], server_header="llama.cpp")
    running.answer = by_path(tokenize=as_body(GPT_OSS), completion=LLAMA_IDS)(running)
    async with await asyncio.start_server(running.accept, "127.0.0.1", port):
        assert (await outcome(backend, sample_request("Hello!"))).visible == GREETING
        assert backend.kind == "harmony"
        await backend.aclose()
        await asyncio.wait(running.connections, timeout=5)


async def test_a_refused_key_or_a_busy_server_decides_nothing(vocabulary: Vocabulary) -> None:
    async with stub.running(stub.responds("503 Service Unavailable", b"{}"), **VLLM) as busy:
        busy.answer = _with_chat({"tokenize": as_body(GPT_OSS), "completions": stub.responds("503 Service Unavailable", b"{}")})(busy)
        backend = built(busy.url, lambda: vocabulary)
        with pytest.raises(BackendError) as refused:
            await backend.choice()
        assert refused.value.code is ProductCode.BACKEND_BUSY and backend.kind == "auto"


async def test_an_unidentified_server_gets_chat_and_is_probed_again_soon(vocabulary: Vocabulary) -> None:
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        backend = built(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", lambda: vocabulary, HASTY)
        choice = await backend.choice()
        await backend.aclose()
        await left.wait()
    assert (choice.kind, choice.lasts) == ("chat", False) and "in time" in choice.why


async def test_a_replaced_server_at_the_same_address_is_noticed_by_its_refusal(vocabulary: Vocabulary) -> None:
    async with stub.running(CHAT, **LLAMA) as running:
        running.answer = by_path(tokenize=as_body(GPT_OSS), completion=LLAMA_IDS)(running)
        backend = built(running.url, lambda: vocabulary)
        assert (await outcome(backend, sample_request("Hello!"))).visible == GREETING and backend.kind == "harmony"
        running.server_header, running.answer = "another", by_path(completions=CHAT)(running)
        assert (await outcome(backend, sample_request("Hello!"))).error is not None, "this kind is not supported there"
        assert (await outcome(backend, sample_request("Hello!"))).visible == GREETING
        assert backend.kind == "chat"
        await backend.aclose()


async def test_a_deeply_nested_description_is_ignored(vocabulary: Vocabulary) -> None:
    async with stub.running(CHAT, models=b"[" * 200_000) as running:
        backend = built(running.url, lambda: vocabulary)
        assert (await outcome(backend, sample_request("Hello!"))).visible == GREETING
        await backend.aclose()


async def test_a_slow_server_blocks_nobody_while_it_is_probed(vocabulary: Vocabulary) -> None:
    async def drips(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b'data: {"content": ""}\n\n')
                await writer.drain()
                await asyncio.sleep(0.02)

    async with stub.running(CHAT, **LLAMA) as running:
        running.answer = _with_chat({"tokenize": as_body(GPT_OSS), "completion": drips})(running)
        backend = built(running.url, lambda: vocabulary, SampleLimits(discover=0.5, first=3600, idle=3600))
        results = await asyncio.gather(*(outcome(backend, sample_request("Hello!")) for _ in range(3)))
        assert [result.visible for result in results] == [GREETING] * 3
        choice = await backend.choice()
        assert (choice.kind, choice.lasts) == ("chat", False), "it is asked again soon"
        await backend.aclose()
    assert sum(request.path == "/completion" for request in running.requests) == 1
