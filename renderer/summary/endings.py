"""A stemmer: removes word endings, so that "compared" and "comparing" count as one word."""

from __future__ import annotations

from functools import lru_cache

_ENGLISH = (
    ("ies", "y"),
    ("ied", "y"),
    ("ily", "y"),
    ("ing", ""),
    ("ing", "e"),
    ("ed", ""),
    ("ed", "e"),
    ("es", ""),
    ("s", ""),
    ("ly", ""),
    ("er", ""),
    ("er", "e"),
    ("ier", "y"),
    ("est", ""),
    ("iest", "y"),
    ("ness", ""),
    ("iness", "y"),
)
_GERMAN = (
    *("e", "n", "s", "t", "en", "er", "es", "em", "st", "et", "te", "ten", "tet", "ern", "ung", "ungen", "end", "ende", "enden"),
    *("ere", "eren", "eres", "erer", "ste", "sten", "stes", "ster"),
)
_ROMANCE = (
    *("a", "o", "e", "i", "u", "s", "as", "os", "es", "is", "us", "it", "ar", "er", "ir", "ado", "ada", "ados", "adas", "ido", "ida"),
    *("idos", "idas", "ando", "iendo", "io", "ieron", "aron", "aba", "ia", "an", "en", "ee", "ees", "ant", "ent", "ait", "ont", "re"),
    *("ie", "ies", "ue", "ues", "eur", "euse", "eux", "elle", "elles", "onne", "onnes", "ive", "ives"),
)
_ELIDED = ("d", "l", "n", "s", "j", "m", "t", "c", "qu")
_MIN_ROOT_CHARS = 3
_MIN_ROMANCE = 4
_MIN_GERMAN = 3


@lru_cache(maxsize=4096)
def english(word: str) -> frozenset[str]:
    """The base words that a folded English word may be a form of, including itself."""
    found = {word}
    for ending, put_back in _ENGLISH:
        root = word.removesuffix(ending)
        if root != word and len(root) >= _MIN_ROOT_CHARS:
            found.add(root + put_back)
            if not put_back and root[-1] == root[-2]:
                found.add(root[:-1])
    return frozenset(found)


@lru_cache(maxsize=4096)
def german(word: str) -> frozenset[str]:
    """The base words that a folded German word may be a form of, including itself."""
    found = {word}
    found.update(root for ending in _GERMAN if (root := word.removesuffix(ending)) != word and len(root) >= _MIN_GERMAN)
    if word.startswith("ge"):
        found.update(root[2:] for root in tuple(found) if len(root) >= _MIN_GERMAN + 2)
    return frozenset(found)


@lru_cache(maxsize=4096)
def romance(word: str) -> frozenset[str]:
    """The stems of a folded French, Spanish, Italian or Portuguese word, also without an article ("lheure"), and the word itself."""
    bare = {word, *(word.removeprefix(article) for article in _ELIDED if len(word) - len(article) >= _MIN_ROMANCE)}
    found = {form.removesuffix(ending) for form in bare for ending in _ROMANCE}
    return frozenset(bare | {stem for stem in found if len(stem) >= _MIN_ROMANCE})


def forms(word: str) -> frozenset[str]:
    """The base words that a word of any language may be a form of, for comparing with visible words."""
    if word.isascii():
        return english(word) | german(word)
    return frozenset({word, *(word[:-cut] for cut in (1, 2) if len(word) - cut > _MIN_GERMAN)})
