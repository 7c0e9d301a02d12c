"""Special tokens in a row: an example of a whole message, a header or an end in a sentence, and those that the model emitted."""

from __future__ import annotations

import pytest

from chatui.backends.leaks.guard import LeakGuard
from chatui.backends.leaks.patterns import signs_in
from chatui.backends.leaks.prose import Verdict, example_in, judge_special
from tests.chatui.backends.test_leak_shapes import cuts, guarded
from tests.support.cases import for_each

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
    (f"{START} x", 'He wrote "', Verdict.EXAMPLE),
    (f"{START} x", "Then ", Verdict.EMITTED),
    (f"{START} x", "Hi.", Verdict.EMITTED),
    ("<|channel|>analysis x", 'He wrote "', Verdict.EMITTED),
    (f"{END}x", "Hi.", Verdict.EMITTED),
    (f"{END}<", "Hi.", Verdict.EMITTED),
])  # fmt: skip
def test_a_row_of_tokens_is_held_for_two_hundred_characters(begun: str, line: str, certain: Verdict) -> None:
    def verdict(length: int, *, is_end: bool = False) -> Verdict:
        view = f"{begun:x<{length}}"
        return judge_special(view, next(signs_in(view)), line, has_text=True, is_end=is_end).verdict

    assert [verdict(199), verdict(200)] == [Verdict.WAIT, certain]
    assert verdict(199, is_end=True) is certain, "no more text comes"


def test_a_header_in_a_sentence_is_not_held_over_the_end_of_a_line() -> None:
    view = f"{START}\n<|channel|>analysis<"
    assert judge_special(view, next(signs_in(view)), "Then ", has_text=True, is_end=False).verdict is Verdict.EMITTED


def test_a_stop_token_is_held_while_two_hundred_blanks_follow() -> None:
    def verdict(blanks: int, line: str, *, is_end: bool = False) -> Verdict:
        view = f"{END}{' ' * blanks}"
        return judge_special(view, next(signs_in(view)), line, has_text=True, is_end=is_end).verdict

    assert [verdict(blanks, "Hi.") for blanks in (199, 200)] == [Verdict.WAIT, Verdict.EMITTED]
    assert [verdict(blanks, "Hi ") for blanks in (199, 200)] == [Verdict.WAIT, Verdict.MENTION]
    assert [verdict(9, line, is_end=True) for line in ("Hi.", "Hi ", " ")] == [Verdict.EMITTED, Verdict.MENTION, Verdict.EMITTED]


def test_how_much_text_arrived_before_a_row_of_tokens_changes_nothing() -> None:
    text = "so it is " * 40
    assert guarded([f'{text}"{START}', '" once.']) == f'{text}"{START}" once.'
    assert guarded([f"{text}{START}<|channel|>analysis<", "|message|> begins it."]) == f"{text}{HEADER} begins it."
    assert guarded([f"{text}{END}<|start|>tool", "<|channel|>final<|message|>SECRET"]) == ""
