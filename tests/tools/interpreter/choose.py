"""Prints the path of the Python to use: ``python3 tests/tools/interpreter/choose.py``, before there is a virtual environment.

A Python that was compiled without profile-guided optimization, as pyenv does by default, takes up to one and a half times as long as that
of a distribution on the same machine. So the first one on the PATH is passed over if another one is much faster. It is measured,
because not every Python says how it was compiled.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

NAMES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
"""The commands to look for, best first."""
MUCH_FASTER = 1.25
"""How many times as fast as the first another Python must be. Less may be a disturbance."""
ROUNDS = 3
SECONDS = 20
"""How long a Python may take to answer."""

PROBE = """
import importlib.util, json, sys, time

class Row:
    def __init__(self, number):
        self.number = number
    def plus(self, other, **more):
        return self.number + other + len(more)

def work():
    for number in range(4000):
        row = Row(number)
        row.plus(1, two=2)
        str({"number": number, "words": ["a", "b"]}["words"][0]).encode()

def seconds():
    started = time.process_time()
    work()
    return time.process_time() - started

work()
is_usable = sys.version_info >= (3, 11) and importlib.util.find_spec("ensurepip") is not None
print(json.dumps([sys.executable, is_usable, min(seconds() for _ in range(12))]))
"""
"""Prints the path, whether it can create an environment for the product, and the least time of some calls and objects."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, and how many seconds it takes for the work of ``PROBE``."""

    path: str
    seconds: float


def found(places: str) -> list[Interpreter]:
    """The usable interpreters in these places (as in PATH), each once, in the order in which a shell would find them."""
    interpreters: dict[Path, Interpreter] = {}
    paths = [Path(place) / name for name in NAMES for place in places.split(os.pathsep) if place]
    # In turns, so that another program that slows one of them for a moment slows all of them.
    for _ in range(ROUNDS):
        for path in paths:
            if measured := _measured(path):
                key = Path(measured.path).resolve()
                known = interpreters.setdefault(key, measured)
                interpreters[key] = min(known, measured, key=lambda each: each.seconds)
    return list(interpreters.values())


def chosen(interpreters: list[Interpreter]) -> Interpreter | None:
    """The first, or the fastest if that is much faster. None if there is none."""
    if not interpreters:
        return None
    fastest = min(interpreters, key=lambda each: each.seconds)
    first = interpreters[0]
    return fastest if first.seconds > MUCH_FASTER * fastest.seconds else first


def _measured(path: Path) -> Interpreter | None:
    """The interpreter at this path; None if there is none or it cannot be used."""
    try:
        done = subprocess.run([path, "-I", "-c", PROBE], capture_output=True, text=True, timeout=SECONDS, check=True)
        executable, is_usable, seconds = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, TypeError, ValueError):
        return None
    is_known = isinstance(executable, str) and isinstance(seconds, float) and is_usable is True
    return Interpreter(executable, seconds) if is_known else None


def main() -> int:
    """Print the path; if it is not the first one, say so on standard error. 1 if none is usable."""
    interpreters = found(os.environ.get("PATH", os.defpath))
    best = chosen(interpreters)
    if best is None:
        return 1
    if best is not interpreters[0]:
        times = interpreters[0].seconds / best.seconds
        print(
            f"{best.path} is {times:.1f} times as fast as {interpreters[0].path}, so it is used. PYTHON=... chooses another.",
            file=sys.stderr,
        )
    print(best.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
