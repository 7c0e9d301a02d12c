"""Draining a server that is alone: running answers continue for a while on their pages, which then reconnect. Uses real processes.

With other processes, pages reconnect first: ``tests/services/test_rolling_restart.py``."""

import asyncio
import signal
import time
from pathlib import Path
from uuid import uuid4

import pytest
from websockets.exceptions import ConnectionClosed

from tests.support import stub
from tests.support.served import Deployment, LiveSocket
from tests.support.stub import DONE, SSE_HEAD, chunk

pytestmark = [pytest.mark.served, pytest.mark.faults]


async def asking(socket: LiveSocket) -> dict[str, str]:
    await socket.send("send", client_id=str(uuid4()), conversation=None, text="Please explain", effort="low")
    accepted: dict[str, str] = (await socket.until("chatui:accepted", "chatui:refused"))[-1]
    await socket.send("subscribe", conversation=accepted["conversation"])
    await socket.until("chatui:snapshot")
    return accepted


@pytest.mark.parametrize(("drain", "is_whole"), [("60", True), ("0", False)])
async def test_an_answer_is_finished_while_the_process_drains(drain: str, is_whole: bool, tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, CHATUI_DEMO_TOKENS_PER_SECOND="100")
    try:
        server = deployment.start(CHATUI_DRAIN_SECONDS=drain)
        deployment.make_people(ada=(False, []))
        client = server.sign_in("ada")
        async with asyncio.timeout(90), LiveSocket(server, client) as socket:
            accepted = await asking(socket)
            await socket.until("response.delta")
            server.process.send_signal(signal.SIGTERM)
            events = []
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    events.append(await socket.next())
                    if is_whole and len(events) == 3:
                        # Nobody else could show the answer, so other pages and a reload of this one still work.
                        assert (await asyncio.to_thread(client.get, accepted["url"])).status_code == 200
                        async with LiveSocket(server, client) as other:
                            await other.send("subscribe", conversation=accepted["conversation"])
                            await other.until("chatui:snapshot")
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1012
            assert ("response.completed" in [event["type"] for event in events]) is is_whole
            with pytest.raises(OSError, match=r".*"):
                async with LiveSocket(server, client):
                    pass
            started = time.monotonic()
            await asyncio.to_thread(server.process.wait, 80)
            assert time.monotonic() - started < 60
        page = deployment.start().sign_in("ada").get(accepted["url"]).text
        assert ('data-state="completed"' in page) is is_whole
        assert ('data-state="interrupted"' in page) is not is_whole
    finally:
        deployment.stop()


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, CHATUI_DEMO_TOKENS_PER_SECOND="15")
    try:
        server = deployment.start(CHATUI_DRAIN_SECONDS="300")
        deployment.make_people(ada=(False, []))
        async with asyncio.timeout(60), LiveSocket(server, server.sign_in("ada")) as socket:
            await asking(socket)
            server.process.send_signal(signal.SIGTERM)
            for _ in range(3):
                await socket.until("response.delta", "response.delta.flush")
            assert server.process.poll() is None
            server.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(server.process.wait, 30)
    finally:
        deployment.stop()


async def test_a_question_that_comes_while_the_process_drains_is_answered_after_its_restart(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, CHATUI_DEMO_TOKENS_PER_SECOND="100")
    try:
        server = deployment.start(CHATUI_DRAIN_SECONDS="60")
        deployment.make_people(ada=(False, []))
        client = server.sign_in("ada")
        async with asyncio.timeout(90), LiveSocket(server, client) as running, LiveSocket(server, client) as waiting:
            await asking(running)
            server.process.send_signal(signal.SIGTERM)
            await running.until("response.delta", "response.delta.flush")
            accepted = await asking(waiting)
            ended = (await running.until("response.completed", "response.failed", "response.incomplete", "response.cancel"))[-1]
            assert ended["state"] == "completed"
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    assert "delta" not in (await waiting.next())["type"], "it waits in the queue"
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1012
            await asyncio.to_thread(server.process.wait, 80)
        server = deployment.start()
        client = server.sign_in("ada")
        async with asyncio.timeout(60), LiveSocket(server, client) as socket:
            await socket.send("subscribe", conversation=accepted["conversation"])
            await socket.until("response.completed", "chatui:idle")
        page = client.get(accepted["url"]).text
        assert 'data-state="completed"' in page and 'data-state="interrupted"' not in page
    finally:
        deployment.stop()


STREAM = chunk(reasoning_content="They add.", content="Four.") + chunk("stop") + DONE


@pytest.mark.parametrize("is_cut", [False, True])
async def test_the_connections_to_model_servers_are_closed_with_the_process_and_nothing_is_reported(is_cut: bool, tmp_path: Path) -> None:
    endless = asyncio.Event()

    async def never_ends(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + chunk(content="Four"))
        await endless.wait()

    async with asyncio.timeout(90), stub.running(never_ends if is_cut else stub.plays(STREAM)) as model:
        settings = {"CHATUI_BACKEND_URL": model.url, "CHATUI_BACKEND_KIND": "chat", "CHATUI_BACKEND_MODEL": "m"}
        deployment = Deployment(tmp_path, **settings, CHATUI_DRAIN_SECONDS="30")
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            async with LiveSocket(server, await asyncio.to_thread(server.sign_in, "ada")) as socket:
                await asking(socket)
                if is_cut:
                    await model_asked(model)
                else:
                    await socket.until("response.completed")
                server.process.send_signal(signal.SIGTERM)
                if is_cut:
                    await asyncio.sleep(1)
                    server.process.send_signal(signal.SIGTERM)
                await asyncio.to_thread(server.process.wait, 30)
        finally:
            endless.set()
            await asyncio.to_thread(deployment.stop)
    assert [request for request in model.requests if request.body], "the premise: the model server was asked"
    assert "Unclosed" not in server.console and "Traceback" not in server.console, server.console


async def model_asked(model: stub.Stub) -> None:
    while not [request for request in model.requests if request.body]:
        await asyncio.sleep(0.05)
