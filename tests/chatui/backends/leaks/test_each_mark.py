"""Each mark, word and number in the patterns of the leak guard has an effect: on beginnings, headers, endings and names of tokens."""

from __future__ import annotations

from chatui.backends.leaks import patterns
from chatui.backends.leaks.labels import label_of
from tests.chatui.backends.leaks.test_spans import judged
from tests.chatui.backends.test_leak_shapes import guarded
from tests.support.cases import for_each

START = "<|start|>assistant"
MESSAGE = f"{START}<|channel|>analysis<|message|>x<|end|>"
ENDINGS = ("end", "return", "call", "endoftext", "im_end", "eot_id", "eom_id", "end_of_turn", "eos", "eom", "eot", "end_message")
SUMMARIES = ("thinking", "Thoughts", "thought process", "thought for", "reasoning", "chain of thought", "raw reasoning", "**Thinking")
ROLES = ("assistant", "user", "system", "developer", "tool", "functions")


def is_shown(text: str) -> bool:
    return guarded(text) == text


@for_each(".,:;!?'’)/- ")
def test_a_mark_after_the_name_of_a_channel_belongs_to_a_sentence(mark: str) -> None:
    for word in ("analysis", "commentary"):
        text = f"{word}{mark} so it is"
        assert judged(text) == judged(text, resumes=True) == judged(text, resumes=True, complete=False) == text


@for_each("x_*#4(")
def test_other_text_directly_after_the_name_of_a_channel_shows_that_markers_were_stripped(begun: str) -> None:
    for word in ("analysis", "commentary"):
        text = f"{word}{begun}SECRET"
        assert judged(text) == judged(text, resumes=True) == f"{{!{text}}}"


@for_each([("  \n finalHi", "  \n Hi"), ("final_Hi", "final_Hi"), ("finalÉ", "É"), ("final(Hi", "final(Hi")])
def test_the_rest_of_a_marker_is_only_dropped_before_the_beginning_of_a_text(text: str, result: str) -> None:
    assert judged(text) == judged(text) == result


def test_an_element_inside_hidden_details_does_not_end_them() -> None:
    hidden = "<details><summary>Thinking</summary>x<details>y</details>z</details>"
    assert judged(f"{hidden}Hi") == f"{{{hidden}}}Hi"


def test_hidden_details_inside_an_element_are_hidden() -> None:
    assert judged('Hi <details>y <details type="reasoning">z</details> so') == ('Hi <details>y {!<details type="reasoning">z</details>} so')


@for_each(["reasoning", "thinking", "thought", "Thinking"])
def test_details_whose_attribute_names_reasoning_are_hidden(word: str) -> None:
    assert judged(f'Hi.<details class="{word}">x</details> So') == f'Hi.{{!<details class="{word}">x</details>}} So'
    assert is_shown('Hi.<details class="more">x</details> So')


@for_each(SUMMARIES)
def test_details_whose_summary_names_reasoning_are_hidden(words: str) -> None:
    hidden = f"<details>\n<summary>{words} 2 s</summary>x</details>"
    assert judged(f"Hi.{hidden} So") == f"Hi.{{!{hidden}}} So"


def test_a_block_of_reasoning_below_many_empty_lines_is_hidden() -> None:
    for before in ("\n\n\n\n", " \u200b\n \n", "\n" * 20):
        text = f"{before}```thinking\nx\n```\n"
        assert judged(f"{text}Hi") == f"{{!{text}}}Hi"


# Special tokens in a row


@for_each(ENDINGS)
def test_each_stop_token_ends_an_answer_or_a_sentence(name: str) -> None:
    assert is_shown(f"Hi <|{name}|>")
    assert guarded("Hi <|foo|>") == "Hi ", "but no other token does"
    assert "SECRET" not in guarded(f"SECRET<|{name}|>\n<|start|>assistant<|channel|>final<|message|>Hi")


@for_each(ROLES)
def test_a_message_of_each_role_may_be_an_example(role: str) -> None:
    assert is_shown(f"So:\n<|start|>{role}<|message|>x<|end|> so")
    assert is_shown(f"So:\n<|start|> {role.title()}<|message|>x<|end|> so")
    assert guarded(f"So:\n<|start|>{role}<|message|>SECRET") == "So:\n"


@for_each(["-", "*", "+", ">", "•", "1.", "1)", "123.", "  -", "\t1.", ""])
def test_an_example_may_be_an_item_of_a_list(bullet: str) -> None:
    assert is_shown(f"So\n{bullet} {MESSAGE} so" if bullet else f"So\n{MESSAGE} so")


@for_each(["1234.", "1,", "a."])
def test_an_example_after_other_words_was_emitted(words: str) -> None:
    assert guarded(f"So\n{words} {MESSAGE} so") == f"So\n{words} "


@for_each([
    f"{START}<|message|>",
    "<|start|>user<|message|>",
    f"{START} to=functions.x<|message|>",
    f"{START} to=functions.x<|channel|>commentary<|message|>",
    f"{START}to=x<|channel|>commentary<|message|>",
    f"{START}<|channel|>commentary to=functions.x<|message|>",
    f"{START}<|channel|>commentary to=functions.x <|constrain|>json<|message|>",
    f"{START}<|channel|>commentary<|constrain|>json<|message|>",
    f"{START}<|constrain|>json<|message|>",
])  # fmt: skip
def test_each_form_of_header_may_be_part_of_a_sentence(header: str) -> None:
    assert is_shown(f"Then {header} begins it.")
    assert is_shown(f"Then, {header}, as")
    assert guarded(f"Then {header}SECRET") == "Then "


@for_each([" begins", ".", ",", ":", ";", "!", "?", ")"])
def test_a_sentence_goes_on_after_a_header(after: str) -> None:
    header = f"{START}<|channel|>analysis<|message|>"
    assert is_shown(f"Then {header}{after} ")


def test_a_quoted_message_of_several_lines_is_an_example() -> None:
    assert is_shown(f'He wrote "{START}<|message|>x\ny<|end|>" once.')


def test_reasoning_directly_after_an_example_is_hidden_alone() -> None:
    assert guarded(f"For example:\n{MESSAGE}<think>SECRET</think> so") == f"For example:\n{MESSAGE} so"


@for_each([
    ("Hi.<|open|>message<|sep|>Ho", "Hi.{<|open|>message<|sep|>}Ho"),
    ("Hi.<|close|>message<|sep|>Ho", "Hi.{<|close|>message<|sep|>}Ho"),
    ("Hi.<|close|>response<|sep|>Ho", "Hi.{<|close|>response<|sep|>}Ho"),
    ("x<|open|>response<|sep|>Hi", "{!x<|open|>response<|sep|>}Hi"),
    ("Hi.<|open|>tool<|sep|>x", "Hi.{!<|open|>tool<|sep|>x}"),
    ("Hi.<|close|>tool<|sep|>x", "Hi.{!<|close|>tool<|sep|>x}"),
    ("Hi.<|x|>so", "Hi.<|x|>so"),
    ("Hi.<foo|>so", "Hi.<foo|>so"),
    ("Hi.<|xy|>so", "Hi.{!<|xy|>so}"),
    ("x<start_response |>Hi", "{!x<start_response |>}Hi"),
    ("Hi<end_answer |>Ho", "Hi{<end_answer |>}Ho"),
    ("x<end_of_thought |>Hi", "{!x<end_of_thought |>}Hi"),
    ("Hi.<inner_prefix |>x", "Hi.{!<inner_prefix |>x}"),
    ("Hi.<end |>x", "Hi.{!<end |>x}"),
    ("x<channel|>Hi", "{!x<channel|>}Hi"),
    ("Hi.<channel|>analysis x", "Hi.{!<channel|>analysis x}"),
    ("Hi.<channel|> Final x", "{!Hi.<channel|> Final x}"),
    ("x.assistantfinalHi", "{!x.}{assistantfinal}^Hi"),
    ("x.assistantcommentaryHi", "{!x.assistantcommentaryHi}"),
    ("x.assi\u200bstant\u200banalysisHi", "{!x.assi\u200bstant\u200banalysisHi}"),
    ("Hi </unused7> so", "Hi </unused7> so"),
    ("Hi [think]", "Hi [think]"),
    ("Hi [think](x) so", "Hi [think](x) so"),
    *((f"Hi.<{name}|>x", f"Hi.{{!<{name}|>x}}") for name in ("start", "end", "message", "constrain", "return", "call")),
    *((f"Hi.{name}|>x", f"Hi.{{!{name}|>x}}") for name in ("start", "end", "message", "channel", "constrain", "return", "call")),
])  # fmt: skip
def test_each_form_of_token_has_its_effect(text: str, result: str) -> None:
    assert judged(text) == result


# Names


@for_each([
    "tool_responses", "tool_response", "toolcall", "tool_results", "function_calls", "function_results",
    "x_tool_call", "x:tool_call", "x|tool_call", "think_", "think-x", "think.x", "think:x", "think|x", "_think", "x-think", "x.think",
    "x|think", "thought", "thoughts",
])  # fmt: skip
def test_each_form_of_a_name_is_one(name: str) -> None:
    assert patterns.tag_of_reasoning(name) == name


@for_each([":tool_call", "tool_calling", "function=", ":invoke", "xinvoke", "thinks_", "xthink", "thinkx", "think x"])
def test_other_names_are_none(name: str) -> None:
    assert patterns.tag_of_reasoning(name) is None


@for_each([f"{before}{end}{after}" for end in ("end", "close", "stop", "suffix") for before, after in (
    ("", ""), ("x_", ""), ("x:", ""), ("x.", ""), ("", "_x"), ("", ":x"), ("", ".x"),
)])  # fmt: skip
def test_each_form_of_a_closing_name_is_one(name: str) -> None:
    assert patterns.is_end_name(name)


def test_a_token_has_its_number() -> None:
    assert [patterns.is_token(name) for name in ("special_", "unused", "special_12", "unused1")] == [False, False, True, True]


# Labels


@for_each(["~", "x", ".", "`x"])
def test_a_block_with_more_words_is_no_label(rest: str) -> None:
    assert label_of(f"```thinking {rest}\nx") is None
