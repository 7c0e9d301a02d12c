"""Removes endings from words, so that "compared" and "comparing" count as one word."""

from __future__ import annotations

from functools import lru_cache

_ENGLISH = (("ies", "y"), ("ied", "y"), ("ily", "y"), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("es", ""), ("s", ""), ("ly", ""))
_GERMAN = ("e", "n", "s", "t", "en", "er", "es", "em", "st", "et", "te", "ten", "tet", "ern", "ung", "ungen", "end", "ende", "enden")
_LEAST = 3
_LEAST_GERMAN = 3


@lru_cache(maxsize=4096)
def english(word: str) -> frozenset[str]:
    """The words of which a folded English word may be a form, including itself."""
    found = {word}
    for ending, put_back in _ENGLISH:
        root = word.removesuffix(ending)
        if root != word and len(root) >= _LEAST:
            found.add(root + put_back)
            if not put_back and root[-1] == root[-2]:
                found.add(root[:-1])
    return frozenset(found)


@lru_cache(maxsize=4096)
def german(word: str) -> frozenset[str]:
    """The words of which a folded German word may be a form, including itself."""
    found = {word}
    found.update(root for ending in _GERMAN if (root := word.removesuffix(ending)) != word and len(root) >= _LEAST_GERMAN)
    if word.startswith("ge"):
        found.update(root[2:] for root in tuple(found) if len(root) >= _LEAST_GERMAN + 2)
    return frozenset(found)


def forms(word: str) -> frozenset[str]:
    """The words of which a word of any language may be a form, for comparing with visible words."""
    if word.isascii():
        return english(word) | german(word)
    return frozenset({word, *(word[:-cut] for cut in (1, 2) if len(word) - cut > _LEAST_GERMAN)})
