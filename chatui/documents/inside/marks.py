"""How readers write what is more than plain text: raised, lowered and struck-out text, links, and marks in brackets.

Raised digits are written as such (10⁶), other raised text after a caret, lowered text after an underscore. Struck-out text and links are
written as in Markdown, like headings and lists. A mark names what stands in its place: ``[Picture: a map]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from chatui.documents.inside.text_collector import TextCollector

URL_CHARS = 2000
SPAN_CHARS = 80
"""The longest text of a merged cell that is repeated over all of its columns."""
_RAISED = str.maketrans("0123456789+-\u2212()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾")
_LOWERED = str.maketrans("0123456789+-\u2212()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₍₎")
_DIGITS = re.compile("[-0-9+\u2212()]*[0-9][-0-9+\u2212()]*")


@dataclass(frozen=True, slots=True)
class Look:
    """How a run of text looks. ``level``: 1 if it is raised, -1 if it is lowered."""

    level: int = 0
    is_struck: bool = False

    def written(self, text: str) -> str:
        """The text with signs for its look."""
        core = text.strip()
        if not core or self == PLAIN:
            return text
        before, _, after = text.partition(core)
        if self.level:
            core = shifted(core, self.level)
        return f"{before}~~{core}~~{after}" if self.is_struck else f"{before}{core}{after}"


PLAIN = Look()


def shifted(text: str, level: int) -> str:
    """Raised or lowered text."""
    if _DIGITS.fullmatch(text):
        return text.translate(_RAISED if level > 0 else _LOWERED)
    return f"{'^' if level > 0 else '_'}{text if len(text) == 1 else f'({text})'}"


def mark(kind: str, text: str) -> str:
    """A mark, on one line."""
    return f"[{kind}: {' '.join(text.split())}]"


def linked(text: str, address: str) -> str:
    """The text of a link with its address."""
    words, where = text.strip(), "".join(address.split())[:URL_CHARS]
    if not where or where.removeprefix("mailto:") == words or where.rstrip("/") == words.rstrip("/"):
        return text
    if not words:
        return mark("Link", where) + text
    before, _, after = text.partition(words)
    return f"{before}[{words}]({where}){after}"


def spread(cell: str, columns: int) -> list[str]:
    """The cells that a merged cell covers, so that the cells beside and below it keep their columns."""
    return [cell, *[cell if len(cell) <= SPAN_CHARS else ""] * (columns - 1)]


@dataclass(slots=True)
class Runs:
    """Writes runs of text into a collector. Adjacent runs of one look become one; the text of links and cells is held until they end.
    ``_held``: the pieces of each open link or cell, and the link's address."""

    collector: TextCollector
    _look: Look = PLAIN
    _same: list[str] = field(default_factory=list)
    _held: list[tuple[list[str], str | None]] = field(default_factory=list)

    def put(self, text: str, look: Look = PLAIN) -> None:
        """Write a run of text. Raises TextLimitError as the collector does."""
        if look != self._look:
            self._flush()
            self._look = look
        if look == PLAIN:
            self._write(text)
        else:
            self._same.append(text)

    def hold(self) -> None:
        """Hold what is written until ``release``."""
        self._flush()
        self._held.append(([], None))

    def release(self) -> str:
        """What was written since the last ``hold``. Links that are still open end here."""
        while self._held[-1][1] is not None:
            self.end_link()
        self._flush()
        return "".join(self._held.pop()[0])

    @property
    def is_held(self) -> bool:
        """Whether what is written now is held."""
        return bool(self._held)

    def begin_link(self, address: str) -> None:
        self._flush()
        self._held.append(([], address))

    def end_link(self) -> None:
        """End the last link, unless it has ended with its cell."""
        self._flush()
        if self._held and (address := self._held[-1][1]) is not None:
            text = "".join(self._held.pop()[0])
            self._write(linked(text, address))

    def end(self) -> None:
        """Write what is still held, as in a damaged document."""
        self._flush()
        while self._held:
            pieces, address = self._held.pop()
            self._write(linked("".join(pieces), address or ""))

    def _flush(self) -> None:
        if self._same:
            text, self._same = self._look.written("".join(self._same)), []
            self._write(text)
        self._look = PLAIN

    def _write(self, text: str) -> None:
        if self._held:
            self._held[-1][0].append(text)
        else:
            self.collector.put(text)
