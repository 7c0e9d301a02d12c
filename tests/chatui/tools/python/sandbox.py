"""The real sandbox for tests, as a user without rights: where the tests run as root, they become another one first."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from chatui.env import BASE_DIR
from chatui.tools.python import launch
from chatui.tools.python.answers import Answer
from chatui.tools.python.interpreter import Interpreter
from chatui.tools.python.launch import Launch
from tests.tools import fault_programs

T = TypeVar("T")

NOBODY = 65534
MEMORY_MEBIBYTES = 256
DATA_MEBIBYTES = 16


def sandbox() -> Launch:
    """The sandbox of this machine. Without one these tests fail: what they show must not be taken for granted."""
    if not sys.platform.startswith("linux"):
        pytest.skip("The sandbox needs Linux.")
    assert fault_programs.find("bwrap"), fault_programs.why_not("bwrap")
    found = launch.found("/usr/bin/python3", (BASE_DIR,), MEMORY_MEBIBYTES, DATA_MEBIBYTES)
    return replace(found, user=NOBODY) if os.geteuid() == 0 else found


def as_nobody() -> dict[str, Any]:
    """What makes a subprocess one without rights."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def within(task: Callable[[Interpreter], Awaitable[T]]) -> T:
    """What a task with an interpreter returns."""

    async def run() -> T:
        interpreter = await Interpreter.start(sandbox())
        try:
            return await task(interpreter)
        finally:
            await interpreter.end()

    return asyncio.run(run())


def answers(*codes: str, seconds: float = 20.0, max_chars: int = 4000) -> list[Answer]:
    """What one interpreter answers to these, one after the other."""

    async def task(interpreter: Interpreter) -> list[Answer]:
        return [await interpreter.run(code, seconds, max_chars) for code in codes]

    return within(task)


def texts(*codes: str) -> list[str]:
    """The same, without the files."""
    return [answer.text for answer in answers(*codes)]
