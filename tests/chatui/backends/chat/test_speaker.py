"""Labels beside a server's text: which of them hide it, and to which text of a stream they apply."""

import asyncio
from typing import Any

import pytest

from chatui.backends.speaker import REASONING_FIELDS
from chatui.env import BASE_DIR
from tests.backends.door import Door, Row, Told
from tests.chatui.backends.wire import sse
from tests.support.cases import for_each
from tests.support.stub import DONE

LONGEST = "x" * 20 + "commentary" + "x" * 20


def nested(depth: int, value: object) -> object:
    """``value`` in as many objects and lists, in turn."""
    return value if not depth else {"a": nested(depth - 1, value)} if depth % 2 else [nested(depth - 1, value)]


HI = "Hello there."


def told(*chunks: dict[str, Any]) -> Told:
    stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    found = asyncio.run(Door().told(Row("", sse(*chunks, stop) + DONE, columns=("chat",)), "chat"))
    assert found.visible or found.lines[-1] == "stop", "no error hides it"
    return found


def written(*messages: dict[str, Any], **around: Any) -> Told:
    """What becomes of these pieces. ``choice``, ``envelope``: the fields around the last one, beside whose choice may be others."""
    sent = [{"choices": [{"index": 0, "delta": message}]} for message in messages]
    last = {**around.get("choice", {}), "index": 0, "delta": messages[-1]}
    envelope = around.get("envelope", {})
    return told(*sent[:-1], {**envelope, "choices": [last, *envelope.get("choices", ())]})


def visible(*messages: dict[str, Any], **around: Any) -> str:
    return written(*messages, **around).visible


AS_THOUGHT, OF_ANOTHER = [f"thought: {HI}", "stop"], [f"hidden: {HI} [E-PARSE-HEADER]", "stop"]
"""What a label hides whose meaning is known: another role, and any other."""
WITHHELD = [f"hidden: {HI} [E-X-WITHHELD]", "stop"]
"""What a label hides that only speaks of reasoning."""


# Beside the text itself


@for_each([
    *({"role": role} for role in ("assistant", None, "")),
    {"channel": "final"},
    {"phase": "final_answer"},
    {"recipient": "all"},
    *({"type": kind} for kind in ("message", "text", "output_text", "refusal")),
    *({"status": status} for status in ("completed", "in_progress", "incomplete", "queued", "failed", "cancelled", "done", "finished")),
    *({"status": status} for status in ("success", "ok")),
    *({name: "x"} for name in ("id", "index", "object", "created", "created_at", "model", "item_id", "output_index", "content_index")),
    *({name: "x"} for name in ("sequence_number", "event_id", "content", "text", "delta", "message", "refusal", "reasoning")),
    *({name: "x"} for name in ("reasoning_content", "reasoning_details", "thinking", "tool_calls", "function_call", "finish_reason")),
    *({name: "x"} for name in ("native_finish_reason", "stop_reason", "matched_stop", "usage", "service_tier", "system_fingerprint")),
    *({name: "x"} for name in ("obfuscation", "logprobs", "token_ids", "prompt_token_ids", "prompt_logprobs", "routed_experts")),
    *({name: "x"} for name in ("annotations", "citations", "audio", "content_filter_results", "content_filter_result")),
    {"content_filter_offsets": "x"},
    *({"x_new": empty} for empty in (None, False, "", [], {}, [[]], [None, False, ""], {"a": None, "b": {"c": []}}, nested(7, []))),
    {"author": None},
    {},
])  # fmt: skip
def test_a_label_of_the_answer_hides_nothing(label: dict[str, Any]) -> None:
    assert visible({**label, "content": HI}).startswith(HI)


@for_each([
    *({"role": role} for role in ("tool", "system", "developer", "user", "Assistant", 7, ["assistant"])),
    {"channel": "analysis"},
    {"channel": "Final"},
    {"phase": "analysis"},
    {"recipient": "functions.x"},
    {"type": "reasoning"},
    {"type": "summary_text"},
    {"status": "thinking"},
    *({name: 1} for name in ("author", "intent", "is_reasoning", "is_thinking", "is_thought", "name", "thought", "tool_call_id", "to")),
    {"name": {"a": None, "b": "x"}},
])  # fmt: skip
def test_a_known_label_of_another_speaker_hides(label: dict[str, Any]) -> None:
    assert written({"content": HI, **label}).lines == (OF_ANOTHER if "role" in label else AS_THOUGHT)


@for_each([
    *({name: True} for name in ("is_hidden", "Internal", "private_text", "scratch", "deep_think", "x_commentary", "reasoning_step")),
    *({name: False} for name in ("visible", "is_visible", "final", "is_final", "shown", "public")),
    *({"segment": word} for word in ("thinking", "Analysis", "model.thoughts", "x-private", LONGEST, "hidden.x", "thought_1")),
    {"object": "reasoning"},
    {"x": 1, "segment": "thinking"},
    *({"segment": value} for value in (["thinking"], {"kind": "thinking"}, {"is_thinking": True}, nested(8, "thinking"), nested(9, 1))),
    {"annotations": [{"type": "thought"}]},
])  # fmt: skip
def test_a_boolean_or_a_short_word_that_speaks_of_reasoning_hides_under_any_name(label: dict[str, Any]) -> None:
    assert written({"content": HI, **label}).lines == written({"content": HI}, envelope=label).lines == WITHHELD


@for_each([
    *({"x_new": value} for value in ("x", 0, 1, True, [0], [None, "x"], {"a": "x"}, nested(8, "x"))),
    {"segment": "it is thinking of it"},
    {"cot": " thinking"},
    {"thought": "We think of it."},
    {"provider_specific_fields": {"reasoning": "We think of it.", "kind": "thinking"}},
    {"segment": f"x{LONGEST}"},
    {"is_hidden": False},
    {"visible": True},
    {"encrypted_content": "zzz"},
    {"annotations": [{"type": "url_citation"}]},
    {"reasoning": "thinking"},
    {"usage": {"reasoning_tokens": 7}},
])  # fmt: skip
def test_other_values_and_texts_of_several_words_label_nothing(label: dict[str, Any]) -> None:
    assert visible({"content": HI, **label}) == visible({"content": HI}, envelope=label) == HI


@for_each(REASONING_FIELDS)
def test_a_field_of_reasoning_is_a_label_only_if_it_is_a_boolean(name: str) -> None:
    assert written({"content": HI, name: True}).lines == AS_THOUGHT
    assert visible({"content": HI, name: "thinking"}) == visible({"content": HI, name: False}) == HI


def test_the_documentation_lists_the_fields_of_reasoning_in_the_order_in_which_they_count() -> None:
    page = (BASE_DIR / "docs" / "back-ends" / "reading.md").read_text(encoding="utf-8")
    assert f"| {', '.join(f'`{name}`' for name in REASONING_FIELDS)} | a hidden `analysis` frame;" in page


# Around the choices


@for_each([
    {"role": "tool"},
    {"channel": "analysis"},
    {"phase": "commentary"},
    {"thought": 1},
    {"name": "critic"},
    *({"type": kind} for kind in ("reasoning", "Thought", "response.reasoning_text.delta")),
    {"status": "thinking"},
])  # fmt: skip
def test_a_known_label_around_the_choices_hides(envelope: dict[str, Any]) -> None:
    assert written({"content": HI}, envelope=envelope).lines == (OF_ANOTHER if "role" in envelope else AS_THOUGHT)


@for_each([
    {"role": "assistant", "channel": "final", "type": "chunk", "object": "chat.completion.chunk", "status": "x"},
    {"type": "message.delta"},
    {"type": 7},
    {"choices": [{"index": 1, "thinking": True}], "usage": {"reasoning_tokens": 7}},
    {"id": "analysis-1", "model": "think-1"},
])  # fmt: skip
def test_other_fields_around_the_choices_hide_nothing(envelope: dict[str, Any]) -> None:
    word = HI.split()[0]  # a field with a text of several words, as the choices would be, labels nothing anyway
    assert visible({"content": word}, envelope=envelope) == word


REQUESTS: list[dict[str, Any]] = [
    {"__verbose": {"generation_settings": {"thinking_forced_open": True, "reasoning_in_content": True, "stream": True}}},
    {"generation_settings": {"thinking_forced_open": True, "reasoning_format": "deepseek"}},
    {"chat_template_kwargs": {"enable_thinking": True, "x": [{"show": False, "preserve_thinking": True}]}},
    {"metadata": {"reasoning": True, "visible": False, "is_hidden": True}},
    {"metadata": [True, {"thought": True}]},
    {"debug": {"echo_upstream_body": {"include_reasoning": True, "messages": [{"role": "user", "content": "Hi"}]}}},
    {"request": {"extra": {"chat_template_kwargs": {"enable_thinking": True}}}},
    *({name: True} for name in ("enable_thinking", "thinking_forced_open", "reasoning_in_content")),
    *({name: True} for name in ("include_reasoning", "separate_reasoning", "stream_reasoning")),
]


@for_each(REQUESTS)
def test_what_repeats_the_request_around_a_live_answer_is_no_label_by_a_boolean(envelope: dict[str, Any]) -> None:
    assert visible({"content": HI}, envelope=envelope) == HI
    assert visible({"content": HI, **envelope}) == visible({"content": HI}, choice=envelope) == "", "elsewhere the same hides"


@for_each([
    {"__verbose": {"generation_settings": {"thinking_forced_open": True}, "channel": "analysis"}},
    {"generation_settings": {"segment": "thinking"}},
    {"chat_template_kwargs": {"x": ["analysis"]}},
    {"metadata": {"channel": "analysis"}},
    {"metadata": nested(9, True)},
    {"enable_thinking": "thinking"},
    {"metadata": {"reasoning": True}, "is_thought": True},
    {"debug": {"reasoning": True}},
    *({name: {"is_thought": True}} for name in ("x_metadata", "Metadata", "verbose", "settings", "kwargs", "parameters", "body")),
    *({name: True} for name in ("reasoning", "thinking", "is_thinking", "thinking_enabled")),
])  # fmt: skip
def test_a_word_in_what_repeats_the_request_hides_and_so_does_a_boolean_anywhere_else(envelope: dict[str, Any]) -> None:
    assert visible({"content": HI}, envelope=envelope) == ""


# In a stream

Piece = tuple[dict[str, Any], bool]
TEXT: Piece = ({"content": "x"}, True)
ANALYSIS = THINKING = OTHER = True
"""A label that hides, whichever."""


def shown(*pieces: Piece, choice: dict[str, Any] | None = None) -> str:
    """What is seen of the pieces, whose texts are numbered."""
    messages = [{**message, "content": f"x{number} "} if has_text else message for number, (message, has_text) in enumerate(pieces)]
    return visible(*messages, choice=choice or {})


def left(pieces: list[Piece], hidden: list[bool | None], late: bool | None) -> str:
    """What is to be seen of the texts."""
    texts = [f"x{number} " for number, (_, has_text) in enumerate(pieces) if has_text]
    return "" if late else "".join(text for text, is_hidden in zip(texts, hidden, strict=True) if not is_hidden)


def ahead(**message: object) -> Piece:
    return message, False


@for_each([
    ([TEXT], [None], None),
    ([({"content": "x", "channel": "analysis"}, True), TEXT], [ANALYSIS, None], None),
    ([ahead(channel="analysis"), TEXT, TEXT], [ANALYSIS, ANALYSIS], None),
    ([ahead(channel="analysis"), ahead(), TEXT], [ANALYSIS], None),
    ([ahead(channel="analysis"), ahead(channel="final"), TEXT], [ANALYSIS], None),
    ([ahead(channel="analysis"), ({"content": "x", "channel": "final"}, True)], [None], None),
    ([ahead(channel="analysis"), ahead(role="assistant"), TEXT], [None], None),
    ([ahead(channel="analysis"), ahead(role=None), TEXT], [ANALYSIS], None),
    ([ahead(role="assistant", channel="analysis"), ({"content": "x", "channel": None}, True)], [ANALYSIS], None),
    ([ahead(role="tool"), TEXT, ahead(role="assistant"), TEXT], [OTHER, None], None),
    ([ahead(role="tool"), ahead(role=""), TEXT], [OTHER], None),
    ([ahead(segment="thinking"), TEXT], [THINKING], None),
    ([ahead(x={"y": [{"kind": "thinking"}]}), TEXT], [OTHER], None),
    ([ahead(x=nested(8, "thinking")), TEXT], [OTHER], None),
    ([ahead(x_new=1), TEXT], [None], None),
    ([ahead(x_new={"is_thinking": False, "n": 1}), TEXT], [None], None),
    ([ahead(cot="Thinking"), ahead(cot=" of it"), TEXT], [None], None),
])  # fmt: skip
def test_a_label_ahead_of_text_applies_until_the_next_role(pieces: list[Piece], of_text: list[bool | None], late: bool | None) -> None:
    assert shown(*pieces) == left(pieces, of_text, late)


@for_each([
    ([TEXT, ahead(channel="analysis")], ANALYSIS),
    ([TEXT, ahead(channel="analysis"), ahead()], ANALYSIS),
    ([TEXT, ahead(channel="analysis"), ahead(segment="thinking")], THINKING),
    ([TEXT, ahead(channel="analysis"), ({"content": "x", "role": "assistant"}, True)], None),
    ([TEXT, ahead(role="tool")], OTHER),
    ([TEXT, ahead(role="tool", channel="analysis")], OTHER),
    ([TEXT, ahead(role="assistant")], None),
    ([({"content": "x", "role": "assistant"}, True), ahead(role="tool")], None),
    ([ahead(role="assistant"), TEXT, ahead(role="tool")], None),
    ([ahead(channel="analysis")], None),
    ([TEXT, ahead(x_new=1)], None),
    ([TEXT, ahead(channel="final", type="message")], None),
    ([TEXT, ahead(channel="analysis", tool_calls=[{"id": "c"}])], None),
    ([TEXT, ahead(channel="analysis", function_call={"name": "f"})], None),
    ([TEXT, ahead(channel="analysis", refusal="no")], None),
    ([TEXT, ahead(channel="analysis", tool_calls=[], function_call=None, refusal="")], ANALYSIS),
])  # fmt: skip
def test_a_label_after_all_text_applies_to_it(pieces: list[Piece], late: bool | None) -> None:
    assert shown(*pieces) == left(pieces, [None] * sum(has_text for _, has_text in pieces), late)


@for_each([
    ({"segment": "thinking"}, THINKING),
    ({"role": "tool"}, OTHER),
    ({"delta": {"kind": "thinking"}, "message": {"kind": "thinking"}, "finish_reason": "stop"}, None),
])  # fmt: skip
def test_a_label_of_the_choice_applies_to_its_text_and_to_text_before_it(choice: dict[str, Any], late: bool | None) -> None:
    assert shown(TEXT, ahead(), choice=choice) == shown(TEXT, choice=choice) == left([TEXT], [late], None)


@pytest.mark.parametrize(("before", "then"), [
    ({"id": "1"}, {"id": "1", "segment": "thinking"}),
    ({"hidden": False}, {"hidden": True}),
    ({"x": "so"}, {"x": "thinking"}),
    ({"x": "so", "y": "so"}, {"x": "so", "y": "thinking"}),
    ({"x_new": [1]}, {"x_new": [1], "segment": "thinking"}),
    ({"hidden": [False], "segment": ""}, {"hidden": [False], "segment": "thinking"}),
])  # fmt: skip
def test_an_envelope_that_changes_is_checked_again(before: dict[str, Any], then: dict[str, Any]) -> None:
    deltas = [({"choices": [{"index": 0, "delta": {"content": f"x{number} "}}]}, around) for number, around in enumerate(5 * [before])]
    chunks = [chunk | (then if number in (2, 3) else around) for number, (chunk, around) in enumerate(deltas)]
    assert told(*chunks).visible == "x0 x1 x4 "
