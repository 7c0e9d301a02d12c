"""Raw output in which a thought and an answer are both plainly there: of it the answer is shown, and nothing of the thought."""

from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.answer_text import guarded
from tests.support.cases import example_count, for_each

NEXT = "<|end|><|start|>assistant"
FINAL = "<|channel|>final<|message|>"
SHAPES = {
    "whole": ("<|channel|>analysis<|message|>", f"{NEXT}{FINAL}"),
    "with its role": ("<|start|>assistant<|channel|>analysis<|message|>", f"{NEXT}{FINAL}"),
    "without a start": ("<|channel|>analysis<|message|>", f"<|end|>assistant{FINAL}"),
    "without the header of the answer": ("<|channel|>analysis<|message|>", "<|end|>"),
    "without its first token": ("analysis<|message|>", f"{NEXT}{FINAL}"),
    "from the prompt": ("", f"{NEXT}{FINAL}"),
    "in lines": ("<|channel|>analysis<|message|>\n", f"\n<|end|>\n<|start|>assistant\n{FINAL}\n"),
    "with spaces": ("<|channel|> analysis <|message|> ", " <|end|> <|start|> assistant <|channel|> final <|message|> "),
    "without tokens": ("analysis", "assistantfinal"),
    "without tokens, in lines": ("analysis\n", "\nassistantfinal\n"),
    "without tokens, from the prompt": ("", "assistantfinal"),
}
THOUGHTS = [
    "The SECRET is so.",
    'They said "x". SECRET',
    "1. SECRET\n2. so",
    "用户问 SECRET。",
    "`f()` is SECRET.",
    "```\nSECRET\n```\nGood.",
]
ANSWERS = ["Four.", "# So\n\nIt is.", "- one\n- two", "今天晴天。", "`x` it is", "```\nx = 4\n```", '"Yes."', "42", "| a |\n| - |"]
ENDS = ["", "<|return|>", "<|end|>\n"]


@for_each(product(SHAPES, THOUGHTS, ANSWERS, ENDS))
def test_a_thought_and_an_answer_that_are_both_there_are_both_used(shape: str, thought: str, answer: str, end: str) -> None:
    header, of_answer = SHAPES[shape]
    assert guarded(f"{header}{thought}{of_answer}{answer}{end}").strip() == answer


PLACES = st.sampled_from([
    *("<|end|>", f"{NEXT}{FINAL}", FINAL, f"<|start|>assistant{FINAL}", "assistantfinal", "<|return|>", "<|message|>", "<|call|>", "final"),
    *("<|start|>user<|message|>Hi<|end|>", "<|channel|>analysis<|message|>", f"<|end|>\n<|start|>assistant\n{FINAL}\n", "They wrote"),
])  # fmt: skip
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="`~<[\\◁"), max_size=12)


@settings(max_examples=example_count(600), database=None, deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.lists(st.one_of(PLACES, WORDS), max_size=8), st.sampled_from(ANSWERS), st.sampled_from(ENDS))
def test_whatever_a_thought_quotes_it_stays_hidden(shape: str, parts: list[str], answer: str, end: str) -> None:
    header, of_answer = SHAPES[shape]
    thought = "SECRET".join(["", *parts, ""])
    assert "SECRET" not in guarded(f"{header}{thought}{of_answer}{answer}{end}")


@settings(max_examples=example_count(300), database=None, deadline=None)
@given(WORDS, st.sampled_from(sorted(SHAPES)), st.sampled_from([' "', " “", " (", " `", ": ", ":\n", " '", "，", " ", "\n> "]))
def test_an_answers_header_in_an_open_quotation_shows_nothing_without_another(words: str, shape: str, mark: str) -> None:
    header, of_answer = SHAPES[shape]
    assume(mark[-1] != " " or of_answer[0] != " ")
    assert "SECRET" not in guarded(f"{header or 'analysis'}SECRET {words}{mark}{of_answer.strip()}SECRET goes on")
