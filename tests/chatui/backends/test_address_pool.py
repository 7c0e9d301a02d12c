"""A backend with several addresses: failover before the first event, least busy address first, and a pause for one that is down."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends import address_pool, registry
from chatui.backends.address_pool import PooledBackend
from chatui.backends.base import Endpoint
from chatui.codes import ProductCode
from tests.support import stub
from tests.support.sampling import PATIENT, outcome, sample_request
from tests.support.served import free_port
from tests.support.several import constant_answer

pytestmark = pytest.mark.served


def pooled(*urls: str) -> PooledBackend:
    return PooledBackend([registry.build(Endpoint(url, "sk-7261", limits=PATIENT, separates="always"), kind="chat") for url in urls])


def nobody() -> str:
    return f"http://127.0.0.1:{free_port()}"


def posts(server: stub.Stub) -> int:
    return sum(request.method == "POST" for request in server.requests)


async def test_a_dead_address_fails_over_and_is_paused(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.INFO)
    async with stub.running(constant_answer("Hello.")) as alive, stub.running(stub.responds("500 Oops", b"{}")) as broken:
        backend = pooled(nobody(), broken.url, alive.url)
        for number in range(12):
            assert (await outcome(backend, sample_request(f"Question {number}"))).visible == "Hello."
        assert posts(broken) == 1, "it is left alone for a while"
        assert posts(alive) == 12
        monkeypatch.setattr(address_pool, "COOLDOWN_SECONDS", 0.0)
        for member in backend._members:
            member.unavailable_until = min(member.unavailable_until, 0.0)
        broken.answer = constant_answer("Hello.")
        for number in range(12):
            assert (await outcome(backend, sample_request(f"Question {number}"))).visible == "Hello."
        assert posts(broken) > 1, "and asked again after it"
        await backend.aclose()
    lines = [record.getMessage() for record in caplog.records]
    assert sum("rests for" in line for line in lines) >= 2 and any("answers again" in line for line in lines)
    assert "sk-7261" not in caplog.text


async def test_if_all_addresses_fail_the_last_error_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = pooled(nobody(), nobody())
    for _ in range(2):
        result = await outcome(backend, sample_request("Hello!"))
        assert result.error is not None and result.error.code is ProductCode.BACKEND_UNREACHABLE and result.error.retryable
    await backend.aclose()


async def test_an_error_that_every_address_would_give_is_not_retried() -> None:
    async with (
        stub.running(stub.responds("400 Bad Request", b"{}")) as first,
        stub.running(stub.responds("400 Bad Request", b"{}")) as second,
    ):
        backend = pooled(first.url, second.url)
        result = await outcome(backend, sample_request("Hello!"))
        assert result.error is not None and posts(first) + posts(second) == 1
        await backend.aclose()


async def test_no_failover_after_the_first_event() -> None:
    cut = stub.plays(stub.chunk(content="Half "))
    async with stub.running(cut) as first, stub.running(cut) as second:
        backend = pooled(first.url, second.url)
        result = await outcome(backend, sample_request("Hello!"))
        assert result.error is not None and result.visible == "Half " and posts(first) + posts(second) == 1
        await backend.aclose()


async def test_the_least_busy_address_is_used_and_conversations_are_sticky() -> None:
    may_end = asyncio.Event()

    async def slowly(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD)
        await may_end.wait()
        writer.write(stub.chunk(content="Done.") + stub.chunk(finish="stop", content="") + stub.DONE)
        await writer.drain()

    async with stub.running(slowly) as first, stub.running(slowly) as second:
        backend = pooled(first.url, second.url)
        running = []
        for number in range(6):
            running.append(asyncio.create_task(outcome(backend, sample_request("The same question"))))
            while posts(first) + posts(second) <= number:
                await asyncio.sleep(0.005)
        assert (posts(first), posts(second)) == (3, 3)
        may_end.set()
        assert {result.visible for result in await asyncio.gather(*running)} == {"Done."}
        before = posts(first), posts(second)
        for _ in range(4):
            await outcome(backend, replace(sample_request("The same question"), max_tokens=9))
        grown: list[Any] = [posts(first) - before[0], posts(second) - before[1]]
        assert sorted(grown) == [0, 4], "its prompt may still be known there"
        await backend.aclose()
