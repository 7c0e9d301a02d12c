"""Documents with traps, in which readers lose or change something without a word, and what must be read from each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chatui.documents.kinds import UnreadThing
from chatui.documents.reading import FileReading


@dataclass(frozen=True, slots=True)
class Trap:
    """``has``: texts that must be there, ``lacks``: those that must not. ``counts``: things that must be counted instead."""

    file: str
    make: Callable[[], bytes]
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    counts: Mapping[UnreadThing, int] = field(default_factory=dict)

    def judged(self, found: FileReading) -> str:
        """Whether a file was read right, its loss was said, or nothing was said."""
        text = "\n".join(part.text for part in found.parts)
        is_right = not found.reason and all(each in text for each in self.has) and not any(each in text for each in self.lacks)
        unread = dict(getattr(found, "unread", ()))
        if is_right and all(unread.get(kind) == count for kind, count in self.counts.items()):
            return "right"
        is_marked = bool(found.reason or unread) and not any(each in text for each in self.lacks)
        return "marked" if is_marked else "silently wrong"
