"""Reads an uploaded file, in a separate sandboxed process: returns its text in parts, or a reason why there is none.

Everything that the process returns is validated. Before any upload is read, it is tested whether this machine sandboxes such processes and
ends them at their limits.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, partial
from typing import Any

from chatui import processes
from chatui.documents import kinds, plain_text
from chatui.documents.inside import probes
from chatui.documents.inside.text_collector import LABEL_CHARS, LENGTH_BYTES, MAX_LEFT_OUT, MAX_UNREAD, NOT_PREPARED
from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing
from chatui.documents.limits import MAX_BYTES, MAX_PARTS, TEXT_BYTES
from chatui.env import BASE_DIR
from chatui.processes import LateError
from chatui.sandbox import ProcessLimits
from renderer.characters import drop

log = logging.getLogger(__name__)

AT_A_TIME = 2
"""The number of files that this server process reads at once."""


class ReadingState(StrEnum):
    READ = "read"
    EMPTY = "empty"  # nothing readable, as in a scanned PDF
    UNSUPPORTED = "unsupported"  # refused by its type, pictures included
    FAILED = "failed"  # broken, hostile, or beyond a limit


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a file's text. A page without text has an empty part, so that the third part is the third page."""

    label: str
    """"page 3", "sheet Q1", "slide 4"; empty for a text that has no parts."""
    text: str = field(repr=False)
    """Cleaned, see ``plain_text``."""


@dataclass(frozen=True, slots=True)
class FileReading:
    """What was read from a file. With a ``reason`` there are no parts; otherwise at least one has text."""

    kind: str = ""
    parts: tuple[TextPart, ...] = ()
    places: int = 0
    """The number of pages, sheets or slides, or 0."""
    places_without_text: int = 0
    reason: NoTextReason = NoTextReason.NONE
    is_cut: bool = False
    """Whether the text was truncated."""
    left_out: tuple[tuple[HiddenPart, str], ...] = field(default=(), repr=False)
    """What is hidden in the file, kind and name of each."""
    unread: tuple[tuple[UnreadThing, int], ...] = ()
    """How many things of each kind are neither in the text nor marked there."""
    encoding: str = ""
    """The encoding of a text file that is not in ASCII."""
    is_encoding_doubtful: bool = False

    @property
    def state(self) -> ReadingState:
        return _STATES.get(self.reason, ReadingState.FAILED)


_STATES = {
    NoTextReason.NONE: ReadingState.READ,
    NoTextReason.SCANNED: ReadingState.EMPTY,
    NoTextReason.BLANK: ReadingState.EMPTY,
    NoTextReason.HIDDEN: ReadingState.EMPTY,
    NoTextReason.PICTURE: ReadingState.UNSUPPORTED,
    **dict.fromkeys([NoTextReason.TYPE, *(reason for reason in NoTextReason if reason.startswith("as-"))], ReadingState.UNSUPPORTED),
}
"""All other reasons are failures."""


async def read(name: str, data: bytes, limits: ProcessLimits | None = None, language: str = "", encoding: str = "") -> FileReading:
    """Read a file. No file makes this raise an exception. Waits while two other files are being read. ``language``: that of the person,
    whose usual encoding is likelier. ``encoding``: that of a text file, if the person has chosen it.
    """
    if len(data) > MAX_BYTES:
        return FileReading(reason=NoTextReason.TOO_LONG)
    detected = kinds.detect(name, data)
    if detected.reason:
        return FileReading(detected.kind, reason=detected.reason)
    if detected.kind in kinds.PLAIN and not encoding and _is_ascii(data):
        text, is_cut = await asyncio.to_thread(plain_text.of_ascii, data, TEXT_BYTES)
        if not text.strip():
            return FileReading(detected.kind, reason=NoTextReason.BLANK)
        unreadable = plain_text.unreadable_in_ascii(data)
        unread = ((UnreadThing.CHARACTER, unreadable),) if unreadable else ()
        return FileReading(detected.kind, (TextPart("", text),), is_cut=is_cut, unread=unread)
    if not await asyncio.to_thread(is_confined):
        return FileReading(detected.kind, reason=NoTextReason.UNAVAILABLE)
    worker_kind = "plain" if detected.kind in kinds.PLAIN else detected.kind
    call = partial(read_confined, worker_kind, data, TEXT_BYTES, limits or ProcessLimits(), (language, encoding))
    return replace(await asyncio.get_running_loop().run_in_executor(_readers(), call), kind=detected.kind)


def _is_ascii(data: bytes) -> bool:
    """Whether a text is in ASCII, and not in an encoding that only uses its bytes: UTF-16, or a Japanese one that switches by escapes."""
    return data.isascii() and b"\x1b$" not in data and b"\0" not in data.rstrip(b"\0\x1a")


@cache
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_A_TIME, "reading files")


_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from chatui.documents.inside import worker; worker.main()"
_MAX_HEAD_BYTES = MAX_PARTS * (LABEL_CHARS * 12 + 20)
_SLICE_CHARS = 100_000
_GRACE_SECONDS = 2
_AT_A_LIMIT = {-signal.SIGXCPU: NoTextReason.LATE, -signal.SIGKILL: NoTextReason.LATE, -signal.SIGALRM: NoTextReason.SLOW}


def read_confined(kind: str, data: bytes, max_bytes: int, limits: ProcessLimits, hints: tuple[str, str] = ("", "")) -> FileReading:
    """Read one file in its process. Blocks at most as long as the limits allow; large files never hold Python's global lock for long.

    ``kind``: a name of ``worker.READERS``. ``max_bytes``: the limit of text. ``hints``: the person's language, and the chosen
    encoding.
    """
    arguments = [kind, *map(str, (max_bytes, limits.cpu_seconds, limits.memory_bytes, limits.wall_seconds)), *hints]
    try:
        code, output = processes.run(
            [sys.executable, "-I", "-B", "-c", _PROGRAM, str(BASE_DIR), *arguments],
            data,
            seconds=limits.wall_seconds + _GRACE_SECONDS,
            max_bytes=LENGTH_BYTES + _MAX_HEAD_BYTES + max_bytes,
            environment={},
        )
    except OSError:
        return FileReading(reason=NoTextReason.UNAVAILABLE)
    except LateError:
        return FileReading(reason=NoTextReason.SLOW)
    if code == NOT_PREPARED:
        return FileReading(reason=NoTextReason.UNAVAILABLE)
    if code in _AT_A_LIMIT:
        return FileReading(reason=_AT_A_LIMIT[code])
    try:
        return _parsed_answer(output, max_bytes)
    except (ValueError, KeyError, TypeError, RecursionError):
        return FileReading(reason=NoTextReason.BROKEN)


def _parsed_answer(output: bytes, max_bytes: int) -> FileReading:
    """The answer in the output. It is validated like untrusted input, because a hostile file may have taken over the process.

    Raises:
        ValueError, KeyError, TypeError: the answer is invalid.
    """
    at = LENGTH_BYTES + int.from_bytes(output[:LENGTH_BYTES], "big")
    if not at <= min(len(output), LENGTH_BYTES + _MAX_HEAD_BYTES):
        raise ValueError
    about: dict[str, Any] = json.loads(output[LENGTH_BYTES:at])
    sizes = [size for _, size in about["parts"]]
    if len(sizes) > MAX_PARTS or any(type(size) is not int or size < 0 for size in sizes):
        raise ValueError
    if sum(sizes) > max_bytes or at + sum(sizes) != len(output):
        raise ValueError
    parts = []
    for label, size in about["parts"]:
        parts.append(TextPart(_checked(label, LABEL_CHARS), _checked(output[at : at + size].decode(), max_bytes)))
        at += size
    places, without_text = int(about["places"]), int(about["without_text"])
    left_out = tuple((HiddenPart(kind), _checked(name, LABEL_CHARS)) for kind, name in about["left_out"])
    is_long = len(left_out) > MAX_LEFT_OUT + 1 or any("\n" in name for _, name in left_out)
    if is_long or not 0 <= without_text <= places or any(part.text for part in parts) is bool(about["reason"]):
        raise ValueError
    unread = tuple((UnreadThing(kind), count) for kind, count in about["unread"].items())
    if any(type(count) is not int or not 0 < count <= MAX_UNREAD for _, count in unread):
        raise ValueError
    encoding = about["encoding"]
    if encoding and encoding not in plain_text.ENCODINGS:
        raise ValueError
    return FileReading(
        "",
        tuple(parts),
        places,
        without_text,
        NoTextReason(about["reason"]),
        about["is_cut"] is True,
        left_out,
        unread,
        encoding,
        about["is_encoding_doubtful"] is True,
    )


def _checked(text: str, max_chars: int) -> str:
    """The text, after a check. It is checked in slices, so that other threads of the server can run in between.

    Raises:
        ValueError: the text is too long, or contains invisible characters.
    """
    slices = (text[at : at + _SLICE_CHARS] for at in range(0, len(text), _SLICE_CHARS))
    if len(text) > max_chars or any(drop(each) != each for each in slices):
        raise ValueError
    return text


_PROBE_BYTES = 10_000
_BOMBS = {"time": ProcessLimits(cpu_seconds=1), "memory": ProcessLimits(cpu_seconds=5, memory_bytes=1 << 28)}


@cache
def is_confined() -> bool:
    """Whether files can be read safely here. This is tested once per process, in 0.1 seconds. Missing requirements are logged."""
    if not sys.platform.startswith("linux"):
        return True  # Other systems have no filter: the resource limits must suffice.
    found = escapes()
    if found:
        log.error("uploaded files are not read: %s", "; ".join(found))
    return not found


def faults() -> list[str]:
    """The problems with reading files here, including with limits; empty if there are none. Takes one to two seconds."""
    found = {name: read_confined(f"bomb of {name}", b"", _PROBE_BYTES, limits) for name, limits in _BOMBS.items()}
    return escapes() + [
        f"a process was not ended at its {name} limit"
        for name, each in found.items()
        if each.reason not in (NoTextReason.LATE, NoTextReason.MEMORY)
    ]


def escapes() -> list[str]:
    """The forbidden actions that a process which reads files can carry out."""
    answer = read_confined("probes", os.fsencode(__file__), _PROBE_BYTES, ProcessLimits())
    if answer.reason:
        return ["no process could be confined"]
    *found, last = "".join(part.text for part in answer.parts).splitlines()
    return [f"a process that reads a file could {way}" for way in found] if last == probes.DONE else ["not all attempts were made"]
