"""What a token-id back end knows about its server: the product, the models and the context length."""

from __future__ import annotations

from typing import Any

import pytest

from chatui.backends.base import BackendError, Endpoint
from chatui.backends.discovery import Discovered
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.codes import ProductCode
from renderer.harmony.vocabulary import VocabularyError
from tests.chatui.backends.harmony.test_backend import SGLANG, VLLM
from tests.support import stub
from tests.support.sampling import PATIENT

pytestmark = pytest.mark.asyncio

UNREACHABLE = "http://127.0.0.1:9"
PROPS = {"/props": {"default_generation_settings": {"n_ctx": 2048}}}
UNKNOWN = {"models": {"data": [{"id": "x", "owned_by": "library"}, {"id": "y"}]}}


def no_vocabulary() -> Any:
    raise VocabularyError("missing")


def back_end(url: str, dialect: str | None = None, model: str | None = None) -> HarmonyCompletionsBackend:
    return HarmonyCompletionsBackend(Endpoint(url, model=model, limits=PATIENT), vocabulary=no_vocabulary, dialect=dialect)


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
    with pytest.raises(BackendError) as raised:
        await back_end(UNREACHABLE).models()
    assert raised.value.code is ProductCode.BACKEND_UNREACHABLE
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


@pytest.mark.parametrize(("dialect", "requests"), [("vLLM", 0), (None, 1)])
async def test_what_another_has_detected_is_used_with_a_known_dialect(dialect: str | None, requests: int) -> None:
    async with stub.running(stub.plays(b""), **VLLM) as server:
        backend = back_end(server.url, dialect)
        backend.use_discovery(Discovered("vLLM", ("found",), (("found", 77),)))
        assert await backend.models() == (("found",) if dialect else ("tiny",))
        assert (backend.known_context(None), len(server.requests)) == (77 if dialect else 4096, requests)
        await backend.aclose()


async def test_the_context_is_that_of_the_named_model() -> None:
    backend = back_end(UNREACHABLE, "vLLM", model="b")
    backend.use_discovery(Discovered("vLLM", ("a", "b"), (("a", 1000), ("b", 2000))))
    assert [backend.known_context(name) for name in (None, "a", "b", "c")] == [2000, 1000, 2000, 1000]
    assert back_end(UNREACHABLE, "vLLM").known_context("a") is None
