"""Signs in growing text: those that need more text wait for it, pairs of elements are counted, and doubtful code is decided at the end."""

from __future__ import annotations

import pytest

from chatui.backends.leaks.guard import LeakGuard
from chatui.backends.leaks.patterns import Sign, SignKind, signs_in
from chatui.backends.leaks.prose import LOOK_AHEAD, CodeTracker, MarkerVerdict, example_in, is_mention, judge_special
from tests.chatui.backends.test_leak_shapes import cuts, guarded
from tests.support.cases import for_each

SPREAD = "\u200b" * 16
DETAILS = "<details><summary>More</summary>"


@for_each([
    f"{DETAILS}a</details> so",
    f"{DETAILS}a{DETAILS}b</details></details> so",
    "<channel> so it is",
    "<channel>s are many",
    "Hi [reason why] so",
    "Hi [think of it] so",
    "Hi [/] so",
    "Hi ◁so▷ it is",
    "An assistant for all, and an Assistant.",
    "Hi <|open|> and so",
    "Hi `<think>` and `</think>` so\n\n    <b>\n",
    "The tag <think> begins it.",
    '"<think>" begins it.',
    'He wrote "<think>" once.',
    f"The {'x ' * 130}tag <think> so.",
])  # fmt: skip
def test_text_that_only_resembles_a_sign_is_shown_whole(text: str) -> None:
    assert [guarded(pieces) for pieces in cuts(text)] == [text] * 4
    assert guarded([text], whole=True) == text


@for_each([
    (f"SECRET {DETAILS}a</details> SECRET</details> Hi", " Hi"),
    ("Hi.<channel>analysis SECRET", "Hi."),
    ("Hi.<channel> analysis SECRET", "Hi."),
    ("Hi.[THINK]SECRET[/THINK] So", "Hi. So"),
    ("Hi.◁think▷SECRET◁/think▷ So", "Hi. So"),
    ("Hi.<|open|>think<|sep|>SECRET<|close|>think<|sep|> So", "Hi. So"),
    ("SECRET<|open|>response<|sep|>Hi", "Hi"),
    ("Hi.<|channelSECRET", "Hi.<|channelSECRET"),
    ("Hi.<|channel|", "Hi."),
    ("Hi.<think>SECRET <think>SECRET</think>SECRET</think> So", "Hi. So"),
    ("The tag\n<think>SECRET</think> Hi", "The tag\n Hi"),
    ("Hi `<think>x `<think>SECRET", "Hi `<think>x `"),
    ("Hi.\n```\n<think>SECRET\n\n    <think>SECRET", "Hi.\n```\n"),
    ("Hi\u200bsassistantanalysisSECRET", ""),
    ("สวัสดีค่ะassistantanalysisSECRET", ""),
    (f"{SPREAD.join('Hi.assistantanalysis')}SECRET", ""),
    ("Hi.|start|>assistantSECRET", "Hi."),
    ("Hi <|end|> <think>SECRET</think> so", "Hi <|end|>  so"),
    ("Hi|\u200bst\u200bart|>assistantSECRET", "Hi"),
])  # fmt: skip
def test_a_sign_hides_the_same_text_however_it_arrives(text: str, shown: str) -> None:
    assert [guarded(pieces) for pieces in cuts(text)] == [shown] * 4
    assert guarded([text], whole=True) == shown


@for_each(
    [
        "See [the box ",
        "Hi <b class=x",
        "Hi <|open|> and so on. ",
        "Hi ◁so",
        "Hi \uff40 so ",
        "Hi <channel> so ",
        f"{DETAILS}a</details> so ",
    ]
)
def test_text_that_cannot_become_a_sign_is_not_held(text: str) -> None:
    guard = LeakGuard()
    assert "".join(span.text for piece in text for span in guard.feed(piece)) == text


@for_each(["<think>", "<|end|>", "[THINK]", "<|open|>"])
def test_the_text_before_an_undecided_sign_is_not_held(sign: str) -> None:
    assert "".join(span.text for span in LeakGuard().feed(f"Hello there, {sign}")) == "Hello there, "


@for_each(
    [
        "Hello ",
        "Hi `<think>` so it is. ",
        "Hi.\n```\n<think>\n```\nSo it is. ",
        "Hi.\n\n    <think></think>\n\nSo it is. ",
        'He wrote "<think>" once. ',
        "As:\n<|start|>assistant<|channel|>analysis<|message|>x<|end|> so it is. ",
    ]
)
def test_text_after_harmless_code_or_a_quotation_is_not_held(text: str) -> None:
    for begun in (text, f"{text}`"):
        assert "".join(span.text for span in LeakGuard().feed(begun)) == text


START, END = "<|start|>assistant", "<|end|>"
HEADER = f"{START}<|channel|>analysis<|message|>"
MESSAGE = f"{HEADER}x{END}"


@for_each([
    f"{MESSAGE} so",
    f"{HEADER}x<|return|> so",
    f"{HEADER}x<|call|>. So",
    f"{START}<|message|>x{END} so",
    f"{START}<|constrain|>json<|message|>x{END} so",
    f"{HEADER}<think>x</think>{END} so",
    f"{MESSAGE}<b> so",
    f"{MESSAGE}<\u200bb> so",
])  # fmt: skip
def test_a_whole_message_with_text_after_it_is_an_example(text: str) -> None:
    end = max(text.rindex(stop) + len(stop) for stop in (END, "<|return|>", "<|call|>") if stop in text)
    assert example_in(text, is_end=False) == example_in(text, is_end=True) == end
    whole = f"For example:\n{text}"
    assert [guarded(pieces) for pieces in cuts(whole)] == [whole] * 4


@for_each([
    f"{MESSAGE}{START}",
    f"{MESSAGE}<|call|>",
    f"{MESSAGE} \n{START}",
    f"{HEADER}{START}<|message|>x{END} so",
    f"{HEADER}x<|channel|>{END} so",
    f"{HEADER}x<|message|>{END} so",
    f"{START}{END} so",
    f"{START}<|return|> so",
    f"{MESSAGE}<|foo|> so",
    f"{MESSAGE}start|>assistant so",
    f"{MESSAGE} \\<|foo|> so",
])  # fmt: skip
def test_anything_else_is_no_example(text: str) -> None:
    assert example_in(text, is_end=False) == example_in(text, is_end=True) == 0


def test_an_example_has_at_most_two_thousand_characters() -> None:
    body = 2000 - len(HEADER + END)
    assert [example_in(f"{HEADER}{'x' * length}{END} so", is_end=False) for length in (body, body + 1)] == [2000, 0]
    assert [example_in(f"{HEADER}{'x' * length}", is_end=False) for length in (2000 - len(HEADER), 2001 - len(HEADER))] == [None, 0]
    for length, is_shown in ((body, True), (body + 1, False)):
        text = f"As:\n{HEADER}{'x' * length}{END} so"
        for size in (len(text), 499):
            shown = guarded([text[at : at + size] for at in range(0, len(text), size)])
            assert shown == (text if is_shown else "As:\n")


@for_each(
    [
        START,
        HEADER,
        f"{HEADER}x",
        MESSAGE,
        f"{MESSAGE}\n",
        f"{MESSAGE} <",
        f"{MESSAGE}<|",
        f"{MESSAGE}<|star",
        f"{MESSAGE}\\\\",
        f"{MESSAGE}&lt",
        f"{MESSAGE}&lt;",
    ]
)
def test_the_beginning_of_a_message_may_become_an_example(text: str) -> None:
    assert example_in(text, is_end=False) is None
    assert example_in(text, is_end=True) == 0


@for_each([
    f'He wrote "{START}" once.',
    f'He wrote "{HEADER}" once.',
    f"He wrote “{HEADER}” once.",
    f"Then {HEADER} begins it.",
    f"Then {HEADER}. So",
    f"Then {HEADER}), as",
    f"The {END} token",
    f"Hi {END} sure",
    f"Hi {END} < so",
    f"Hi {END}",
    "Use <|channel|> so",
    "Use <|channel|>. So",
    "Use <|message|> so",
    "Use <|constrain|>, so",
    'He wrote "<|message|>" once.',
    "Use <|start|> so",
    "Use:\n<|start|> so is it",
    "Use <|channel|> fine so",
    "Use <|channel|> finally so",
    "Use <|channel|> analysisx so",
    "Hi <|end|> s",
    "Hi <|end|> start so",
    f"Then {START} to={'x' * (200 - len(START) - 15)}<|message|> begins it.",
    "Use <|start|> assisted so",
    "Hi <|foo|> so",
    "Use the <|end|> analysis token so",
    "Use <|end|> assistant so",
    "Use the <|call|> final token",
    f"So\n{MESSAGE} so",
    f"So\n- {MESSAGE} so",
    f"As here：{MESSAGE} so",
    f'He wrote "{MESSAGE}" once.',
    'He wrote "<|channel|>analysis" once.',
    "He wrote (<|channel|>commentary) once.",
])  # fmt: skip
def test_special_tokens_in_a_sentence_are_shown(text: str) -> None:
    assert [guarded(pieces) for pieces in cuts(text)] == [text] * 4
    assert guarded([text], whole=True) == text


@for_each([
    (f'He wrote "{START} SECRET" once.', 'He wrote "'),
    (f'He wrote "{START}\nSECRET"', 'He wrote "'),
    (f'He wrote "{START}{"SECRET " * 60}"', 'He wrote "'),
    (f'He wrote "{START} SECRET', 'He wrote "'),
    ('He wrote "<|channel|>analysis SECRET', 'He wrote "'),
    (f"Then {HEADER}SECRET", "Then "),
    (f"Then {HEADER} SECRET", "Then "),
    (f"Then {HEADER}", "Then "),
    (f"Hi. {HEADER} begins", "Hi. "),
    (f"Hi.{END}", "Hi."),
    (f"Hi.{END}\n", "Hi."),
    (f"Hi.{END}{' ' * 60}SECRET", "Hi."),
    (f"Hi.{END} {HEADER}SECRET", "Hi."),
    (f"Hi.{END}start|>assistantSECRET", "Hi."),
    (f"Hi.{END}SECRET", "Hi."),
    (f"Hi {END} &lt;|start|>SECRET", "Hi "),
    ("SECRET <|channel|>final<|message|>Hi", "Hi"),
    ("SECRET <|channel|> final<|message|>Hi", "Hi"),
    (f"SECRET{END}{START}<|channel|>final<|message|>Hi", "Hi"),
    (f"Hi.{END}{START}<|channel|>commentary to=functions.x<|message|>SECRET", "Hi."),
    (f"Hi.{END}{START}<|message|>SECRET", "Hi."),
    (f"SECRET{END}<|start_response|>Hi", ""),
    (f"{END}SECRET", ""),
    ("Use <|channel|>", "Use "),
    ("Hi <|foo|>", "Hi "),
    ("Hi <|start|>user", "Hi "),
    (f"So it is {MESSAGE} so", "So it is "),
    (f"So 1. {MESSAGE} so", "So 1. "),
    ('He wrote "<|channel|>analysis SECRET" once.', 'He wrote "'),
    (f"Then {START} SECRET", "Then "),
    (f"Then {START}<|channel|>SECRET\nSECRET", "Then "),
    (f"Then {START}{'SECRET' * 40}", "Then "),
    (f"Hi.{START}<|message|>SECRET<|channel|>final<|message|>SECRET", "Hi."),
    (f"Hi.{END}<|message|>SECRET<|channel|>final<|message|>SECRET", "Hi."),
    ("Hi.<|start|>tool<|message|>SECRET", "Hi."),
    ("Hi.<|channel|>analysisx SECRET", "Hi."),
    ("<|channel|> SECRET", ""),
    ("<|start|> SECRET", ""),
    (f"SECRET\n{START}<|channel|>final<|message|>Hi", "Hi"),
    (f"SECRET:\n{START}<|channel|> Final<|message|>SECRET", ""),
    (f"SECRET:\n{START} to=all<|channel|>final<|message|>Hi{START}<|message|>SECRET", ""),
    (f"Hi:\n{START}<|channel|>finalist<|message|>SECRET", "Hi:\n"),
    (f"Hi:\n{START}<|constrain|>final<|message|>SECRET", "Hi:\n"),
    (f"Hi:\n{START}<|message|>SECRET<|channel|>final", "Hi:\n"),
    (f"Hi:\n{START}", "Hi:\n"),
    ("Hi <|end|> start|>assistantSECRET", "Hi "),
    (f"Then {START} to={'x' * (201 - len(START) - 15)}<|message|> begins it. SECRET", "Then "),
    (f"SECRET.{END} SECRET. So{START}<|channel|>final<|message|>SECRET", ""),
    (f"SECRET.{END}{' ' * 90}{START}<|channel|>final<|message|>Hi", "Hi"),
    (f"SECRET.{END}{START}{' ' * 90}<|channel|>final<|message|>Hi", "Hi"),
    (f"{'SECRET ' * 9}{END}{START}<|channel|>final<|message|>Hi", "Hi"),
    (f"As:\n{MESSAGE}<|foo|> SECRET", "As:\n"),
])  # fmt: skip
def test_special_tokens_that_the_model_emitted_end_the_answer(text: str, shown: str) -> None:
    assert [guarded(pieces) for pieces in cuts(text)] == [shown] * 4
    assert guarded([text], whole=True) == shown


@pytest.mark.parametrize(("text", "released"), [
    (f"Hi.{END}", "Hi."),
    (f"Hi {END}{' ' * 39}", "Hi "),
    ("Use <|channel|> fin", "Use "),
    ("Use <|channel|> final", "Use "),
    ("Use <|channel|> fine so is it", "Use <|channel|> fine so is it"),
    ("Use <|foo|> so", "Use <|foo|> so"),
    ("Hi <|end|> so", "Hi <|end|> so"),
    ("Hi <|end|>~", "Hi <|end|>~"),
    ("Hi <|end|> a", "Hi <|end|> "),
    ("Use <|start|> userx", "Use "),
    ("Hi <|end|> st", "Hi "),
    ("Hi <|end|> start so", "Hi <|end|> start so"),
    ("Use <|start|> assist", "Use "),
    ("Use <|start|> so is it", "Use <|start|> so is it"),
    (f'He wrote "{HEADER}', 'He wrote "'),
    (f"Then {HEADER} ", "Then "),
    (f'He wrote "{START}<|message|>x\ny{END}" once. ', f'He wrote "{START}<|message|>x\ny{END}" once. '),
    (f'He wrote "{START}<|message|>{"x" * 250}{END}" once. ', f'He wrote "{START}<|message|>{"x" * 250}{END}" once. '),
])  # fmt: skip
def test_a_special_token_is_held_only_until_it_is_certain(text: str, released: str) -> None:
    guard = LeakGuard()
    assert "".join(span.text for span in guard.feed(text) if span.visible) == released


@pytest.mark.parametrize(("begun", "line", "certain"), [
    (f"{START} x", 'He wrote "', MarkerVerdict.EXAMPLE),
    (f"{START} x", "Then ", MarkerVerdict.EMITTED),
    (f"{START} x", "Hi.", MarkerVerdict.EMITTED),
    ("<|channel|>analysis x", 'He wrote "', MarkerVerdict.EMITTED),
    (f"{END}x", "Hi.", MarkerVerdict.EMITTED),
    (f"{END}<", "Hi.", MarkerVerdict.EMITTED),
])  # fmt: skip
def test_a_row_of_tokens_is_held_for_two_hundred_characters(begun: str, line: str, certain: MarkerVerdict) -> None:
    def verdict(length: int, *, is_end: bool = False) -> MarkerVerdict:
        view = f"{begun:x<{length}}"
        return judge_special(view, next(signs_in(view)), line, has_text=True, is_end=is_end).verdict

    assert [verdict(199), verdict(200)] == [MarkerVerdict.WAIT, certain]
    assert verdict(199, is_end=True) is certain, "no more text comes"


def test_a_header_in_a_sentence_is_not_held_over_the_end_of_a_line() -> None:
    view = f"{START}\n<|channel|>analysis<"
    assert judge_special(view, next(signs_in(view)), "Then ", has_text=True, is_end=False).verdict is MarkerVerdict.EMITTED


def test_a_stop_token_is_held_while_two_hundred_blanks_follow() -> None:
    def verdict(blanks: int, line: str, *, is_end: bool = False) -> MarkerVerdict:
        view = f"{END}{' ' * blanks}"
        return judge_special(view, next(signs_in(view)), line, has_text=True, is_end=is_end).verdict

    assert [verdict(blanks, "Hi.") for blanks in (199, 200)] == [MarkerVerdict.WAIT, MarkerVerdict.EMITTED]
    assert [verdict(blanks, "Hi ") for blanks in (199, 200)] == [MarkerVerdict.WAIT, MarkerVerdict.MENTION]
    assert [verdict(9, line, is_end=True) for line in ("Hi.", "Hi ", " ")] == [
        MarkerVerdict.EMITTED,
        MarkerVerdict.MENTION,
        MarkerVerdict.EMITTED,
    ]


def test_how_much_text_arrived_before_a_row_of_tokens_changes_nothing() -> None:
    text = "so it is " * 40
    assert guarded([f'{text}"{START}', '" once.']) == f'{text}"{START}" once.'
    assert guarded([f"{text}{START}<|channel|>analysis<", "|message|> begins it."]) == f"{text}{HEADER} begins it."
    assert guarded([f"{text}{END}<|start|>tool", "<|channel|>final<|message|>SECRET"]) == ""


TAGS = (SignKind.OPENING, SignKind.CLOSING)


def verdict(kind: SignKind, line: str, after: str, *, is_end: bool = False) -> bool | None:
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
    assert [verdict(SignKind.OPENING, "- ", after) for after in ("12", "123")] == [None, False]


def test_a_closing_tag_is_mentioned_in_a_sentence_that_speaks_of_the_opening_one() -> None:
    line = "The text between <think> and before the final "
    assert verdict(SignKind.CLOSING, line, " is hidden") is True
    assert verdict(SignKind.CLOSING, line, ") is hidden") is True
    assert verdict(SignKind.CLOSING, line, " SECRET", is_end=True) is False
    assert verdict(SignKind.OPENING, line, " is hidden", is_end=True) is False
    assert verdict(SignKind.CLOSING, "The text before the final ", " is hidden", is_end=True) is False


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
    for kind in (SignKind.SPECIAL, SignKind.WRAPPER):
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
    assert verdict(SignKind.COLLAPSED, line, after) is is_mentioned
    assert verdict(SignKind.COLLAPSED, line, after, is_end=True) is bool(is_mentioned)


def test_invisible_characters_around_a_sign_change_nothing() -> None:
    assert verdict(SignKind.OPENING, "\u200b", "\u200b. So", is_end=True) is False
    assert verdict(SignKind.OPENING, '"\u200b', '\u200b"') is True
    assert verdict(SignKind.SPECIAL, "Hi \u200b", "\u200bSECRET") is False


TAG = "<think>SECRET</think>"


@for_each([
    f"`{TAG}`",
    f"Hi `{TAG}` there",
    f"Hi ``a ` {TAG}`` there",
    f"Hi `a {TAG} b` there",
    f"Hi ( `x` and `{TAG}`)",
    f"```\n{TAG}\n```",
    f"```python\n{TAG}\n```\nHi",
    f"~~~ `x`\n{TAG}\n~~~\nHi",
    f"````\n```\n{TAG}\n````\nHi",
    f"```\n~~~\n{TAG}\n``` \nHi",
    f"```\n``` x\n{TAG}\n```\nHi",
    f"> ```\n> {TAG}\n> ```\nHi",
    f"- ```\n  {TAG}\n  ```\nHi",
    f"1. ```\n{TAG}\n```\nHi",
    f"Hi\n\n    {TAG}\n\nHi",
    f"Hi\n\n\t{TAG}\n    {TAG}\n\nHi",
    f"Hi\n\n    a\n\n    {TAG}\nHi",
    f"Hi\n\n    {TAG}",
    f"Hi\n\n    {TAG}\n    <think>{TAG}</think>",
    "Hi\n\n    <think>x <|end|></think>\n\nHi",
    f"Hi\n\n{' ' * 70}{TAG}\nHi",
    f"Hi\n\n{' ' * 61}x\n    {TAG}\nHi",
    f"```\n- x\n```\n\n    {TAG}\nHi",
    f"- Hi\n\n>Hi\n\n    {TAG}\nHi",
    f"- Hi\n\nHi\n\n    {TAG}\nHi",
    f"Hi `<think>{'x' * 393}` so",
    f"Hi\n\n\n    {TAG}\nHi",
    f"```\n<think>{'x ' * 220}</think>\n```\nHi",
    f"Hi\n\n    <think>{'x ' * 220}</think>\n\nHi",
    "Hi\n\n    <think>x\n\n    y</think>\n\nHi",
    f"Hi\nSo `{TAG}` it\nis `{TAG}`.",
    f"Hi\n\n```\na\n\n```\n    {TAG}\nHi",
    f"Hi\n```\na `x\n```\nHi `{TAG}` so",
])  # fmt: skip
def test_tags_in_code_are_shown(text: str) -> None:
    assert [guarded(pieces) for pieces in cuts(text)] == [text] * 4
    assert guarded([text], whole=True) == text


@for_each([
    f"Hi ` {TAG}`",
    f"Hi \\`{TAG}`",
    f"Hi \\`{TAG} and `x`",
    f"The `User`s {TAG} and `x`",
    f"The `User`s {TAG} and `x",
    f"Hi `{TAG}``",
    f"Hi `a\n{TAG}`",
    f"Hi `{TAG}\nHi ` so",
    f"Hi `a `{TAG}` b",
    f"``` a ` b\n{TAG}",
    f"Hi\n    {TAG}\nHi",
    f"- Hi\n\n    {TAG}\nHi",
    f"Hi\n\n>     {TAG}\nHi",
    f"Hi\n\n   {TAG}\nHi",
    f"Hi\n\n-   {TAG}\nHi",
    f"    {TAG}\nHi",
    f"\n\n    {TAG}\nHi",
    f"```\na\n```\n{TAG}\nHi",
    f"Hi\n\n    a\nHi\n    {TAG}\nHi",
    f"- The tag `<think> so\n\n    {TAG}\nHi",
    "Hi `<think> tag ``SECRET </think>Y`` so\nHi",
    f"Hi\n\n    a\n```\nx\n```\n    {TAG}\nHi",
    f"Hi\n\n```\nx\n```\n    {TAG}\nHi",
    f"Hi\n\n    a\n{'>' * 61}{TAG}\nHi",
    f"Hi\n\n    a\n{'- ' * 40}{TAG}\nHi",
    f"{' ' * 61}```\n{TAG}\n```\nHi",
    f"```\na\n\n    b\n```\n    {TAG}\nHi",
    f"```\na\n\n~~~\n```\n    {TAG}\nHi",
    f"- Hi\n```\nx\n```\n\n    {TAG}\nHi",
    f"- Hi\n  Hi\n\n    {TAG}\nHi",
    f"- Hi\nHi\n\n    {TAG}\nHi",
    f"- Hi\n\n  Hi\n\n    {TAG}\nHi",
    f"Hi `<think>{'SECRET' * 70}` so",
    f"Hi `<think>SECRET{'x' * 388}` so",
])  # fmt: skip
def test_tags_outside_code_are_hidden(text: str) -> None:
    assert [("SECRET" in guarded(pieces)) for pieces in cuts(text)] == [False] * 4
    assert "SECRET" not in guarded([text], whole=True)


@for_each([
    f"Hi `{TAG}",
    f"Hi\n\n    {TAG}\n    <think>SECRET",
    f"Hi `{TAG}\nSo `{TAG}\n{TAG}",
    f"Hi\n```\n{TAG}\nmore",
    f"Hi\n~~~\n{TAG}\n```\nmore",
    "Hi\n\n    <think>SECRET\n",
    "Hi\n\n    <think>SECRET\nmore</think>",
    "SECRET\n\n    </think>Hi<think>\nmore",
    "Hi\n\n    <think>SECRET</reasoning>\nmore",
    "Hi\n\n    <think>SECRET``x",
    "Hi\n\n    <think>SECRET`x",
    "Hi\n\n    `\n    <think>SECRET ``x",
    "Hi\n```\n<think>SECRET``x",
    f"Hi\n```\nThe tag <think> is it.\n    {TAG}\n\n",
    f"Hi\n\n    The tag <think> is it.\n    {TAG}\n\n",
    f"Hi\n```\nThe tag <think> is it.\n~~~\n{TAG}\n~~~\n",
])  # fmt: skip
def test_code_that_never_closes_is_none(text: str) -> None:
    assert [("SECRET" in guarded(pieces)) for pieces in cuts(text)] == [False] * 4


def place_after(text: str) -> str:
    """The kind of code at the end of a text of one line."""
    code = CodeTracker()
    at = code.head(text, 0, is_end=True) or 0
    while at < len(text):
        at = (code.backticks(text, at, is_end=True) or at) if text[at] == "`" else at + 1
    return code.place


@for_each([
    ("`a", "span"), ("`a`", ""), ("``a`", "span"), ("``a``", ""), ("(`a`", ""), ("` a", ""), ("a `", ""), ("\\`a", ""), ("`` a", "span"),
    ("`a `b", "span"), ("`a (`b", "span"), ("`a`b", ""), ("`a ` b", ""), ("``a ``b", ""), ("```", "fence"), ("```a", "fence"),
    ("```a`", "span"), ("```a```", ""), ("~~~a`", "fence"), ("    a", ""), ("- `a", "span"), ("`a~`b", ""),
    ("`a ``b` c", ""), ("`a ([`b", "span"), ("`a {`b", "span"),
])  # fmt: skip
def test_the_place_after_a_line(text: str, place: str) -> None:
    assert place_after(text) == place


@for_each([
    ("", None), ("`", None), ("``", None), ("```", None), ("```py", None), ("- ", None), ("1.", None), ("> ", None), ("   ", None),
    ("~", None), ("a", 0), ("  a", 2), ("- a", 2), ("```py\n", 3), ("~~~\n", 3), ("```" + "x" * 120, 3), ("```" + "x" * 119, None),
    ("```a`", 0), (" " * 60, None), (" " * 61, 60), (" " * 60 + "```", None), (" " * 60 + "```\n", 63), (">" * 61, 60),
])  # fmt: skip
def test_the_beginning_of_a_line_is_held_until_it_is_certain(text: str, past: int | None) -> None:
    assert CodeTracker().head(text, 0, is_end=False) == past
    assert CodeTracker().head(text, 0, is_end=True) is not None


@for_each([("`", None), ("`a", None), ("`ab", 1), ("``a", None), ("``ab", 2), ("`" * 79, None), ("`" * 80, 80), ("`" * 90, 80)])
def test_a_run_of_backticks_is_held_until_two_characters_follow(text: str, past: int | None) -> None:
    assert CodeTracker().backticks(text, 0, is_end=False) == past
    assert CodeTracker().backticks(text, 0, is_end=True) is not None
    assert CodeTracker().backticks(f"{'x' * 200}{text}", 200, is_end=False) == (past and past + 200)
