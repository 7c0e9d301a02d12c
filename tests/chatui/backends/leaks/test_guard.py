"""The leak guard for servers that put reasoning into the answer: reasoning stays hidden, harmless answers stay whole."""

import json
from functools import partial

import pytest

from tests.support.answer_text import answers_in, guarded, judged
from tests.support.cases import for_each
from tests.support.cost import cost, costs_at_most
from tests.support.places import QUIRKS

ROWS = [json.loads(line) for line in QUIRKS.read_text("utf-8").splitlines()]
STRIPPED = [row for row in ROWS if row["mode"] == "stripped"]
MARKED = [row for row in ROWS if row["mode"] in ("text", "token") and row["raw"].startswith("<|channel|>")]


LEAKS = {
    "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>": "Hello",
    "<|channel|>final<|message|>Hello": "Hello",
    "<|channel|>analysis<|message|>SECRET<|end|>Hello!": "Hello!",
    "<|channel|>analysis<|message|>SECRET `x <|end|>SECRET": "",
    "<|channel|>analysis<|message|>They ask of <|end|>SECRET": "",
    "<|channel|>analysis<|message|>SECRET<|end|>SECRET<|end|>Hello": "",
    "Hi.<|channel|>analysis<|message|>SECRET<|end|>SECRET": "Hi.",
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


@for_each(LEAKS)
def test_text_that_begins_as_a_leak_shows_its_proven_answer_or_nothing(text: str) -> None:
    assert guarded(text) == LEAKS[text]


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


# Exactly which text of a whole answer is shown, hidden and reported as missing.


HEADER = "<|end|><|start|>assistant<|channel|>analysis<|message|>"
FINAL = "<|channel|>final<|message|>"
NEXT = "<|end|><|start|>assistant"


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
    (f"Thinking: x{NEXT}{FINAL}Hi", f"{{Thinking: x{NEXT}{FINAL}}}^Hi"),
    ("Thinking: x. assistantfinalHi", "{!Thinking: x. assistantfinalHi}"),
    ("Thinking: x.assistantfinalHi", "{Thinking: x.assistantfinal}^Hi"),
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


# Which part of raw output is shown as the answer: only a proven one, whole, and nothing if any text around it is unexplained.


THOUGHT = f"<|channel|>analysis<|message|>SECRET.{NEXT}"


@for_each([
    (f"{FINAL}Hello<|return|>", ["Hello"]),
    (f"{FINAL}Hello", ["Hello"]),
    (f"{FINAL}Hello<|endoftext|>\n", ["Hello"]),
    (f"{THOUGHT}{FINAL}Hello<|end|>", ["Hello"]),
    (f"assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"\u200b{FINAL}Hello<|return|>", ["Hello"]),
    (f"\ufeff <|end|> assistant{THOUGHT}{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|channel|>analysis<|message|>SECRET <|constrain|> and much more<|end|><|start|>assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|channel|>commentary<|message|>\n<|end|><|start|>assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"Hello, SECRET.<|end|><|start|>assistant{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|return|>{FINAL}Hello<|return|>", ["Hello"]),
    (f"<|call|>{FINAL}Hello<|return|>", ["Hello"]),
    ("<|channel|>final Hello<|return|>", ["Hello"]),
    ("<|return|><|channel|>final Hello<|return|>", ["Hello"]),
    ("<|call|>assistant<|channel|>final Hello<|return|>", ["Hello"]),
    ("<|channel|>final<|constrain|>json<|message|>json<|return|>", ["json"]),
    (f"<|channel|>commentary<|message|>I lo<|constrain|>ok.{NEXT}{FINAL}Hello<|return|>", ["Hello"]),
    ("analysis|>SECRET.assistantfinalHello", ["Hello"]),
    ("analysis\uff5c\uff1eSECRET.assistantfinalHello", ["Hello"]),
    ("<|channel|> analysis <|message|> SECRET. <|end|> <|start|> assistant <|channel|> final <|message|> Hello", [" Hello"]),
    (f"<|channel|>analysis<|message|>\nSECRET\n<|end|>\n<|start|>assistant\n{FINAL}\nHello", ["\nHello"]),
    (f"<|channel|>analysis<|message|>SECRET\n{NEXT}{FINAL}`hello`", ["`hello`"]),
    (f"<|channel|>analysis<|message|>SECRET<|end|>assistant{FINAL}hello", ["hello"]),
    ("analysis\nSECRET\nassistantfinal\nHello", ["\nHello"]),
    (f"<|channel|>weird<|message|>4{NEXT}<|channel|>weird<|message|>5{NEXT}{FINAL}4<|return|>", ["4"]),
    (f"<|channel|>analysis<|message|>x<|end|>{NEXT}{FINAL}4<|return|>", ["4"]),
    (f"<|channel|>analysis<|message|>4 {NEXT}<|channel|>analysis<|message|>A<|constrain|>b{NEXT}{FINAL}4<|return|>", ["4"]),
    ("analysisSECRET.assistantfinalHello", ["Hello"]),
    ("assistantfinal hello", [" hello"]),
])  # fmt: skip
def test_a_proven_answer_is_shown(text: str, messages: list[str]) -> None:
    assert answers_in(text) == messages


@for_each(["4", "4.", "SECRET.", "analysis", "Yes"])
def test_an_answer_that_also_occurs_in_the_reasoning_is_shown(answer: str) -> None:
    text = f"<|channel|>analysis<|message|>Yes, SECRET. 2 + 2 = 4.<|end|><|start|>assistant{FINAL}{answer}<|return|>"
    assert answers_in(text) == [answer]
    assert guarded(text) == answer


@for_each(["a", "n", "s", "e", "d", "<", "|", "end", "start", "assistant", "channel", "final", "message", "<|", "l<"])
def test_an_answer_that_also_occurs_in_the_markers_before_it_is_shown(answer: str) -> None:
    for before in ("", THOUGHT, THOUGHT.replace("SECRET.", answer), THOUGHT.replace("analysis", "commentary")):
        text = f"{before}{FINAL}{answer}<|return|>"
        assert answers_in(text) == [answer], before
    assert guarded(f"{THOUGHT}{FINAL}{answer}<|return|>") == answer


def test_the_time_to_find_an_answer_grows_with_the_messages_before_it() -> None:
    for after in (NEXT, "<|start|>assistant", ""):
        message = f"<|channel|>analysis<|message|>a<|constrain|>b{after}"
        small, large = (partial(answers_in, f"{message * times}{FINAL}Hello<|return|>") for times in (200, 2000))
        assert costs_at_most(10 * cost(small) * 2 + 10, large), after


@for_each([
    f"{FINAL}Hello<|return|> SECRET",
    f"{FINAL}Hello<|channel|>analysis<|message|>Hello<|end|>",
    "<|channel|>final Hello<|end|><|start|>assistant<|channel|>analysis<|message|>Hello<|end|>",
    "<|channel|>commentary<|channel|>final<|message|>a<|return|>",
    f"<|channel|>analysis<|start|>assistant{FINAL}Hello<|return|>",
    f"{FINAL}SECRET<|end|><|start|>user<|message|>Go on<|end|><|start|>assistant{FINAL}SECRET<|return|>",
    f"{THOUGHT.replace('assistant', 'tool')}{FINAL}SECRET",
    f"{THOUGHT} to=functions.x{FINAL}SECRET",
    f"<|channel|>analysis<|message|>SECRET{FINAL}SECRET",
    f"<|channel|>analysis<|message|>They sent \n{FINAL}\nSECRET",
    f"<|channel|>analysis<|message|>They sent:\n{NEXT}{FINAL}SECRET",
    f"<|channel|>analysis<|message|>They sent\n<|start|>assistant{FINAL}SECRET",
    f"assistantassistant{FINAL}Hello<|return|>",
    f"{FINAL}Hello<|return|> Hello",
    f"{FINAL}Hello<|end|><|start|>assistant<|channel|>analysis<|message|>SECRET Hello",
    f"{FINAL}Hello<|end|><|start|>assistant",
    f"{FINAL}Hel<|constrain|>lo<|return|>",
    "Hello<|return|>",
    "<|return|>",
    "analysisSECRET.assistantfinalHello.assistantanalysisSECRET",
    "analysisSECRET.assistantfinal",
    "analysisSECRET.assistantfinal \n",
    "assistantfinal ",
    "analysisSECRET. Hello",
])  # fmt: skip
def test_without_a_proven_answer_everything_is_hidden_and_the_page_says_so(text: str) -> None:
    assert answers_in(text) == []


@pytest.mark.parametrize("before", ["It is so.", "It is `so`.", 'They say "so".', "It's so.", "``` x ``` done."])
def test_the_sign_of_an_answer_counts_after_a_whole_quotation(before: str) -> None:
    assert answers_in(f"analysis{before}assistantfinalHello") == ["Hello"]


@pytest.mark.parametrize(
    "before", ["They say `so.", "A `b` c `d.", "Three ` of ` them `.", 'They say "so.', 'A "b" c "d.', "as in:", "(", "“"]
)
def test_the_sign_of_an_answer_may_be_quoted_inside_an_open_quotation(before: str) -> None:
    assert answers_in(f"analysis{before}assistantfinalHello") == []


@pytest.mark.parametrize("after", [" Hello", "\nHello", " hello", ", Hello", '" Hello', "` Hello", ". Hello", "] Hello", "” Hello"])
def test_the_sign_of_an_answer_may_be_quoted_if_a_sentence_continues_after_it(after: str) -> None:
    assert answers_in(f"analysisSECRET.assistantfinal{after}") == []
    assert answers_in(f"assistantfinal{after}") == [after], "at the beginning of an output, nothing can quote it"
