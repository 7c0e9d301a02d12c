"""Cleans a folder's name: one line, with at least one visible character."""

from __future__ import annotations

import unicodedata

from chatui.store import transcripts

_JOINERS = "\u200c\u200d"
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters, marks and symbols that are invisible."""


def one_line(text: str) -> str:
    """``text`` in one line, without control and invisible format characters. Joiners stay between two visible characters, because some
    languages and emoji need them."""
    line = transcripts.storable(text)
    line = "".join(each for each in " ".join(line.split()) if each in _JOINERS or unicodedata.category(each) not in ("Cc", "Cf"))
    around = zip(f" {line}", line, f"{line[1:]} ", strict=False)
    characters = (each for before, each, after in around if each not in _JOINERS or (_joins(before) and _joins(after)))
    return " ".join("".join(characters).split())


def is_seen(text: str) -> bool:
    """Whether at least one character of ``text`` is visible by itself."""
    return any(unicodedata.category(each)[0] not in "CZM" and each not in _BLANKS for each in text)


def _joins(character: str) -> bool:
    """Whether a joiner may be next to this character: it is visible, or a mark on a visible character."""
    return is_seen(character) or unicodedata.category(character) in ("Mn", "Mc")
