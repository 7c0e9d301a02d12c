"""Shared by the word processor and presentation readers: paragraphs, table cells, and drawings in two versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chatui.documents.inside.text_collector import Found


@dataclass(slots=True)
class Paragraphs:
    """A listener for text that stands in ``t``. Say what the beginnings of elements mean in ``begin``, and what comes before in ``put``."""

    found: Found
    _skipped: int = 0
    _is_text: bool = False
    _cells: int = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        # The second version of a drawing is for programs that do not know the first one.
        if self._skipped or name == "Fallback":
            self._skipped += 1
        elif name == "tc":
            self._cells += 1
        else:
            self.begin(name, attributes)

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name == "t":
            self._is_text = False
        elif name in ("p", "tr"):
            # A row of a table is a line, whatever stands in its cells.
            self.found.put(" " if name == "p" and self._cells else "\n")
        elif name == "tc":
            self._cells -= 1
            self.found.put("\t")
        else:
            self.finish(name)

    def data(self, text: str) -> None:
        if self._is_text and not self._skipped:
            self.put(text)

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins that is no cell. Say in ``_is_text`` whether the text is in it."""

    def finish(self, name: str) -> None:
        """One ends that is none of the common ones."""

    def put(self, text: str) -> None:
        """A piece of text was read."""
        self.found.put(text)
