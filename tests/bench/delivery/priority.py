"""Reduces disturbance by other programs during a run, if permitted (root or the machine's owner)."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

HIGH = -20
# Linux first shares a core between terminal sessions, and applies the priority of processes only within each.
_SESSION = Path("/proc/self/autogroup")


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Raise the priority of this process, its children, and its session, while the context is open."""
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
