"""Whether an answer only mentions a sign or the model emitted it, from the text around it, and when more text is needed to know."""

from __future__ import annotations

from chatui.backends.leaks.patterns import Kind, Sign
from chatui.backends.leaks.prose import LOOK_AHEAD, is_mention
from tests.support.cases import for_each

TAGS = (Kind.OPENING, Kind.CLOSING)


def verdict(kind: Kind, line: str, after: str, *, is_end: bool = False) -> bool | None:
    return is_mention(Sign(kind, "think", 0, 0), line, after, is_end=is_end)


@for_each([
    ('"', '" is one'),
    ("“", "”"),
    ("„", "“"),
    ("'", "'"),
    ("(", ")"),
    ("*", "*"),
    ("« ", " »"),
    ("«\u00a0", "\u00a0»"),
    ('He said "', '" once'),
    ("He said « ", " »"),
    ('"', '...</think>"'),
    ('"', '</think>"'),
    ('"', ' x </think>"'),
    ("Write the tag ", "x"),
    ("The tag called `", "x"),
    ("Use the marker: ", "x"),
    ("Hi ", " tags are"),
    ("Hi", " tag."),
    ("Hi ", " and </think>"),
    ("Hi ", ", </b>"),
    ("Hi ", "/<b>"),
    ("Hi <b> and ", " so"),
    ("Hi <b>/", "."),
    ("Hi ", ". So"),
    ("so, ", ", so"),
    ("as here: ", "; so"),
    ("- ", ": begins"),
    ("1. ", " – begins"),
    ("* ", "| begins"),
])  # fmt: skip
def test_a_tag_is_mentioned(line: str, after: str) -> None:
    assert {verdict(kind, line, after, is_end=is_end) for kind in TAGS for is_end in (True, False)} == {True}


@for_each([
    ("", ". So"),
    ("  ", " tag"),
    ("", '"'),
    ("Hi ", "SECRET"),
    ("Hi. ", "4"),
    ("Hi ", "I, é"),
    ("« ", f"SECRET »{' ' * LOOK_AHEAD}"),
    ("« ", f". SECRET{' ' * LOOK_AHEAD}"),
    ("Hi ", f" » SECRET{' ' * LOOK_AHEAD}"),
    ('"', f"</think>SECRET{' ' * LOOK_AHEAD}"),
    ("- ", "SECRET"),
    ("- ", "x" * LOOK_AHEAD),
    ("Hi <b> and ", "SECRET"),
    ("Hi.", f"{' ' * LOOK_AHEAD}"),
    ("Hi ", f" SECRET{' ' * LOOK_AHEAD}"),
    ("Hi ", "\ntag"),
    ('"', "\n"),
    ('"', "SECRET\n"),
])  # fmt: skip
def test_a_tag_is_emitted(line: str, after: str) -> None:
    assert {verdict(kind, line, after, is_end=is_end) for kind in TAGS for is_end in (True, False)} == {False}


@for_each(
    [
        ("Hi ", ""),
        ("Hi ", " "),
        ("Hi ", " ta"),
        ("Hi", "."),
        ('"', ""),
        ('Hi "', "SECRET"),
        ("- ", ""),
        ("- ", " "),
        ("- ", " x"),
        ("Hi ", "é"),
    ]
)
def test_more_text_can_show_that_a_tag_is_mentioned(line: str, after: str) -> None:
    for kind in TAGS:
        assert verdict(kind, line, after) is None
        assert verdict(kind, line, after, is_end=True) is False
        assert verdict(kind, line, f"{after:{LOOK_AHEAD}}") is False, "but only the next few characters can"


@for_each(["tag", "block", "mode", "header", "string", "sequence", "标签"])
def test_a_noun_after_a_tag_may_still_become_a_longer_word(noun: str) -> None:
    for kind in TAGS:
        assert verdict(kind, "Hi ", f" {noun}") is None
        assert verdict(kind, "Hi ", f" {noun}", is_end=True) is True
        assert verdict(kind, "Hi ", f" {noun} ") is verdict(kind, "Hi ", f" {noun}.") is True


@for_each(["Hi <b> and ", "Hi </b>, ", "Hi <b>/", "Hi [INST] → "])
def test_a_linked_tag_is_mentioned_only_if_no_word_is_glued_to_it(line: str) -> None:
    for kind in TAGS:
        assert verdict(kind, line, "") is verdict(kind, line, "\u200b") is None
        assert verdict(kind, line, "SECRET") is False
        assert verdict(kind, line, "", is_end=True) is verdict(kind, line, " so") is True


@for_each(["tag so", "Format the text", "Mode", "control tokens", "Block"])
def test_a_word_glued_to_a_tag_does_not_name_it(after: str) -> None:
    for kind in TAGS:
        assert verdict(kind, "Hi ", after) is verdict(kind, "Hi ", after, is_end=True) is False
        assert verdict(kind, "Hi ", "标签是") is True


def test_only_a_bullet_before_three_characters_is_decided() -> None:
    assert [verdict(Kind.OPENING, "- ", after) for after in ("12", "123")] == [None, False]


def test_a_closing_tag_is_mentioned_in_a_sentence_that_speaks_of_the_opening_one() -> None:
    line = "The text between <think> and before the final "
    assert verdict(Kind.CLOSING, line, " is hidden") is True
    assert verdict(Kind.CLOSING, line, ") is hidden") is True
    assert verdict(Kind.CLOSING, line, " SECRET", is_end=True) is False
    assert verdict(Kind.OPENING, line, " is hidden", is_end=True) is False
    assert verdict(Kind.CLOSING, "The text before the final ", " is hidden", is_end=True) is False


@for_each([
    ('"', '"', True),
    ("„", "“ is", True),
    ('"', "SECRET", False),
    ("Hi ", "SECRET", False),
    ("Hi ", "4", False),
    ("Hi ", "<", False),
    ("Hi ", "\\", False),
    ("Hi ", "&", False),
    ("Hi", " so", False),
    ("Hi ", " so", True),
    ("Hi (", " so", True),
    ("a,", " so", True),
    ("", " so", True),
    ("Hi ", "é", True),
    ("Hi.", ".", False),
    ("Hi ", "", None),
    ("", "", None),
])  # fmt: skip
def test_a_special_token_is_mentioned_if_it_stands_alone(line: str, after: str, is_mentioned: bool | None) -> None:
    for kind in (Kind.SPECIAL, Kind.WRAPPER):
        assert verdict(kind, line, after) is is_mentioned
        assert verdict(kind, line, after, is_end=True) is bool(is_mentioned)


@for_each([
    ('"', '"', True),
    ('"', "SECRET", False),
    ('"', " so", False),
    ("Hi ", " so", True),
    ("Hi ", ".", True),
    ("Hi ", "SECRET", False),
    ("Hi ", "**SECRET", False),
    ("Hi ", "# SECRET", False),
    ("Hi ", "<", False),
    ("Hi", " so", False),
    ("", " so", False),
    ("  ", " so", False),
    ("Hi ", "", None),
    ('"', "", None),
])  # fmt: skip
def test_stripped_markers_are_mentioned_if_they_stand_alone_in_a_line_of_text(line: str, after: str, is_mentioned: bool | None) -> None:
    assert verdict(Kind.COLLAPSED, line, after) is is_mentioned
    assert verdict(Kind.COLLAPSED, line, after, is_end=True) is bool(is_mentioned)


def test_invisible_characters_around_a_sign_change_nothing() -> None:
    assert verdict(Kind.OPENING, "\u200b", "\u200b. So", is_end=True) is False
    assert verdict(Kind.OPENING, '"\u200b', '\u200b"') is True
    assert verdict(Kind.SPECIAL, "Hi \u200b", "\u200bSECRET") is False
