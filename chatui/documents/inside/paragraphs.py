"""Reads what word processor documents and presentations have in common: paragraphs, table cells, and drawings in two versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chatui.documents.inside.text_collector import TextCollector


@dataclass(slots=True)
class Paragraphs:
    """A listener for text in ``t`` elements. Subclasses handle the start of elements in ``begin``, and prefixes in ``put``."""

    collector: TextCollector
    _skipped: int = 0
    _is_text: bool = False
    _cells: int = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        # The second version of a drawing is for programs that do not support the first one.
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
            # A table row is one line, whatever its cells contain.
            self.collector.put(" " if name == "p" and self._cells else "\n")
        elif name == "tc":
            self._cells -= 1
            self.collector.put("\t")
        else:
            self.finish(name)

    def data(self, text: str) -> None:
        if self._is_text and not self._skipped:
            self.put(text)

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Called for the start of an element that is not a cell. Sets ``_is_text`` if it contains text."""

    def finish(self, name: str) -> None:
        """Called for the end of any other element."""

    def put(self, text: str) -> None:
        """Called for each piece of text."""
        self.collector.put(text)
