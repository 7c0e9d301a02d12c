"""A line of a reasoning summary as a value, and its English sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from renderer.activities.kinds import KINDS


@dataclass(frozen=True, slots=True)
class Activity:
    """What a model is doing.

    ``doing``: the name of a kind in ``KINDS``. ``about``: empty, or as many spans of the person's own text as the kind's ``named`` sentence
    has places.
    """

    doing: str
    about: tuple[str, ...] = ()

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
        """The line as a page may show it that contains ``texts``: without its spans, if one of them is in none of them."""
        if not self.about:
            return self
        page = [text.casefold() for text in texts]
        return self if all(any(span.casefold() in text for text in page) for span in self.about) else Activity(self.doing)

    def as_stored(self) -> list[str]:
        """The value for a column."""
        return [self.doing, *self.about]


def filled(pattern: str, about: Sequence[str]) -> str:
    """A sentence with its spans."""
    for span in about:
        pattern = pattern.replace("{}", span, 1)
    return pattern


def from_stored(value: object) -> list[Activity]:
    """The lines in a column. What is no value of the table is left out."""
    found = [_activity(item) for item in value] if isinstance(value, list) else []
    return [activity for activity in found if activity is not None]


def _activity(item: object) -> Activity | None:
    if not (isinstance(item, list) and item and all(isinstance(part, str) for part in item)):
        return None
    doing, *about = item
    kind = KINDS.get(doing)
    if kind is None or (about and len(about) != kind.named.count("{}")):
        return None
    return Activity(doing, tuple(about))


def from_sentence(line: str, texts: Iterable[str]) -> Activity | None:
    """The line that this English sentence is, with spans that occur in ``texts``; None if it is none of ours."""
    raise NotImplementedError
