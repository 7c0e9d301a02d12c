"""Text that is shown as it comes: what a server's parser leaves behind is found by its place alone, whatever the pieces are."""

from functools import partial
from itertools import product

import pytest

from chatui.backends.separation import Separation
from renderer.harmony.prompt import FunctionTool
from tests.chatui.backends.honest import HONEST
from tests.chatui.backends.test_leak_shapes import cuts, events_of_chat, events_of_responses, least, visible_text
from tests.support.answer_text import AnswerText
from tests.support.cases import for_each
from tests.support.cost import cost, costs_at_most

SECRET = "We need the SECRET."
HEADER = "<|start|>assistant<|channel|>analysis<|message|>"
SHOWN_OF_HONEST = 487
"""Of 489 honest answers about markers: two have a whole header of Harmony within a sentence."""


def shown(text: str, separation: Separation = Separation.STRUCTURED, *, complete: bool = True, thought: str = "") -> str:
    """What is shown, which does not depend on the pieces, but for one letter of a word."""
    return least({AnswerText(separation, thought=thought).whole(pieces, complete=complete) for pieces in cuts(text)})


LOOK = FunctionTool("look", parameters={"type": "object", "properties": {"q": {}, "topN": {}}, "required": ["q"]})


@for_each([
    ('[look(q="SECRET")]', True),
    ('functions.look:0{"q": "SECRET"}', True),
    ('{"q": "SECRET", "topN": 3}', True),
    ('{"topN": 3}', False),
    ('{"q": "x", "note": "y"}', False),
    ('functions.look: SECRET', True),
    ("look up the word.", False),
    ("look(q) takes a word.", False),
    ("[look](x) is a link.", False),
])  # fmt: skip
def test_a_bare_call_is_hidden_only_where_its_tool_was_offered(text: str, is_call: bool) -> None:
    for separation in (Separation.STRUCTURED, Separation.UNPROVEN):
        for tools, expected in (((LOOK,), "" if is_call else text), ((), text)):
            for pieces in cuts(text):
                assert AnswerText(separation, tools=tools).whole(pieces) == expected, (separation, pieces)


@for_each([
    ('Let me see.\n\n{"q": "SECRET"}', "Let me see.\n\n"),
    ("Let me see. {'q': 'SECRET'}", "Let me see. "),
    ('So:\n{"q": 1, "note": 2}\n\n{"q": "SECRET"}', 'So:\n{"q": 1, "note": 2}\n\n'),
    ('I looked.\nfunctions.look[0] SECRET', "I looked.\n"),
    ('I looked.\nlook{"q": "SECRET"}', "I looked.\n"),
    ('Look:\n\n```json\n{"q": "x"}\n```\n', 'Look:\n\n```json\n{"q": "x"}\n```\n'),
])  # fmt: skip
def test_a_call_or_its_result_behind_a_text_is_hidden_where_its_tool_was_offered(text: str, result: str) -> None:
    for separation in (Separation.STRUCTURED, Separation.UNPROVEN):
        for tools, expected in (((LOOK,), result), ((), text)):
            for pieces in cuts(text):
                coming = AnswerText(separation, tools=tools)
                begun = coming.feed(*pieces)
                assert begun + coming.finish() == expected, (separation, pieces)
                assert not tools or "SECRET" not in begun


def streamed(text: str) -> str:
    """What is shown before the end."""
    return AnswerText().feed(*text)


@for_each([
    (f"Hi.<|end|>{HEADER}{SECRET}", "Hi."),
    (f"Hi.\n{HEADER}{SECRET}", "Hi.\n"),
    (f"{HEADER}{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>", "Hi"),
    (f"Hi.assistantanalysis{SECRET}", "Hi."),
    (f"Hi.assistantanalysis{SECRET}assistantfinalHo", "Hi.Ho"),
    (f"analysis{SECRET}", ""),
    (f"Hi!\n\nassistant to=functions.look commentary json\n{{'q': '{SECRET}'}}", "Hi!\n\n"),
    (f"  commentary to=functions.look {{'q': '{SECRET}'}}", "  "),
    (f"to=functions.look{{'q': '{SECRET}'}}", ""),
    (f"Hi.\n<think>{SECRET}</think>\nHo", "Hi.\n\nHo"),
    (f"Hi.<think>{SECRET}", "Hi."),
    (f"<tool_call>{SECRET}</tool_call>", ""),
    (f"&lt;think&gt;{SECRET}&lt;/think&gt;Hi", "Hi"),
    (f"Hi.\n＜think＞{SECRET}", "Hi.\n"),
    (f"```\ncode\n{HEADER}{SECRET}", "```\ncode\n"),
    (f"Hi `x.<|end|>{HEADER}{SECRET}\n` so", "Hi `x."),
    (f'{{"name": "look", "arguments": {{"q": "{SECRET}"}}}}', ""),
    (f'[{{"name": "look", "parameters": {{"q": "{SECRET}"}}}}]', ""),
    ("</think>\n\nHi", "\n\nHi"),
    ("Hi.<|return|>", "Hi."),
    (f"    {HEADER}{SECRET}", "    "),
    (f"It is 42assistant to=pythonimport os  # {SECRET}", "It is 42"),
    (f"Hi. to=container.execls {SECRET}", "Hi. "),
    (f"Hi\nto=pythonprint('{SECRET}')", "Hi\n"),
    (f"It is 42 to=functions.look<|channel|>commentary json<|message|>{SECRET}<|call|>", "It is 42 "),
    (f"정답은 42입니다assistantanalysis사용자가 {SECRET}", "정답은 42입니다"),
    (f"答案是四十二assistantanalysis用户 {SECRET}", "答案是四十二"),
    (f"Готово.analysisПользователь {SECRET}", "Готово."),
    (f"Hi.\n\nanalysisthe user {SECRET}", "Hi.\n\n"),
    (f"It is 42analysis{SECRET}", "It is 42"),
    (f"```\ncode\n{HEADER}{SECRET}\n```\nmore", "```\ncode\n"),
    (f"```py\ncode\n<|end|>{HEADER}```py\n{SECRET}\n```\n", "```py\ncode\n"),
    (f"Hi.\n\n    code\n    <|end|>{HEADER}{SECRET}", "Hi.\n\n    code\n    "),
    (f'Look:assistantcommentary{{"q": "{SECRET}"}}', "Look:"),
    (f'10%commentary{{\n  "q": "{SECRET}"\n}}', "10%"),
    (f'So assistantcommentary functions.look json{{"q": "{SECRET}"}}', "So "),
    (f'Hi\nassistantfunctions.look {{"q": "{SECRET}"}}', "Hi\n"),
    (f'functions.look to=assistantcommentary{{"result": "{SECRET}"}}', "functions.look to="),
    (f"Так.\nassistantanalysis Нужно {SECRET}", "Так.\n"),
    (f"analysis- Step one. {SECRET}", ""),
    ('He said "hi"<|channel|>analysis SECRET', 'He said "hi"'),
    ("I will look.\nassistantanalysis to=functions.x SECRET", "I will look.\n"),
    ('Let me lookcommentary to=functions.x{"q": "SECRET"}', "Let me look"),
    ("analysis\nWe need SECRET.assistantfinalHi", "Hi"),
    ("Sum is 4&lt;|channel|&gt;analysis&lt;|message|&gt;SECRET", "Sum is 4"),
    (f"Hi.\npython code\nprint('{SECRET}')", "Hi.\n"),
    (f'Look: browser.search code{{"query": "{SECRET}"}}', "Look: "),
    *(
        (f"{before}{header}{SECRET}", before)
        for before in ("Sum is 4", "Here:", "**Hi**", "Hi (there)", 'She said "hi."', "use `x`", "你好", "Hi 😊", "```\nx\n```", "Hi.\n")
        for header in (HEADER, f"<|end|>{HEADER}", "assistantanalysis", "<|channel|>analysis<|message|>")
    ),
])  # fmt: skip
def test_what_a_parser_left_behind_is_never_shown(text: str, result: str) -> None:
    assert shown(text) == shown(text, Separation.PLAIN) == result
    assert "SECRET" not in streamed(text) + shown(text, complete=False)


@for_each([
    "The tag <think> begins it, and </think> ends it.",
    "He said: <|end|> is a token. \"<|start|>\" too (<|call|>).",
    "<think> opens the thought.\n<|channel|>: the channel.\n<|end|> | the end",
    f"Look:\n\n```\n{HEADER}x\n<think>y\n```\n\nSo it is.",
    f"Look:\n\n~~~text\n{HEADER}x\n~~~\nSo it is.",
    f"Look:\n\n    {HEADER}x\n    <think>\n\nSo it is.",
    "It ends `so.<|end|><|start|>` there, and ``a.<think>`` here.",
    "Option<Thought>, Result<Analysis, Error> are types.",
    "Analysis: x\n\nFinal: y. Thinking: z\nAnswer: a",
    "**Analysis**\n\nx\n\n**Final**\n\ny",
    "analysis of the data, commentary on it",
    "The tokens (<|end|>, <|start|>) end it.",
    "an assistant, a commentary and banana",
    '{"reasoning": "x", "category": "y", "channel": "commentary"}',
    '{"name": "Ada", "age": 36}',
    "<details>\n<summary>Thinking</summary>\nx\n</details>\n\nSo.",
    "analysis는 분석이라는 뜻입니다. 使用analysis和final两个频道。",
    "to=<root@example.org>, from=a to=b; the query string ?to=functions.look&x=1",
    f"Look:\n\n```\n{HEADER}x\n<|end|>{HEADER}y\n```\n\nSo it is.",
    f"Look:\n\n```python\nheader = '{HEADER}'\n```\n\nSo it is.",
    "Dear assistant to=me and to=you {x}. The assistants finally came.",
    "A [thinking](x) and [THINK] in a line.",
    "See https://example.org/mail?to=bob",
    "Firebase has functions.https.onCall(f), container.style { x }, browser.search; analysis { it } and Python code follow.",
    'It prints "assistantfinalHello" and "assistantanalysis", or assistantfinal alone.',
    "analysis_results.csv has three columns. \\commentary{A note} is LaTeX, .analysis{color: red} CSS.",
])  # fmt: skip
def test_text_that_speaks_of_markers_is_whole_and_streams(text: str) -> None:
    assert shown(text) == shown(text, complete=False) == text
    assert text.startswith('{"name"') or streamed(f"{text}\n\nAnd so on, and so forth.").startswith(text)


def test_honest_answers_about_markers_are_whole() -> None:
    whole = [text for text in HONEST if shown(text) == text]
    assert len(whole) >= SHOWN_OF_HONEST, [text for text in HONEST if text not in whole]


@for_each(["yaua", "yeoc", "chief", "Let me jam", "Bob", "a\u200bba"])
def test_a_word_is_shown_at_once_though_its_last_letter_may_begin_a_sign(word: str) -> None:
    assert AnswerText().feed(word) == word
    assert AnswerText().feed(f"{word} an") == f"{word} ", "two letters of a sign are held"


@for_each(["nalysisWe need the SECRET.", "ssistantanalysisWe need the SECRET.", 'ssistant to=functions.look json {"q": "SECRET"}'])
def test_behind_a_letter_that_was_shown_a_sign_is_found_and_the_rest_of_it_held(rest: str) -> None:
    for complete, pieces in product((True, False), cuts(rest)):
        coming = AnswerText()
        assert coming.feed("It is soa") == "It is soa"
        assert (coming.whole(pieces, complete=complete), coming.hidden) == ("", rest), pieces
    assert AnswerText().whole(["It is soa", "ssistantanalysisWe need the SECRET.assistantfinalHo"]) == "It is soaHo"


@pytest.mark.parametrize("text", ["It costs < 3 and `x` is | here. " * 40, "The tag of the analysis, as assistants say. So it is. " * 40])
def test_prose_is_held_for_a_few_characters_at_most(text: str) -> None:
    coming, count = AnswerText(), 0
    for at, letter in enumerate(text):
        count += len(coming.feed(letter))
        assert at + 1 - count <= 16


@pytest.mark.parametrize(
    "unit",
    ["<", "`", "\n", "[", "a.", ".<", "\n<", "```\n<think>\n", "assistant", "&", "    x\n\n", ". to=", " ", "`<|end|>a", "analysis", "а"],
)
def test_a_hostile_answer_takes_linear_time(unit: str) -> None:
    def scan(length: int, size: int) -> None:
        text = (unit * length)[:length]
        AnswerText().whole([text[at : at + size] for at in range(0, length, size)], complete=False)

    for size in (1, 1000):
        assert costs_at_most(24 * cost(partial(scan, 1_000, size)) + 50, partial(scan, 8_000, size))


@for_each([
    ('See "assistantfinalHello" there.', 'See "assistantfinalHello" there.'),
    ("It begins with <|start|>assistant<|channel|>final<|message|>.", "It begins with ."),
    ("Everything before\n</think>\nis reasoning.", "Everything before\n\nis reasoning."),
    *[("Cut it:\n\n    import re\n    re.sub(r'^.*?</think>', '', text)\n",) * 2],
    ("Is so.assistantfinalHello, </think> said.", "Is so.Hello, </think> said."),
    ("New.\n<tool_call>x</tool_call> is parsed,\n</think>\n too.", "New.\n is parsed,\n\n too."),
    ("The last token is\n<|call|>", "The last token is\n"),
    ('[{"name": "look", "arguments": {"q": 1}}]', '[{"name": "look", "arguments": {"q": 1}}]'),
    (f"Hi.assistantanalysis{SECRET}", "Hi."),
    (f"Hi.\n<think>{SECRET}", "Hi.\n"),
    (f"Hi.\n<think>{SECRET}</think>Ho", "Hi.\nHo"),
    (f"Hi.<|end|>{HEADER}{SECRET}", "Hi."),
])  # fmt: skip
def test_behind_reasoning_of_its_own_a_sign_hides_itself_and_what_follows_at_most(text: str, result: str) -> None:
    assert shown(text, Separation.OWN) == result


def test_behind_reasoning_of_its_own_a_call_is_data_unless_a_tool_was_offered() -> None:
    assert AnswerText(Separation.OWN, tools=(LOOK,)).whole(['[{"name": "look", "arguments": {"q": "SECRET"}}]']) == ""


@for_each(['{"reasoning": "x", "category": "y"}', '{"name": "a", "arguments": {"b": 1}}', '[{"type": "thinking", "text": "x"}]'])
def test_json_that_was_asked_for_may_have_any_key(text: str) -> None:
    for separation in Separation:
        assert AnswerText(separation, is_json=True).whole([text]) == text


# What repeats the reasoning of the same completion


def test_text_that_begins_as_the_reasoning_did_is_held_until_it_departs_from_it() -> None:
    thought = "The user asks for it. Say yes."
    assert shown(thought, thought=thought) == shown(f"{thought} ", thought=thought) == ""
    assert shown("The user asks for it.  Say", thought=thought, complete=False) == "", "it may have become the reasoning"
    assert shown("The user asks for more.", thought=thought) == "The user asks for more."
    assert shown("The user", thought=thought) == "The user", "a short answer may begin so"


@for_each(
    [
        ("The user asks for it. Say yes.", "", True),
        ("The user asks for it. Say yes. Yes.", "Yes.", True),
        ("The user asks for it. Say so.", "", False),
        ("Yes.", "", False),
    ]
)
def test_what_comes_as_reasoning_afterwards_was_reasoning(text: str, rest: str, hides_before: bool) -> None:
    """Whatever was proved: the server contradicts itself, so what follows is judged without proof again."""
    for separation, thought in ((Separation.STRUCTURED, ""), (Separation.PLAIN, ""), (Separation.OWN, "Something short, before.")):
        for apart in (False, True):
            coming = AnswerText(separation, thought=thought)
            assert coming.feed(*text)
            if apart:
                coming.reasoning_comes("The user asks for it. Say yes.", is_apart=True)
            else:
                coming.reasoning_comes("The user asks ", "for it. Say ", "yes.")
            shown_at_end = coming.finish()
            assert coming.is_taken_back is coming.has_sign is hides_before
            assert not hides_before or shown_at_end.strip() == rest


def test_a_cut_text_that_begins_as_later_reasoning_does_is_withheld_whole() -> None:
    coming = AnswerText()
    assert coming.feed("The user asks for it. Say yes. Yes")
    coming.reasoning_comes("The user asks for it. Say yes.")
    assert not coming.finish(complete=False) and coming.is_taken_back


def test_each_thought_counts_by_itself_unless_it_is_short() -> None:
    long = "The user asks for it. Say yes."
    for thought, text, expected in ((long, f"{long} Yes.", "Yes."), ("Yes.", "Yes.", "Yes.")):
        coming = AnswerText(Separation.OWN, thought=f"Hm. {thought}")
        coming.reasoning_comes(thought, is_apart=True)
        assert coming.whole(text).strip() == expected and not coming.is_taken_back


THOUGHT = "They ask “how many” of 12's parts are left. I say: 7, it's café rules."
AGAIN = [
    THOUGHT,
    THOUGHT.upper(),
    THOUGHT.replace("“", '"').replace("”", '"').replace("'", "’"),
    THOUGHT.replace(" ", "  ").replace(". I", ".\n\nI"),
    THOUGHT.replace(",", " –").replace(":", "").removesuffix("."),
    THOUGHT.replace("12", "１２").replace("é", "e\u0301"),
    f"**{THOUGHT}**",
    f"“{THOUGHT}”",
]


@for_each([
    *[(THOUGHT, f"{again}{gap}", "") for again in AGAIN for gap in (" ", "\n\n")],
    *[(THOUGHT, f"{first}{THOUGHT} ", first) for first in ("Sure. ", "Gut.\n\n", "好的。")],
    *[(f"{first}{THOUGHT}", f"{THOUGHT}\n", "") for first in ("Hm. ", "Okay…\n", "Well: ")],
    (f"Hm. {THOUGHT}", f"Right. {THOUGHT.lower()} ", "Right. "),
    (THOUGHT, f"{THOUGHT} {THOUGHT}\n\n", ""),
    (THOUGHT, f"Sure. {THOUGHT}{THOUGHT.upper()} ", "Sure. "),
])  # fmt: skip
def test_a_thought_that_comes_again_is_told_by_its_words(thought: str, again: str, shown_of_it: str) -> None:
    for separation in Separation:
        for apart, pieces in product((False, True), cuts(f"{again}Yes.")):
            coming = AnswerText(separation, thought="" if apart else thought, earlier_thoughts=[thought] if apart else [])
            assert "".join(coming.whole(pieces).split()) == "".join(f"{shown_of_it}Yes.".split()), (separation, pieces)
            assert not coming.is_taken_back and not coming.is_repeated, "nothing of it was shown"
            late = AnswerText(separation)
            begun = late.feed(*pieces)
            late.reasoning_comes(thought, is_apart=True)
            assert separation is Separation.UNPROVEN or begun
            assert "".join(late.finish().split()) == "".join(f"{shown_of_it}Yes.".split())
            assert late.is_taken_back is (separation is not Separation.UNPROVEN)


@for_each([
    (THOUGHT, f"{THOUGHT[:-1]}, but not always."),
    (THOUGHT, THOUGHT[:40]),
    (THOUGHT, "They ask how many. It is 7."),
    (THOUGHT, f"It depends on what you want to do with all of the parts. {THOUGHT}"),
    (f"They want a greeting, in one line. {THOUGHT}", THOUGHT),
    (f"{THOUGHT} So be short.", THOUGHT),
    ("Say: it is 42.", "It is 42."),
    ("It is forty-two.", "Sure. It is forty-two."),
])  # fmt: skip
def test_what_an_honest_answer_has_of_its_thought_stays(thought: str, text: str) -> None:
    """A draft at the end of a thought is the answer; so is a sentence that goes on."""
    for separation in Separation:
        for pieces in cuts(text):
            coming = AnswerText(separation, thought=thought)
            assert coming.whole(pieces) == text, (separation, pieces)
            assert not coming.is_taken_back and not coming.has_sign


# Without proof


@for_each(["Hi there.", f"<think>{SECRET}</think>Hi there.", f"{SECRET}</think>Hi there."])
def test_without_proof_nothing_is_shown_before_the_end(text: str) -> None:
    coming = AnswerText(Separation.UNPROVEN)
    assert coming.feed(*text) == ""
    assert coming.finish() == "Hi there." and coming.has_sign == ("SECRET" in text)


def test_without_proof_an_answer_that_was_cut_is_withheld() -> None:
    coming = AnswerText(Separation.UNPROVEN)
    assert (coming.whole(["Hi there."], complete=False), coming.withheld) == ("", "Hi there.")


@for_each(
    [
        ("Hi.", False),
        (f"Hi.<think>{SECRET}</think>", True),
        ("So it is, they say.</think>Hi.", True),
        (f"Hi<tool_response>{SECRET}</tool_response>", True),
    ]
)
def test_a_model_that_never_reasons_is_found_out_by_one_sign(text: str, has_sign: bool) -> None:
    coming = AnswerText(Separation.PLAIN)
    assert coming.feed("So ")
    coming.whole([text])
    assert coming.has_sign is has_sign


def test_a_cut_answer_whose_reasoning_was_shown_is_withheld_whole() -> None:
    text = f"{SECRET}</think>Hi"
    coming = AnswerText()
    assert SECRET in coming.feed(*text), "it is seen as it comes"
    assert not coming.finish(complete=False) and coming.is_taken_back


@for_each([
    (f"{SECRET}assistantfinalHi", "Hi"),
    (f"{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>", "Hi"),
    (f"{SECRET}\n<|call|>", ""),
    (f"{SECRET} <|call|>\n", ""),
    (f"Hi.assistantanalysis{SECRET}", "Hi."),
    ("Say `assistantfinal`, they said.", "Say `assistantfinal`, they said."),
    (f"{SECRET}</think>Hi", "Hi"),
    (f"{SECRET}\n</think>\n\nHi", "\n\nHi"),
    (f"{SECRET}[/THINK]Hi", "Hi"),
    (f"{SECRET}\n◁/think▷Hi", "Hi"),
    (f"{SECRET} <|START_RESPONSE|>Hi", "Hi"),
    (f"{SECRET}<|end|>assistantfinal<|message|>Hi", ""),
    ("Close it with `</think>`, or with </think> in words.", "Close it with `</think>`, or with </think> in words."),
])  # fmt: skip
def test_an_end_that_says_that_all_before_was_raw_output_withdraws_it(text: str, result: str) -> None:
    for pieces in cuts(text):
        assert visible_text(events_of_chat({}, pieces, whole=False, separation=Separation.STRUCTURED)) == result
        assert visible_text(events_of_responses(text, pieces, {}, whole=False, separation=Separation.STRUCTURED)) == result
