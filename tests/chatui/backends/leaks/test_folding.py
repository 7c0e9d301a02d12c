"""Characters and escapes that a reader takes for others are replaced one for one; all others stay."""

from __future__ import annotations

import pytest

from chatui.backends.leaks.folding import BEGUN, ZERO, bare, folded
from tests.chatui.backends.test_leak_shapes import cuts, guarded
from tests.support.cases import for_each


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


@pytest.mark.parametrize("text", ["\\", "\\u", "\\u003", "\\x3", "&", "&l", "&amp;l", "&#6", "&#x3"])
def test_a_begun_escape_may_become_any_character(text: str) -> None:
    assert BEGUN.search(f"Hi {text}") and not BEGUN.search(f"{text} Hi")


@pytest.mark.parametrize("bar", ["&vert;", "&verbar;", "&VerticalLine;", "&#124;", "&#x7C;", "&vert", "\\u007c"])
def test_a_marker_with_escaped_bars_hides_what_follows(bar: str) -> None:
    text = f"Hello. &lt;{bar}channel{bar}&gt;analysis&lt;{bar}message{bar}&gt;SECRET"
    assert [guarded(pieces) for pieces in cuts(text)] == ["Hello. "] * 4
