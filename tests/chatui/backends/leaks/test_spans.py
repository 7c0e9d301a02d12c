"""Exactly which text of a whole answer is shown, hidden and reported as missing.

In the tables, hidden text is in ``{}``, and in ``{!}`` if the page says that a part is missing. ``#``: so are earlier texts of the same
completion. ``^``: a new message begins.
"""

from __future__ import annotations

from itertools import groupby

from chatui.backends.leaks import guard
from chatui.backends.leaks.guard import TextSpan
from tests.support.cases import for_each

HEADER = "<|end|><|start|>assistant<|channel|>analysis<|message|>"
FINAL = "<|channel|>final<|message|>"


def written(spans: list[TextSpan]) -> str:
    """The spans in the notation of the tables. Neighbours of the same kind are joined."""
    signs: list[tuple[str, str]] = []
    for span in spans:
        signs += [("", "^")] if span.begins else []
        signs += [("" if span.visible else "{!" if span.is_withheld else "{", span.text)] if span.text else []
    return "".join(f"{kind}{''.join(text for _, text in same)}{'}' * bool(kind)}" for kind, same in groupby(signs, lambda sign: sign[0]))


def judged(text: str, *, follows: bool = False) -> str:
    """What becomes of ``text``; after ``#`` if the texts before it are hidden, too."""
    judgement = guard.judged(text, follows=follows)
    assert all(span.text or span.is_withheld for span in judgement.spans), "no span is without effect"
    return "#" * judgement.hides_before + written(judgement.spans)


# Tags and tokens

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
    for follows in (True, False):
        assert judged(text, follows=follows) == text


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
    ("<think>.", "{!<think>.}"),
    ("Hi<|end_response|>Ho", "Hi{<|end_response|>}Ho"),
    ("x</think>Hi", "{!x</think>}Hi"),
    ("x</think>y</think>Hi", "{!x</think>y</think>}Hi"),
    (" \n</think>Hi", " \n{</think>}Hi"),
    ("x</think><think>y</think>Hi", "{!x</think>}{<think>y</think>}Hi"),
    ("x\n</details>Hi", "{!x\n</details>}Hi"),
    ("x<details>y</details></details>Hi", "{!x<details>y</details></details>}Hi"),
    ("<|start_response|>Hi<|end_response|>", "{<|start_response|>}Hi{<|end_response|>}"),
    ("x<|start_response|>Hi", "{!x<|start_response|>}Hi"),
    ("x<|content|>Hi", "{!x<|content|>}Hi"),
    *((f"Hi `</think>{begun}", f"{{!Hi `</think>}}{begun}") for begun in ("ana", "Think", "fina")),
    (f"{'x ' * 498}<think>y</think>Hi", f"{'x ' * 498}{{!<think>y</think>}}Hi"),
    (f"{'x ' * 510}<think>{'y ' * 510}</think>z", f"{'x ' * 510}{{!<think>{'y ' * 510}</think>}}z"),
    ("Hi.<think>x</think> <|channel|> so", "Hi.{!<think>x</think>} <|channel|> so"),
])  # fmt: skip
def test_what_tags_surround_is_hidden_while_the_answer_is_written(text: str, result: str) -> None:
    assert judged(text) == result


@for_each([
    ("Hi.<|return|>", "Hi."),
    ("Hi.<|end|>", "Hi."),
    ("Hi.<|endoftext|> \n", "Hi."),
    ("Hi.<|call|>", "{!Hi.<|call|>}"),
    ("Hi.<|return|>x", "Hi.{!<|return|>x}"),
    (f"So:\n{HEADER[7:]}x", f"So:\n{{!{HEADER[7:]}x}}"),
    (f"So:\n{HEADER[7:]}x{HEADER}y", f"So:\n{{!{HEADER[7:]}x{HEADER}y}}"),
    ("<|end|>x", "{!<|end|>x}"),
    ("<|return|>x", "{!<|return|>x}"),
    ("<|channel|> x", "{!<|channel|> x}"),
    ("\u200b<|channel|> x", "\u200b{!<|channel|> x}"),
    (" \u2060\n<|start|> x", " \u2060\n{!<|start|> x}"),
    (f"Hi.{HEADER}x", f"Hi.{{!{HEADER}x}}"),
    (f"x{FINAL}Hi<|return|>", f"{{!x}}{{{FINAL}}}^Hi"),
    (f" {FINAL}Hi", f" {{{FINAL}}}^Hi"),
    ("Hi.assistantanalysisx.", "{!Hi.assistantanalysisx.}"),
    ("Hi.<think>x</think>Thinking: y\nAnswer: z", "Hi.{!<think>x</think>}Thinking: y\nAnswer: z"),
])  # fmt: skip
def test_what_follows_a_token_is_hidden(text: str, result: str) -> None:
    assert judged(text) == result


# A beginning that is judged at the end


@for_each([
    ("analysis of it", "analysis of it"),
    ("assistants do it", "assistants do it"),
    ("analysis: <think>x</think> so", "analysis: {!<think>x</think>} so"),
    ("analysis of it.<|end|>x", "{!analysis of it.<|end|>x}"),
    ("analysis of it. assistantfinalHi", "{analysis of it. assistantfinal}^Hi"),
    ("analysisx.assistantfinalHi", "{analysisx.assistantfinal}^Hi"),
    ("analysisx", "{!analysisx}"),
    ("to=functions.x", "{!to=functions.x}"),
    ("to= x", "to= x"),
    ("commentary to=functions.x {}", "{!commentary to=functions.x {}}"),
    ("channel analysis", "channel analysis"),
    ("final<|message|>Hi", "{!final<|message|>Hi}"),
    ("assistant\nanalysis\nx", "{!assistant\nanalysis\nx}"),
    ("Thinking: x", "Thinking: x"),
    ("Thinking: x\nAnswer: Hi", "{!Thinking: x\nAnswer:} Hi"),
    ("Thinking: x\nAnswer: y</think>Hi", "{!Thinking: x\nAnswer: y</think>}Hi"),
    ("Thinking: x\nAnswer: y <think>z</think>.", "{!Thinking: x\nAnswer:} y {!<think>z</think>}."),
    ("Thinking: x\nAnswer: analysis of it", "{!Thinking: x\nAnswer:} analysis of it"),
    ("Thinking: x\nAnswer: ana", "{!Thinking: x\nAnswer:} ana"),
    ("Thinking: x\nAnswer: Thinking: y\nAnswer: Hi", "{!Thinking: x\nAnswer: Thinking: y\nAnswer:} Hi"),
    (f"Thinking: x{FINAL}Hi", f"{{!Thinking: x{FINAL}Hi}}"),
    ("Thinking: x. assistantfinalHi", "{Thinking: x. assistantfinal}^Hi"),
    ("Analysis: the <|end|> token", "{!Analysis: the <|end|> token}"),
    ("Analysis: the end|> token", "{!Analysis: the end|> token}"),
    ("Analysis: the <|end token", "{!Analysis: the <|end token}"),
    ("Thinking: x.assistantfinalHi\nAnswer: y", "{Thinking: x.assistantfinal}^Hi\nAnswer: y"),
    ("thinking\nx", "{!thinking\nx}"),
    ("Analysis: x<think>y</think>", "Analysis: x{!<think>y</think>}"),
    ("<think>x</think>analysisy.assistantfinalHi", "{<think>x</think>analysisy.assistantfinal}^Hi"),
    ("<think>x</think>Thinking: y\nAnswer: Hi", "{<think>x</think>}{!Thinking: y\nAnswer:} Hi"),
    ('<think>x</think>{"reasoning": "y", "answer": "Hi"}', '{<think>x</think>}{!{"reasoning": "y", "answer": "Hi"}}Hi'),
    ("x</think>analysisy.assistantfinalHi", "{!x</think>}{analysisy.assistantfinal}^Hi"),
    ("x</think>analysisy", "{!x</think>analysisy}"),
    ("x<|content|>analysisy", "{!x<|content|>analysisy}"),
    ("x</think>analysis of it", "{!x</think>}analysis of it"),
    ("x</think>Thinking: y\nAnswer: Hi", "{!x</think>Thinking: y\nAnswer:} Hi"),
])  # fmt: skip
def test_a_doubtful_beginning_is_judged_at_the_end(text: str, result: str) -> None:
    assert judged(text) == result


@for_each([
    ('{"a": 1}', '{"a": 1}'),
    ('{"a": "</think>"} b', '{"a": "</think>"} b'),
    ('{"reasoning": "x", "answer": "Hi"}', '{!{"reasoning": "x", "answer": "Hi"}}Hi'),
    ('{"reasoning": "x", "answer": "y</think>Hi"}', '{!{"reasoning": "x", "answer": "y</think>Hi"}y</think>}Hi'),
    ('{"reasoning": "x", "answer": "analysis of it"}', '{!{"reasoning": "x", "answer": "analysis of it"}}analysis of it'),
    ('{"reasoning": "x"}', '{!{"reasoning": "x"}}'),
])  # fmt: skip
def test_data_is_judged_once_it_is_complete(text: str, result: str) -> None:
    assert judged(text) == result


@for_each([
    ('{"a": 1} assistantfinalHi', '{!{"a": 1} }{assistantfinal}^Hi'),
    ('{"a": 1}</think>analysis x.assistantfinalHi', '{!{"a": 1}</think>}{analysis x.assistantfinal}^Hi'),
    ('{"a": 1}</think>analysis x', '{!{"a": 1}</think>}analysis x'),
    ('{"a": 1}<|call|>', '{!{"a": 1}<|call|>}'),
    ('{"a": 1}<|return|>', '{"a": 1}'),
    ('{"a": 1}<think>x</think> so', '{"a": 1}{!<think>x</think>} so'),
    (f'{{"a": 1}}{FINAL}Hi', f'{{!{{"a": 1}}}}{{{FINAL}}}^Hi'),
])  # fmt: skip
def test_signs_after_data_count(text: str, result: str) -> None:
    assert judged(text) == result


@for_each([
    ("finalHi", "{final}Hi"),
    ("final*Hi*", "{final}*Hi*"),
    (" final4", " {final}4"),
    ("final#Hi", "{final}#Hi"),
    ("finalÉtat", "{final}État"),
    ("finalfinalHi", "finalfinalHi"),
    ("finalHi finalHi", "{final}Hi finalHi"),
])  # fmt: skip
def test_the_rest_of_a_marker_before_the_answer_is_dropped(text: str, result: str) -> None:
    assert judged(text) == result


# After other text of the same completion


@for_each([
    ("<think>x</think>Hi", "{!<think>x</think>}Hi"),
    ("<think>x", "{!<think>x}"),
    ("Hi.<|call|>", "#{!Hi.<|call|>}"),
    ("Hi.<|return|>x", "#Hi.{!<|return|>x}"),
    ("Hi.<|return|>", "Hi."),
    (" </think>Hi", "#{! </think>}Hi"),
    ("<|start_response|>Hi<|end_response|>", "#{!<|start_response|>}Hi{<|end_response|>}"),
    (f" {FINAL}Hi", f"#{{! }}{{{FINAL}}}^Hi"),
    ("analysisx.assistantfinalHi", "#{analysisx.assistantfinal}^Hi"),
    ("analysisx", "#{!analysisx}"),
    ("analysis of it", "analysis of it"),
    ("<think>x</think>Thinking: y\nAnswer: Hi", "{!<think>x</think>}Thinking: y\nAnswer: Hi"),
    ("Thinking: x\nAnswer: Hi", "#{!Thinking: x\nAnswer:} Hi"),
    ("Hi.assistantanalysisx", "#{!Hi.assistantanalysisx}"),
    ('{"reasoning": "x", "answer": "Hi"}', '#{!{"reasoning": "x", "answer": "Hi"}}Hi'),
])  # fmt: skip
def test_a_sign_withdraws_the_earlier_text_of_the_completion(text: str, result: str) -> None:
    assert judged(text, follows=True) == result
