"""Asking a server to leave out its raw reasoning, in the field it knows; reasoning that comes anyway is hidden."""

from __future__ import annotations

import asyncio
import json

import pytest

from chatui.backends import registry
from chatui.backends.base import Backend, Endpoint
from chatui.backends.chat.backend import ChatCompletionsBackend
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.harmony.test_backend import VLLM
from tests.support import stub
from tests.support.sampling import PATIENT, outcome, sample_request
from tests.support.several import constant_answer

pytestmark = pytest.mark.asyncio


def backend_at(url: str, kind: str = "chat", vocabulary: Vocabulary | None = None, *, wants_reasoning: bool = False) -> Backend:
    endpoint = Endpoint(url, limits=PATIENT, wants_reasoning=wants_reasoning)

    def load() -> Vocabulary:
        assert vocabulary is not None
        return vocabulary

    return registry.build(endpoint, kind=kind, vocabulary=load)


@pytest.mark.parametrize("wants_reasoning", [True, False])
async def test_the_server_is_asked_to_omit_reasoning_and_any_that_comes_is_hidden(wants_reasoning: bool) -> None:
    async with stub.running(constant_answer("Hello.")) as server:
        backend = backend_at(server.url, wants_reasoning=wants_reasoning)
        result = await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    assert server.posted.get("include_reasoning") == (None if wants_reasoning else False) and "reasoning" not in server.posted
    assert (result.visible, result.hidden) == ("Hello.", "THOUGHT-Hello.")


async def test_open_router_is_asked_with_its_own_field() -> None:
    backend = ChatCompletionsBackend(Endpoint("https://openrouter.ai/api/v1", model="m", limits=PATIENT, wants_reasoning=False))
    payload = await backend._payload(sample_request("Hello!"))
    assert payload["reasoning"] == {"exclude": True} and "include_reasoning" not in payload
    await backend.aclose()


async def test_a_server_that_does_not_know_the_field_still_answers() -> None:
    async with stub.running(constant_answer("Hello.")) as server:

        async def strict(writer: asyncio.StreamWriter) -> None:
            refusal = {"error": {"message": "Unknown field: include_reasoning"}}
            is_known = "include_reasoning" not in server.requests[-1].body
            await (constant_answer("Hello.") if is_known else stub.responds("400 Bad Request", json.dumps(refusal).encode()))(writer)

        server.answer = strict
        backend = backend_at(server.url)
        assert (await outcome(backend, sample_request("Hello!"))).visible == "Hello."
        await backend.aclose()


async def test_token_ids_are_not_chosen_then(vocabulary: Vocabulary) -> None:
    async with stub.running(constant_answer("Hello."), **VLLM) as server:
        backend = backend_at(server.url, "auto", vocabulary)
        assert (await outcome(backend, sample_request("Hello!"))).visible == "Hello."
        assert backend.kind == "chat" and server.posted["include_reasoning"] is False
        await backend.aclose()
