"""The real sandbox for tests, as an unprivileged user: tests that run as root switch to another user first."""

import asyncio
import fcntl
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from chatui.env import BASE_DIR
from chatui.tools.python import availability, examination, launch, packages, tool
from chatui.tools.python.answers import CodeOutcome
from chatui.tools.python.data_files import DataFiles
from chatui.tools.python.interpreter import Interpreter, InterpreterEndedError
from chatui.tools.python.launch import CannotLaunchError, LaunchLimits, SandboxLaunch
from tests.support.places import CACHE
from tests.tools import fault_programs, not_run

__all__ = [
    "ATTEMPTS_ALONE",
    "DATA_MEBIBYTES",
    "MEMORY_MEBIBYTES",
    "NOBODY",
    "CodeOutcome",
    "Interpreter",
    "InterpreterEndedError",
    "NoSandboxError",
    "answers",
    "as_nobody",
    "attempts",
    "change_code",
    "data_directory",
    "escaping",
    "found",
    "is_there",
    "named_packages",
    "recorded",
    "sandbox",
    "sandbox_with_packages",
    "started",
    "starts_by",
    "texts",
    "use",
    "within",
]

T = TypeVar("T")

NOBODY = 65534
MEMORY_MEBIBYTES = 256
DATA_MEBIBYTES = 16


def sandbox() -> SandboxLaunch:
    """The sandbox of this machine. Tests fail without one, because what they verify must not be assumed."""
    if not sys.platform.startswith("linux"):
        pytest.skip("The sandbox needs Linux.")
    assert fault_programs.find("bwrap"), fault_programs.why_not("bwrap")
    return _as_ordinary_user(launch.found("/usr/bin/python3", (BASE_DIR,), LaunchLimits(MEMORY_MEBIBYTES, DATA_MEBIBYTES)))


def sandbox_with_packages(memory_mebibytes: int) -> SandboxLaunch:
    """The sandbox of ``make python-tool``, which is built in the cache, the first time only. Where that is not possible, the test is
    skipped."""
    assert fault_programs.find("bwrap"), fault_programs.why_not("bwrap")
    with (CACHE / "python-tool.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not packages.is_current(CACHE) or not packages.versions(CACHE):
            try:
                packages.build(CACHE, lambda _: None)
            except packages.PackagesError as error:
                not_run.note(f"The packages of the tool python were not tried. {error}")
                pytest.skip(str(error))
    return _as_ordinary_user(launch.found("", (BASE_DIR, CACHE), LaunchLimits(memory_mebibytes, DATA_MEBIBYTES), CACHE))


def _as_ordinary_user(found: SandboxLaunch) -> SandboxLaunch:
    return replace(found, user=NOBODY) if os.geteuid() == 0 else found


def as_nobody() -> dict[str, Any]:
    """Arguments that make a subprocess unprivileged."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


class NoSandboxError(Exception):
    """Why there is no sandbox, for the operator."""


def found(program: str, *hidden: Path) -> SandboxLaunch:
    """The sandbox with this interpreter, which shows nothing of these places. Raises NoSandboxError."""
    try:
        return _as_ordinary_user(launch.found(program, hidden, LaunchLimits(MEMORY_MEBIBYTES, DATA_MEBIBYTES)))
    except CannotLaunchError as error:
        raise NoSandboxError(str(error)) from None


def attempts(how: SandboxLaunch | None = None) -> dict[str, bool]:
    """The attempts to escape from this sandbox by name, and which have succeeded. Raises NoSandboxError: they could not be made."""
    try:
        return asyncio.run(examination.attempts(how or sandbox()))
    except CannotLaunchError as error:
        raise NoSandboxError(str(error)) from None


ATTEMPTS_ALONE = """
import asyncio
from pathlib import Path
from chatui.tools.python import examination, launch
found = launch.found('/usr/bin/python3', (Path.cwd(),), launch.LaunchLimits(256, 16))
made = asyncio.run(examination.attempts(found))
print(len(made), any(made.values()))
"""
"""The same as a program of its own, which needs nothing but the product."""


def data_directory(place: Path) -> Any:
    """The files of a sandbox whose directory for data this is: what of it is copied out, and when."""
    return DataFiles(str(place))


def use(monkeypatch: pytest.MonkeyPatch, how: Callable[[], SandboxLaunch] = sandbox) -> None:
    """From now on, the tool ``python`` has this sandbox."""
    monkeypatch.setattr(availability, "launch", how)


def is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, the tool ``python`` may be called; no sandbox is tested for it."""
    monkeypatch.setattr(availability, "is_on", lambda: True)


def escaping(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """From now on, every sandbox counts as one in which these attempts have succeeded."""

    async def made(_: SandboxLaunch) -> dict[str, bool]:
        return dict.fromkeys(names, True) | {"call bpf": False}

    monkeypatch.setattr(examination, "attempts", made)


def starts_by(monkeypatch: pytest.MonkeyPatch, command: Sequence[str]) -> None:
    """From now on, sandboxes are started by this command instead of bubblewrap's."""
    monkeypatch.setattr(SandboxLaunch, "command", lambda *_: list(command))


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Interpreter]:
    """The interpreter of each piece of code that is run from now on."""
    used: list[Interpreter] = []
    run = Interpreter.run

    async def record(interpreter: Interpreter, *given: Any) -> CodeOutcome:
        used.append(interpreter)
        return await run(interpreter, *given)

    monkeypatch.setattr(Interpreter, "run", record)
    return used


def named_packages() -> tuple[str, ...]:
    """What can be imported, once the service or the sandbox has said so."""
    until = time.monotonic() + 30
    while not (found := tool.installed_packages()) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def change_code(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    """From now on, interpreters run what ``change`` makes of the code that they are given."""
    run = Interpreter.run
    monkeypatch.setattr(Interpreter, "run", lambda interpreter, code, *given: run(interpreter, change(code), *given))


async def started(how: SandboxLaunch | None = None) -> Interpreter:
    """A new interpreter, which the test ends. ``how``: of another sandbox."""
    return await Interpreter.start(how or sandbox())


def within(task: Callable[[Interpreter], Awaitable[T]], how: SandboxLaunch | None = None) -> T:
    """The result of a task with an interpreter. ``how``: of another sandbox."""

    async def run() -> T:
        interpreter = await started(how)
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
