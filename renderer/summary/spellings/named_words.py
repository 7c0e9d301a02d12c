"""Indexes the words that hidden text writes as names, and those that it writes as ordinary words."""

from __future__ import annotations

from renderer.summary import disguises
from renderer.summary.spellings import sounds, written

NAME_HEAD = 4


class NamedWords:
    """``index_names`` takes text that begins with a whole word. All words are folded."""

    def __init__(self) -> None:
        self.spelled_names: set[str] = set()
        """Words of the reasoning that are written as names; in German, every noun."""
        self.certain_names: set[str] = set()
        """Names and words that certainly are names: in quotes, after a title, or parts of an identifier."""
        self.unspaced_names: set[str] = set()
        """The certain names in scripts without spaces."""
        self.name_heads: set[str] = set()
        """The beginnings of names."""
        self.named_after: dict[str, set[str]] = {}
        """For each capitalized word, the capitalized words directly before it: "Fischer" after "Peter"."""
        self.sounds: set[tuple[str, str]] = set()
        """The sounds of possible names (``spellings.sounds``)."""
        self.lower_case: set[str] = set()
        """Words in lower case."""
        self.with_article: set[str] = set()
        """The words that follow an article: names seldom do."""
        self.german_nouns: set[str] = set()
        self.korean_descriptions: set[str] = set()

    def index_names(self, text: str) -> None:
        """Index more text, which may overlap with earlier text."""
        names, certain_names = written.names(text), written.certain_names(text)
        self.spelled_names |= names
        self.certain_names |= certain_names
        self.unspaced_names.update(name for name in certain_names if disguises.unspaced(name))
        self.name_heads.update(name[:NAME_HEAD] for name in names | certain_names)
        self.sounds |= sounds.names(text)
        for first, second in written.side_by_side(text):
            self.named_after.setdefault(second, set()).add(first)
        self._index_lower_case(text)

    def _index_lower_case(self, text: str) -> None:
        self.lower_case |= written.lower_case(text)
        self.with_article |= written.with_article(text)
        self.german_nouns |= written.german_nouns(text)
        self.korean_descriptions |= written.korean_descriptions(text)
