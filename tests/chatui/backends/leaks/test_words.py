"""Every word that the leak guard knows has an effect: names of tags and tokens, labels in words, names in data.

The words are written out here, so that none can disappear unnoticed.
"""

from __future__ import annotations

import json
from itertools import product

from chatui.backends.leaks.labels import AnswerLabel, Manner, answer_after, label_of, visible_of
from tests.chatui.backends.test_leak_shapes import guarded
from tests.support.cases import for_each

TAGS = [
    "think", "thinking", "thinks", "thought", "thoughts", "reasoning", "reason", "analysis", "scratchpad", "reflection", "internal",
    "reflect", "rationale", "deliberation", "commentary", "internal_thoughts", "antthinking", "monologue", "inner_monologue", "cot",
    "my_cot", "seed:think", "x.thought", "tool_call", "tool_calls", "toolcalls", "tool_response", "tool_result", "function_call",
    "function_result", "x_tool_call", "invoke", "ns:invoke",
]  # fmt: skip
TOKENS = ("think", "thought", "begin_of_thought", "START_THINKING", "begin_of_reasoning", "scratchpad", "start_analysis", "inner_prefix")
ANSWERS = (
    *("start_response", "begin_response", "begin_of_answer", "start_solution", "start_text", "content", "content_text", "final"),
    *("assistant_final", "response", "solution", "begin_answer"),
)
WRAPPERS = ("end_response", "end_of_text", "end_solution", "end_answer", "begin_text")


@for_each([*TAGS, *map(str.upper, TAGS), "unused94", "start_of_thinking"])
def test_what_each_tag_surrounds_is_hidden(name: str) -> None:
    end = {"unused94": "unused95", "start_of_thinking": "end_of_thinking"}.get(name, f"/{name}")
    assert guarded(f"<{name}>SECRET<{end}>Hi") == "Hi"
    assert guarded(f"SECRET<{end}>Hi") == "Hi"


@for_each([
    "thinker", "thoughtful", "reasons", "b", "answer", "analyst", "internals", "tool", "invoked", "functional", "summary", "rational",
])  # fmt: skip
def test_other_tags_are_shown(name: str) -> None:
    text = f"Hi <{name}>x</{name}> so"
    assert guarded(text) == text


@for_each(["function=f", "function=my.f"])
def test_a_call_with_its_name_in_the_tag_is_hidden(name: str) -> None:
    assert guarded(f"Hi.<{name}>SECRET</function> So") == "Hi. So"
    assert guarded(f"Hi.<{name}>SECRET") == "Hi.", "the tag opens, and closes nothing"


@for_each(["THINK", "THINKING", "THOUGHT", "REASONING", "REASON", "ANALYSIS", "think", "thinking", "thought", "reasoning"])
def test_what_each_name_in_brackets_surrounds_is_hidden(name: str) -> None:
    assert guarded(f"[{name}]SECRET[/{name}]Hi") == "Hi"
    assert guarded(f"Hi.[{name}]SECRET") == "Hi."
    assert guarded(f"◁{name.lower()}▷SECRET◁/{name.lower()}▷Hi") == "Hi"


@for_each(["TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "AVAILABLE_TOOLS", "INST", "SYSTEM_PROMPT"])
def test_what_follows_each_token_in_brackets_is_hidden(name: str) -> None:
    assert guarded(f"Hi.[{name}]SECRET") == "Hi."


@for_each([("[unused16]SECRET[unused17]Hi", "Hi"), ("SECRET[BEGIN FINAL RESPONSE]Hi[END FINAL RESPONSE]", "Hi")])
def test_names_in_brackets_of_some_models(text: str, shown: str) -> None:
    assert guarded(text) == shown


@for_each(TOKENS)
def test_what_each_pair_of_tokens_surrounds_is_hidden(name: str) -> None:
    end = name.replace("begin", "end").replace("START", "END").replace("start", "end").replace("prefix", "suffix")
    assert guarded(f"<|{name}|>SECRET<|{end if end != name else '/' + name}|>Hi") == "Hi"
    assert guarded(f"Hi.<|{name}|>SECRET") == "Hi.", "the token opens"


@for_each(ANSWERS)
def test_each_token_that_begins_the_answer_withdraws_what_was_before(name: str) -> None:
    assert guarded(f"SECRET<|{name}|>Hi") == "Hi"


@for_each(WRAPPERS)
def test_each_token_around_the_answer_is_dropped_and_hides_nothing(name: str) -> None:
    assert guarded(f"Hi<|{name}|>Ho") == "HiHo"


@for_each([
    "start", "end", "message", "channel", "constrain", "return", "call", "endoftext", "im_end", "im_start", "eot_id", "start_of_turn",
    "special_7", "reserved_200017",
])  # fmt: skip
def test_each_special_token_ends_the_answer(name: str) -> None:
    assert guarded(f"Hi.<|{name}|>SECRET") == "Hi."


@for_each(["end", "return", "call"])
def test_a_final_message_after_each_stop_token_withdraws_what_was_before(name: str) -> None:
    assert guarded(f"SECRET<|{name}|><|start|>assistant<|channel|>final<|message|>Hi") == "Hi"


@for_each(["<start_of_turn>", "<end_of_turn>", "<special_12>", "<unused12>"])
def test_each_token_in_the_form_of_a_tag_ends_the_answer(token: str) -> None:
    assert guarded(f"Hi.{token}SECRET") == "Hi."


# Labels in words

MINE = ("thought process", "thinking process", "reasoning process", "reasoning", "reasoning steps", "thinking", "thoughts", "analysis")
PRIVATE = (
    *("thinking", "thought", "thoughts", "think", "thinking process", "thought process", "my thought process", "my thinking"),
    *("my reasoning", "reasoning process", "reasoning steps", "reasoning trace", "raw reasoning", "internal reasoning"),
    *("internal thoughts", "internal monologue", "inner monologue", "inner thoughts", "chain of thought", "scratchpad"),
    *("analysis channel", "assistant analysis", "private reasoning"),
)
CHINESE = ("思考", "推理", "思维", "思維", "思考过程", "思考過程", "思维链", "思維鏈", "推理步骤")
FENCED = ("think", "thinking", "thought", "thoughts", "reasoning", "analysis", "scratchpad", "thought_process", "chain_of_thought")


@for_each([
    *((f"{begin} my {what}", Manner.ANNOUNCED) for begin, what in product(("Here is", "Here's", "Here are", "This is"), MINE)),
    ("Here is my chain of thought", Manner.ANNOUNCED),
    *((word.capitalize(), Manner.PRIVATE) for word in (*PRIVATE, *CHINESE)),
    *((word, Manner.COMMON) for word in ("Analysis", "Reasoning", "Commentary")),
])  # fmt: skip
def test_each_label_is_one(words: str, manner: Manner) -> None:
    label = label_of(f"{words}: x")
    assert isinstance(label, AnswerLabel) and label.manner is manner


@for_each(product(FENCED, ("```", "~~~", ":::")))
def test_each_fence_of_reasoning_is_one(word: str, run: str) -> None:
    assert guarded(f"{run}{word}\nSECRET\n{run}\nHi") == "Hi"


@for_each([
    *(("Thinking", words) for words in ("Answer", "Response", "Reply", "Output", "Final answer", "My final response", "Final")),
    ("Thinking", "Assistant"),
    *(("Thinking", words) for words in ("Final channel", "Final message", "Assistant final", "Here is my answer", "Here's my reply")),
    *(("思考", words) for words in ("回答", "答案", "回复", "答复", "输出", "最终回答", "最終答案")),
    *(("Analysis", words) for words in ("Final", "Final channel", "Final message", "Final response", "Final output", "Response")),
    *(("Analysis", words) for words in ("Assistant", "Assistant final")),
    *(("Here is my reasoning", words) for words in ("Here is my answer", "Here’s my final response", "Here's my reply")),
])  # fmt: skip
def test_the_answer_begins_after_each_second_label(first: str, words: str) -> None:
    text = f"{first}: SECRET\n{words}: 42"
    label = label_of(text)
    assert isinstance(label, AnswerLabel)
    at = answer_after(text, label)
    assert at is not None and text[at:] == " 42"


# Names in data

KEYS = [
    "reasoning", "reasoning_content", "reasoning_details", "reasoning_text", "thinking", "thought", "thoughts", "analysis",
    "rationale", "chain_of_thought", "thought_process", "scratchpad", "inner_monologue", "internal_monologue", "tool_calls",
    "function_call",
]  # fmt: skip
LABELS = {
    "type": "reasoning thinking thought redacted_thinking reasoning_text reasoning_content summary_text function_call tool_call tool_use"
    " tool_result",
    "channel": "analysis commentary",
    "phase": "analysis commentary",
    "role": "tool function",
}


@for_each(KEYS)
def test_each_name_of_hidden_text_in_data_hides_it(key: str) -> None:
    assert visible_of(json.dumps({key: "SECRET", "answer": "42"})) == "42"
    for written in (key.replace("_", "-"), key.replace("_", " ").title(), key.upper()):
        assert visible_of(json.dumps({written: "SECRET", "answer": "42"})) == visible_of(str({written: "SECRET", "answer": "42"})) == "42"


@for_each(["final", "final_answer", "answer", "response", "output", "content"])
def test_each_name_of_the_answer_in_data_shows_it(key: str) -> None:
    assert visible_of(json.dumps({"thinking": "SECRET", key: "42"})) == "42"


@for_each([(name, value) for name, values in LABELS.items() for value in values.split()])
def test_each_label_in_data_hides_its_part(name: str, value: str) -> None:
    part = {"type": "text", "text": "SECRET", name: value}
    assert visible_of(json.dumps([part, {"type": "text", "text": "42"}])) == "42"
    assert visible_of(json.dumps(part | {"content": "SECRET"})) == ""
