"""A line of a reasoning summary as a value, and its English sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from renderer.activities.kinds import KINDS
from renderer.activities.spans import may_be_named


@dataclass(frozen=True, slots=True)
class Activity:
    """What a model is doing."""

    doing: str
    """The name of a kind in ``KINDS``."""
    about: tuple[str, ...] = ()
    """Empty, or as many spans of the person's own text as the kind's ``named`` sentence has places."""

    @property
    def pattern(self) -> str:
        """The English sentence, with ``{}`` for each span."""
        kind = KINDS[self.doing]
        return kind.named if self.about else kind.sentence

    @property
    def sentence(self) -> str:
        """The line in English, as plain text."""
        return filled(self.pattern, self.about)

    def seen_in(self, texts: Iterable[str]) -> Activity:
        """The line as a page that contains ``texts`` may show it: without all of its spans, if one of them is in none of the texts."""
        if not self.about or _are_in(self.about, [text.casefold() for text in texts]):
            return self
        return Activity(self.doing)


def filled(pattern: str, about: Sequence[str]) -> str:
    """A sentence with its spans."""
    for span in about:
        pattern = pattern.replace("{}", span, 1)
    return pattern


def _are_in(about: Sequence[str], page: Sequence[str]) -> bool:
    return all(any(span.casefold() in text for text in page) for span in about)


def as_stored(lines: Iterable[Activity], places: Sequence[UUID] = ()) -> list[object]:
    """The value for a column. ``places``: the frame of each line, as far as it is known; each stands before the first of its lines."""
    stored: list[object] = []
    for number, line in enumerate(lines):
        if number < len(places) and places[number].hex not in stored:
            stored.append(places[number].hex)
        stored.append([line.doing, *line.about])
    return stored


def by_place(value: object) -> dict[str, list[Activity]]:
    """The lines in a column by the frame of each, in hexadecimal; empty where it is not known."""
    found: dict[str, list[Activity]] = {}
    place = ""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            place = item
        elif (line := _activity(item)) is not None:
            found.setdefault(place, []).append(line)
    return found


def from_stored(value: object) -> list[Activity]:
    """The lines in a column. What is no value of the table is left out."""
    return [line for lines in by_place(value).values() for line in lines]


def _activity(item: object) -> Activity | None:
    if not (isinstance(item, list) and item and all(isinstance(part, str) for part in item)):
        return None
    doing, *about = item
    kind = KINDS.get(doing)
    if kind is None or (about and len(about) != kind.named.count("{}")) or not all(map(may_be_named, about)):
        return None
    return Activity(doing, tuple(about))


def from_sentence(line: str, texts: Iterable[str]) -> Activity | None:
    """The activity whose English line this is, if all its spans occur in ``texts``; None for any other sentence."""
    for kind in KINDS.values():
        if line == kind.sentence:
            return Activity(kind.name)
    page = [text.casefold() for text in texts]
    # "Reading the code in a.py" is also "Reading" with more words: the sentence with most of its own words is meant.
    for kind in sorted(KINDS.values(), key=lambda kind: len(kind.named), reverse=True):
        for about in _filled_with(line, kind.named):
            if all(map(may_be_named, about)) and _are_in(about, page):
                return Activity(kind.name, about)
    return None


def _filled_with(line: str, pattern: str) -> Iterator[tuple[str, ...]]:
    """The spans with which the line may come from the pattern."""
    first, *others = pattern.split("{}")
    if not others or not (line.startswith(first) and line.endswith(others[-1])):
        return
    inner = line[len(first) : len(line) - len(others[-1])]
    if len(others) == 1:
        yield (inner,)
        return
    between = others[0]
    at = inner.find(between)
    while at >= 0:
        yield inner[:at], inner[at + len(between) :]
        at = inner.find(between, at + 1)
