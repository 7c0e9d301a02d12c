"""Computes the skeleton of a name (Unicode Technical Standard 39), which finds names that look alike.

The table of confusable characters comes from ``confusable-homoglyphs``, which is generated from Unicode's ``confusables.txt``.
"""

from __future__ import annotations

import unicodedata
from functools import cache

from renderer.characters import is_invisible


def folded(name: str) -> str:
    """The name without invisible characters, normalized, in lower case: ``Ada``, ``ADA`` and full-width ``ａｄａ`` become ``ada``."""
    return unicodedata.normalize("NFKC", _visible(name).casefold())


def skeleton(name: str) -> str:
    """What a name looks like as written: a capital I looks like a small l. Two names with equal skeletons look alike."""
    return _skeleton(_visible(name))


def folded_skeleton(name: str) -> str:
    """What a name looks like regardless of case: ``Ian`` and ``ian`` are the same, though a capital I does not look like a small i."""
    return _skeleton(folded(name))


def _visible(name: str) -> str:
    shown = "".join(character for character in name if character.isprintable() and not is_invisible(character))
    return unicodedata.normalize("NFKC", shown).strip()


def _skeleton(text: str) -> str:
    table = _prototypes()
    for _ in range(3):  # the folded form of a prototype can have a prototype of its own
        found = "".join(table.get(character, character) for character in unicodedata.normalize("NFD", text))
        found = unicodedata.normalize("NFD", found).casefold()
        if found == text:
            break
        text = found
    return text


@cache
def _prototypes() -> dict[str, str]:
    """Each confusable character with its prototype: the character, or the few, that represent all that look like it.

    The library lists each pair both ways. A character listed with only one other is a variant of that one; a character listed with several
    is itself the prototype. Of two that are listed only with each other, either will do, as long as it is always the same one.
    """
    # Imported here, because it takes 7 MB, and only a process that creates accounts needs it.
    from confusable_homoglyphs import confusables

    table: dict[str, str] = {}
    for shown, others in confusables.confusables_data.items():
        character, prototype = _bare(shown), _bare(others[0]["c"])
        if len(others) > 1 or len(character) != 1 or character == prototype:
            continue
        is_mutual = len(confusables.confusables_data.get(others[0]["c"], ())) == 1
        if not is_mutual or len(prototype) > 1 or prototype < character:
            table[character] = prototype
    return table


def _bare(shown: str) -> str:
    # The library does not remove the marks that Unicode's file puts around right-to-left letters.
    return shown.replace("\u200e", "") or shown
