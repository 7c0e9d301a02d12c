"""Exactly which text the leak guard shows, hides, reports as missing and withdraws, in one piece and letter by letter.

In the tables, hidden text is in ``{}``, and in ``{!}`` if the page says that a part is missing. ``#``: all text shown before is withdrawn.
``^``: a new message begins.
"""

from __future__ import annotations

from itertools import groupby

import pytest

from chatui.backends.leaks.guard import LeakGuard, TextSpan, settled
from tests.support.cases import for_each

HEADER = "<|end|><|start|>assistant<|channel|>analysis<|message|>"
FINAL = "<|channel|>final<|message|>"


def written(spans: list[TextSpan]) -> str:
    """The spans in the notation of the tables. Neighbours of the same kind are joined."""
    signs: list[tuple[str, str]] = []
    for span in spans:
        signs += [("", "#")] if span.withdraws else []
        signs += [("", "^")] if span.begins else []
        signs += [("" if span.visible else "{!" if span.is_withheld else "{", span.text)] if span.text else []
    return "".join(f"{kind}{text}{'}' * bool(kind)}" for kind, same in groupby(signs, lambda sign: sign[0]) for text in _joined(same))


def _joined(same: object) -> list[str]:
    return ["".join(text for _, text in same)]  # type: ignore[attr-defined]


def judged(text: str, *, complete: bool = True, whole: bool = False, resumes: bool = False, follows: bool = False) -> str:
    """What becomes of ``text``, which may not depend on how it is cut."""
    found = set()
    for size in (len(text), 1, 7):
        guard = LeakGuard(whole=whole, resumes=resumes, follows=follows)
        spans = [span for at in range(0, len(text), size) for span in guard.feed(text[at : at + size])]
        assert not (whole and spans), "nothing is shown before the whole text was judged"
        spans += guard.finish(complete=complete)
        assert all(span.text or span.withdraws or span.is_withheld for span in spans), "no span is without effect"
        found.add(written(spans))
    [result] = found
    return result


# While the answer is written

SHOWN = [
    "Hi.",
    " \n",
    "<response>Hi</response>",
    "Hi <|end_response|>.",
    "a <details>b</details> c",
    "a <details>b <details>c</details></details> d",
    "final hello",
    "finalhello",
    "Thinking about it",
    "Hi.<br>`<think>` so",
]


@for_each(SHOWN)
def test_a_harmless_text_is_shown_in_every_mode(text: str) -> None:
    for complete in (True, False):
        for whole in (True, False):
            for follows in (True, False):
                assert judged(text, complete=complete, whole=whole, follows=follows) == text
            assert judged(text, complete=complete, whole=whole, resumes=True) == text


@for_each(SHOWN)
def test_nothing_is_reported_as_missing_from_a_harmless_text(text: str) -> None:
    for whole in (True, False):
        guard = LeakGuard(whole=whole, follows=True)
        assert not any(span.is_withheld or span.withdraws or span.begins for span in guard.feed(text) + guard.finish(complete=True))


@for_each([
    ("<think>x</think>Hi", "{<think>x</think>}Hi"),
    ("[THINK]x[/THINK]Hi", "{[THINK]x[/THINK]}Hi"),
    ("◁think▷x◁/think▷Hi", "{◁think▷x◁/think▷}Hi"),
    ("<details><summary>Thinking</summary>x</details>Hi", "{<details><summary>Thinking</summary>x</details>}Hi"),
    ("<think>x</think><think>y</think>Hi", "{<think>x</think><think>y</think>}Hi"),
    ("<think>x<think>y</think>z</think>Hi", "{<think>x<think>y</think>z</think>}Hi"),
    ("<think>x<think>y</think>z</think></think>Hi", "{<think>x<think>y</think>z</think></think>}Hi"),
    ("<think>x<reasoning>y</think>Hi", "{<think>x<reasoning>y</think>}Hi"),
    ("<think>x</reasoning>y</think>Hi", "{<think>x</reasoning>y</think>}Hi"),
    ("<think>x<details>y</details>z</think>Hi", "{<think>x<details>y</details>z</think>}Hi"),
    ("<think>x<|end|>y<|channel|>z</think>Hi", "{<think>x<|end|>y<|channel|>z</think>}Hi"),
    ("<think>x<|start_response|>y</think>Hi", "{<think>x<|start_response|>y</think>}Hi"),
    ("<think>x assistantfinalSECRET</think>Hi", "{<think>x assistantfinalSECRET</think>}Hi"),
    ("<analysis>x.assistantanalysisy</analysis>Hi", "{<analysis>x.assistantanalysisy</analysis>}Hi"),
    ("<think>x `</think>` y</think>Hi", "{<think>x `</think>` y</think>}Hi"),
    ("<think>```\n</think>\nHi", "{<think>```\n</think>}\nHi"),
    ("Hi.<think>x</think> So", "Hi.{!<think>x</think>} So"),
    ("Hi.<think>x<think>y</think>z</think> So", "Hi.{!<think>x<think>y</think>z</think>} So"),
    ("Hi.<think>x", "Hi.{!<think>x}"),
    ("<think>.", "{<think>}{!.}"),
    ("Hi<|end_response|>Ho", "Hi{<|end_response|>}Ho"),
    ("x</think>Hi", "x#{!</think>}Hi"),
    ("x</think>y</think>Hi", "x#{!</think>}y#{!</think>}Hi"),
    (" \n</think>Hi", " \n{</think>}Hi"),
    ("x</think><think>y</think>Hi", "x#{!</think>}{<think>y</think>}Hi"),
    ("x\n</details>Hi", "x\n#{!</details>}Hi"),
    ("x<details>y</details></details>Hi", "x<details>y</details>#{!</details>}Hi"),
    ("<|start_response|>Hi<|end_response|>", "{<|start_response|>}Hi{<|end_response|>}"),
    ("x<|start_response|>Hi", "x#{!<|start_response|>}Hi"),
    ("x<|content|>Hi", "x#{!<|content|>}Hi"),
    *((f"Hi `</think>{begun}", f"Hi `#{{!</think>}}{begun}") for begun in ("ana", "Think", "{", "fina", "\n")),
    (f"{'x ' * 498}<think>y</think>Hi", f"{'x ' * 498}{{!<think>y</think>}}Hi"),
    (f"{'x ' * 510}<think>{'y ' * 510}</think>z", f"{'x ' * 510}{{!<think>{'y ' * 510}</think>}}z"),
    ("Hi.<think>x</think> <|channel|> so", "Hi.{!<think>x</think>} <|channel|> so"),
])  # fmt: skip
def test_what_tags_surround_is_hidden_while_the_answer_is_written(text: str, result: str) -> None:
    assert judged(text) == judged(text, complete=False) == result


@pytest.mark.parametrize("text", ["<think>SECRET", "<think>", "[THINK]SECRET", "<details><summary>Thinking</summary>SECRET"])
def test_reasoning_that_never_ends_is_reported_as_missing(text: str) -> None:
    for whole in (True, False):
        guard = LeakGuard(whole=whole)
        spans = guard.feed(text) + guard.finish(complete=True)
        assert "".join(span.text for span in spans) == text
        assert not any(span.visible for span in spans) and spans[-1].is_withheld


@for_each([
    ("Hi.<|return|>", "Hi."),
    ("Hi.<|end|>", "Hi."),
    ("Hi.<|endoftext|> \n", "Hi."),
    ("Hi.<|call|>", "Hi.{!<|call|>}"),
    ("Hi.<|return|>x", "Hi.{!<|return|>x}"),
    (f"So:\n{HEADER[7:]}x", f"So:\n{{!{HEADER[7:]}x}}"),
    (f"So:\n{HEADER[7:]}x{HEADER}y", f"So:\n{{!{HEADER[7:]}x{HEADER}y}}"),
    ("<|end|>x", "{!<|end|>x}"),
    ("<|return|>x", "{!<|return|>x}"),
    ("<|channel|> x", "{!<|channel|> x}"),
    ("\u200b<|channel|> x", "\u200b{!<|channel|> x}"),
    (" \u2060\n<|start|> x", " \u2060\n{!<|start|> x}"),
    (f"Hi.{HEADER}x", f"Hi.{{!{HEADER}x}}"),
    (f"x{FINAL}Hi<|return|>", f"x#{{{FINAL}}}^Hi"),
    (f" {FINAL}Hi", f" {{{FINAL}}}^Hi"),
    ("Hi.assistantanalysisx.assistantfinalSECRET", "Hi.#{!assistantanalysisx.assistantfinalSECRET}"),
    ("Hi.<think>x</think>analysisx.assistantfinalHo", "Hi.{!<think>x</think>}analysisx.#{!assistantfinalHo}"),
    ("Hi.<think>x</think>Thinking: y\nAnswer: z", "Hi.{!<think>x</think>}Thinking: y\nAnswer: z"),
])  # fmt: skip
def test_what_follows_a_token_is_judged_in_the_same_way_for_a_cut_answer(text: str, result: str) -> None:
    assert judged(text) == judged(text, complete=False) == result


# A beginning that is judged at the end


@for_each([
    ("analysis of it", "analysis of it", "{!analysis of it}"),
    ("assistants do it", "assistants do it", "{!assistants do it}"),
    ("analysis: <think>x</think> so", "analysis: {!<think>x</think>} so", "{!analysis: <think>x</think> so}"),
    ("analysis of it.<|end|>x", "{!analysis of it.<|end|>x}", "{!analysis of it.<|end|>x}"),
    ("analysis of it. assistantfinalHi", "{analysis of it. assistantfinal}^Hi", "{!analysis of it. assistantfinalHi}"),
    ("analysisx.assistantfinalHi", "{analysisx.assistantfinal}^Hi", "{!analysisx.assistantfinalHi}"),
    ("analysisx", "{!analysisx}", "{!analysisx}"),
    ("to=functions.x", "{!to=functions.x}", "{!to=functions.x}"),
    ("to= x", "to= x", "{!to= x}"),
    ("commentary to=functions.x {}", "{!commentary to=functions.x {}}", "{!commentary to=functions.x {}}"),
    ("channel analysis", "channel analysis", "{!channel analysis}"),
    ("final<|message|>Hi", "{!final<|message|>Hi}", "{!final<|message|>Hi}"),
    ("assistant\nanalysis\nx", "{!assistant\nanalysis\nx}", "{!assistant\nanalysis\nx}"),
    ("Thinking: x", "Thinking: x", "{!Thinking: x}"),
    ("Thinking: x\nAnswer: Hi", "{!Thinking: x\nAnswer:} Hi", "{!Thinking: x\nAnswer: Hi}"),
    ("Thinking: x\nAnswer: y</think>Hi", "{!Thinking: x\nAnswer:} y#{!</think>}Hi", "{!Thinking: x\nAnswer: y</think>Hi}"),
    ("Thinking: x\nAnswer: y <think>z</think>.", "{!Thinking: x\nAnswer:} y {!<think>z</think>}.", None),
    ("Thinking: x\nAnswer: analysis of it", "{!Thinking: x\nAnswer:} analysis of it", None),
    ("Thinking: x\nAnswer: ana", "{!Thinking: x\nAnswer:} ana", "{!Thinking: x\nAnswer: ana}"),
    ("Thinking: x\nAnswer: Thinking: y\nAnswer: Hi", "{!Thinking: x\nAnswer: Thinking: y\nAnswer:} Hi", None),
    (f"Thinking: x{FINAL}Hi", f"{{!Thinking: x{FINAL}Hi}}", f"{{!Thinking: x{FINAL}Hi}}"),
    ("Thinking: x. assistantfinalHi", "{Thinking: x. assistantfinal}^Hi", "{!Thinking: x. assistantfinalHi}"),
    ("Analysis: the <|end|> token", "{!Analysis: the <|end|> token}", None),
    ("Analysis: the end|> token", "{!Analysis: the end|> token}", None),
    ("Analysis: the <|end token", "{!Analysis: the <|end token}", None),
    ("Thinking: x.assistantfinalHi\nAnswer: y", "{Thinking: x.assistantfinal}^Hi\nAnswer: y", None),
    ("thinking\nx", "{!thinking\nx}", "{!thinking\nx}"),
    ("Analysis: x<think>y</think>", "Analysis: x{!<think>y</think>}", "{!Analysis: x<think>y</think>}"),
    ("<think>x</think>analysisy.assistantfinalHi", "{<think>x</think>analysisy.assistantfinal}^Hi", None),
    ("<think>x</think>Thinking: y\nAnswer: Hi", "{<think>x</think>}{!Thinking: y\nAnswer:} Hi", None),
    ('<think>x</think>{"reasoning": "y", "answer": "Hi"}', '{<think>x</think>}{!{"reasoning": "y", "answer": "Hi"}}Hi', None),
    ("x</think>analysisy.assistantfinalHi", "x#{!</think>}{analysisy.assistantfinal}^Hi", "x#{!</think>analysisy.assistantfinalHi}"),
    ("x</think>analysisy", "x#{!</think>analysisy}", "x#{!</think>analysisy}"),
    ("x<|content|>analysisy", "x#{!<|content|>analysisy}", "x#{!<|content|>analysisy}"),
    ("x</think>analysis of it", "x#{!</think>}analysis of it", "x#{!</think>analysis of it}"),
    ("x</think>Thinking: y\nAnswer: Hi", "x#{!</think>Thinking: y\nAnswer:} Hi", None),
])  # fmt: skip
def test_a_doubtful_beginning_is_judged_at_the_end(text: str, result: str, cut: str | None) -> None:
    assert judged(text) == result
    assert cut is None or judged(text, complete=False) == cut


@for_each([
    ('{"a": 1}', '{"a": 1}'),
    ('{"a": "</think>"} b', '{"a": "</think>"} b'),
    ('{"reasoning": "x", "answer": "Hi"}', '{!{"reasoning": "x", "answer": "Hi"}}Hi'),
    ('{"reasoning": "x", "answer": "y</think>Hi"}', '{!{"reasoning": "x", "answer": "y</think>Hi"}y</think>}Hi'),
    ('{"reasoning": "x", "answer": "analysis of it"}', '{!{"reasoning": "x", "answer": "analysis of it"}}analysis of it'),
    ('{"reasoning": "x"}', '{!{"reasoning": "x"}}'),
])  # fmt: skip
def test_data_is_judged_once_it_is_complete(text: str, result: str) -> None:
    assert judged(text) == judged(text, complete=False) == judged(text, whole=True) == result


@for_each([
    ('{"a": 1} assistantfinalHi', '{"a": 1} #{assistantfinal}^Hi', '{"a": 1} #{!assistantfinalHi}'),
    ('{"a": 1}</think>analysis x.assistantfinalHi', '{"a": 1}#{!</think>}{analysis x.assistantfinal}^Hi', None),
    ('{"a": 1}</think>analysis x', '{"a": 1}#{!</think>analysis x}', '{"a": 1}#{!</think>analysis x}'),
    ('{"a": 1}<|call|>', '{"a": 1}{!<|call|>}', '{"a": 1}{!<|call|>}'),
    ('{"a": 1}<|return|>', '{"a": 1}', '{"a": 1}'),
    ('{"a": 1}<think>x</think> so', '{"a": 1}{!<think>x</think>} so', '{"a": 1}{!<think>x</think>} so'),
    (f'{{"a": 1}}{FINAL}Hi', f'{{"a": 1}}#{{{FINAL}}}^Hi', f'{{"a": 1}}#{{{FINAL}}}^Hi'),
])  # fmt: skip
def test_signs_after_data_count_and_those_of_stripped_markers_only_in_a_complete_answer(text: str, result: str, cut: str | None) -> None:
    assert judged(text) == result
    assert cut is None or judged(text, complete=False) == cut


@for_each([
    ("finalHi", "Hi"),
    ("final*Hi*", "*Hi*"),
    (" final4", " 4"),
    ("final#Hi", "#Hi"),
    ("finalÉtat", "État"),
    ("finalfinalHi", "finalfinalHi"),
    ("finalHi finalHi", "Hi finalHi"),
])  # fmt: skip
def test_the_rest_of_a_marker_before_the_answer_is_dropped(text: str, result: str) -> None:
    assert judged(text) == judged(text, complete=False) == judged(text, whole=True) == result
    assert judged(text, resumes=True) == text, "a continuation may continue a word"


# Nothing is shown before the end


@for_each([
    ("x</think>Hi", "{!x</think>}Hi"),
    ("x</think>y</think>Hi", "{!x</think>y</think>}Hi"),
    ("<think>x</think>Hi", "{<think>x</think>}Hi"),
    ("Hi.<think>x</think> So", "Hi.{!<think>x</think>} So"),
    (f"x{FINAL}Hi", f"{{!x}}{{{FINAL}}}^Hi"),
    ("x<|content|>Hi", "{!x<|content|>}Hi"),
    ("x.assistantanalysisy.assistantfinalHi", "{!x.}{assistantanalysisy.assistantfinal}^Hi"),
    ("Hi<think>x</think>analysisy.assistantfinalHo", "{!Hi<think>x</think>analysisy.}{assistantfinal}^Ho"),
    ("Thinking: x\nAnswer: y</think>Hi", "{!Thinking: x\nAnswer: y</think>}Hi"),
    ("commentary to=functions.x {}", "{!commentary to=functions.x {}}"),
    ("Thinking: x\nAnswer: Hi.<|call|>", "{!Thinking: x\nAnswer:} Hi.{!<|call|>}"),
])  # fmt: skip
def test_a_whole_answer_hides_what_would_be_withdrawn(text: str, result: str) -> None:
    assert judged(text, whole=True) == result


def test_a_whole_answer_that_was_cut_proves_no_answer_after_stripped_markers() -> None:
    text = "x.assistantanalysisy.assistantfinalHi"
    assert judged(text, whole=True, complete=False) == f"{{!{text}}}"


# After other text of the same completion


@for_each([
    ("<think>x</think>Hi", "{!<think>x</think>}Hi"),
    ("<think>x", "{!<think>x}"),
    ("Hi.<|call|>", "Hi.#{!<|call|>}"),
    ("Hi.<|return|>x", "Hi.#{!<|return|>x}"),
    ("Hi.<|return|>", "Hi."),
    (" </think>Hi", " #{!</think>}Hi"),
    ("<|start_response|>Hi<|end_response|>", "#{!<|start_response|>}Hi{<|end_response|>}"),
    (f" {FINAL}Hi", f" #{{{FINAL}}}^Hi"),
    ("analysisx.assistantfinalHi", "#{analysisx.assistantfinal}^Hi"),
    ("analysisx", "#{!analysisx}"),
    ("analysis of it", "analysis of it"),
    ("<think>x</think>Thinking: y\nAnswer: Hi", "{!<think>x</think>}Thinking: y\nAnswer: Hi"),
    ("Thinking: x\nAnswer: Hi", "#{!Thinking: x\nAnswer:} Hi"),
    ("Hi.assistantanalysisx", "Hi.#{!assistantanalysisx}"),
    ('{"reasoning": "x", "answer": "Hi"}', '#{!{"reasoning": "x", "answer": "Hi"}}Hi'),
])  # fmt: skip
def test_a_sign_withdraws_the_earlier_text_of_the_completion(text: str, result: str) -> None:
    assert judged(text, follows=True) == result


@for_each([
    ("x</think>Hi", "#{!x</think>}Hi"),
    ("<think>x</think>Hi", "{!<think>x</think>}Hi"),
    ("Hi.<|call|>", "#{!Hi.<|call|>}"),
    ("Hi.<|return|>", "Hi."),
    ("analysisx", "#{!analysisx}"),
    ("<|start_response|>Hi", "#{!<|start_response|>}Hi"),
])  # fmt: skip
def test_a_whole_text_with_a_sign_withdraws_the_earlier_text_too(text: str, result: str) -> None:
    assert judged(text, whole=True, follows=True) == result


# A continuation of a cut answer


@for_each([
    *((text, text) for text in ("analysis of it", "commentary.", "Thinking: x\nAnswer: y", '{"reasoning": "x"}', "assistants", "to be")),
    *((text, f"{{!{text}}}") for text in ("analysisx", "commentaryx", "assistant<|channel|>analysis", "assistantanalysisx", "to=x")),
    ("final<|message|>Hi", "{!final<|message|>Hi}"),
    ("<think>x</think>Hi", "{<think>x</think>}Hi"),
    ("x</think>Hi", "x#{!</think>}Hi"),
    ("Hi `</think>ana", "Hi `#{!</think>}ana"),
])  # fmt: skip
def test_in_a_continuation_a_word_alone_is_no_sign(text: str, result: str) -> None:
    assert judged(text, resumes=True) == judged(text, resumes=True, complete=False) == result


# After the end


def test_settled_spans_hide_everything_up_to_the_last_withdrawal() -> None:
    one, two, three = TextSpan(True, "a"), TextSpan(False, "b", withdraws=True), TextSpan(True, "c", begins=True)
    assert settled([one, two, three]) == [TextSpan(False, "a", is_withheld=True), TextSpan(False, "b", is_withheld=True), three]
    assert settled([two, one, two, three])[:3] == [TextSpan(False, text, is_withheld=True) for text in "bab"]
    assert settled([one, three]) == [one, three]
    assert settled([]) == []


def test_text_is_shown_as_soon_as_no_sign_can_begin_in_it() -> None:
    guard = LeakGuard()
    assert written(guard.feed("assist")) == "" and written(guard.feed("ed by many. ")) == "assisted by many. "
    assert written(guard.feed("So")) == "So"
    for text in ("Hello", "Analysts do", "{so}", " Hi"):
        assert written(LeakGuard().feed(text)) == text
    for text in ("anal", "final", "to", "Think", "{", "comment", "<|"):
        assert written(LeakGuard().feed(text)) == ""
    assert written(LeakGuard(resumes=True).feed("Thin")) == "Thin"
    assert written(LeakGuard(resumes=True).feed("anal")) == ""
