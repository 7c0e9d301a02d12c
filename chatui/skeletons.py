"""Computes the skeleton of a name (Unicode Technical Standard 39), which finds names that look alike.

The table of confusable characters comes from ``confusable-homoglyphs``, which is generated from Unicode's ``confusables.txt``.
"""

from __future__ import annotations

import unicodedata
from functools import cache

# Unicode's Default_Ignorable_Code_Point, which Python's tables lack: characters that are invisible.
_IGNORABLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)


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
    shown = "".join(character for character in name if character.isprintable() and not _is_ignorable(character))
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


def _is_ignorable(character: str) -> bool:
    point = ord(character)
    return any(first <= point <= last for first, last in _IGNORABLE)


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
