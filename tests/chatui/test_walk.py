"""The path in ARCHITECTURE.md is the path of a real message: it passes each Python file named there, in that order."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any

import pytest

from chatui.backends.spec import BackendSpec
from chatui.database.connections import ThreadConnection
from chatui.model_servers import connected
from chatui.models.user import User
from chatui.turns import running
from tests.support import stub
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.places import ROOT
from tests.support.stub import DONE, chunk
from tests.support.walk import steps

THOUGHT, ANSWER = "They add two numbers.", "It is **four**.\n\n- two\n- and two"
FIRST, *WORDS = ANSWER.split(" ")
# The reasoning comes with the first word: alone, it would pass later files before the leak guard, which reads only answers, is called.
STREAM = chunk(reasoning_content=THOUGHT, content=FIRST) + b"".join(chunk(content=word) for word in WORDS) + chunk("stop") + DONE
FIRST_ON_THE_WAY_BACK = "chatui/backends/sse.py"
# These files also handle events before there is any text, such as the beginning of a turn, so their order is not fixed.
AFTER = {
    "chatui/wire/base.py": "renderer/markup/html.py",
    "chatui/wire/bus.py": "chatui/wire/base.py",
    "chatui/live/consumer.py": "chatui/wire/bus.py",
    "chatui/live/page_socket.py": "chatui/live/consumer.py",
}


class Passed:
    """The files whose functions were called, each once, in the order of its first call: on the way down, and on the way back."""

    def __init__(self) -> None:
        self.down: list[str] = []
        self.back: list[str] = []

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_filename.startswith(str(ROOT)):
            return
        path = code.co_filename.removeprefix(f"{ROOT}/")
        if path.startswith(("chatui/", "renderer/")):
            way = self.back if self.back or path == FIRST_ON_THE_WAY_BACK else self.down
            is_early = way is self.back and path in AFTER and AFTER[path] not in way
            if path not in way and not is_early:
                way.append(path)


@asynccontextmanager
async def traced() -> AsyncIterator[Passed]:
    """Calls in this thread, and in those that work with the database."""
    passed = Passed()
    ready = ThreadConnection.ready

    @contextmanager
    def recorded(self: ThreadConnection, deadline: float = float("inf")) -> Iterator[None]:
        with ready(self, deadline):
            sys.setprofile(passed.note)
            try:
                yield
            finally:
                sys.setprofile(None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ThreadConnection, "ready", recorded)
        sys.setprofile(passed.note)
        try:
            yield passed
        finally:
            sys.setprofile(None)


@pytest.fixture
async def passed(ada: User, monkeypatch: pytest.MonkeyPatch) -> Passed:
    """The files that a message passes on its way from a socket to a real backend and back. It is the second in its conversation."""
    async with stub.running(stub.plays(STREAM)) as server:
        spec = BackendSpec(name="main", url=server.url, models=("m",))
        monkeypatch.setattr(connected, "specs", lambda: (spec,))
        monkeypatch.setattr(connected, "default", lambda: spec)
        async with BrowserSocket(ada) as before:
            await before.send_message("What is 2 + 2?")
            conversation = (await before.until("chatui:accepted"))[-1]["conversation"]
            await running.settle()
        async with traced() as passed, BrowserSocket(ada) as socket:
            await socket.send_message("And 3 + 3?", conversation=conversation)
            events = await socket.until(*ENDS)
            await running.settle()
        await connected.backend().aclose()
    shown = json.dumps(events)
    assert "<strong>four</strong>" in shown and THOUGHT not in shown, "the premise: the message got its answer"
    return passed


@pytest.mark.django_db(transaction=True)
async def test_a_message_passes_the_files_of_the_walk_in_their_order(passed: Passed) -> None:
    for heading, way in (("Request path", passed.down), ("Response path", passed.back)):
        named = steps(heading, "py")
        assert len(named) > 6, "hardly any file is named, so this test would prove nothing"
        assert [name for name in named if name not in way] == [], (
            f"ARCHITECTURE.md names them, and they are not called; write what is called now: {way}"
        )
        assert named == sorted(named, key=way.index), f"ARCHITECTURE.md has another order than {[name for name in way if name in named]}"
