"""A question, a page and a program's request run functions of few files, so that a reader can follow each of them.

The figures may only fall: the test also fails if there are fewer files, so that the figure is lowered in the same commit. They rise where a
file with two thoughts is taken apart, whose functions run as before.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.chatui.api.deployed import key_at
from tests.processes.noted_functions import NOTED_FUNCTIONS
from tests.support import stub
from tests.support.served import Deployment, LiveSocket, Server
from tests.support.stub import DONE, SSE_HEAD, chunk

ASK_FILES = 115
PAGE_FILES = 67
API_FILES = 112

TIMES = 3
QUIET_SECONDS = 1.0
"""When no function has run for so long, what was asked for is done. A running turn renews its lease more often."""
BEGINNING = chunk(reasoning_content="They add two numbers.") + chunk(content="It is **four**. Here is ") + chunk(content="why:\n\n- two\n")
END = chunk(content="- and *two*\n") + chunk("stop") + DONE

Functions = dict[str, set[str]]
"""The names of the functions that ran, by file."""


class Model:
    """What the model server plays: the beginning of an answer, and its end once the page has shown the beginning."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + BEGINNING)
        await writer.drain()
        await self.goes_on.wait()
        writer.write(END)
        await writer.drain()


class Noted:
    """Reads what a server notes; see ``noted_functions``."""

    def __init__(self, server: Server, place: Path) -> None:
        self._server, self._place, self._read = server, place, 0

    async def during(self, deed: Callable[[], Awaitable[None]]) -> Functions:
        """The functions on the way of the deed. Work that recurs by itself can fall into one repetition, but hardly into each."""
        await deed()  # the first time imports modules and fills caches
        await self._until_quiet()
        times: list[Functions] = []
        for _ in range(TIMES):
            await deed()
            times.append(await self._until_quiet())
        files = set.intersection(*(set(each) for each in times))
        return {file: set.union(*(each[file] for each in times)) for file in sorted(files)}

    async def _until_quiet(self) -> Functions:
        found: Functions = {}
        while more := await self._since_last():
            for file, name in (line.split(" ") for line in more):
                found.setdefault(file, set()).add(name)
            await asyncio.sleep(QUIET_SECONDS)
        return found

    async def _since_last(self) -> list[str]:
        self._server.process.send_signal(signal.SIGUSR1)
        written = self._place / str(self._read)
        while not written.exists():
            assert self._server.process.poll() is None, self._server.console
            await asyncio.sleep(0.01)
        self._read += 1
        return written.read_text(encoding="utf-8").splitlines()


async def _ways(place: Path) -> dict[str, Functions]:
    notes, model = place / "notes", Model()
    notes.mkdir()
    async with asyncio.timeout(240), AsyncExitStack() as stack:
        model_server = await stack.enter_async_context(stub.running(model.answer))
        # Titles are on, as in the product: a second question must not pass through what makes one.
        settings = {"CHATUI_BACKEND_URL": model_server.url, "CHATUI_BACKEND_MODEL": "stub", "CHATUI_TITLES": "true"}
        deployment = Deployment(place / "data", **settings, **{NOTED_FUNCTIONS: str(notes)})
        deployment.program = ("-m", "tests.processes.noted_functions")
        stack.push_async_callback(asyncio.to_thread, deployment.stop)
        deployment.make_people(ada=(False, []))
        server = await asyncio.to_thread(deployment.start)
        noted, client = Noted(server, notes), await asyncio.to_thread(server.sign_in, "ada")
        headers = {"Authorization": f"Bearer {await asyncio.to_thread(key_at, place / 'data')}"}
        async with LiveSocket(server, client) as socket:
            conversation = await _question(socket, model)

            async def ask() -> None:
                await _question(socket, model, conversation=conversation)

            asked = await noted.during(ask)

        async def page() -> None:
            shown = await asyncio.to_thread(client.get, f"/c/{conversation}/")
            assert shown.status_code == 200 and "<strong>four</strong>" in shown.text

        async def api() -> None:
            body = {"model": "", "input": "What is 2 + 2?"}
            answer = await asyncio.to_thread(
                httpx.post, f"{server.url}/v1/responses", json=body, headers=headers, trust_env=False, timeout=60
            )
            assert answer.status_code == 200 and "**four**" in answer.text

        return {"ask": asked, "page": await noted.during(page), "API": await noted.during(api)}


async def _question(socket: LiveSocket, model: Model, **fields: str) -> str:
    """Ask, and wait until the answer is complete. Returns the conversation's key."""
    model.goes_on.clear()
    await socket.send("send", client_id=str(uuid4()), text="What is 2 + 2?", effort="low", **fields)
    begun = await socket.until("response.delta.flush")
    model.goes_on.set()
    await socket.until("response.completed")
    return next(str(event["conversation"]) for event in begun if event["type"] == "chatui:accepted")


def _listed(way: str, functions: Functions) -> str:
    lines = [f"  {file}: {', '.join(sorted(names)) if len(names) < 3 else f'{len(names)} functions'}" for file, names in functions.items()]
    return "\n".join([f"{way}: {len(functions)} files", *lines])


@pytest.mark.served
def test_as_many_files_are_on_the_way_as_the_figures_say(tmp_path: Path) -> None:
    ways = asyncio.run(_ways(tmp_path))
    assert {"chatui/live/consumer.py", "chatui/turns/start.py", "chatui/backends/sse.py"} <= set(ways["ask"]), "the premise: every thread"
    assert "chatui/web/conversations.py" in ways["page"] and "chatui/api/answering.py" in ways["API"], "the premise"
    figures = {"ask": ASK_FILES, "page": PAGE_FILES, "API": API_FILES}
    others = [_listed(way, functions) for way, functions in ways.items() if len(functions) != figures[way]]
    assert not others, "\n".join([f"Leave files out if there are more, and lower the figure if there are fewer: {figures}", *others])
