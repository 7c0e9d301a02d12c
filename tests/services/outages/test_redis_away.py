"""Redis is stopped, or accepts connections and stalls: people sign in, open pages, ask and stop all the same, within seconds."""

import asyncio
import time
from pathlib import Path
from uuid import uuid4

import pytest

from tests.services.databases import own_database
from tests.services.redis_server import Redis
from tests.support.browser_socket import ENDS, shown_text
from tests.support.served import Deployment, LiveSocket

pytestmark = [pytest.mark.services, pytest.mark.faults]

MOST_SECONDS = 20
"""For signing in. Redis is tried first, for two seconds at a time."""
BUSY = 10
"""How much slower a machine may be that does other work."""


@pytest.mark.parametrize("fault", ["silent", "away"])
async def test_people_sign_in_ask_and_stop_while_redis_is_away(fault: str, tmp_path: Path) -> None:
    redis = Redis(tmp_path)
    deployment = Deployment(tmp_path, CHATUI_REDIS_URL=redis.url, CHATUI_DEMO_TOKENS_PER_SECOND="20")
    try:
        server = await asyncio.to_thread(deployment.start)
        await asyncio.to_thread(deployment.make_people, ada=(False, []))
        redis.silence() if fault == "silent" else redis.stop()
        begun_at = time.monotonic()
        client = await asyncio.to_thread(server.sign_in, "ada")
        assert time.monotonic() - begun_at < MOST_SECONDS
        assert (await asyncio.to_thread(client.get, "/", timeout=MOST_SECONDS)).status_code == 200
        async with LiveSocket(server, client) as socket:
            await socket.send("send", client_id=str(uuid4()), conversation=None, text="Tell me a long story", effort="low")
            accepted = (await socket.until("chatui:accepted", "chatui:refused"))[-1]
            assert accepted["type"] == "chatui:accepted"
            await socket.until("response.delta")
            await socket.send("stop", conversation=accepted["conversation"], turn=accepted["turn"])
            assert (await socket.until(*ENDS))[-1]["state"] == "stopped"
        console = server.console
        assert "Traceback" not in console and console.count("each process counts guesses for itself") == 1
        assert console.count("Redis is away") == 1
    finally:
        redis.wake() if fault == "silent" else None
        await asyncio.to_thread(deployment.stop)
        redis.stop()


@pytest.mark.parametrize("fault", ["silent", "away"])
async def test_text_goes_on_in_the_other_process_while_redis_is_away(fault: str, tmp_path: Path) -> None:
    """A page of one process follows a turn of the other. What it shows grows without Redis, and is complete once Redis is back."""
    redis = Redis(tmp_path)
    with own_database() as address:
        slow = {"CHATUI_DATABASE_URL": address, "CHATUI_REDIS_URL": redis.url, "CHATUI_DEMO_TOKENS_PER_SECOND": "80"}
        deployment = Deployment(tmp_path, **slow)
        try:
            one, two = [await asyncio.to_thread(deployment.start) for _ in range(2)]
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            client = await asyncio.to_thread(one.sign_in, "ada")
            async with LiveSocket(one, client) as asker, LiveSocket(two, client) as follower:
                await asker.send("send", client_id=str(uuid4()), conversation=None, text="Tell me a long story", effort="low")
                accepted = (await asker.until("chatui:accepted"))[-1]
                await follower.send("subscribe", conversation=accepted["conversation"])
                before = [*await follower.until("chatui:snapshot"), *await follower.until("response.delta")]
                redis.silence() if fault == "silent" else redis.stop()
                gone_at = time.monotonic()
                shown = [shown_text([event for event in before if event["type"] == "response.delta"])]
                for _ in range(4):
                    stored = (await follower.until("chatui:snapshot"))[-1]
                    assert stored["sequence_number"] < 0, "the turn's next event is a gap, so the page asks for its own snapshot"
                    shown.append(shown_text([stored]))
                    if len(shown) == 2:
                        assert time.monotonic() - gone_at < 2 * BUSY, "the text goes on within two seconds"
                assert [len(text) for text in shown] == sorted({len(text) for text in shown}), "text is only added"
                redis.wake() if fault == "silent" else redis.start()
                asked_at, fresh = 0.0, stored
                while fresh["sequence_number"] < 0:
                    if time.monotonic() > asked_at + 3:  # as a page does that gets an event after a gap
                        await follower.send("subscribe", conversation=accepted["conversation"])
                        asked_at = time.monotonic()
                    came = (await follower.until("chatui:snapshot", "response.delta"))[-1]  # once Redis is back, snapshots end
                    fresh = came if came["type"] == "chatui:snapshot" else fresh
                whole = shown_text([fresh, *await follower.until(*ENDS)])
                page = await asyncio.to_thread(two.sign_in("ada").get, accepted["url"])
                assert whole[-60:] in page.text and page.text.count(whole[-60:]) == 1
                for server in (one, two):
                    assert "Traceback" not in server.console and server.console.count("Redis is away") == 1
        finally:
            redis.wake() if fault == "silent" else None
            await asyncio.to_thread(deployment.stop)
            redis.stop()
