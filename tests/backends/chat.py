"""Rows that only Chat Completions can say: whose text a delta holds, what a whole message repeats, and how a choice ends."""

import json
from typing import Any

from tests.backends.door import PLAIN, PROVED, SECRET, TRUSTED, Row
from tests.support.stub import DONE

Delta = dict[str, Any]


def row(name: str, said: bytes, *told: str, **more: Any) -> Row:
    return Row(name, said, told, columns=("chat",), **more)


def everywhere(name: str, said: bytes, shows: str) -> list[Row]:
    """What people see in the end, whatever is known of the server."""
    more: list[tuple[str, dict[str, Any]]] = [
        ("of a server that has proved nothing", {"server": PROVED}),
        ("after a proof", {"server": PROVED, "is_after_proof": True}),
        ("of a server that always separates", {}),
        ("of a model that never reasons", {"server": PLAIN}),
    ]
    return [row(f"{name}, {of}", said, shows=shows, **given) for of, given in more]


def sse(*chunks: object) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks)


def choices(*found: object) -> bytes:
    """Each in a chunk of its own."""
    return sse(*({"model": "stub", "choices": [each]} for each in found))


def deltas(*found: Delta, finish: str | None = "stop") -> bytes:
    """With the end."""
    return (
        choices(*({"index": 0, "delta": each} for each in found))
        + (choices({"index": 0, "finish_reason": finish}) if finish else b"")
        + DONE
    )


def called(*fragments: object) -> bytes:
    return deltas({"tool_calls": list(fragments)})


END = choices({"index": 0, "finish_reason": "stop"}) + DONE
HI, HM = {"content": "Hi"}, {"reasoning": "hm"}
A_CALL = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}
F = {"index": 0, "id": "a", "function": {"name": "f"}}
G = {"index": 1, "id": "b", "function": {"name": "g"}}
UNPROVEN: dict[str, Any] = {"server": PROVED}
LOOK: dict[str, Any] = {"tools": ("look",)}
LOOKED, LOOKING = {"content": "I look it up."}, {"content": '{"q": "x"}'}
WEIGHED = f"The user asks, and I weigh {SECRET} first."
WHOLE = {"role": "assistant", "reasoning_content": WEIGHED, "content": "It is 42."}
OTHERS = [{"index": 2, "delta": {"content": SECRET}}, "x", {"index": 1, "delta": {"content": SECRET}, "finish_reason": "length"}]
DETAILS = [
    {"type": "reasoning.text", "text": "I ", "index": 0, "signature": None},
    {"type": "reasoning.encrypted", "data": "abc", "index": 1},
    {"type": "reasoning.text", "text": "look.", "index": 0, "signature": "s"},
    {"type": "reasoning.encrypted", "data": "def", "index": 1, "format": "f"},
]
JOINED = [
    {"type": "reasoning.text", "text": "I look.", "index": 0, "signature": "s"},
    {"type": "reasoning.encrypted", "data": "abcdef", "index": 1, "format": "f"},
]
UNPLACED = {"reasoning_details": [{"type": "t", "text": "a"}, {"type": "t", "text": "b"}]}
ALL_FIELDS = dict.fromkeys(("reasoning", "reasoning_content", "thinking"), "a")


def given(**fields: Any) -> str:
    return json.dumps(fields, sort_keys=True)


ROUTES = {"type": "reasoning.summary", "summary": "I compared routes."}
RAW = {"type": "reasoning.text", "text": SECRET}
TRAIN = {"content": "By train."}
SUMMARIES: dict[str, list[Delta]] = {
    "by itself": [{"reasoning_details": [{"type": "reasoning.summary", "summary": each}]} for each in ("I compared ", "routes.")],
    "that is sent twice": [{"reasoning_details": [ROUTES], "reasoning": "I compared routes."}],
    "with raw reasoning": [{"reasoning_details": [RAW, ROUTES]}],
    "before raw reasoning": [{"reasoning_details": [ROUTES]}, {"reasoning": SECRET}],
    "in the same piece as raw reasoning": [{"reasoning_details": [ROUTES], "reasoning": SECRET}],
    "with encrypted reasoning": [{"reasoning_details": [ROUTES, {"type": "reasoning.encrypted", "data": SECRET}]}],
    "among parts of other types": [{"reasoning_details": [5, "", None, ROUTES, []]}],
    "beside one of another name": [{"reasoning_details": [{"type": "reasoning.summary2", "summary": SECRET}, ROUTES]}],
}
COMPARED = "The user asks for the fastest way, so I compare trains first."
COMPARING = {"reasoning_details": [{"type": "reasoning.summary", "summary": COMPARED}]}


def body(**message: str) -> bytes:
    return json.dumps({"model": "stub", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


NO_LISTS: tuple[object, ...] = ({"0": {"delta": {"content": SECRET}}}, SECRET, [], None)
ROWS = [
    # which choice
    *(row(f"the first choice of several, with {index}", sse({"choices": [*OTHERS, {**index, "delta": HI, "finish_reason": "stop"}]}) + DONE,
        "answer: Hi", "stop") for index in ({"index": 0}, {})),
    row("choices that are no list", sse(*({"choices": odd} for odd in NO_LISTS)) + DONE,
        "stop"),
    # whose text it is: each field has its place
    row("reasoning", deltas(HM), "thought: hm", "stop"),
    row("reasoning_content", deltas({"reasoning_content": "hm"}), "thought: hm", "stop"),
    row("thinking", deltas({"thinking": "hm"}), "thought: hm", "stop"),
    row("reasoning_details", deltas({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}), "thought: hm", "stop"),
    row("reasoning_details with a summary and other things", deltas({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"},
        5,
        "x"]}), "thought: hmx", "stop"),
    row("reasoning that is an object", deltas({"reasoning": {"content": "hm", "other": "x"}}), "thought: hm", "stop"),
    row("reasoning that is no text", deltas({"reasoning": 5, "thinking": {"other": "x"}}), "stop"),
    row("reasoning that is a list", deltas({"reasoning": [["x"], 5, "hm"]}), "thought: hm", "stop"),
    row("content in parts", deltas({"content": [{"type": "output_text", "text": "Hi"}]}), "answer: Hi", "stop"),
    row("two fields of reasoning, one of them empty", deltas({"reasoning": "", "reasoning_content": "hm"}), "thought: hm", "stop"),
    row("two fields with one reasoning", deltas({"reasoning": "hm", "thinking": "hm"}), "thought: hm", "stop"),
    row("reasoning beside content", deltas({"content": "Hi", "reasoning": "hm"}), "thought: hm", "answer: Hi", "stop"),
    row("content that is the reasoning beside it", deltas({"content": "hm", "reasoning": "hm"}, HI), "thought: hm", "answer: Hi", "stop"),
    row("white space that is the reasoning beside it", deltas(HM, {"content": "\n", "reasoning": "\n"}, HI), "thought: hm\n",
        "answer: \nHi", "stop"),
    row("reasoning within an answer", deltas(HI, HM, {"content": "there"}), "answer so far: Hithere", "thought: hm", "stop"),
    row("reasoning behind a sentence", deltas({"content": "I look."}, HM, {"content": "**It** is."}),
        "answer so far: I look.\n\n**It** is.", "thought: hm", "stop"),
    row("reasoning behind a sentence and a space", deltas({"content": "I look. "}, HM, {"content": "It is."}),
        "answer so far: I look. It is.", "thought: hm", "stop"),
    row("reasoning within bold text", deltas({"content": "**a."}, HM, {"content": "** B"}), "answer so far: **a.** B", "thought: hm",
        "stop"),
    row("reasoning within a number", deltas({"content": "x = 3."}, HM, {"content": "14"}), "answer so far: x = 3.14", "thought: hm",
        "stop"),
    row("reasoning that is white space", deltas(HI, {"reasoning": " "}, {"content": " there"}), "answer so far: Hi there", "thought:  ",
        "stop"),
    row("reasoning before an answer in pieces", deltas(HM, HI, {"content": "!"}), "thought: hm", "answer: Hi!", "stop"),
    row("a part of another type", deltas({"content": [{"type": "text", "text": "Hi"}, {"type": "x", "text": "hm"}]}), "thought: hm",
        "answer: Hi", "stop"),
    row("a part with a label", deltas({"content": [{"type": "output_text", "text": "Hi", "channel": "analysis"}]}), "thought: Hi", "stop"),
    row("a part whose text is an object", deltas({"content": [{"type": "text", "text": {"text": "hm"}}]}), "thought: hm", "stop"),
    row("parts without a type", deltas({"content": [{"type": "text", "text": "Hi"}, {"text": "h"}, {"type": None, "text": "m"}, "!"]}),
        "thought: hm", "answer: Hi", "stop"),
    row("content that is no text", deltas({"content": 5, "refusal": 5}, HI), "answer: Hi", "stop"),
    row("content with the label of a channel", deltas({"content": "hm", "channel": "analysis"}), "thought: hm", "stop"),
    row("content of a tool", deltas({"content": "hm", "role": "tool"}), "hidden: hm [E-PARSE-HEADER]", "stop"),
    row("content with an unknown label", deltas({"content": "hm", "mystery": "thinking"}), "hidden: hm [E-X-WITHHELD]", "stop"),
    row("a refusal of a user", deltas({"refusal": "hm", "role": "user"}), "hidden: hm [E-PARSE-HEADER]", "stop"),
    row("content behind a call", deltas(HI, A_CALL, {"content": "more"}), "answer so far: Hi",
        "hidden final (debug): more [E-CALL-SCHEMA]", "call functions.look c1: {}", "tool_calls"),
    row("reasoning behind a call", deltas(A_CALL, HM), "hidden: hm [E-CALL-SCHEMA]", "call functions.look c1: {}", "tool_calls"),
    row("white space behind a call", deltas(HI, A_CALL, {"content": " "}), "answer so far: Hi ", "call functions.look c1: {}",
        "tool_calls"),
    row("white space in text behind a call", deltas(A_CALL, {"content": "a"}, {"content": " "}, {"content": "b"}),
        "hidden final (debug): a b [E-CALL-SCHEMA]", "call functions.look c1: {}", "tool_calls"),
    row("a refusal in a field of its own", deltas({"refusal": "No."}), "answer: No.", "refusal"),
    row("reasoning in a refusal", deltas({"refusal": f"<think>{SECRET}</think>I cannot help."}),
        f"hidden: <think>{SECRET}</think> [E-PARSE-HEADER]", "answer: I cannot help.", "refusal", **UNPROVEN),
    row("a field that nobody knows", deltas({"thoughts": "hm"}, HI), "answer: Hi", "stop"),
    row("content that is an object", deltas({"content": {"text": "hm"}}, HI), "answer: Hi", "stop"),
    row("probabilities and annotations", deltas({"logprobs": {"content": [{"token": "hm"}]}, "annotations": ["hm"]}, HI), "answer: Hi",
        "stop"),
    row("text of a tool, then thinking in tags", deltas({"role": "tool", "content": "x"}, {"role": "assistant",
        "content": "<think>y</think>Hi"}), "hidden: x<think>y</think> [E-PARSE-HEADER]", "answer: Hi", "stop"),
    row("an unknown label within a held answer", deltas(HI, {"mystery": "thinking", "content": "a"}, {"content": "<think>b</think>"}),
        "hidden: a [E-X-WITHHELD]", "answer so far: Hi", "hidden: <think>b</think> [E-X-WITHHELD]", "stop",
        **UNPROVEN),
    row("reasoning within a held answer", deltas(HI, HM, {"content": "</think>Answer."}), "thought: hm",
        "hidden: Hi</think> [E-X-WITHHELD]", "answer: Answer.", "stop", **UNPROVEN),
    row("an escaped marker in an answer and in arguments", deltas({"content": "I say <\u2060|end|>, 1 <"}, {"tool_calls": [{"index": 0,
        "id": "c1", "function": {"name": "look", "arguments": '{"q": "<\u2060|end|>"}'}}]}), "answer so far: I say <|end|>, 1 <",
        'call functions.look c1: {"q": "<|end|>"}', "tool_calls"),
    row("half an escaped marker where the stream breaks off", choices({"delta": {"content": "1 <"}}),
        "answer so far: 1 < [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("two answers in raw output",
        deltas({"content": "<|channel|>final<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>"
        "Two.<|return|>"}), "hidden: <|channel|>final<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|> [E-PARSE-HEADER]",
        "answer: Two.", "stop"),
    # summaries, which are hidden unless the operator trusts that they are some
    *(row(f"a summary {name}", deltas(*said, TRAIN), shows="By train.") for name, said in SUMMARIES.items()),
    row("a trusted summary by itself", deltas(*SUMMARIES["by itself"], TRAIN), "summary: I compared routes.", "answer: By train.", "stop",
        server=TRUSTED),
    row("a trusted summary that is sent twice", deltas(*SUMMARIES["that is sent twice"], TRAIN), "summary: I compared routes.",
        "answer: By train.", "stop", server=TRUSTED),
    row("a trusted summary with raw reasoning", deltas(*SUMMARIES["with raw reasoning"], TRAIN), "summary: I compared routes.",
        f"thought: {SECRET}", "answer: By train.", "stop", server=TRUSTED),
    row("a trusted summary before raw reasoning", deltas(*SUMMARIES["before raw reasoning"], TRAIN), "summary: I compared routes.",
        f"thought: {SECRET}", "answer: By train.", "stop", server=TRUSTED),
    row("a trusted summary in the same piece as raw reasoning", deltas(*SUMMARIES["in the same piece as raw reasoning"], TRAIN),
        "summary: I compared routes.", f"thought: {SECRET}", "answer: By train.", "stop",
        server=TRUSTED),
    row("a trusted summary with encrypted reasoning", deltas(*SUMMARIES["with encrypted reasoning"], TRAIN), "summary: I compared routes.",
        "answer: By train.", "stop", server=TRUSTED),
    row("a trusted summary among parts of other types", deltas(*SUMMARIES["among parts of other types"], TRAIN),
        "summary: I compared routes.", "answer: By train.", "stop", server=TRUSTED),
    row("a trusted summary beside one of another name", deltas(*SUMMARIES["beside one of another name"], TRAIN),
        "summary: I compared routes.", f"thought: {SECRET}", "answer: By train.", "stop", server=TRUSTED),
    *(row(f"no summary, although some are trusted: {said}", deltas(said, TRAIN), shows="By train.", server=TRUSTED) for said in (
        {"reasoning": SECRET}, {"reasoning_content": SECRET}, {"thinking": SECRET}, {"reasoning_details": [RAW]}, {"reasoning_details":
        SECRET})),
    row("a trusted summary that breaks off", choices({"delta": COMPARING}),
        "summary: The user asks for the fastest way, so I compare trains first. [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED",
        server=TRUSTED),
    row("a trusted summary that comes again as the answer", deltas(COMPARING, {"content": COMPARED}, {"content": " By train."}),
        "summary: The user asks for the fastest way, so I compare trains first.",
        "hidden: The user asks for the fastest way, so I compare trains first. [E-X-WITHHELD]", "answer:  By train.", "stop",
        server=TRUSTED),
    row("a trusted summary that comes again as the answer, unproved", deltas(COMPARING, {"content": COMPARED}, {"content": " By train."}),
        "summary: The user asks for the fastest way, so I compare trains first.",
        "hidden: The user asks for the fastest way, so I compare trains first. [E-X-WITHHELD]", "answer:  By train.", "stop",
        server={**PROVED, **TRUSTED}),
    row("a trusted summary of what was shown as the answer", deltas({"reasoning_details": [ROUTES]}, {"content": COMPARED}, {"content":
        " By train."}, COMPARING), "summary: I compared routes.",
        "hidden: The user asks for the fastest way, so I compare trains first. By train. [E-X-WITHHELD] [withdrawn]",
        "summary: The user asks for the fastest way, so I compare trains first.", "answer:  By train.", "stop", server=TRUSTED),
    row("a trusted summary of what was held as the answer", deltas({"content": COMPARED}, {"content": " By train."}, COMPARING),
        "summary: The user asks for the fastest way, so I compare trains first.",
        "hidden: The user asks for the fastest way, so I compare trains first. [E-PARSE-HEADER]", "answer:  By train.", "stop",
        server={**PROVED, **TRUSTED}),
    # late labels
    row("a label behind all text", deltas({"content": SECRET}, {"channel": "commentary"}), f"hidden: {SECRET} [E-X-WITHHELD]", "stop",
        **UNPROVEN),
    row("a label behind a thought", deltas(HM, {"channel": "commentary"}), "thought: hm", "stop"),
    row("a label behind text of a tool", deltas({"content": "x", "role": "tool"}, {"channel": "commentary"}),
        "hidden: x [E-PARSE-HEADER]", "stop"),
    row("a label behind a thought and an answer that is held", deltas(HI, HM, {"channel": "commentary"}), "thought: hm",
        "hidden: Hi [E-X-WITHHELD]", "stop", **UNPROVEN),
    row("a label behind all text, with a call", deltas(LOOKED, {"channel": "commentary", **A_CALL}), "answer so far: I look it up.",
        "call functions.look c1: {}", "tool_calls", **UNPROVEN),
    row("a label behind all text of a stream that breaks off", choices({"delta": {"content": SECRET}}, {"delta": {"channel": "analysis"}}),
        f"hidden: {SECRET} [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED", **UNPROVEN),
    *(row(f"a field beside a later chunk: {before!r}, then {then!r}", sse(*({"id": "1", name: value, "choices": [{"index": 0, "delta": {
        "content": text}}]} for value, text in ((before, "Hi"), (before, "!"), (then, SECRET)))) + END, shows="Hi!", **UNPROVEN)
        for name, before, then in (("is_thinking", None, True), ("is_thinking", False, True), ("segment", "", "thinking"), ("is_thinking",
        [False], [True]), ("segment", "harmless", "analysis"))),
    # text that ends like a call
    *(row(f"text that ends like a call: {end}", choices({"delta": LOOKED}, {"delta": {}, "finish_reason": "stop", **end}) + DONE, shows="",
        **UNPROVEN) for end in ({"stop_reason": 200012}, {"matched_stop": 200012}, {"meta_info": {"finish_reason": {"matched": 200012}}})),
    *(row(f"text before a call that ends like one: {end}", choices({"delta": LOOKED}, {"delta": A_CALL, "finish_reason": "stop", **end}) +
        DONE, shows="I look it up.", **UNPROVEN) for end in ({"stop_reason": 200012}, {"matched_stop": 200012}, {"meta_info": {
        "finish_reason": {"matched": 200012}}})),
    row("text that ends like an answer", choices({"delta": LOOKED}, {"delta": {}, "finish_reason": "stop", "stop_reason": 200002}) + DONE,
        "answer: I look it up.", "stop", **UNPROVEN),
    row("data that ends like a call", deltas(LOOKING, finish="tool_calls"), 'hidden: {"q": "x"} [E-X-WITHHELD]', "tool_calls", **UNPROVEN),
    row("data that ends like an answer", deltas(LOOKING, finish="stop"), 'answer: {"q": "x"}', "stop", **UNPROVEN),
    row("data with the marker of a call", deltas({"content": '{"q": "x"}<|call|>'}, finish="stop"),
        'hidden: {"q": "x"}<|call|> [E-X-WITHHELD]', "stop", **UNPROVEN),
    row("data with the marker of a call, behind a thought", deltas({"reasoning": "I think, and then I look."}, {"content":
        '{"q": "x"}<|call|>'}, finish="stop"), "thought: I think, and then I look.", 'answer so far: {"q": "x"}',
        "hidden: <|call|> [E-X-WITHHELD]", "stop", **UNPROVEN),
    # what is reasoning and answer at once
    *(each for name, said in {
        "reasoning behind an answer that begins with it": [{"delta": {"content": f"{WEIGHED}\n\n"}}, {"delta": {"content": "It is 42."}},
            {"delta": {"reasoning_content": WEIGHED}}],
        "a whole message beside an empty delta": [{"delta": {"content": f"{WEIGHED}\n\nIt is 42."}}, {"delta": {}, "message": WHOLE}],
        "a whole message": [{"delta": {"content": f"{WEIGHED}\n\nIt is 42."}}, {"message": WHOLE}],
        "a whole message beside its delta": [{"delta": {"content": f"{WEIGHED}\n\nIt is 42.", "role": "assistant"}, "message": WHOLE}],
        "a whole message behind another thought": [{"delta": {"reasoning": "hm"}}, {"delta": {"content": f"{WEIGHED}\n\nIt is 42."}},
            {"message": WHOLE}],
        "a whole message behind a longer thought": [{"delta": {"reasoning": f"Hm. {WEIGHED}"}}, {"delta": {"content":
            f"{WEIGHED}\n\nIt is 42."}}, {"message": WHOLE}],
        "reasoning between its repetition and the answer": [{"delta": {"content": f"{WEIGHED}\n\n"}}, {"delta": {"reasoning": WEIGHED}},
            {"delta": {"content": "It is 42."}}],
        "a whole message that repeats the thought": [{"delta": {"reasoning": WEIGHED}}, {"message": {**WHOLE, "content":
            f"{WEIGHED}\n\nIt is 42."}}],
    }.items() for each in everywhere(name, choices(*({"index": 0, **choice} for choice in said)) + END, "It is 42.")),
    row("reasoning behind the text it was shown as ends a proof", choices({"delta": {"content": f"{WEIGHED}\n\nIt is 42."}}, {"delta": {},
        "message": WHOLE}) + END, f"hidden: The user asks, and I weigh {SECRET} first.\n\nIt is 42. [E-X-WITHHELD] [withdrawn]",
        f"thought: The user asks, and I weigh {SECRET} first.", "answer: \n\nIt is 42.", "stop", is_after_proof=True, knows="unproven",
        **UNPROVEN),
    row("reasoning behind the text it was shown as, of a model that never reasons",
        choices({"delta": {"content": f"{WEIGHED}\n\nIt is 42."}},
        {"delta": {}, "message": WHOLE}) + END,
        f"hidden: The user asks, and I weigh {SECRET} first.\n\nIt is 42. [E-X-WITHHELD] [withdrawn]",
        f"thought: The user asks, and I weigh {SECRET} first.", "answer: \n\nIt is 42.", "stop", server=PLAIN, knows="unproven"),
    # whole messages
    row("a whole message, and nothing before it", choices({"delta": {"role": "assistant"}, "message": {"role": "assistant", **HI}}) + END,
        "answer: Hi", "stop"),
    row("a whole message with a thought", choices({"delta": {"role": "assistant"}, "message": HM | HI}) + END, "thought: hm", "answer: Hi",
        "stop"),
    row("a whole message whose thought came before", choices({"delta": HM}, {"delta": {}, "message": HM | HI}) + END, "thought: hm",
        "answer: Hi", "stop"),
    row("a message beside its own delta", choices({"delta": HM, "message": HM}, {"delta": HI}) + END, "thought: hm", "answer: Hi", "stop"),
    row("a whole message whose thought comes late", choices({"delta": HI}, {"message": HM | HI}) + END, "answer so far: Hi", "thought: hm",
        "stop"),
    row("messages that repeat their deltas", choices({"delta": HI, "message": HI}, {"delta": {"content": "!"},
        "message": {"content": "!"}}) +
        END, "answer: Hi!", "stop"),
    row("a whole message of a tool", choices({"delta": {"role": "assistant"}, "message": {"role": "tool", "content": "hm"}}) + END,
        "hidden: hm [E-PARSE-HEADER]", "stop"),
    row("a whole message behind a label", choices({"delta": {"channel": "analysis"}, "message": {"content": "hm"}}) + END, "thought: hm",
        "stop"),
    row("a whole message behind a call", choices({"delta": A_CALL}, {"message": {**HM, **HI, **A_CALL}}) + END,
        "call functions.look c1: {}", "tool_calls"),
    row("a choice without an index", choices({"index": None, "message": HI}) + END, "answer: Hi", "stop"),
    # no stream, but one body
    row("a body with a thought", body(content="Hi", reasoning=SECRET), f"thought: {SECRET}", "answer: Hi", "stop", is_json=True),
    row("a body with raw output", body(content=f"It is 346.assistantanalysis{SECRET}assistantfinalHi"), "answer so far: It is 346.",
        f"hidden: assistantanalysis{SECRET}assistantfinal [E-PARSE-HEADER]", "answer: Hi", "stop", is_json=True),
    row("a body with nothing but a thought", body(content="", reasoning=SECRET), f"thought: {SECRET}", "stop", is_json=True),
    row("a body without a reason to stop", b'{"choices":[{"message":{"content":"Hi"}}]}', "answer: Hi", "stop", is_json=True),
    row("a body that is an error", b'{"object":"error","message":"SECRETzzq","code":400}', "E-X-BACKEND-REFUSED", is_json=True),
    row("a body that is cut", body(content="Hi")[:-3], "E-X-BACKEND, may be asked again", is_json=True),
    row("a body that is a list", b'["SECRETzzq"]', "E-X-BACKEND, may be asked again", is_json=True),
    # how it ends
    *(row(f"{found} that ends with {finish}", deltas(*found, finish=finish), *told) for found, finish, told in (
        ([HI], "stop", ("answer: Hi", "stop")),
        ([HI], None, ("answer: Hi", "stop")),
        ([HI], "length", ("answer so far: Hi [E-X-LENGTH] [cut]", "length")),
        ([HI], "content_filter", ("answer so far: Hi", "content_filter")),
        ([HI], "tool_calls", ("answer so far: Hi", "tool_calls")),
        ([HI], "function_call", ("answer so far: Hi", "tool_calls")),
        ([HI, HM], "stop", ("answer so far: Hi", "thought: hm", "stop")),
        ([HI, A_CALL], "stop", ("answer so far: Hi", "call functions.look c1: {}", "tool_calls")),
        ([HI, A_CALL], "length", ("answer so far: Hi [E-X-LENGTH] [cut]", "call functions.look c1: {}", "length")),
        ([{"refusal": "No."}], "stop", ("answer: No.", "refusal")),
        ([{"refusal": "No."}], "length", ("answer so far: No. [E-X-LENGTH] [cut]", "length")),
        ([{"refusal": "No."}, A_CALL], "length", ("answer so far: No. [E-X-LENGTH] [cut]", "call functions.look c1: {}", "length")),
        ([{"refusal": "No."}], "content_filter", ("answer: No.", "refusal")),
        ([{"refusal": "No.", "channel": "analysis"}], "stop", ("thought: No.", "stop")))),
    *(row(f"a reason to stop that is {odd!r}", choices({"delta": HI}, {"finish_reason": odd}),
        "answer so far: Hi [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED") for odd in ("", None, 5, {"type": "stop"})),
    row("text behind a reason to stop", choices({"delta": HI}, {"finish_reason": "stop"}, {"delta": HI}) + DONE, "answer: HiHi", "stop"),
    row("text behind a reason to stop, without an end", choices({"delta": HI}, {"finish_reason": "stop"}, {"delta": HI}),
        "answer so far: HiHi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("a reason to stop with each text", choices(*[{"delta": HI, "finish_reason": "stop"}] * 2), "answer: HiHi", "stop"),
    row("a choice that is no object", sse({"choices": [7]}) + deltas(HI), "answer: Hi", "stop"),
    row("text before a call of an offered tool", deltas(HI, A_CALL), "preamble: Hi", "call functions.look c1: {}", "tool_calls", **LOOK),
    row("text without a call, where a tool is offered", deltas(HI), "answer: Hi", "stop", **LOOK),
    row("text before a call that was cut", deltas(HI, A_CALL, finish="length"), "answer so far: Hi [E-X-LENGTH] [cut]",
        "call functions.look c1: {}", "length", **LOOK),
    row("a thought before a call", deltas(HM, A_CALL), "thought: hm", "call functions.look c1: {}", "tool_calls", **LOOK),
    row("an answer, a thought and a call that break off", choices(*({"delta": each} for each in (HI, HM, A_CALL))),
        "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "thought: hm", "no call functions.look c1: {} [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED"),
    *(row(f"a thought and an answer with room for {room}", deltas(HM, HI), *told, limits={"max_output_chars": room}) for room, told in (
        (4, ("thought: hm", "answer: Hi", "stop")), (3, ("thought: hm", "answer so far: H [E-X-LENGTH] [cut]", "length")),
        (2, ("thought: hm [E-X-LENGTH] [cut]", "length")))),
    # calls
    row("a call with a fragment that is none", called({"id": "a", "function": {"name": "f", "arguments": "{"}}, None),
        "call functions.f a, no JSON: { [E-CALL-SCHEMA]", "tool_calls"),
    row("a call whose id has a space", called({"id": "a b", "function": {"name": "f"}}), "call functions.f new: {}", "tool_calls"),
    row("a call whose arguments are an object", called({"index": "x", "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}),
        'call functions.f a: {"x": 1}', "tool_calls"),
    row("calls in another order", called(G, F), "call functions.f a: {}", "call functions.g b: {}", "tool_calls"),
    row("calls with one index", called(F, {**G, "index": 0}), "call functions.f a: {}", "call functions.g b: {}", "tool_calls"),
    row("fragments of other kinds", called(5, {"function": "x", "id": "a"}, {"function": {"name": "f"}, "id": "b"}),
        "call functions.no_name a: {}", "call functions.f b: {}", "tool_calls"),
    row("empty fragments", called(F, {}, {"index": 7}, {"index": 7, "function": {"name": "", "arguments": None}}),
        "call functions.f a: {}", "tool_calls"),
    # what the envelope says
    row("a model and its counts", choices({"delta": HI}, {"finish_reason": "stop"}) + sse({"model": "tiny-2024-08-06", "choices": [],
        "usage": {"prompt_tokens": 9,
        "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}}}, {"model": "", "usage": None, "choices": None}, {"model": 5,
        "usage": [], "choices": [5]}) + DONE, "answer: Hi", "stop, 9 read (3 cached), 4 written, named tiny-2024-08-06"),
    row("a model that was neither asked for nor offered", sse({"model": SECRET, "choices": []}) + deltas(HI), "answer: Hi", "stop"),
    row("counts that are no numbers", choices({"delta": HI}, {"finish_reason": "stop"}) + sse({"usage": {"prompt_tokens": "9",
        "prompt_tokens_details": 5}}) +
        DONE, "answer: Hi", "stop"),
    *(row(f"an error behind {name}", said + sse({"error": {"code": 500}}), told) for name, said, told in (
        ("a model and its counts", sse({"model": "tiny", "usage": {"prompt_tokens": 9}, "choices": [5]}),
        "E-X-BACKEND, may be asked again"),)),
    row("an error behind a message without an index", choices({"index": None, "message": HM}) + sse({"error": {"code": 500}}),
        "thought: hm [E-X-BACKEND] [cut]", "E-X-BACKEND"),
    row("an error behind a call", choices({"delta": A_CALL}) + sse({"error": {"code": 500}}),
        "no call functions.look c1: {} [E-X-BACKEND] [cut]", "E-X-BACKEND"),
    # what goes back, whole and unchanged, or not at all
    *(row(f"reasoning before a call: {name}", deltas(*found, A_CALL), gives=gives, **more) for name, found, gives, more in (
        ("in the field it came in", [{"reasoning": "I "}, {"content": "x"}, {"reasoning": "look."}], given(reasoning="I look."), {}),
        ("none", [{"content": "x"}, {"reasoning": ""}], "", {}),
        ("fragments of details, and a late signature", [{"reasoning": "I look."}, *({"reasoning_details": [each]} for each in DETAILS)],
            given(reasoning_details=JOINED), {}),
        ("details without a place", [UNPLACED, UNPLACED], given(reasoning_details=[{"type": "t", "text": "aa"}, {"type": "t",
            "text": "bb"}]), {}))),
    *(row(f"reasoning before a call that is malformed: {field} {value!r}", deltas({field: value}, A_CALL),
        gives="") for field in ("reasoning",
        "reasoning_content", "reasoning_details", "thinking") for value in (None, 3, {"a": 1}, [3, None, "x"])),
    *(row(f"reasoning before a call in every field, with room for {room}", deltas(ALL_FIELDS, {"tool_calls": [{"index": 0, "id": "c1",
        "function": {"name": "look"}}]}), gives=gives, limits={"max_output_chars": room}) for room, gives in ((3, given(**ALL_FIELDS)), (2,
        ""))),
]  # fmt: skip
