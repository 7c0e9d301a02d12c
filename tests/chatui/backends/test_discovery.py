"""Discovery: what a server reports about itself is read, in bounded time."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import pytest

from chatui.backends.base import BackendError, Endpoint, SampleLimits
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.discovery import Discovered, discover, own_name
from chatui.backends.http import Upstream
from chatui.codes import ProductCode
from tests.support import stub
from tests.support.sampling import HASTY, PATIENT

pytestmark = [pytest.mark.asyncio, pytest.mark.served]


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
            await anext(upstream.stream("/v1/chat/completions", {}))
        assert await upstream.try_get("/props") is None
        stays.set()
        await upstream.aclose()
    assert raised.value.code == sampled.value.code == code


async def test_models_are_requested_once_and_identify_the_server() -> None:
    async with stub.running(stub.plays(b""), models=listed("vllm", "gpt-oss-20b")) as server:
        backend = ChatCompletionsBackend(Endpoint(server.url, limits=PATIENT))
        assert await backend.models() == await backend.models() == ("gpt-oss-20b",)
        assert backend.name.startswith("vLLM at 127.0.0.1")
        await backend.aclose()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("configured", "requested", "shown"),
    [
        ("gpt-oss-20b", "gpt-oss-20b", "gpt-oss-20b"),
        ("gpt-oss-20b-2025-08-05", "gpt-oss-20b", "gpt-oss-20b-2025-08-05"),
        ("tiny", "gpt-oss-20b", "tiny"),
        ("tiny", None, "tiny"),
        ("gpt-oss-20b SECRET", "gpt-oss-20b", "gpt-oss-20b"),
        ("SECRET", "gpt-oss-20b", "gpt-oss-20b"),
        ("SECRET", None, None),
        (None, "gpt-oss-20b", "gpt-oss-20b"),
    ],
)
async def test_a_models_name_is_the_requested_or_offered_one(configured: str | None, requested: str | None, shown: str | None) -> None:
    assert own_name(configured, requested, ("tiny", "")) == shown
