"""Reads one file in a separate sandboxed process, and validates everything that the process returns.

Before any upload is read, it is tested whether this machine sandboxes such processes and ends them at their limits.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from chatui import processes
from chatui.documents.inside import probes
from chatui.documents.inside.text_collector import LABEL_CHARS, LENGTH_BYTES, MAX_LEFT_OUT, MAX_PARTS, NOT_PREPARED
from chatui.documents.kinds import HiddenPart, NoTextReason
from chatui.documents.plain_text import has_no_invisible
from chatui.env import BASE_DIR
from chatui.processes import LateError
from chatui.sandbox import ProcessLimits

_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from chatui.documents.inside import worker; worker.main()"
_MAX_HEAD_BYTES = MAX_PARTS * (LABEL_CHARS * 12 + 20)
_SLICE_CHARS = 100_000
_GRACE_SECONDS = 2
_AT_A_LIMIT = (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM)


@dataclass(frozen=True, slots=True)
class ProcessAnswer:
    """The result of a process; ``parts``: label and text of each. With a ``reason`` there are none."""

    reason: NoTextReason
    places: int = 0
    without_text: int = 0
    is_cut: bool = False
    parts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    left_out: tuple[tuple[HiddenPart, str], ...] = field(default=(), repr=False)


def run(kind: str, data: bytes, max_bytes: int, limits: ProcessLimits) -> ProcessAnswer:
    """Read one file. Blocks at most as long as the limits allow; large files never hold Python's global lock for long.

    ``kind``: a name of ``worker.READERS``. ``max_bytes``: the limit of text.
    """
    arguments = [kind, *map(str, (max_bytes, limits.cpu_seconds, limits.memory_bytes, limits.wall_seconds))]
    try:
        code, output = processes.run(
            [sys.executable, "-I", "-B", "-c", _PROGRAM, str(BASE_DIR), *arguments],
            data,
            seconds=limits.wall_seconds + _GRACE_SECONDS,
            max_bytes=LENGTH_BYTES + _MAX_HEAD_BYTES + max_bytes,
            environment={},
        )
    except OSError:
        return ProcessAnswer(NoTextReason.UNAVAILABLE)
    except LateError:
        return ProcessAnswer(NoTextReason.LIMIT)
    if code == NOT_PREPARED:
        return ProcessAnswer(NoTextReason.UNAVAILABLE)
    if code in _AT_A_LIMIT:
        return ProcessAnswer(NoTextReason.LIMIT)
    try:
        return _parsed_answer(output, max_bytes)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ProcessAnswer(NoTextReason.BROKEN)


def _parsed_answer(output: bytes, max_bytes: int) -> ProcessAnswer:
    """The answer in the output. It is validated like untrusted input, because a hostile file may have taken over the process.

    Raises:
        ValueError, KeyError, TypeError: the answer is invalid.
    """
    length = int.from_bytes(output[:LENGTH_BYTES], "big")
    head = output[LENGTH_BYTES : LENGTH_BYTES + length]
    if len(output) < LENGTH_BYTES + length or length > _MAX_HEAD_BYTES:
        raise ValueError
    about: dict[str, Any] = json.loads(head)
    sizes = [size for _, size in about["parts"]]
    at = LENGTH_BYTES + length
    if len(sizes) > MAX_PARTS or any(type(size) is not int or size < 0 for size in sizes) or at + sum(sizes) != len(output):
        raise ValueError
    if sum(sizes) > max_bytes:
        raise ValueError
    parts = []
    for label, size in about["parts"]:
        parts.append((_checked(label, LABEL_CHARS), _checked(output[at : at + size].decode(), max_bytes)))
        at += size
    places, without_text = int(about["places"]), int(about["without_text"])
    left_out = tuple((HiddenPart(kind), _checked(name, LABEL_CHARS)) for kind, name in about["left_out"])
    is_long = len(left_out) > MAX_LEFT_OUT + 1 or any("\n" in name for _, name in left_out)
    if is_long or not 0 <= without_text <= places or any(text for _, text in parts) is bool(about["reason"]):
        raise ValueError
    return ProcessAnswer(NoTextReason(about["reason"]), places, without_text, about["is_cut"] is True, tuple(parts), left_out)


def _checked(text: str, max_chars: int) -> str:
    """The text, after a check. It is checked in slices, so that other threads of the server can run in between.

    Raises:
        ValueError: the text is too long, or contains invisible characters.
    """
    if len(text) > max_chars or not all(has_no_invisible(text[at : at + _SLICE_CHARS]) for at in range(0, len(text), _SLICE_CHARS)):
        raise ValueError
    return text


log = logging.getLogger(__name__)

_MAX_BYTES = 10_000
_BOMBS = {"time": ProcessLimits(cpu_seconds=1), "memory": ProcessLimits(cpu_seconds=5, memory_bytes=1 << 28)}
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
    answer = run("probes", os.fsencode(__file__), _MAX_BYTES, ProcessLimits())
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


def _ends(kind: str, limits: ProcessLimits) -> bool:
    return run(kind, b"", _MAX_BYTES, limits).reason is NoTextReason.LIMIT
