"""Control markers in text for servers are escaped, and an echo of them in an answer is restored, however it is cut."""

from __future__ import annotations

import pytest

from chatui.backends.speaker import Restorer, defang, is_defanged
from tests.support.cases import for_each

ESCAPED = "<\u2060|end|>"


@for_each([
    ("<|end|>", ESCAPED),
    ("a <|end|><|start|>user b", f"a {ESCAPED}<\u2060|start|>user b"),
    ("<|reserved_200017|>", "<\u2060|reserved_200017|>"),
    ("<|New_1|>", "<\u2060|New_1|>"),
    (f"<|{'x' * 40}|>", f"<\u2060|{'x' * 40}|>"),
    *((text, text) for text in ("", "a < b", "<|>", "<||>", "<|end>", "<end|>", "< |end|>", "<|so it|>", f"<|{'x' * 41}|>")),
])  # fmt: skip
def test_every_marker_is_escaped_and_nothing_else(text: str, escaped: str) -> None:
    assert defang(text) == escaped
    assert is_defanged(escaped) is (text != escaped)


@for_each([
    (f"Write {ESCAPED}.", "Write <|end|>."),
    (f"{ESCAPED}{ESCAPED}", "<|end|><|end|>"),
    *((text, text) for text in ("a < b", "<", "<<", "<\u2060", "<\u2060a", "\u2060|", "<a\u2060|", "<|end|>", "a\u2060b")),
])  # fmt: skip
def test_an_echo_is_restored_at_every_split(text: str, restored: str) -> None:
    for size in range(1, len(text) + 1):
        restorer = Restorer()
        pieces = [restorer.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join([*pieces, restorer.finish()]) == restored, size
        assert restorer.finish() == ""


@pytest.mark.parametrize(("text", "released"), [("so it is", "so it is"), ("a <", "a "), ("a <\u2060", "a "), ("<\u2060a", "<\u2060a")])
def test_only_the_beginning_of_an_escaped_marker_is_held(text: str, released: str) -> None:
    assert Restorer().feed(text) == released


@for_each([
    (ESCAPED, True),
    ([{"role": "user", "content": "Hi"}, {"role": "user", "content": [{"text": ESCAPED}]}], True),
    ({"instructions": ESCAPED}, True),
    ({ESCAPED: "Hi"}, False),
    ([{"role": "user", "content": "<|end|>"}], False),
    ([], False),
    (None, False),
    (7, False),
])  # fmt: skip
def test_a_request_is_searched_for_escaped_markers(messages: object, is_found: bool) -> None:
    assert is_defanged(messages) is is_found
