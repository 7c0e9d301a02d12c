"""Reads an uploaded file: returns its text in parts, or a reason why there is none."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, partial

from chatui.documents import kinds, plain_text, process
from chatui.documents.kinds import HiddenPart, NoTextReason
from chatui.sandbox import ProcessLimits

MAX_BYTES = 20_000_000
"""The largest file. A larger one is not read."""
TEXT_BYTES = 4_000_000
"""The most text, in UTF-8. Reading stops there."""
AT_A_TIME = 2
"""The number of files that this server process reads at once."""


class ReadingState(StrEnum):
    """The result of reading a file."""

    READ = "read"
    EMPTY = "empty"  # nothing readable, as in a scanned PDF
    UNSUPPORTED = "unsupported"  # refused by its type, pictures included
    FAILED = "failed"  # broken, hostile, or beyond a limit


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a file's text. ``label``: "page 3", "sheet Q1", "slide 4"; empty for a text that has no parts. ``text`` is cleaned, see
    ``plain_text``. A page without text has an empty part, so that the third part is the third page."""

    label: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FileReading:
    """What was read from a file. If ``state`` is READ, at least one part has text; otherwise there are no parts. ``places``: the number of
    pages, sheets or slides, or 0. ``is_cut``: the text was truncated. ``left_out``: what is hidden in the file, kind and name of each.
    """

    state: ReadingState
    kind: str
    parts: tuple[TextPart, ...] = ()
    places: int = 0
    places_without_text: int = 0
    reason: NoTextReason = NoTextReason.NONE
    is_cut: bool = False
    left_out: tuple[tuple[HiddenPart, str], ...] = field(default=(), repr=False)


_STATES = {
    NoTextReason.NONE: ReadingState.READ,
    NoTextReason.SCANNED: ReadingState.EMPTY,
    NoTextReason.BLANK: ReadingState.EMPTY,
    NoTextReason.HIDDEN: ReadingState.EMPTY,
    NoTextReason.PICTURE: ReadingState.UNSUPPORTED,
    NoTextReason.TYPE: ReadingState.UNSUPPORTED,
}
"""All other reasons are failures."""


async def read(name: str, data: bytes, limits: ProcessLimits | None = None) -> FileReading:
    """Read a file. No file makes this raise an exception. Waits while two other files are being read."""
    if len(data) > MAX_BYTES:
        return _without_text("", NoTextReason.TOO_LONG)
    detected = kinds.detect(name, data)
    if detected.reason:
        return _without_text(detected.kind, detected.reason)
    if detected.kind in kinds.PLAIN and data[:TEXT_BYTES].isascii():
        return await asyncio.to_thread(_of_ascii, detected.kind, data)
    worker_kind = "plain" if detected.kind in kinds.PLAIN else detected.kind
    if not await asyncio.to_thread(process.is_confined):
        return _without_text(detected.kind, NoTextReason.UNAVAILABLE)
    call = partial(process.run, worker_kind, data, TEXT_BYTES, limits or ProcessLimits())
    answer = await asyncio.get_running_loop().run_in_executor(_readers(), call)
    parts = tuple(TextPart(label, text) for label, text in answer.parts)
    state = _STATES.get(answer.reason, ReadingState.FAILED)
    return FileReading(state, detected.kind, parts, answer.places, answer.without_text, answer.reason, answer.is_cut, answer.left_out)


@cache
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_A_TIME, "reading files")


def _of_ascii(kind: str, data: bytes) -> FileReading:
    text = plain_text.of_ascii(data[:TEXT_BYTES])
    if not text.strip():
        return _without_text(kind, NoTextReason.BLANK)
    return FileReading(ReadingState.READ, kind, (TextPart("", text),), is_cut=len(data) > TEXT_BYTES)


def _without_text(kind: str, reason: NoTextReason) -> FileReading:
    return FileReading(_STATES.get(reason, ReadingState.FAILED), kind, reason=reason)
