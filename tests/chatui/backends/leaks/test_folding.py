"""Characters and escapes that a reader takes for others are replaced one for one; all others stay."""

import pytest

from chatui.backends.leaks import patterns
from chatui.backends.leaks.patterns import ZERO, bare, folded
from tests.support.answer_text import guarded
from tests.support.cases import for_each

LOOK_ALIKES = {
    "<": "\u2039\u3008\u27e8\ufe64\u2329\u276c\u276e\u2770\uff1c",
    ">": "\u203a\u3009\u27e9\ufe65\u232a\u276d\u276f\u2771\uff1e",
    "|": "\u2223\u2502\uffe8\u01c0\u2758\uff5c",
    "_": "\u2581\uff3f",
}
CYRILLIC = dict(zip("\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0455\u04bb\u0501\u03bf\u03bd", "aeopcxyishdov", strict=True))
NAMED = {
    "lt": "<", "gt": ">", "VerticalLine": "|", "verbar": "|", "vert": "|", "sol": "/", "lsqb": "[", "rsqb": "]", "lbrack": "[",
    "rbrack": "]", "lowbar": "_", "colon": ":",
}  # fmt: skip
INVISIBLE = "\u115f\u1160\u3164\uffa0\u200b\u200d\u2060\ufeff\u00ad\u0301\u20dd\x00\x08\x0b\x0c\x1f\x7f"


@for_each([
    ("a\tb\nc\rd", "a\tb\nc\rd"),
    ("\u00e9\t\n\r\u212b", "\u00e9\t\n\r\u212b"),
    ("a\x00b\x7fc\u00add", f"a{ZERO}b{ZERO}c{ZERO}d"),
    ("a\u0301\u20dd\ufdfa\u3392|", f"a{ZERO}{ZERO}\ufdfa\u3392|"),
    ("\u3164\u115f|", f"{ZERO}{ZERO}|"),
    ("\u2039think\u203a \u2758 \u2581", "<think> | _"),
    ("\uff1cthink\uff1e", "<think>"),
    ("\u2460 \u00bd \u00e9", "1 \u00bd \u00e9"),
    ("th\u0456nk \u0456 \u043f\u0456\u0432", "think \u0456 \u043f\u0456\u0432"),
    ("\u0456nk", "ink"),
    ("X\u0430 \u0430X T\u04bb\u0456NK", "Xa aX ThiNK"),
    (f"&#{'0' * 7}60;&#x{'0' * 6}3c;", f"<{ZERO * 11}<{ZERO * 11}"),
    (f"&#{'0' * 8}60;&#x{'0' * 7}3c;", f"&#{'0' * 8}60;&#x{'0' * 7}3c;"),
    ("&lt;&GT;&verbar;&VerticalLine;&Vert ", f"<{ZERO * 3}>{ZERO * 3}|{ZERO * 7}|{ZERO * 13}|{ZERO * 4} "),
    ("&amp;lt;", f"<{ZERO * 7}"),
    ("&#60;&#x3c;", f"<{ZERO * 4}<{ZERO * 5}"),
    ("\\u003c \\x7c \\\\u003E", f"<{ZERO * 5} |{ZERO * 3} >{ZERO * 6}"),
    ("&#10;&#96; \\u000a \\x60", "&#10;&#96; \\u000a \\x60"),
    ("\\x2e\\x2b", f".{ZERO * 3}\\x2b"),
    ("AT&T & \\n &c;", "AT&T & \\n &c;"),
])  # fmt: skip
def test_look_alikes_and_escapes_are_replaced_in_place(text: str, looks: str) -> None:
    assert folded(text) == looks and len(looks) == len(text)
    assert bare(folded(text)) == looks.replace(ZERO, "")


@pytest.mark.parametrize("bar", ["&vert;", "&verbar;", "&VerticalLine;", "&#124;", "&#x7C;", "&vert", "\\u007c"])
def test_a_marker_with_escaped_bars_hides_what_follows(bar: str) -> None:
    text = f"Hello. &lt;{bar}channel{bar}&gt;analysis&lt;{bar}message{bar}&gt;SECRET"
    assert guarded(text) == "Hello. "


@for_each([(each, looks) for looks, alike in LOOK_ALIKES.items() for each in alike])
def test_each_look_alike_of_a_bracket_or_bar_is_one(each: str, looks: str) -> None:
    assert folded(f"a{each}") == f"a{looks}"


@for_each(CYRILLIC.items())
def test_each_foreign_letter_is_replaced_inside_a_latin_word(letter: str, looks: str) -> None:
    assert [folded(text) for text in (f"x{letter}", f"{letter}x", f"x{letter * 2}", letter, f"{letter}б")] == [
        *(f"x{looks}", f"{looks}x", f"x{looks * 2}", letter, f"{letter}б")
    ]


@for_each(INVISIBLE)
def test_each_invisible_character_is_dropped(character: str) -> None:
    assert bare(folded(f"th{character}ink")) == "think"


@for_each(NAMED.items())
def test_each_named_escape_is_replaced(name: str, character: str) -> None:
    for escape in (f"&{name};", f"&{name}", f"&amp;{name};", f"&{'amp;' * 4}{name};"):
        assert bare(folded(f"{escape} ")) == f"{character} "
    assert bare(folded(f"&{'amp;' * 5}{name};")) != character


@for_each("azAZ09<>|/[]{}_:=\"'-().")
def test_each_character_of_a_sign_may_be_escaped(character: str) -> None:
    code = ord(character)
    for escape in (
        f"&#{code};",
        f"&#{code}",
        f"&#000{code};",
        f"&#x{code:x};",
        f"&#X{code:X};",
        f"\\u00{code:02x}",
        f"\\x{code:02X}",
        f"{chr(92) * 8}x{code:x}",
    ):
        assert bare(folded(f"{escape} ")) == f"{character} "


@for_each("`!#$%&*+,;?@\\^~\n\t ")
def test_other_escaped_characters_stay_as_they_are(character: str) -> None:
    for escape in (f"&#{ord(character)};", f"&#x{ord(character):02x};", f"\\u00{ord(character):02x}"):
        assert folded(escape) == escape


def test_the_cache_of_characters_is_bounded() -> None:
    folded("".join(map(chr, range(0x10000, 0x30000))))
    assert len(patterns._LOOKS) <= patterns._MAX_CACHED
