"""The marks around a label: each one before it, at its end and around the label of the answer has an effect, up to its number."""

from __future__ import annotations

from chatui.backends.leaks.labels import label_of
from tests.chatui.backends.leaks.test_spans import judged
from tests.support.cases import for_each

THOUGHT = "Thinking: x"


def hides(label: str, *, answer: str = "\nAnswer:") -> bool:
    """Whether the reasoning after ``label`` is hidden and the answer shown; else all is shown."""
    text = f"{label}{answer}"
    result = judged(f"{text}Hi")
    assert result in (f"{{!{text}}}Hi", f"{text}Hi"), result
    return result.startswith("{")


def answers(label: str) -> str | None:
    """What is shown after ``label`` if it announces the answer; None if it does not."""
    text = f"{THOUGHT}\n{label}"
    result = judged(text)
    return None if result == text else result.rpartition("}")[2]


@for_each([
    *(f"{mark}{THOUGHT}" for mark in (">", "#", "*", "_", "[", "(", "~", " ", "\t", "> # ", "**", "\u200b> ")),
    *(f"{mark}{THOUGHT}" for mark in ("\u2728 ", "\u2600", "\u27bf ", "\U0001f300", "\U0001f9e0\ufe0f ", "\U0001faff ", "> \U0001f4ad ")),
    "\U0001f4ad**Thinking:** x",
    "\U0001f4ad ***Thinking***: x",
    "\U0001f4ad ___Thinking___: x",
    f"{'# ' * 6}{THOUGHT}",
    f"{'*' * 15}{THOUGHT}",
])  # fmt: skip
def test_marks_before_a_label_do_not_matter(label: str) -> None:
    assert hides(label)


@for_each(
    [f"{'# ' * 6}#{THOUGHT}", f"{'*' * 16}{THOUGHT}", f"- {THOUGHT}", f"\u2500 {THOUGHT}", f"1. {THOUGHT}", f"\U0001f4ad****{THOUGHT}"]
)
def test_other_marks_before_a_word_or_too_many_of_them_make_it_no_label(label: str) -> None:
    assert not hides(label)


@for_each([
    *(f"Thinking{end} x" for end in (":", "...", "\u2026", " -", " \u2013", " \u2014", "-", " -\t", "\n", "\r\n", " \n", "\t:", " \t :")),
    *(f"{begin}Thinking{end}" for begin, end in (
        ("*", "* x"), ("_", "_ x"), ("__", "__\tx"), ("(", ") x"), ("[", "] x"), ("**", "**\nx"), ("**", "**\r\nx"), ("**", "**: x"),
        ("(", "): x"), ("[", "]\t: x"), ("", "\t**: x"), ("**", " ** : x"), ("****", "****: x"), ("*[(_", "_)]*: x"), ("**", ":** x"),
    )),
])  # fmt: skip
def test_each_end_of_a_label_is_one(label: str) -> None:
    assert hides(label)


@for_each(
    ["Thinking x", "Thinking-x", "Thinking..x", "Thinking; x", "*****Thinking*****: x", "**Thinking**x", "Thinking!: x", "(Thinking), x"]
)
def test_other_ends_are_none(label: str) -> None:
    assert not hides(label)


@for_each([
    *(f"{mark}Answer:" for mark in (">", "#", "*", "_", "[", "(", " ", "\t", "-", "- ", "> **", "#" * 8, "\n\n")),
    *(f"Answer{end}" for end in (
        ":", " :", "\t:", "**:", "__:", "]:", "):", " ** :", "\t**\t:", "****:", " - ", " \u2013 ", " \u2014 ", " -\t",
    )),
    *(f"Answer:{end}" for end in ("*", "**", "***", "__", "]", ")", "*_)")),
    "...done thinking.\n", "...done thinking\n", " \t...\tdone thinking. \t\n", "... done thinking.\n", "Here's my answer: ",
    "Here is my final reply \t**:** ", "So: here\u2019s my response__:___",
])  # fmt: skip
def test_each_form_of_the_answers_label_is_one(label: str) -> None:
    assert (answers(f"{label}Hi") or "").lstrip() == "Hi"


@for_each([
    ("**Answer** Hi", " Hi"),
    ("__Answer__\tHi", "\tHi"),
    ("[Answer] Hi", " Hi"),
    ("(Answer) Hi", " Hi"),
    ("**Answer**\nHi", "\nHi"),
    ("**Answer**\r\nHi", "\r\nHi"),
    ("Answer\nHi", "\nHi"),
    ("Answer\r\nHi", "\r\nHi"),
    ("**Answer:****Hi**", "*Hi**"),
])  # fmt: skip
def test_the_answer_begins_after_the_marks_of_its_label(text: str, shown: str) -> None:
    assert answers(text) == shown


@for_each([
    *("Answers vary.", "Answer Hi", "Answer-Hi", "**Answer**Hi", "Answer!: Hi", "*****Answer*****: Hi", "So Answer: Hi", "1. Answer: Hi"),
    *("#########Answer: Hi", "So ...done thinking.\nHi", "...done thinking. Hi", "..done thinking.\nHi", "Here's my answer Hi"),
    *("Here's my answer***: Hi", "Here is an answer: Hi"),
])  # fmt: skip
def test_other_words_are_not_the_answers_label(text: str) -> None:
    assert answers(text) is None


def test_marks_directly_after_here_is_my_answer_belong_to_it() -> None:
    assert answers("Here's my answer:****Hi") == "*Hi"


@for_each("`~:")
def test_a_fence_has_three_to_twelve_marks(mark: str) -> None:
    for count in (3, 12):
        assert judged(f"{mark * count}thinking\nx\n{mark * count}\nHi") == f"{{!{mark * count}thinking\nx\n{mark * count}\n}}Hi"
    for count in (2, 13):
        text = f"{mark * count}thinking\nx\n{mark * count}\nHi"
        assert judged(text) == text
    for count in (1, 2):
        assert label_of(f"{mark * count}x") is None


def test_a_fence_with_an_invisible_character_hides_everything() -> None:
    text = "``\u200b`thinking\nx\n```\nHi"
    assert judged(text) == f"{{!{text}}}"
