"""What code is asked to do and what it answers, in this machine's sandbox or in the operator's own service.

The sandbox's output is read piece by piece, and truncated. The code can write anything, including an end mark. So a mark ends only its own
answer, and what follows it is treated as untrusted text.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from uuid import UUID

from chatui.tools.file_access import TurnFiles
from chatui.tools.python.data_files import CopiedFiles
from renderer.characters import replace


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """Code to run for a conversation."""

    conversation_id: UUID
    person_id: UUID
    """The person who asked; interpreters are counted per person."""
    code: str = field(repr=False)
    seconds: float
    max_chars: int
    files: TurnFiles | None = field(default=None, repr=False)
    """The files to copy into a new interpreter's ``/mnt/data``; None if files are off."""
    max_files: int = 0
    """How many of the files that a call creates are copied out."""
    max_file_bytes: int = 0
    """The most bytes of each of them."""


@dataclass(frozen=True, slots=True)
class CodeOutcome:
    """The result of running code."""

    text: str = field(repr=False)
    """The output, of bounded length."""
    has_failed: bool = False
    files: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    """Names and sizes of files created in ``/mnt/data``."""
    is_new: bool = False
    """Whether the interpreter had no state of earlier calls."""
    ended: str = ""
    """Why the interpreter ended, so that the next call has no state; empty if it still runs."""
    copied_out: CopiedFiles = field(default_factory=CopiedFiles, repr=False)
    """The files copied out of the sandbox."""
    copied_in: tuple[str, ...] = field(default=(), repr=False)
    """Names of the conversation's files copied in before the call."""
    not_copied_in: tuple[str, ...] = field(default=(), repr=False)
    """Names of those that could not be."""
    deleted: tuple[str, ...] = field(default=(), repr=False)
    """Names of those that were deleted."""


MAX_END_BYTES = 16_000
MAX_FILES = 20
MAX_NAME_CHARS = 100


class AnswerReader:
    """Parses the sandbox's output: ``feed`` bytes until it returns True, then ``finish``. ``mark``: the text that ends the answer, between
    null bytes."""

    def __init__(self, max_chars: int = 2000) -> None:
        self.mark = secrets.token_hex(16)
        self._end_mark = b"\0" + self.mark.encode() + b"\0"
        self._output = _HeadAndTail(max_chars)
        self._tail = b""
        self._end: bytes | None = None

    def feed(self, data: bytes) -> bool:
        """Add output. Returns whether the answer is complete. Output after its end is dropped."""
        if self._end is None:
            data = self._tail + data
            found = data.find(self._end_mark)
            if found < 0:
                keep = len(self._end_mark) - 1
                self._output.add(data[:-keep])
                self._tail = data[-keep:]
                return False
            self._output.add(data[:found])
            self._tail = b""
            self._end, data = b"", data[found + len(self._end_mark) :]
        self._end = (self._end + data)[:MAX_END_BYTES]
        return b"\n" in self._end or len(self._end) == MAX_END_BYTES

    @property
    def is_too_much(self) -> bool:
        return self._output.dropped > 0

    def finish(self) -> CodeOutcome:
        """The answer, even if its end never arrived."""
        self._output.add(self._tail)
        self._tail = b""
        try:
            end = json.loads((self._end or b"{}").split(b"\n")[0])
        except (ValueError, RecursionError):
            end = {}
        end = end if isinstance(end, dict) else {}
        return CodeOutcome(self._output.text(), end.get("failed") is True, files_of(end.get("files")))


def files_of(listed: object) -> tuple[tuple[str, int], ...]:
    """The valid ones among a list of file names and sizes."""
    entries = listed[:MAX_FILES] if isinstance(listed, list) else []
    pairs = [(entry[0], entry[1]) for entry in entries if isinstance(entry, list) and len(entry) == 2]
    valid = [(name, size) for name, size in pairs if isinstance(name, str) and type(size) is int and size >= 0]
    return tuple((replace(name[:MAX_NAME_CHARS], "?"), size) for name, size in valid)


class _HeadAndTail:
    """The beginning and the end of an output. The middle is dropped, because errors are usually at the end."""

    def __init__(self, most: int) -> None:
        # Counted in bytes of UTF-8, so there are never more characters than the limit.
        self._max_head = most * 2 // 3
        self._max_tail = most - self._max_head
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = self._max_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if (over := len(self._tail) - self._max_tail) > 0:
            self.dropped += over
            del self._tail[:over]

    def text(self) -> str:
        if not self.dropped:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = self._head.decode("utf-8", "replace"), self._tail.decode("utf-8", "replace")
        return f"{head}\n[… {self.dropped} bytes omitted here …]\n{tail}"
