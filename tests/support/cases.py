"""Runs a test with many cases: every item of a list in a single test, and random ones in a configurable number of rounds."""

import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

import pytest

ROUNDS = int(os.environ.get("CHATUI_TEST_LONG") or 1)
"""How often races and faults are tried: once in ``make test``, many times in ``make faults``. Above one, all tests run in long form."""
EVERY_SHAPE = os.environ.get("CHATUI_TEST_SHAPES") == "all"
"""Whether all combinations of shapes and ways are tried, as in ``make attack``; ``make test`` draws some of each with ``is_drawn``."""
SHOWN = 10
"""How many failing cases are listed; the others are counted."""


def seeds(count: int) -> range:
    """The seeds of a test with random damage: ``count`` for each round."""
    return range(count * ROUNDS)


def example_count(count: int) -> int:
    """How many random cases of a test are tried: ``count`` in ``make long``, a fifth of them in ``make test``."""
    return count if ROUNDS > 1 else max(1, count // 5)


def is_drawn(one_in: int, *names: object) -> bool:
    """Whether the short form tries the combination of these names, as it does with one in ``one_in``.

    A hash of the names decides, so the choice is the same everywhere and does not change when other combinations are added.
    """
    return int.from_bytes(sha256("\0".join(map(str, names)).encode()).digest()[:8]) % one_in == 0


def extended(*values: Any) -> Any:
    """A case for ``parametrize`` that only ``make extended`` tries."""
    return pytest.param(*values, marks=pytest.mark.extended)


def drawn(one_in: int, cases: Iterable[Any]) -> list[Any]:
    """Cases for ``parametrize``: ``make test`` tries the first, and one in ``one_in`` of the others; ``make extended`` tries the rest."""
    first, *others = cases
    return [first, *(each if is_drawn(one_in, each) else _left_out(each) for each in others)]


def mostly_slow(cases: Iterable[Any], *, one_in: int = 4) -> list[Any]:
    """Cases for ``parametrize``: the fast tests try the first, and one in ``one_in`` of the others; the rest is marked ``slow``.

    For a test that runs the same lines in each case, when other fast tests look at what differs."""
    first, *others = cases
    return [first, *(each if is_drawn(one_in, each) else _marked_slow(each) for each in others)]


def _marked_slow(case: Any) -> Any:
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.slow)


def _left_out(case: Any) -> Any:
    return extended(*case) if type(case) is tuple else extended(case)


def for_each(cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run a test with every case; a tuple gives several arguments, as in ``parametrize``.

    All cases are run. If some fail, the test fails, lists those, and shows where the first one failed.
    For tests without fixtures whose cases take a few milliseconds at most: collecting and reporting each as a separate test would
    cost several times what running it takes.
    """
    listed = list(cases)

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def run() -> None:
            assert listed, "no cases"
            failed = {number: error for number, case in enumerate(listed) if (error := _failure(test, case)) is not None}
            if failed:
                first = next(iter(failed.values()))
                lines = [f"{listed[number]!r:.300}: {_first_line(error)}" for number, error in list(failed.items())[:SHOWN]]
                raise AssertionError(f"{len(failed)} of {len(listed)} cases failed:\n" + "\n".join(lines)) from first

        # Not functools.wraps: pytest would look through it for arguments, and request fixtures of these names.
        run.__name__, run.__qualname__, run.__doc__, run.__module__ = test.__name__, test.__qualname__, test.__doc__, test.__module__
        return run

    return decorate


def _failure(test: Callable[..., None], case: object) -> BaseException | None:
    try:
        test(*case) if type(case) is tuple else test(case)  # a NamedTuple is one value
    # A case that skips itself would skip all cases after it, so that counts as a failure as well.
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 -- any error is the case's failure
        return error
    return None


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]:.300}"
