"""Redis is stopped, or accepts connections and stalls: people sign in, open pages, ask and stop all the same, within seconds."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from uuid import uuid4

import pytest

from tests.services.redis_server import Redis
from tests.support.browser_socket import ENDS
from tests.support.served import Deployment, LiveSocket

pytestmark = [pytest.mark.services, pytest.mark.asyncio, pytest.mark.faults]

MOST_SECONDS = 20
"""For signing in. Redis is tried first, for two seconds at a time."""


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
