"""Tests, before any upload is read, whether this machine sandboxes the processes that read files and ends them at their limits."""

from __future__ import annotations

import logging
import os
import sys
import threading
from functools import cache

from chatui.documents import process
from chatui.documents.inside import probes
from chatui.documents.kinds import Reason
from chatui.sandbox.confinement import Limits

log = logging.getLogger(__name__)

_MAX_BYTES = 10_000
_BOMBS = {"time": Limits(cpu_seconds=1), "memory": Limits(cpu_seconds=5, memory_bytes=1 << 28)}
_once = threading.Lock()


def is_confined() -> bool:
    """Whether files can be read safely here. This is tested once per process, in 0.1 seconds. Missing requirements are logged."""
    with _once:
        return _is_confined()


def faults() -> list[str]:
    """The problems with reading files here, including with limits; empty if there are none. Takes one to two seconds."""
    return escapes() + [
        f"a process was not ended at its {name} limit" for name, limits in _BOMBS.items() if not _ends(f"bomb of {name}", limits)
    ]


def escapes() -> list[str]:
    """The forbidden actions that a process which reads files can carry out."""
    answer = process.run("probes", os.fsencode(__file__), _MAX_BYTES, Limits())
    if answer.reason:
        return ["no process could be confined"]
    *found, last = "".join(text for _, text in answer.parts).splitlines()
    return [f"a process that reads a file could {way}" for way in found] if last == probes.DONE else ["not all attempts were made"]


@cache
def _is_confined() -> bool:
    if not sys.platform.startswith("linux"):
        return True  # Other systems have no filter: the resource limits must suffice.
    found = escapes()
    if found:
        log.error("uploaded files are not read: %s", "; ".join(found))
    return not found


def _ends(kind: str, limits: Limits) -> bool:
    return process.run(kind, b"", _MAX_BYTES, limits).reason is Reason.LIMIT
