"""Normalizes disguised words for comparison: letter forms, look-alikes, accents and simple ciphers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Letters of other alphabets that look like Latin ones, folded to those.
_LOOK_ALIKES = str.maketrans(
    "авекмнорстухіјѕԁԛԝһӏєαβεικνορτυχγωıɑɡʟɴɪʀ",
    "abekmhopctyxijsdqwhieabeikvoptuxywiaglnir",
)
_LEET = str.maketrans("013457@$!|+", "oieastasilt")
_APOSTROPHES = re.compile("['\u2018\u2019\u02bc`\u00b4]")
_WORD = re.compile(r"[^\W_]+")
_MARKS = frozenset({"Mn", "Me", "Cf"})

# Formatted text is never what a one-line summary needs: these are hidden, reorder what follows, or have no width, or (U+FFFD) replace
# characters that could not be decoded.
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Me"})
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffd\U000e0100-\U000e01ef]")
_JOINERS = "\u200c\u200d"
_MAX_MARKS, _MAX_SYMBOLS = 2, 2
# Small capitals, upside-down letters and the like, except those that modern alphabets use.
_STYLED_LETTERS = re.compile(
    "[\u0250\u0252\u0255\u0258\u025a\u025c-\u0262\u0264-\u0267\u026a-\u0271\u0273-\u0281\u0284-\u0287\u0289\u028c-\u0291"
    "\u0295-\u02af\u1d00-\u1dbf\ua726-\ua778\ua77e-\ua78a\ua7ae-\ua7ff]"
)
# Combining marks that no letter of these alphabets has: those that remain after normalization.
_STRAY_MARK = re.compile(
    "[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff][\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_FLAG_LETTERS = re.compile("[\U0001f1e6-\U0001f1ff]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3100-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)

_BY_SPACING = re.compile(f"({_UNSPACED.pattern})")


def folded(text: str) -> str:
    """``text`` in plain lower case: no accents, marks or invisible characters, and look-alikes as the Latin letters that they imitate."""
    if text.isascii():
        return text.lower()
    unmarked = (character for character in unicodedata.normalize("NFKD", text.casefold()) if unicodedata.category(character) not in _MARKS)
    return unicodedata.normalize("NFC", "".join(unmarked)).casefold().translate(_LOOK_ALIKES)


def words(text: str) -> list[str]:
    """The words of ``text``, folded, without punctuation. A run of a script without spaces is one word."""
    return _WORD.findall(_APOSTROPHES.sub("", folded(text)))


def unspaced(squeezed: str) -> str:
    """The characters of scripts that put no spaces between words (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese)."""
    return "" if squeezed.isascii() else "".join(_UNSPACED.findall(squeezed))


def split_by_spacing(word: str) -> list[str]:
    """A word that mixes scripts with and without spaces ("python代码"), in its parts."""
    return [part for part in _BY_SPACING.split(word) if part]


def has_invisible_characters(text: str) -> bool:
    """Whether ``text`` has a character that is invisible or looks like another, so that it could carry a message.

    A joiner between two letters of a script that needs joiners does not count.
    """
    if _STRAY_MARK.search(unicodedata.normalize("NFC", text)):
        return True
    marks = symbols = 0
    for index, character in enumerate(text):
        category = unicodedata.category(character)
        if category in _UNSEEN_CATEGORIES and character not in "\n\r\t" and not _is_joining(text, index):
            return True
        marks = marks + 1 if category == "Mn" else 0
        symbols += category in ("So", "Sk")
        if marks > _MAX_MARKS or symbols > _MAX_SYMBOLS or _is_styled(character, category):
            return True
    return any(pattern.search(text) for pattern in (_INVISIBLE, _FLAG_LETTERS, _STYLED_LETTERS))


def decoded(line: str) -> Iterator[list[str]]:
    """The words of ``line``, decoded by simple ciphers: shifted or mirrored alphabets, reversed text, digits for letters, every second
    letter, pig Latin."""
    plain = words(line)
    text = " ".join(plain)
    for shift in range(1, 26):
        yield text.translate(_ROTATIONS[shift]).split()
    yield text.translate(_MIRRORED).split()
    yield [word[::-1] for word in plain]
    yield text[::-1].split()
    yield words(line.translate(_LEET))
    yield [word[::2] for word in plain]
    yield [word[1::2] for word in plain]
    for letters in range(1, 4):
        yield [_undo_pig_latin(word, letters) for word in plain]


def _undo_pig_latin(word: str, letters: int) -> str:
    """Undo pig Latin: in ``orrectcay`` the last letters before "ay" come first."""
    rest = word.removesuffix("ay")
    return rest[-letters:] + rest[:-letters] if rest != word else word


def script_of(letter: str) -> str:
    """The script that a letter belongs to, as Unicode names it; kana are one."""
    if letter.isascii():
        return "LATIN"
    name = unicodedata.name(letter, "UNKNOWN").split(" ", 1)[0]
    return "KANA" if name in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else name


def scripts(text: str) -> set[str]:
    """The scripts of all letters of ``text``."""
    if text.isascii():
        return {"LATIN"} if any(map(str.isalpha, text)) else set()
    return {script_of(letter) for letter in set(text) if letter.isalpha()}


def _is_joining(text: str, index: int) -> bool:
    if text[index] not in _JOINERS or not 0 < index < len(text) - 1:
        return False
    around = text[index - 1], text[index + 1]
    return all(unicodedata.category(character)[0] in "LM" and script_of(character) != "LATIN" for character in around)


def _is_styled(character: str, category: str) -> bool:
    """Whether it is a letter or digit in a decorative form: bold, circled, full width, raised."""
    if character.isascii() or category not in ("Lu", "Ll", "Lm", "Lo", "Nd", "No", "So"):
        return False
    return unicodedata.decomposition(character).startswith(("<font>", "<wide>", "<circle>", "<square>", "<super>", "<sub>"))


def _rotation(shift: int) -> dict[int, int]:
    return {ord("a") + place: ord("a") + (place + shift) % 26 for place in range(26)}


_ROTATIONS = {shift: _rotation(shift) for shift in range(1, 26)}
_MIRRORED = {ord("a") + place: ord("z") - place for place in range(26)}
