"""Which part of raw output is shown as the answer: only a proven one, whole, and nothing if any text around it is unexplained."""

from __future__ import annotations

from functools import partial

import pytest

from chatui.backends.leaks.guard import TextSpan, judge
from tests.chatui.backends.test_leak_shapes import guarded
from tests.support.cases import for_each
from tests.support.cost import cost, costs_at_most

FINAL = "<|channel|>final<|message|>"
NEXT = "<|end|><|start|>assistant"
THOUGHT = f"<|channel|>analysis<|message|>SECRET.{NEXT}"


def shown(text: str) -> list[str]:
    spans = judge(text)
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
    (f"<|return|>{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|call|>{FINAL}Hello<|return|>", ["Hello"]),
    ("<|channel|>final Hello<|return|>", ["Hello"]),
    ("<|return|><|channel|>final Hello<|return|>", ["Hello"]),
    ("<|call|>assistant<|channel|>final Hello<|return|>", ["Hello"]),
    ("<|channel|>final<|constrain|>json<|message|>json<|return|>", ["json"]),
    ("<|channel|>commentary<|channel|>final<|message|>a<|return|>", ["a"]),
    (f"<|channel|>weird<|message|>4{NEXT}<|channel|>weird<|message|>5{NEXT}{FINAL}4<|return|>", ["4"]),
    (f"<|channel|>analysis<|message|>x<|end|>{NEXT}{FINAL}4<|return|>", ["4"]),
    (f"<|channel|>analysis<|start|>assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|channel|>analysis<|message|>4 {NEXT}<|channel|>analysis<|message|>A<|constrain|>b{NEXT}{FINAL}4<|return|>", ["4"]),
    ("analysisSECRET.assistantfinalHello", ["Hello"]),
    ("assistantfinal hello", [" hello"]),
])  # fmt: skip
def test_a_proven_answer_is_shown(text: str, messages: list[str]) -> None:
    assert shown(text) == messages


@for_each(["4", "4.", "SECRET.", "analysis", "Yes"])
def test_an_answer_that_also_occurs_in_the_reasoning_is_shown(answer: str) -> None:
    text = f"<|channel|>analysis<|message|>Yes, SECRET. 2 + 2 = 4.<|end|><|start|>assistant{FINAL}{answer}<|return|>"
    assert shown(text) == [answer]
    assert guarded(text) == answer


@for_each(["a", "n", "s", "e", "d", "<", "|", "end", "start", "assistant", "channel", "final", "message", "<|", "l<"])
def test_an_answer_that_also_occurs_in_the_markers_before_it_is_shown(answer: str) -> None:
    preamble = "<|channel|>commentary<|message|>I look.<|end|>\n<|start|>assistant"
    for before, messages in (("", []), (THOUGHT, []), (THOUGHT.replace("SECRET.", answer), []), (preamble, ["I look."])):
        text = f"{before}{FINAL}{answer}<|return|>"
        assert shown(text) == [*messages, answer], before
    assert guarded(f"{THOUGHT}{FINAL}{answer}<|return|>") == answer


def test_the_time_to_find_an_answer_grows_with_the_messages_before_it() -> None:
    for after in (NEXT, "<|start|>assistant", ""):
        message = f"<|channel|>analysis<|message|>a<|constrain|>b{after}"
        small, large = (partial(shown, f"{message * times}{FINAL}Hello<|return|>") for times in (200, 2000))
        assert costs_at_most(10 * cost(small) * 2 + 10, large), after


@for_each([
    f"{FINAL}Hello<|return|> SECRET",
    f"{FINAL}Hello<|channel|>analysis<|message|>Hello<|end|>",
    "<|channel|>final Hello<|end|><|start|>assistant<|channel|>analysis<|message|>Hello<|end|>",
    f"<|channel|>commentary<|message|>I lo<|constrain|>ok.<|end|><|start|>assistant{FINAL}Hello<|return|>",
    f"assistantassistant{FINAL}Hello<|return|>",
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
    assert judge(text) == [TextSpan(False, text, is_withheld=True)]


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
