"""Several backends in one test: a file that lists them, real servers on loopback, and cleanup that leaves no connection open."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from chatui.env import environment
from chatui.model_servers import connected
from tests.support import stub
from tests.support.new_process import begin_anew

Configure = Callable[..., None]


def constant_answer(text: str) -> Callable[[asyncio.StreamWriter], Any]:
    """A Chat Completions server that always gives the same answer, after some reasoning."""
    return stub.plays(
        stub.chunk(reasoning=f"THOUGHT-{text}") + stub.chunk(content=text) + stub.chunk(finish="stop", content="") + stub.DONE
    )


start = threading.Thread.start


def asks(thread: threading.Thread) -> bool:
    """Whether it asks a server for its models."""
    return thread.name.startswith("models of ")


def start_unless_it_asks(thread: threading.Thread) -> None:
    if not asks(thread):
        start(thread)


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Configure]:
    """Call it with the text of a file, or with other settings; rows of the admin pages are forgotten before and after."""
    _forget()
    before = environment()
    count = 0

    def set_up(text: str | None = None, **values: Any) -> None:
        nonlocal count
        count += 1
        if text is not None:
            values["backends_file"] = tmp_path / f"backends-{count}.toml"
            values["backends_file"].write_text(text, encoding="utf-8")
        monkeypatch.setattr(settings, "ENVIRONMENT", before.model_copy(update={"data_dir": tmp_path, **values}))

    # A server's models are requested in a separate thread; here nothing is requested unless a test does it.
    monkeypatch.setattr(threading.Thread, "start", start_unless_it_asks)
    set_up()
    yield set_up
    _forget()


@pytest.fixture
async def closing(configure: Configure) -> AsyncIterator[None]:
    """Close everything that the test connected."""
    yield
    configure()
    _forget()
    connected.backend()
    await until_closed()


async def until_closed() -> None:
    """Wait until what is not offered any more is closed."""
    await asyncio.gather(*(each for each in asyncio.all_tasks() if getattr(each.get_coro(), "__name__", "") == "aclose"))


def _forget() -> None:
    begin_anew(connected)
