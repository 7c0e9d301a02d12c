"""Lets other programs disturb a run less, for whoever may: the machine's owner, or root."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

HIGH = -20
# Linux shares a core between terminal sessions first, where this file is, and by the priority of processes only within each.
_SESSION = Path("/proc/self/autogroup")


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """This process, what it starts, and its session, while the context is open."""
    usual, usual_of_session = os.getpriority(os.PRIO_PROCESS, 0), ""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, HIGH)
        usual_of_session = _SESSION.read_text().split()[-1]
        _SESSION.write_text(str(HIGH))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, usual)
            _SESSION.write_text(usual_of_session)
