"""A pytest plugin that runs, for each mutant, the tests that pass its line, instead of running all tests once.

Each mutant has a process of its own. It is forked from one that has collected all tests and created the database, so nothing is imported
again: the changed functions get their new code in place, wherever they are referenced.
"""

import functools
import gc
import json
import os
import select
import shutil
import signal
import time
import types
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from django.conf import settings
from django.db import connections

from tests.mutations.mutants import Mutant, mutated

ROOT = Path(__file__).resolve().parents[2]
GRACE_SECONDS = 10.0
SLOWDOWN = 2.0
"""A mutant hangs if its tests take this many times as long as they did when they were measured, and the grace."""

Functions = Mapping[tuple[str, str, int], Sequence[types.FunctionType]]
"""The functions of the product by file, qualified name and first line."""

Measured = Sequence[tuple[str, float]]
"""Names of tests, each with its seconds."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that ``python -m tests.mutations`` passes on."""
    parser.addoption("--mutants", help="a file with a mutant and its tests on each line, as JSON")
    parser.addoption("--part", default="0/1", help="which mutants: of each B, the one at place A (A/B)")
    parser.addoption("--answers", help="the file to which the results are appended")
    parser.addoption("--budget", type=float, default=16.0, help="seconds of tests for one mutant")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Try the mutants instead of running the tests."""
    config = session.config
    if not config.getoption("mutants"):
        return None
    place, parts = map(int, config.getoption("part").split("/"))
    with Path(config.getoption("mutants")).open(encoding="utf-8") as file:
        wanted = [json.loads(line) for number, line in enumerate(file) if number % parts == place]
    _warm_up(session)
    trials = _Trials({item.nodeid: item for item in session.items}, _functions(), config.getoption("budget"))
    with Path(config.getoption("answers")).open("a", encoding="utf-8") as answers:
        for one in wanted:
            result = trials.result(Mutant(**one["mutant"]), one["tests"])
            answers.write(json.dumps(one["mutant"] | result) + "\n")
            answers.flush()
    return True


def _warm_up(session: pytest.Session) -> None:
    """Create the database by running a test without an event loop, whose threads a fork would not have. Then forget what the product cached
    meanwhile, because a mutant that computes it differently would not be noticed."""
    first = next(item for item in session.items if "django_db_setup" in getattr(item, "fixturenames", ()) and _is_sync(item))
    elsewhere = next(item for item in session.items if item.path.parts[:-1] != first.path.parts[:-1])
    runtestprotocol(first, log=False, nextitem=elsewhere)
    connections.close_all()
    shutil.copy(_database(), _original())
    gc.unfreeze()  # frozen objects are not listed
    for one in gc.get_objects():
        if issubclass(type(one), functools._lru_cache_wrapper) and str(one.__module__).startswith(("chatui", "renderer")):
            one.cache_clear()


def _is_sync(item: pytest.Item) -> bool:
    return "asyncio" not in item.keywords and item.get_closest_marker("django_db") is not None


def _database() -> Path:
    return Path(settings.DATABASES["default"]["TEST"]["NAME"])


def _original() -> Path:
    return _database().with_suffix(".original")


def _functions() -> Functions:
    found: defaultdict[tuple[str, str, int], list[types.FunctionType]] = defaultdict(list)
    for one in gc.get_objects():
        if issubclass(type(one), types.FunctionType) and one.__code__.co_filename.startswith(str(ROOT)):
            found[_key(one.__code__)].append(one)
    return found


def _key(code: types.CodeType) -> tuple[str, str, int]:
    return (code.co_filename, code.co_qualname, code.co_firstlineno)


class _Trials:
    """The mutants of this process, and what the earlier ones showed about the tests."""

    def __init__(self, items: Mapping[str, pytest.Item], functions: Functions, budget: float) -> None:
        self._items, self._functions, self._budget = items, functions, budget
        self._killers: defaultdict[str, list[str]] = defaultdict(list)
        self._sound: set[str] = set()
        self._unsound: set[str] = set()

    def result(self, mutant: Mutant, tests: Measured) -> dict[str, Any]:
        """``killed`` with the test that noticed the change, ``survived``, ``hangs`` or ``not reached``, and how many tests were to run. A
        test counts only if it passes in such a process without a change."""
        while True:
            usable = [(name, seconds) for name, seconds in tests if name in self._items and name not in self._unsound]
            chosen = in_order(usable, self._killers[mutant.path], self._budget)
            items, seconds = [self._items[name] for name, _ in chosen], sum(seconds for _, seconds in chosen)
            result = _try(mutant, items, self._functions, seconds)
            killer = result.get("killer", "")
            if not killer or killer in self._sound or self._passes(items, killer, seconds):
                break
            self._unsound.add(killer)
        if killer:
            self._sound.add(killer)
            self._killers[mutant.path].insert(0, killer)
        return result | {"tests": len(chosen)}

    def _passes(self, items: Sequence[pytest.Item], killer: str, seconds: float) -> bool:
        last = next(place for place, item in enumerate(items) if item.nodeid == killer)
        return _try(None, items[: last + 1], {}, seconds)["result"] == "survived"


def in_order(tests: Measured, killers: Sequence[str], budget: float) -> Measured:
    """The tests to run: those that noticed the latest changes of this file first, then the quickest, until the time is used up."""
    rank = {name: place for place, name in reversed(list(enumerate(killers[:200])))}
    chosen: list[tuple[str, float]] = []
    used = 0.0
    for name, seconds in sorted(tests, key=lambda test: (rank.get(test[0], len(killers)), test[1])):
        used += seconds
        if used > budget and chosen:
            break
        chosen.append((name, seconds))
    return chosen


def _try(mutant: Mutant | None, items: Sequence[pytest.Item], functions: Functions, seconds: float) -> dict[str, str]:
    """Run the tests with the change (or none) in a process of its own, until one fails."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        os.setsid()
        os.write(writable, json.dumps(_run(mutant, items, functions)).encode())
        os._exit(0)
    os.close(writable)
    try:
        return _received(readable, time.monotonic() + seconds * SLOWDOWN + GRACE_SECONDS)
    finally:
        os.close(readable)
        try:
            os.killpg(child, signal.SIGKILL)  # with all that its tests started
        except (ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _received(readable: int, deadline: float) -> dict[str, str]:
    text = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([readable], [], [], left)[0]:
            part = os.read(readable, 65536)
            if not part:
                return json.loads(text) if text else {"result": "killed", "error": "the process ended"}  # type: ignore[no-any-return]
            text += part
    return {"result": "hangs"}


def _run(mutant: Mutant | None, items: Sequence[pytest.Item], functions: Functions) -> dict[str, str]:
    """In the process of the mutant: change the code and run the tests."""
    try:
        _restore_database()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        if mutant is not None and not _change(mutant, functions):
            return {"result": "not reached"}
        # The last one is told that another follows, or it would remove the database.
        for item, following in zip(items, [*items[1:], *items[:1]], strict=True):
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                return {"result": "killed", "killer": item.nodeid}
    except BaseException as error:  # noqa: BLE001 -- the change broke pytest itself
        return {"result": "killed", "error": repr(error)}
    return {"result": "survived"}


def _restore_database() -> None:
    """Remove the rows that a test left which ended in the middle."""
    for end in ("-wal", "-shm"):
        Path(f"{_database()}{end}").unlink(missing_ok=True)
    shutil.copy(_original(), _database())


def _change(mutant: Mutant, functions: Functions) -> bool:
    """Give every function whose code differs its new code. Whether there was one."""
    changed = False
    for code in _codes(compile(mutated(ROOT, mutant), str(ROOT / mutant.path), "exec")):
        for function in functions.get(_key(code), ()):
            if function.__code__ != code and function.__code__.co_freevars == code.co_freevars:
                function.__code__ = code
                changed = True
    return changed


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code objects within ``code``, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)
