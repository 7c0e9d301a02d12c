"""The real sandbox for tests, as an unprivileged user: tests that run as root switch to another user first."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from chatui.env import BASE_DIR
from chatui.tools.python import launch
from chatui.tools.python.answers import CodeOutcome
from chatui.tools.python.interpreter import Interpreter
from chatui.tools.python.launch import Launch
from tests.tools import fault_programs

T = TypeVar("T")

NOBODY = 65534
MEMORY_MEBIBYTES = 256
DATA_MEBIBYTES = 16


def sandbox() -> Launch:
    """The sandbox of this machine. Tests fail without one, because what they verify must not be assumed."""
    if not sys.platform.startswith("linux"):
        pytest.skip("The sandbox needs Linux.")
    assert fault_programs.find("bwrap"), fault_programs.why_not("bwrap")
    found = launch.found("/usr/bin/python3", (BASE_DIR,), MEMORY_MEBIBYTES, DATA_MEBIBYTES)
    return replace(found, user=NOBODY) if os.geteuid() == 0 else found


def as_nobody() -> dict[str, Any]:
    """Arguments that make a subprocess unprivileged."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def within(task: Callable[[Interpreter], Awaitable[T]]) -> T:
    """The result of a task with an interpreter."""

    async def run() -> T:
        interpreter = await Interpreter.start(sandbox())
        try:
            return await task(interpreter)
        finally:
            await interpreter.end()

    return asyncio.run(run())


def answers(*codes: str, seconds: float = 20.0, max_chars: int = 4000) -> list[CodeOutcome]:
    """The replies of one interpreter to these calls, in order."""

    async def task(interpreter: Interpreter) -> list[CodeOutcome]:
        return [await interpreter.run(code, seconds, max_chars) for code in codes]

    return within(task)


def texts(*codes: str) -> list[str]:
    """The same replies without the files."""
    return [answer.text for answer in answers(*codes)]
