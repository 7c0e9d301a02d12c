"""The relay between processes over a separate, real Redis, which is stopped, paused and started again."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

from chatui.env import Environment
from chatui.wire import relay
from chatui.wire.relay import Relay
from tests.chatui.backends.test_route import certificate
from tests.services.redis_server import Redis

pytestmark = [pytest.mark.services, pytest.mark.faults]


@pytest.fixture
async def redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Redis]:
    server = Redis(tmp_path)
    monkeypatch.setattr(relay, "environment", lambda: SimpleNamespace(redis_url=f"redis://127.0.0.1:{server.port}/0"))
    monkeypatch.setattr(relay, "ANSWER_SECONDS", 0.5)
    yield server
    tasks = [task for process in Process.known for task in process.relay._tasks]
    Process.known.clear()
    await relay.ended(*tasks)
    server.wake()
    server.stop()


class Process:
    """The relay of one of two processes of a deployment."""

    known: ClassVar[list["Process"]] = []

    def __init__(self, name: str) -> None:
        self.known.append(self)
        self.received: list[object] = []
        self.relay = Relay(name, lambda group, message: self.received.append((group, message["n"])))

    async def wait_for(self, what: object, seconds: float = 10.0) -> None:
        async with asyncio.timeout(seconds):
            while what not in self.received:
                await asyncio.sleep(0.01)


async def until_it_passes(sender: Process, receiver: Process, number: int) -> None:
    """Send a message repeatedly until it arrives, like the events of a running answer."""
    async with asyncio.timeout(20):
        while ("group", number) not in receiver.received:
            sender.relay.send("group", {"n": number})
            await asyncio.sleep(0.1)


async def test_a_message_reaches_the_group_in_the_other_process_and_not_its_own(redis: Redis) -> None:
    one, two = Process("one"), Process("two")
    for process in (one, two):
        process.relay.join("group")
    await until_it_passes(one, two, 0)
    await two.relay.settled()
    one.relay.send("group", {"n": 1})
    one.relay.send("elsewhere", {"n": 2})
    one.relay.send("socket", {"n": 3}, to="two")
    await two.wait_for(("socket", 3))
    assert ("group", 1) in two.received and ("elsewhere", 2) not in two.received
    assert one.received == []


async def test_a_message_over_another_group_reaches_the_processes_that_joined_that_one(redis: Redis) -> None:
    one, two, three = Process("one"), Process("two"), Process("three")
    two.relay.join("group")
    three.relay.join("inner")
    await until_it_passes(one, two, 0)
    await three.relay.settled()
    one.relay.send("inner", {"n": 1}, over="group")
    one.relay.send("inner", {"n": 2})
    await two.wait_for(("inner", 1))
    await three.wait_for(("inner", 2))
    assert ("inner", 2) not in two.received and ("inner", 1) not in three.received


async def test_a_group_that_was_left_receives_nothing_any_more(redis: Redis) -> None:
    one, two = Process("one"), Process("two")
    two.relay.join("group")
    await until_it_passes(one, two, 0)
    two.relay.leave("group")
    await two.relay.settled()
    one.relay.send("group", {"n": 1})
    one.relay.send("socket", {"n": 2}, to="two")
    await two.wait_for(("socket", 2))
    assert ("group", 1) not in two.received


@pytest.mark.parametrize("fault", ["silent", "away"])
async def test_an_outage_costs_no_time_is_logged_once_and_ends_by_itself(
    fault: str, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    one, two = Process("one"), Process("two")
    two.relay.join("group")
    await until_it_passes(one, two, 0)
    before = asyncio.get_running_loop().time()
    redis.silence() if fault == "silent" else redis.stop()
    for number in range(100):
        one.relay.send("group", {"n": -number})
        two.relay.join(f"group {number}")
    await two.relay.settled()
    assert asyncio.get_running_loop().time() - before < 30, "nobody waits for Redis, which does not come back meanwhile"
    async with asyncio.timeout(10):
        while not (one.relay._is_away and two.relay._is_away):
            await asyncio.sleep(0.05)
    await asyncio.sleep(1.5)
    redis.wake() if fault == "silent" else redis.start()
    await until_it_passes(one, two, 1)
    logged = [record.getMessage() for record in caplog.records if record.name == "chatui.wire.relay"]
    assert sum("is away" in line for line in logged) == 2 and sum("is back" in line for line in logged) == 2, (
        "one line each, for each process"
    )


async def test_a_command_sends_to_a_process(redis: Redis) -> None:
    two = Process("two")
    two.relay.join("group")
    async with asyncio.timeout(10):
        while ("group", 1) not in two.received:
            await asyncio.to_thread(relay.publish_once, "a command", "group", {"n": 1})
            await asyncio.sleep(0.05)
    await asyncio.to_thread(relay.publish_once, "a command", "socket", {"n": 2}, to="two")
    await two.wait_for(("socket", 2))


async def test_a_command_does_not_wait_long_for_a_redis_that_is_away(redis: Redis) -> None:
    redis.silence()
    before = asyncio.get_running_loop().time()
    await asyncio.to_thread(relay.publish_once, "a command", "group", {"n": 1})
    assert asyncio.get_running_loop().time() - before < 30


def count(cache: RedisCache) -> None:
    """What the product does with its cache."""
    cache.set_many({"b": 1, "c": 1}, 60)
    assert cache.add("a", 1, 60) and not cache.add("a", 1, 60) and cache.incr("a", 2) == 3
    cache.set("counted", 2, 60)
    assert cache.get_many(["a", "b", "c"]) == {"a": 3, "b": 1, "c": 1}
    cache.delete_many(["b", "c"])
    assert cache.delete("a") and cache.get("a") is None


@pytest.mark.parametrize("user", ["", "chat"])
async def test_a_redis_with_tls_and_a_password_is_used_as_the_address_says(
    user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/scaling.md writes it, for messages and for counters."""
    authority, own = certificate(tmp_path, "authority", is_authority=True), certificate(tmp_path, "localhost", "authority")
    tls = ("--tls-port", "{port}", "--tls-cert-file", str(own), "--tls-key-file", str(own), "--tls-ca-cert-file", str(authority))
    rights = ["on", ">s3cret", "~*", "&*", "+@connection", "+@pubsub", "+@transaction", "+@read", "+@write"]
    server = Redis(tmp_path, *tls, "--tls-auth-clients", "no", "--requirepass", "s3cret", "--user", "chat", *rights)
    url = f"rediss://{user}:s3cret@localhost:{server.port}/0?ssl_ca_certs={authority}"
    try:
        assert Environment.of({"CHATUI_REDIS_URL": url}).redis_url == url
        monkeypatch.setattr(relay, "environment", lambda: SimpleNamespace(redis_url=url))
        one, two = Process("one"), Process("two")
        two.relay.join("group")
        await until_it_passes(one, two, 0)
        await asyncio.to_thread(relay.publish_once, "three", "group", {"n": 1})
        await two.wait_for(("group", 1))
        await asyncio.to_thread(count, RedisCache(url, {}))
        for wrong in (
            url.replace("s3cret", "wrong"),
            url.replace("localhost", "127.0.0.1"),
            url.partition("?")[0],
            url.partition("?")[0].replace("rediss", "redis"),
        ):
            with pytest.raises(RedisError):
                await asyncio.to_thread(RedisCache(wrong, {}).get, "counted")
    finally:
        await relay.ended(*(task for process in Process.known for task in process.relay._tasks))
        Process.known.clear()
        server.stop()
