"""The leak guard for servers that put reasoning into the answer: reasoning stays hidden, harmless answers stay whole."""

from __future__ import annotations

import json

import pytest

from tests.chatui.backends.test_leak_shapes import guarded
from tests.support.cases import for_each
from tests.support.places import QUIRKS

ROWS = [json.loads(line) for line in QUIRKS.read_text("utf-8").splitlines()]
STRIPPED = [row for row in ROWS if row["mode"] == "stripped"]
MARKED = [row for row in ROWS if row["mode"] in ("text", "token") and row["raw"].startswith("<|channel|>")]

HONEST = [
    "Hello! How can I help?",
    "analysis of the data shows that sales grew.",
    "analysis, then synthesis: that is the method.",
    "Analysis is a branch of mathematics.",
    "final words are hard",
    "finally, it is done",
    "finală este propoziția",
    "finalísimo esfuerzo",
    "commentary on the text is welcome",
    "assistant professors earn less",
    "the assistant finally answered",
    "<thinking about it> is no tag of ours here: <b>",
    "< 3 is less than four",
    "A Harmony message: <|start|>assistant<|channel|>analysis<|message|>x<|end|> and so on.",
    "Write `<think>` to begin and `</think>` to end.",
    "to be or not to be",
    "f",
    "ana",
    " \n  indented",
]

LEAKS = {
    "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>": "Hello",
    "<|channel|>final<|message|>Hello": "Hello",
    "<|channel|>analysis<|message|>SECRET<|end|>Hello! This could still be SECRET": "",
    "<|channel|>analysis<|message|>the user quotes <|end|><|start|>assistant<|channel|>final<|message|>SECRET and I go on<|end|>x": "",
    "<|channel|>analysis<|message|>they quote <|end|><|start|>assistant<|channel|>final<|message|>SECRET<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Hello<|return|>": "Hello",
    "<|channel|>commentary to=functions.x<|message|>SECRET<|call|>": "",
    "assistant<|channel|>analysis<|message|>SECRET": "",
    "analysis<|message|>SECRET<|end|>": "",
    "analysisthe user SECRET.assistantfinalHello": "Hello",
    "analysis\nSECRETassistantfinalHello": "Hello",
    "analysis SECRET.assistantcommentary to=functions.x SECRET": "",
    "<think>SECRET</think>Hello": "Hello",
    "<Think>SECRET</THINK>Hello": "Hello",
    "<think>SECRET without end": "",
    "<reasoning>SECRET</reasoning><reasoning>SECRET</reasoning>Hello": "Hello",
    "<think>a</think>analysisSECRETassistantfinalHello": "Hello",
    "finalHello": "Hello",
    "finalÉtat": "État",
    "finalČau": "Čau",
    "final42": "42",
    "finalпривет": "привет",
    "final你好": "你好",
    "Hello<|return|>": "Hello",
    "\u200b<think>a</think>analysisSECRETassistantfinalHello": "\u200bHello",
    "\n\u2060<think>a</think>Thinking:\n> SECRET\n\nHello": "\n\u2060\nHello",
    "Thinking:\n> SECRET\n\nHello": "\nHello",
    "\nThinking:\n> SECRET\n\nHello": "\nHello",
    "\n" * 12 + "Thinking:\n> SECRET\n> SECRET\n\nHello": "\nHello",
    "\n" * 12 + "> Thinking:\n> SECRET\n\nHello": "\nHello",
    "\n \u200b" * 12 + "Th\u200binking:\n> SECRET\n\nHello": "\nHello",
}


@for_each(HONEST)
def test_a_harmless_answer_is_shown_whole(text: str) -> None:
    assert guarded(text) == text


@for_each(LEAKS)
def test_text_that_begins_as_a_leak_shows_its_proven_answer_or_nothing(text: str) -> None:
    assert guarded(text) == LEAKS[text]


@pytest.mark.parametrize("row", STRIPPED, ids=lambda row: row["id"])
def test_an_answer_with_stripped_markers_shows_exactly_its_visible_part(row: dict[str, str]) -> None:
    assert guarded(row["raw"]) == row["visible"]


@for_each(MARKED)
def test_raw_model_output_as_text_shows_the_visible_part_or_less(row: dict[str, str]) -> None:
    """In text, quoted and real markers look alike, so the guard may hide more than a reader of tokens does, never less."""
    assert row["visible"].endswith(guarded(row["raw"]))


def test_a_whole_answer_after_a_late_sign_of_stripped_markers_is_shown() -> None:
    """The complete text ends with the answer, so text before the sign was reasoning too."""
    assert guarded("Let me look.assistantcommentarySECRET.assistantfinalIt is 347.") == "It is 347."


def test_the_definition_of_a_link_is_no_tag() -> None:
    text = "[thinking]: https://example.org/t\n\nIt is explained in [the notes][1]."
    assert guarded(text) == text


@for_each([
    ("    <think>SECRET</think>\nHello", "    \nHello"),
    ("\n\n\t<think>\nSECRET\n</think>\nHello", "\n\n\t\nHello"),
    ("    x = 1\n    <think>SECRET</think>\nHello", "    x = 1\n    \nHello"),
    ("    <think>SECRET", "    "),
])  # fmt: skip
def test_indentation_at_the_start_of_an_answer_is_not_code(text: str, shown: str) -> None:
    assert guarded(text) == shown


@for_each([
    ("Hi \uff40<think>SECRET</think>\uff40 Hello", "Hi \uff40\uff40 Hello"),
    ("\uff40\uff40\uff40\n<think>SECRET</think>\n\uff40\uff40\uff40\nHello", "\uff40\uff40\uff40\n\n\uff40\uff40\uff40\nHello"),
    ("\uff5e\uff5e\uff5e\n<think>SECRET</think>\n\uff5e\uff5e\uff5e\nHello", "\uff5e\uff5e\uff5e\n\n\uff5e\uff5e\uff5e\nHello"),
    ("\u3000\u3000\u3000\u3000<think>SECRET</think>Hello", "\u3000\u3000\u3000\u3000Hello"),
    ("Hi.\n\n\u00a0\u00a0 \u00a0<think>SECRET</think>Hello", "Hi.\n\n\u00a0\u00a0 \u00a0Hello"),
])  # fmt: skip
def test_text_that_only_resembles_code_is_not_code(text: str, shown: str) -> None:
    assert guarded(text) == shown


def test_an_answer_after_two_end_tags_and_a_label_is_shown() -> None:
    assert guarded("Reasoning: assistantAnalysis </think></think>commentary is free") == "commentary is free"
