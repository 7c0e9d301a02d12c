"""Which part of raw output is shown as the answer: only a proven one, whole, and nothing if any text around it is unexplained."""

from __future__ import annotations

import pytest

from chatui.backends.leaks.judgement import Span, is_collapsed, judge
from tests.chatui.backends.test_leak_shapes import cuts, guarded
from tests.support.cases import for_each

FINAL = "<|channel|>final<|message|>"
THOUGHT = "<|channel|>analysis<|message|>SECRET.<|end|><|start|>assistant"


def shown(text: str, *, complete: bool = True) -> list[str]:
    spans = judge(text, complete=complete)
    assert all(span.begins for span in spans if span.visible), "each is a message"
    assert "".join(span.text for span in spans) in text, "no text is counted twice"
    return [span.text for span in spans if span.visible]


@for_each([
    (f"{FINAL}Hello<|return|>", ["Hello"]),
    (f"{FINAL}Hello", ["Hello"]),
    (f"{FINAL}Hello<|endoftext|>\n", ["Hello"]),
    (f"{THOUGHT}{FINAL}Hello<|end|>", ["Hello"]),
    (f"assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"\u200b{FINAL}Hello<|return|>", ["Hello"]),
    (f"\ufeff <|end|> assistant{THOUGHT}{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|channel|>analysis<|message|>SECRET <|constrain|> and much more<|end|><|start|>assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant{FINAL}Hello<|return|>", ["I look.", "Hello"]),
    (f"<|channel|>commentary<|message|> \n<|end|><|start|>assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"Hello, SECRET.<|end|><|start|>assistant{FINAL}Hello<|return|>", ["Hello"]),
    ("analysisSECRET.assistantfinalHello", ["Hello"]),
    ("assistantfinal hello", [" hello"]),
])  # fmt: skip
def test_a_proven_answer_is_shown(text: str, messages: list[str]) -> None:
    assert shown(text) == messages


@for_each(["4", "4.", "SECRET.", "analysis", "Yes"])
def test_an_answer_that_also_occurs_in_the_reasoning_is_shown(answer: str) -> None:
    text = f"<|channel|>analysis<|message|>Yes, SECRET. 2 + 2 = 4.<|end|><|start|>assistant{FINAL}{answer}<|return|>"
    assert shown(text) == shown(text, complete=False) == [answer]
    assert [guarded(pieces) for pieces in cuts(text)] == [answer] * 4


@for_each([
    f"{FINAL}Hello<|return|> SECRET",
    f"{FINAL}Hello<|return|> Hello",
    f"{FINAL}Hello<|end|><|start|>assistant<|channel|>analysis<|message|>SECRET Hello",
    f"{FINAL}Hello<|end|><|start|>assistant",
    f"{FINAL}Hel<|constrain|>lo<|return|>",
    "Hello<|return|>",
    "<|return|>",
    "analysisSECRET.assistantfinalHello.assistantanalysisSECRET",
    "analysis|>SECRET.assistantfinalHello",
    "analysis<|SECRET.assistantfinalHello",
    "analysis\uff5c\uff1eSECRET.assistantfinalHello",
    "analysisSECRET.assistantfinal",
    "analysisSECRET.assistantfinal \n",
    "assistantfinal ",
    "analysisSECRET. Hello",
])  # fmt: skip
def test_without_a_proven_answer_everything_is_hidden_and_the_page_says_so(text: str) -> None:
    assert judge(text, complete=True) == [Span(False, text, is_withheld=True)]


def test_stripped_markers_prove_nothing_in_an_answer_that_was_cut() -> None:
    assert shown("analysisSECRET.assistantfinalHello") == ["Hello"]
    assert judge("analysisSECRET.assistantfinalHello", complete=False) == [
        Span(False, "analysisSECRET.assistantfinalHello", is_withheld=True)
    ]


@pytest.mark.parametrize("before", ["It is so.", "It is `so`.", 'They say "so".', "It's so.", "``` x ``` done."])
def test_the_sign_of_an_answer_counts_after_a_whole_quotation(before: str) -> None:
    assert shown(f"analysis{before}assistantfinalHello") == ["Hello"]


@pytest.mark.parametrize(
    "before", ["They say `so.", "A `b` c `d.", "Three ` of ` them `.", 'They say "so.', 'A "b" c "d.', "as in:", "(", "“"]
)
def test_the_sign_of_an_answer_may_be_quoted_inside_an_open_quotation(before: str) -> None:
    assert shown(f"analysis{before}assistantfinalHello") == []


@pytest.mark.parametrize("after", [" Hello", "\nHello", "hello", ", Hello", '" Hello', "` Hello", ". Hello", "] Hello", "” Hello"])
def test_the_sign_of_an_answer_may_be_quoted_if_a_sentence_continues_after_it(after: str) -> None:
    assert shown(f"analysisSECRET.assistantfinal{after}") == []
    assert shown(f"assistantfinal{after}") == [after], "at the beginning of an output, nothing can quote it"


@for_each([
    ("so.assistantfinalHello", True),
    ("so.assistantanalysisHello", True),
    ("so.assistantcommentary to=x", True),
    ("so.\nassistant final\nHello", True),
    ("so.\nassistant channel analysis\nHello", True),
    ("so.\nassistant: commentary", True),
    ("so. assistantf", True),
    ("so. assistantcommen", True),
    ("so.assistantx", False),
    ("the assistant finally answered", False),
    ("the assistants final exam", False),
    ("Hello", False),
])  # fmt: skip
def test_the_remains_of_stripped_markers_are_recognized_anywhere(text: str, is_raw: bool) -> None:
    assert is_collapsed(text) == is_raw
