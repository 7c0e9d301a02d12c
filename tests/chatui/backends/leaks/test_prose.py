"""What is a sign of raw output in prose and in code, and what only speaks of one."""

import json

from tests.support.answer_text import behind_label, guarded, visible_of
from tests.support.cases import for_each

SPREAD = "\u200b" * 16
DETAILS = "<details><summary>More</summary>"


@for_each([
    f"{DETAILS}a</details> so",
    f"{DETAILS}a{DETAILS}b</details></details> so",
    "<channel> so it is",
    "<channel>s are many",
    "Hi [reason why] so",
    "Hi [think of it] so",
    "Hi [/] so",
    "Hi ◁so▷ it is",
    "An assistant for all, and an Assistant.",
    "Hi <|open|> and so",
    "Hi `<think>` and `</think>` so\n\n    <b>\n",
    "The tag <think> begins it.",
    '"<think>" begins it.',
    'He wrote "<think>" once.',
    f"The {'x ' * 130}tag <think> so.",
])  # fmt: skip
def test_text_that_only_resembles_a_sign_is_shown_whole(text: str) -> None:
    assert guarded(text) == text


@for_each([
    (f"SECRET {DETAILS}a</details> SECRET</details> Hi", " Hi"),
    ("Hi.<channel>analysis SECRET", "Hi."),
    ("Hi.<channel> analysis SECRET", "Hi."),
    ("Hi.[THINK]SECRET[/THINK] So", "Hi. So"),
    ("Hi.◁think▷SECRET◁/think▷ So", "Hi. So"),
    ("Hi.<|open|>think<|sep|>SECRET<|close|>think<|sep|> So", "Hi. So"),
    ("SECRET<|open|>response<|sep|>Hi", "Hi"),
    ("Hi.<|channelSECRET", "Hi.<|channelSECRET"),
    ("Hi.<|channel|", "Hi."),
    ("Hi.<think>SECRET <think>SECRET</think>SECRET</think> So", "Hi. So"),
    ("The tag\n<think>SECRET</think> Hi", "The tag\n Hi"),
    ("SECRET </think>\n\nHi", "\n\nHi"),
    ("SECRET: [/THINK] \nHi", " \nHi"),
    ("Das </think> Tag schließt es, und so endet es: </think>", "Das </think> Tag schließt es, und so endet es: </think>"),
    ("Hi `<think>x `<think>SECRET", "Hi `<think>x `"),
    ("Hi.\n```\n<think>SECRET\n\n    <think>SECRET", "Hi.\n```\n"),
    ("Hi\u200bsassistantanalysisSECRET", ""),
    ("สวัสดีค่ะassistantanalysisSECRET", ""),
    (f"{SPREAD.join('Hi.assistantanalysis')}SECRET", ""),
    ("Hi.|start|>assistantSECRET", "Hi."),
    ("Hi <|end|> <think>SECRET</think> so", "Hi <|end|>  so"),
    ("Hi|\u200bst\u200bart|>assistantSECRET", "Hi"),
])  # fmt: skip
def test_a_sign_hides_the_same_text_however_it_arrives(text: str, shown: str) -> None:
    assert guarded(text) == shown


START, END = "<|start|>assistant", "<|end|>"
HEADER = f"{START}<|channel|>analysis<|message|>"
MESSAGE = f"{HEADER}x{END}"


@for_each([
    f"The {END} token",
    f"Hi {END} sure",
    f"Hi {END} < so",
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
    "Use <|start|> assisted so",
    "Hi <|foo|> so",
    f"So\n{MESSAGE} so",
    f"So\n- {MESSAGE} so",
    f"As here：{MESSAGE} so",
])  # fmt: skip
def test_special_tokens_in_a_sentence_are_shown(text: str) -> None:
    assert guarded(text) == text


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
    (f"SECRET.{START}<|message|>SECRET<|channel|>final<|message|>SECRET", ""),
    (f"SECRET.{END}<|message|>SECRET<|channel|>final<|message|>SECRET", ""),
    ("Hi.<|start|>tool<|message|>SECRET", "Hi."),
    ("Hi.<|channel|>analysisx SECRET", "Hi."),
    ("<|channel|> SECRET", ""),
    ("<|start|> SECRET", ""),
    (f"SECRET\n{START}<|channel|>final<|message|>Hi", "Hi"),
    (f"SECRET:\n{START}<|channel|> Final<|message|>SECRET", ""),
    (f"SECRET:\n{START} to=all<|channel|>final<|message|>Hi{START}<|message|>SECRET", ""),
    (f"Hi:\n{START}<|channel|>finalist<|message|>SECRET", "Hi:\n"),
    (f"SECRET:\n{START}<|constrain|>final<|message|>SECRET", ""),
    (f"SECRET.{END}assistantfinal<|message|>Hi", ""),
    (f"SECRET.{END}final<|message|>Hi", ""),
    (f"SECRET.{END}assistant final Hi", ""),
    (f"SECRET:\n{START}<|message|>SECRET<|channel|>final", ""),
    (f"Hi:\n{START}", "Hi:\n"),
    ("Hi <|end|> start|>assistantSECRET", "Hi "),
    (f"Then {START} to={'x' * (201 - len(START) - 15)}<|message|> begins it. SECRET", "Then "),
    (f"SECRET.{END} SECRET. So{START}<|channel|>final<|message|>SECRET", ""),
    (f"SECRET.{END} SECRET. So.{START}<|channel|>final<|message|>Hi", "Hi"),
    (f"SECRET.{END}{' ' * 90}{START}<|channel|>final<|message|>Hi", "Hi"),
    (f"SECRET.{END}{START}{' ' * 90}<|channel|>final<|message|>Hi", "Hi"),
    (f"{'SECRET ' * 9}{END}{START}<|channel|>final<|message|>Hi", "Hi"),
    (f"As:\n{MESSAGE}<|foo|> SECRET", "As:\n"),
])  # fmt: skip
def test_special_tokens_that_the_model_emitted_end_the_answer(text: str, shown: str) -> None:
    assert guarded(text) == shown


TAG = "<think>SECRET</think>"


@for_each([
    f"Hi `{TAG}` there",
    f"Hi ``a ` {TAG}`` there",
    f"Hi ( `x` and `{TAG}`)",
    f"```\n{TAG}\n```",
    f"~~~ `x`\n{TAG}\n~~~\nHi",
    f"```\n``` x\n{TAG}\n```\nHi",
    f"> ```\n> {TAG}\n> ```\nHi",
    f"- ```\n  {TAG}\n  ```\nHi",
    f"Hi\r\n\r\n    {TAG}\r\n\r\nHi",
    f"Hi\n\n\t{TAG}\n    {TAG}\n\nHi",
    f"Hi\n\n    {TAG}\n    <think>{TAG}</think>",
    "Hi\n\n    <think>x <|end|></think>\n\nHi",
    f"Hi\n\n>     {TAG}\nHi",
    f"Hi\n\n    a\n```\nx\n```\n    {TAG}\nHi",
    f"Hi\nSo `{TAG}` it\nis `{TAG}`.",
    f"Hi\n```\na `x\n```\nHi `{TAG}` so",
])  # fmt: skip
def test_tags_in_code_are_shown(text: str) -> None:
    assert guarded(text) == text


@for_each([
    f"Hi ` {TAG}`",
    f"Hi \\`{TAG} and `x`",
    f"The `User`s {TAG} and `x`",
    f"Note `a.{TAG} and `x",
    f"Hi `a\n{TAG}`",
    f"Hi `a `{TAG}` b",
    f"``` a ` b\n{TAG}",
    f"Hi\n    {TAG}\nHi",
    f"- Hi\n\n    {TAG}\nHi",
    f"\n\n    {TAG}\nHi",
    f"```\na\n```\n{TAG}\nHi",
    f"```\na\r{TAG}\nHi",
    f"1. ```\n{TAG}\n```\nHi",
    f"Hi\n\n    a\nHi\n    {TAG}\nHi",
    f"- Hi\nHi\n\n    {TAG}\nHi",
    f"Hi `<think>{'SECRET' * 70}` so",
])  # fmt: skip
def test_tags_outside_code_are_hidden(text: str) -> None:
    assert "SECRET" not in guarded(text)


# Which words at the beginning of an answer announce reasoning, and which answers are a server's own data.


@for_each([
    ("Thinking: x\nAnswer: 42", " 42"),
    ("Thinking: x\n**Final answer:** 42", " 42"),
    ("Thinking: x\nAnswer: y\nAnswer: 42", " 42"),
    ("Thinking...\nx\n...done thinking.\n42", "\n42"),
    ("  Thinking: x\nAnswer: 42", " 42"),
    ("思考：x\n最终回答：42", "42"),
    ("Here is my reasoning: x Here is my answer: 42", " 42"),
    ("Here is my reasoning: x\nAnswer: 42", None),
    ("Analysis: x\nFinal: 42", " 42"),
    ("Analysis: x\nAnswer: 42", None),
    ("Thinking: x, answer: 42", None),
    ("Thinking: x", None),
    ("```thinking\nx\n```\n42", "42"),
    ("````thinking\nx\n```\ny\n````\n42", "42"),
    ("```thinking\nx\n~~~\n42", ""),
    ("```thinking\nx", ""),
    ("thinking\nx", ""),
    ("## Analysis\nx\n## Final\n42", None),
    ("> **Thinking**\n> x\n\n42", "\n42"),
    ("> **Thinking**\n> x\n> y\n42", "42"),
    ("Thinking:\n> x\n> y\n42", "42"),
    ("Thinking:\n\n> x\n42", "42"),
    ("Thinking:\nx\n> y\n42", None),
    ("> Thinking: x", ""),
    ("Analysis:\n> x\n42", None),
])  # fmt: skip
def test_the_answer_begins_after_its_own_label_or_after_the_block(text: str, expected: str | None) -> None:
    assert behind_label(text) == expected


THOUGHT = {"type": "thinking", "text": "SECRET"}
TEXT = {"type": "text", "text": "42"}


@for_each([
    ([THOUGHT, TEXT], "42"),
    ([TEXT, THOUGHT, {"type": "output_text", "text": " is it."}], "42 is it."),
    ([{"type": "text", "text": "SECRET", "thought": True}, TEXT], "42"),
    ([{"type": "text", "text": "SECRET", "channel": "analysis"}, TEXT], "42"),
    ([{"type": "text", "text": "SECRET", "phase": "commentary"}, TEXT], "42"),
    ([{"type": "text", "text": "SECRET", "role": "tool"}, TEXT], "42"),
    ([{"type": "TEXT", "text": "SECRET"}, THOUGHT, TEXT], "42"),
    ([{"type": "image", "text": "SECRET"}, THOUGHT, TEXT], "42"),
    ([{"name": "f", "arguments": "SECRET"}, TEXT], "42"),
    ([{"type": "text", "text": 7}, THOUGHT, TEXT], "42"),
    ([THOUGHT], ""),
    ([THOUGHT, "SECRET"], ""),
    ({"type": "Reasoning", "text": "SECRET"}, ""),
    ({"role": "function", "content": "SECRET"}, ""),
    ({"name": "f", "parameters": {"q": "SECRET"}}, ""),
    ({"name": "", "arguments": "SECRET"}, ""),
    ({"id": "c", "name": "f", "arguments": "SECRET"}, ""),
    ({"arguments": "SECRET", "name": "f"}, ""),
    ({"parameters": {"q": "SECRET"}, "name": "f"}, ""),
    ({"index": 0, "call_id": "c", "arguments": {"q": "SECRET"}, "name": "f"}, ""),
    ({"type": "function", "name": "f", "parameters": {"q": "SECRET"}}, ""),
    ({"type": "function", "id": "c", "name": "f", "arguments": "SECRET"}, ""),
    ({"type": "function", "function": {"name": "f", "arguments": "SECRET"}}, ""),
    ({"id": "c", "type": "function", "function": {"arguments": "SECRET", "name": "f"}}, ""),
    ([{"id": "c", "index": 0, "type": "function", "function": {"name": "f", "arguments": "SECRET"}}, TEXT], "42"),
    ({"reasoning": "SECRET", "final_answer": "42"}, "42"),
    ({"thinking": "SECRET", "Final Answer": "42"}, "42"),
    ({"Thinking": "SECRET", "final-answer": "42"}, "42"),
    ({"thinking": "SECRET", "content": "no", "answer": "42"}, "42"),
    ({"thinking": "SECRET", "answer": ["SECRET"], "content": "42"}, "42"),
    ({"thinking": "SECRET", "note": "SECRET"}, ""),
])  # fmt: skip
def test_only_the_answer_of_a_servers_own_data_is_shown(data: object, shown: str) -> None:
    assert visible_of(json.dumps(data)) == visible_of(f"  {data!r}\n") == shown
    assert visible_of(json.dumps(data, separators=(",", ":"))) == visible_of(json.dumps(data, indent=2)) == shown


@for_each([
    {"text": "thinking", "a": 1},
    {"note": "'thinking': in a string"},
    [{"a": "'type': 'thinking'"}],
    {"type": "text", "text": "42"},
    {"role": "assistant", "content": "42"},
    {"name": "Ada", "arguments": "for and against", "year": 1843},
    {"id": 7, "name": "Sensor", "parameters": {"unit": "K"}},
    {"type": "sensor", "name": "North", "parameters": {"unit": "K"}},
    {"type": "function", "name": "f", "description": "Adds.", "parameters": {"type": "object"}},
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "f", "arguments": "two"}, "colour": "red"},
    {"type": "function", "function": {"name": "f", "arguments": "two", "colour": "red"}},
    {"type": "function", "function": "f", "arguments": 2},
    {"type": "operator", "function": {"name": "f", "arguments": 2}},
    {"arguments": ["for", "against"], "parameters": 2},
    [{"parameters": 2, "name": "f", "unit": "K"}, TEXT],
    [TEXT, TEXT],
    [TEXT, {"note": "'thinking': is a key"}],
])  # fmt: skip
def test_data_without_hidden_parts_is_shown_unchanged(data: object) -> None:
    assert visible_of(json.dumps(data)) is None


@for_each([
    ('{"thinking": "SECRET", "answer": "4', ""),
    ('[] "thinking": "SECRET"', ""),
    ('{"arguments": {"q": "SECRET', ""),
    ("[ {'arguments' : {'q': 'SECRET", ""),
    ('{"id": "c", "arguments": "SECRET", "name": "f"}\n{"id": "d", "arguments": "SECRET", "name": "g"}', ""),
    (' {"note": 1},\n{"type": "function", "function": {"arguments": "SECRET", "name": "f"}}; and more', ""),
    ('[{"id": "c", "arguments": "SECRET", "name": "f"}, "and more"]', ""),
    ("[{'id': 'c', 'arguments': 'SECRET', 'name': 'f'}, 'and more']", ""),
    ("{'id': 'c', 'arguments': 'SECRET', 'name': 'f'}, {'id': 'd'}", ""),
    ('["arguments", {"parameters": 1, "unit": "K"}, "and more"]', None),
    ('{"parameters": 1, "unit": "K"}\n{"parameters": 2, "unit": "K"}\n', None),
    ('{"note": 1} and {"id": "c", "arguments": "two", "name": "f"}', None),
    ('{"parameters": {"unit": "K"}, // a comment', None),
    ('{"note": 1, "arguments": {"unit": "K"}, // a comment', None),
    ('{"a": {"thinking": "x"}} and more', ""),
    ("[" * 100_000 + '"thinking":', ""),
    ("no data at all", None),
    ("{'type': 'thinking', 'text': 'x'}, {'type': 'text', 'text': 'x'}", ""),
])  # fmt: skip
def test_what_cannot_be_read_is_hidden_if_it_names_hidden_text(text: str, shown: str | None) -> None:
    assert visible_of(text) == shown


def test_very_long_data_with_hidden_text_is_hidden_unread() -> None:
    long = json.dumps({"thinking": "SECRET", "answer": "4" * (1 << 20)})
    assert visible_of(long) == ""


def test_python_data_with_very_many_parts_is_hidden_unread_if_it_names_hidden_text() -> None:
    few, many = [[THOUGHT] * count + [TEXT] for count in (900, 2000)]
    assert (visible_of(repr(few)), visible_of(repr(many)), visible_of(json.dumps(many))) == ("42", "", "42")
    assert visible_of(repr([{"parameters": 2}] * 10_000)) is None
