"""Runs ``manage.py`` and notes which functions of the product run, in all threads: ``python -m tests.processes.noted_functions serve …``.

With each SIGUSR1 it writes those that have run since the last one to the next numbered file in the directory named by the environment
variable NOTED_FUNCTIONS: one a line, its file and its name.
"""

import itertools
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from chatui import command_line
from tests.support.places import ROOT

NOTED_FUNCTIONS = "NOTED_FUNCTIONS"

_PRODUCT = (f"{ROOT}/chatui/", f"{ROOT}/renderer/")
_RECURRING = "watch_loop.<locals>.look"
"""It runs every second, whatever is asked."""
_numbers = itertools.count()
_noted: set[tuple[str, str]] = set()


def _note(frame: FrameType, event: str, argument: Any) -> None:
    code = frame.f_code
    # A module that is imported is no step on the way, nor is an expression in a function that is on it.
    is_step = not code.co_name.startswith("<") and code.co_qualname != _RECURRING
    if event == "call" and code.co_filename.startswith(_PRODUCT) and is_step:
        _noted.add((code.co_filename, code.co_qualname))


def _write(number: int, frame: FrameType | None) -> None:
    global _noted
    noted, _noted = _noted, set()
    lines = [f"{Path(file).relative_to(ROOT)} {name}" for file, name in sorted(noted.copy())]  # other threads may still add to it
    place = Path(os.environ[NOTED_FUNCTIONS])
    (place / "unfinished").write_text("\n".join(lines), encoding="utf-8")
    (place / "unfinished").rename(place / str(next(_numbers)))


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _write)
    threading.setprofile(_note)
    sys.setprofile(_note)
    command_line.main()
