"""The characters of fonts in which codes have other meanings than in Unicode: boxes, ticks, arrows, Greek letters.

Programs write them as codes of the font, or as characters for private use (U+F0FE is the code FE). Boxes of every shape are ☐, ☑ or ☒, so
that a form reads the same from every program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from chatui.documents.inside.marks import mark
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.kinds import UnreadThing

_PRIVATE = re.compile("[\ue000-\uf8ff]")
_OF_THE_FONT = re.compile("[\x21-\x7e\xa1-\xff\ue000-\uf8ff]+")
"""Other characters in a font of symbols are shown in another font."""


def _codes(first: int, signs: str) -> dict[int, str]:
    return {first + at: sign for at, sign in enumerate(signs) if sign != " "}


_FONTS: Mapping[str, Mapping[int, str]] = {
    "wingdings": {
        **_codes(0x21, "✏✂✁"),
        **_codes(0x28, "☎✆✉"),
        **_codes(0x41, "✌👌👍👎☜☞☝☟✋☺😐☹"),
        **_codes(0x6C, "●❍■☐☐☐☐⬧⧫◆❖⬥☒"),
        **_codes(0x80, "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿"),
        **_codes(0x9E, "·•"),
        **_codes(0xA1, "○◯ ◉◎ ▪☐"),
        **_codes(0xA4, "◉◎"),
        0xAB: "★",
        **_codes(0xD8, "➢"),
        **_codes(0xDF, "←→↑↓↖↗↙↘←➔↑↓↖↗↙↘⇦⇨⇧⇩⬄⇳"),
        **_codes(0xFB, "✗✓☒☑"),
    },
    "wingdings 2": {0x2A: "☐", **_codes(0x4F, "✗✓☒☑☒☒"), 0x97: "●", **_codes(0xA2, "■☐"), 0x99: "○"},
    "wingdings 3": {**_codes(0x66, "←→↑↓"), 0x7D: "▶", 0x7B: "▲", 0x7C: "▼"},
    "webdings": {0x61: "✓", 0x63: "☐", 0x67: "■", 0x72: "✗", 0x34: "▶", 0x33: "◀", 0x6E: "●"},
    "zapfdingbats": {0x33: "✓", 0x34: "✔", 0x35: "✗", 0x36: "✘", 0x38: "✘", 0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x75: "◆"},
    "symbol": {
        **{code: chr(code) for code in range(0x20, 0x40)},
        **{ord(sign): sign for sign in "[]_{}|"},
        **_codes(0x22, "∀#∃%&∋()∗+,−"),
        **_codes(0x40, "≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"),
        **_codes(0x61, "αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"),
        **_codes(0xA1, "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂·÷≠≡≈…"),
        **_codes(0xC0, "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"),
        **_codes(0xF1, "〉∫"),
    },
}
_OTHER_NAMES = {"opensymbol": "wingdings", "starsymbol": "wingdings", "itc zapf dingbats": "zapfdingbats", "standard symbols ps": "symbol"}


def is_symbol_font(font: str) -> bool:
    """Whether the codes of a font are not those of Unicode."""
    return _own_name(font) in _FONTS


def _own_name(font: str) -> str:
    name = font.strip().strip("'\"").lower()
    # A program may add a number to the name of a font that the document has twice.
    return _OTHER_NAMES.get(name, name if name in _FONTS else name.rstrip("0123456789"))


def _sign(code: int, font: str) -> str:
    """The character of a code; empty if it is not known."""
    codes = _FONTS.get(_own_name(font))
    if codes is not None:
        return codes.get(code & 0xFF if 0xF000 <= code <= 0xF0FF else code, "")
    return chr(code) if 0x20 < code < 0xD800 else ""


def written(code: int, font: str, collector: TextCollector) -> str:
    """The character that a font shows for a code. If it is not known, a mark in its place, which is counted as an unread character."""
    if found := _sign(code, font):
        return found
    collector.count(UnreadThing.CHARACTER)
    return mark("Symbol", f"{font} {code:X}")


def shown(text: str, font: str, collector: TextCollector) -> str:
    """A text in a font as it looks. In other fonts, what a character for private use looks like is known to the font alone."""
    if is_symbol_font(font):
        return _OF_THE_FONT.sub(lambda found: _all_written(found[0], font, collector), text)
    return _PRIVATE.sub(lambda found: written(ord(found[0]), font or "private use", collector), text) if _PRIVATE.search(text) else text


def _all_written(text: str, font: str, collector: TextCollector) -> str:
    signs = [_sign(ord(each), font) for each in text]
    if not any(signs):
        # As in a word that only names the font.
        collector.count(UnreadThing.CHARACTER, len(signs))
        return mark("Symbols", f"{font} {text if text.isascii() else ' '.join(f'{ord(each):X}' for each in text)}")
    return "".join(sign or written(ord(each), font, collector) for sign, each in zip(signs, text, strict=True))
