"""Collects the text of a file, part by part, within limits on size and time."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field

from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing
from chatui.documents.limits import MAX_PARTS
from chatui.documents.plain_text import clean

LABEL_CHARS = 80
MAX_LEFT_OUT = 10
MAX_UNREAD = 1_000_000
"""The largest count of one kind of things."""
LENGTH_BYTES = 4
NOT_PREPARED = 70
"""The worker's exit code if nothing was read because a library is missing, or the process could not be confined. It is here, like the
size of the number that begins its output, so that the server process need not load the worker's parsers."""
_TRAILING = re.compile(r"(?<![ \t])[ \t]++(?=\n|\Z)|(?<! ) ++(?=\t)")
"""Trailing spaces. Each run is scanned once, however long it is."""
_EMPTY_LINES = re.compile(r"\n{3,}")
_SHARE_OF_TIME = 0.7
"""The share of the process's processor time after which reading stops; the rest is for the last part."""


class UnreadableFileError(Exception):
    def __init__(self, reason: NoTextReason) -> None:
        super().__init__(reason)
        self.reason = reason


class TextLimitError(Exception):
    """The limit of text or time is reached. The text collected so far is used."""


@dataclass(slots=True)
class TextCollector:
    """The collected text. For each part, call ``begin``, then ``put`` its text; at the end, call ``end``."""

    max_bytes: int
    """The limit for all text, in UTF-8."""
    cpu_seconds: float
    """The limit of the process."""
    is_exact: bool = False
    """Whether the white space is kept as it is."""
    places: int = 0
    """The number of pages, sheets or slides."""
    without_text: int = 0
    """The number of those without text."""
    is_cut: bool = False
    parts: list[tuple[str, bytes]] = field(default_factory=list)
    left_out: list[tuple[HiddenPart, str]] = field(default_factory=list)
    """What is hidden in the file, kind and name of each."""
    unread: Counter[UnreadThing] = field(default_factory=Counter)
    """How many things of each kind are neither in the text nor marked there."""
    language: str = ""
    """The language of the person."""
    encoding: str = ""
    """The encoding of a text file: before it is read, the one that the person has chosen."""
    is_encoding_doubtful: bool = False
    _label: str = ""
    _pieces: list[str] = field(default_factory=list)
    _room: int = 0
    _is_place: bool = False
    _is_left_out: bool = False

    def begin(self, label: str = "", is_place: bool = False) -> None:
        """End the current part and begin the next one.

        Raises:
            TextLimitError: there are too many parts, or reading took too long.
        """
        self.end()
        self._label, self._is_place = _name(label), is_place
        if len(self.parts) >= MAX_PARTS or time.process_time() > self.cpu_seconds * _SHARE_OF_TIME:
            self.is_cut, self._is_place = True, False
            raise TextLimitError

    def leave_out(self, kind: HiddenPart, name: str) -> None:
        """Note what is hidden in the file and not read. Only the first are named. A hidden slide does not count as one without text."""
        self._is_left_out |= kind is HiddenPart.SLIDE
        found = kind, _name(name)
        if found not in self.left_out and len(self.left_out) <= MAX_LEFT_OUT:
            self.left_out.append(found if len(self.left_out) < MAX_LEFT_OUT else (kind, "…"))

    def count(self, kind: UnreadThing, number: int = 1) -> None:
        """Note things that are not read: they are neither in the text nor marked in their places."""
        if number > 0:
            self.unread[kind] = min(self.unread[kind] + number, MAX_UNREAD)

    def put(self, text: str) -> None:
        """Add text to the current part.

        Raises:
            TextLimitError: the limit of text is exceeded.
        """
        if self._room == 0:
            self._room = self.max_bytes - sum(len(part) for _, part in self.parts) + 1
        self._pieces.append(text)
        self._room -= len(text)
        if self._room <= 0:
            self.is_cut = True
            raise TextLimitError

    def end(self) -> None:
        """End the current part. It is dropped if it has no text, unless it is a page, sheet or slide: those are counted by their parts."""
        plain = clean("".join(self._pieces))
        text = (plain if self.is_exact else _EMPTY_LINES.sub("\n\n", _TRAILING.sub("", plain)).strip("\n")).encode()
        self._pieces, self._room = [], 0
        bytes_left = self.max_bytes - sum(len(part) for _, part in self.parts)
        if len(text) > bytes_left:
            self.is_cut = True
            # A page whose text was dropped still counts as having text.
            self._is_place = self._is_place and bytes_left > 0
            text = text[:bytes_left].decode("utf-8", "ignore").encode()
        has_text = bool(text.strip())
        if has_text or self._is_place:
            self.parts.append((self._label, text if has_text else b""))
        self.without_text += self._is_place and not has_text and not self._is_left_out
        self._is_place = self._is_left_out = False

    @property
    def has_text(self) -> bool:
        return any(text for _, text in self.parts)


def _name(text: str) -> str:
    return " ".join(clean(text[: LABEL_CHARS * 4]).split())[:LABEL_CHARS]
