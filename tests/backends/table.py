"""Rows in words: what a server of any wire format may say, and what becomes of it in each that can say it."""

from typing import Any

from tests.backends.door import COLUMNS, IDS, PROVED, SECRET, TEXT, Row
from tests.backends.said import (
    CUT,
    FILTERED,
    NO_EVENT,
    OF_ITS_OWN,
    STOPS,
    Ends,
    Fails,
    Moment,
    Refuses,
    Sends,
    Writes,
    announces,
    calls,
    says,
    thinks,
)
from tests.chatui.backends.wire import sse, vllm

APART = COLUMNS[1:]
"""In these a thought has an end."""
LOOK: dict[str, Any] = {"tools": ("look",)}
UNPROVED: dict[str, Any] = {"columns": TEXT, "server": PROVED}
FINAL = "<|channel|>final<|message|>"
MODEL_CALL = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
HARMONY = f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hi"

ESCAPED = "<\u2060|end|>"
ECHOES = [
    (f"Write {ESCAPED}.", "Write <|end|>."),
    (f"Write `{ESCAPED}{ESCAPED}`.", "Write `<|end|><|end|>`."),
    *((text, text) for text in ("a < b", "<", "<<", "\u2060|", "<a\u2060|", "It is <|end|>.", "a\u2060b")),
]
NAMES = (
    *(f"lab_pick{rest}" for rest in ("", "<|channel|>commentary", "<|constrain|>json", "<|channel|>analysis", "<|call|>", " json", "\n")),
    *(" lab_pick", "lab_pick commentary", "to=lab_pick", "commentary to=lab_pick", "functions.lab_pick<|channel|>commentary"),
    "assistant<|channel|>commentary to=functions.lab_pick",
    "assistant<|channel|>commentary to=functions.lab_pick <|constrain|>json<|message|>to=x",
    'lab_pick<|message|>{"a": "to=x"}',
)
NO_NAMES = [("", "no_name"), ("<|call|>lab_pick", "no_name"), ("é", "no_name"), ("x" * 65, "no_name"), ("lab_pickjson", "lab_pickjson")]


def row(name: str, said: list[Moment], *told: str, **more: Any) -> Row:
    return Row(name, tuple(said), told, **more)


def failing(when: str, before: list[Moment], kept: list[str], *, is_first: bool = False) -> list[Row]:
    """Each kind of error. Only before anything was written may the server be asked again."""
    found = []
    for fields, code, is_passing in (
        ({"code": 500}, "E-X-BACKEND", True),
        ({"code": 401}, "E-X-BACKEND-SETUP", False),
        ({"code": 429}, "E-X-BACKEND-BUSY", True),
        ({"code": 400}, "E-X-BACKEND-REFUSED", False),
        ({"type": "overloaded_error"}, "E-X-BACKEND-BUSY", True),
        ({"code": "content_filter"}, "E-X-CONTENT-REFUSED", False),
    ):
        told = [line.replace("CODE", code) for line in kept]
        end = f"{code}, may be asked again" if is_first and is_passing else code
        found.append(row(f"{when}, the error {fields}", [*before, Fails({"message": SECRET, **fields})], *told, end))
    return found


ROWS = [
    # answers and thoughts
    row("an answer", [says("Hi"), STOPS], "answer: Hi", "stop"),
    row("an answer in pieces", [says("Hi", " you", "!"), STOPS], "answer: Hi you!", "stop"),
    row("a thought, then an answer", [thinks(SECRET), says("Hi"), STOPS], f"thought: {SECRET}", "answer: Hi", "stop"),
    row("a thought in pieces", [thinks("h", "m", " so"), says("Hi"), STOPS], "thought: hm so", "answer: Hi", "stop"),
    row("two thoughts", [thinks("a"), thinks("b"), says("Hi"), STOPS], "thought: a", "thought: b", "answer: Hi", "stop", columns=APART),
    row("a thought, and nothing else", [thinks(SECRET), STOPS], f"thought: {SECRET}", "stop"),
    row("nothing", [STOPS], "stop"),
    row("an announcement, then an answer", [announces("I look."), says("Four."), STOPS], "preamble: I look.", "answer: Four.", "stop"),
    row("an announcement, a thought and an answer", [announces("I look."), thinks("hm"), says("Four."), STOPS], "preamble: I look.",
        "thought: hm", "answer: Four.", "stop"),
    # calls
    row("a call", [calls("look", '{"q": 1}'), STOPS], 'call functions.look c1: {"q": 1}', "tool_calls", **LOOK),
    row("a call after a thought", [thinks(SECRET), calls("look", "{}"), STOPS], f"thought: {SECRET}", "call functions.look c1: {}",
        "tool_calls", **LOOK),
    row("a call whose arguments come in pieces", [calls("look", '{"q"', ": ", "1}"), STOPS], 'call functions.look c1: {"q": 1}',
        "tool_calls", **LOOK),
    row("two calls", [calls("look", '{"q": 1}'), calls("find", '{"q": 2}', call_id="c2"), STOPS], 'call functions.look c1: {"q": 1}',
        'call functions.find c2: {"q": 2}', "tool_calls", tools=("look", "find")),
    row("two calls of one function", [calls("look", '{"q": 1}'), calls("look", '{"q": 2}', call_id="c2"), STOPS],
        'call functions.look c1: {"q": 1}', 'call functions.look c2: {"q": 2}', "tool_calls", **LOOK),
    row("a call of a function that was not offered", [calls("other", "{}"), STOPS], "call functions.other c1: {}", "tool_calls", **LOOK),
    row("a call whose arguments are no JSON", [calls("look", '{"q":'), STOPS], 'call functions.look c1, no JSON: {"q": [E-CALL-SCHEMA]',
        "tool_calls", of_ids=('call functions.look new: {"q": [E-BODY-CONSTRAINT-VIOLATION]', "tool_calls"), **LOOK),
    row("a call whose arguments are no object", [calls("look", "[1]"), STOPS], "call functions.look c1, no JSON: [1] [E-CALL-SCHEMA]",
        "tool_calls", of_ids=("call functions.look new: [1]", "tool_calls"), **LOOK),
    row("a call without arguments", [calls("look"), STOPS], "call functions.look c1: {}", "tool_calls",
        of_ids=("call functions.look new:  [E-BODY-CONSTRAINT-VIOLATION]", "tool_calls"), **LOOK),
    row("an announcement before a call", [announces("I look."), calls("look", "{}"), STOPS], "preamble: I look.",
        "call functions.look c1: {}", "tool_calls", **LOOK),
    row("an answer before a call", [says("I look."), calls("look", "{}"), STOPS], "preamble: I look.", "call functions.look c1: {}",
        "tool_calls", of_ids=("answer so far: I look.", "call functions.look new: {}", "tool_calls"), **LOOK),
    row("an answer before a call that nobody offered", [says("I look."), calls("look", "{}"), STOPS], "answer so far: I look.",
        "call functions.look c1: {}", "tool_calls"),
    row("an answer behind a call", [calls("look", "{}"), says(SECRET), STOPS], f"hidden final (debug): {SECRET} [E-CALL-SCHEMA]",
        "call functions.look c1: {}", "tool_calls", of_ids=("call functions.look new: {}",
        f"hidden final (debug): {SECRET} [E-CALL-SCHEMA]", "tool_calls"), **LOOK),
    # the name of a call, with what a server left of its header around it
    *(row(f"a call of {name!r}", [calls(name, "{}"), STOPS], "call functions.lab_pick c1: {}", "tool_calls", columns=TEXT)
        for name in NAMES),
    *(row(f"a call of {name!r}, which is none of a tool", [calls(name, "{}"), STOPS], f"call functions.{known_as} c1: {{}}", "tool_calls",
        columns=TEXT) for name, known_as in NO_NAMES),
    # ends
    row("an answer that is cut by its length", [says("Part"), CUT], "answer so far: Part [E-X-LENGTH] [cut]", "length"),
    row("a thought that is cut by its length", [thinks("hm"), CUT], "thought: hm [E-X-LENGTH] [cut]", "length"),
    row("a call that is cut by its length", [calls("look", '{"q'), CUT], "no call functions.look c1, no JSON: {\"q [E-X-LENGTH] [cut]",
        "length", of_ids=('no call functions.look new: {"q [E-X-LENGTH] [cut]', "length"), **LOOK),
    row("an answer that is cut by a filter", [says("Part"), FILTERED], "answer so far: Part", "content_filter"),
    row("an answer that ends for a reason that nobody knows", [says("Part"), OF_ITS_OWN], "answer so far: Part [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED"),
    row("a refusal", [Refuses("No."), STOPS], "answer: No.", "refusal"),
    row("a refusal that is cut", [Refuses("No."), CUT], "answer so far: No. [E-X-LENGTH] [cut]", "length"),
    row("tokens are counted, and what is known of them", [says("Hi"), Ends(counted=(9, 4, 3, 2))], "answer: Hi",
        "stop, 9 read (3 cached), 4 written (2 reasoning)", columns=(*TEXT, "harmony-vllm")),
    row("tokens are counted, with no more of them", [says("Hi"), Ends("length", (9, 4, 3, 2))], "answer so far: Hi [E-X-LENGTH] [cut]",
        "length, 9 read, 4 written", columns=("harmony-llamacpp", "harmony-sglang")),
    # early ends
    row("no event", [NO_EVENT], "E-STREAM-TRUNCATED"),
    row("a thought without an end", [thinks(SECRET)], f"thought: {SECRET} [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("half an answer without an end", [thinks(SECRET), says("Half an")], f"thought: {SECRET}",
        "answer so far: Half an [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("a call without an end", [calls("look", '{"q"')], 'no call functions.look c1, no JSON: {"q" [E-STREAM-TRUNCATED] [cut]',
        "E-STREAM-TRUNCATED", of_ids=('no call functions.look new: {"q" [E-STREAM-TRUNCATED] [cut]', "E-STREAM-TRUNCATED"), **LOOK),
    row("an end behind an end", [says("Hi"), STOPS, STOPS], "answer: Hi", "stop"),
    row("text behind the end", [says("Hi"), STOPS, says(SECRET), STOPS], "answer: Hi", "stop", columns=("responses", "harmony-vllm",
        "harmony-sglang")),
    row("no blank line behind the last event", [thinks("hm"), says("Hi"), STOPS], "thought: hm", "answer: Hi", "stop", lacks=2),
    row("a last event that is cut", [thinks("hm"), says("Hi"), STOPS], "thought: hm", "answer so far: Hi [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED", of_ids=("thought: hm", "answer: Hi", "stop",), lacks=4, columns=("responses", "harmony-llamacpp")),
    row("a mark of the end that nobody knows", [says("Hi"), Sends(b"data: [END]\n\n")], "answer so far: Hi [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED"),
    row("a chunk of another kind of text", [says("Hi"), Sends(sse(vllm(text=SECRET, thought=True))), STOPS],
        "answer so far: Hi [E-X-BACKEND] [cut]", "E-X-BACKEND", columns=("harmony-vllm",)),
    row("half an event at the end", [says("Hi"), Sends(b'data: {"choi')], "answer so far: Hi [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED"),
    # errors inside
    *failing("at once", [], [], is_first=True),
    *failing("after a thought", [thinks(SECRET)], [f"thought: {SECRET} [CODE] [cut]"]),
    *failing("after half an answer", [thinks(SECRET), says("Half")], [f"thought: {SECRET}", "answer so far: Half [CODE] [cut]"]),
    row("an error event", [says("Half"), Sends(b'event: error\ndata: {"message":"SECRETzzq"}\n\n')],
        "answer so far: Half [E-X-BACKEND] [cut]", "E-X-BACKEND"),
    row("an error event without JSON", [says("Half"), Sends(b"event: error\ndata: SECRETzzq\n\n")],
        "answer so far: Half [E-X-BACKEND] [cut]", "E-X-BACKEND"),
    row("an error in words", [says("Half"), Sends(b'data: {"error":"SECRETzzq"}\n\n')], "answer so far: Half [E-X-BACKEND] [cut]",
        "E-X-BACKEND"),
    row("an object that is an error", [Sends(b'data: {"object":"error","code":400,"message":"SECRETzzq"}\n\n')], "E-X-BACKEND-REFUSED",
        columns=("chat", *IDS)),
    row("a field for errors that is empty", [Sends(b'data: {"error":null}\n\n'), says("Hi"), STOPS], "answer: Hi", "stop"),
    row("text behind an error", [says("Half"), Fails({"code": 500}), says(SECRET), STOPS], "answer so far: Half [E-X-BACKEND] [cut]",
        "E-X-BACKEND"),
    # what cannot be read
    row("a line that is no JSON", [thinks("hm"), Sends(b"data: {oops\n\n"), says("Hi"), STOPS], "thought: hm", "answer: Hi", "stop",
        of_ids=("thought: hm [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED")),
    row("JSON that is no object", [says("Hi"), Sends(b'data: 7\n\ndata: ["SECRETzzq"]\n\n'), STOPS], "answer: Hi", "stop",
        of_ids=("answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED")),
    row("JSON that is too deep", [says("Hi"), Sends(b"data: " + b"[" * 100_000 + b"\n\n"), STOPS], "answer: Hi", "stop",
        of_ids=("answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED")),
    row("a page of HTML", [Sends(b"<html>SECRETzzq</html>\n\n")], "E-STREAM-TRUNCATED"),
    row("comments and blank lines", [NO_EVENT, says("Hi"), Sends(b"\n\n: wait\n"), STOPS], "answer: Hi", "stop"),
    row("a line that is too long", [says("Hi"), Sends(b"data: " + b"x" * 40_000 + b"\n\n"), STOPS],
        "answer so far: Hi [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED", limits={"max_line_bytes": 20_000, "max_output_chars": 1000}),
    # characters
    row("a character of four bytes", [thinks("\U0001f600"), says("smile \U0001f600 end"), STOPS], "thought: 😀", "answer: smile 😀 end",
        "stop"),
    row("line ends that are none to a stream", [says("a\u2028b\u0085c"), STOPS], "answer: a\u2028b\x85c", "stop"),
    row("a marker that was escaped in the question", [says("It is <\u2060|start|>, 1 <"), STOPS], "answer: It is <|start|>, 1 <", "stop",
        columns=TEXT),
    *(row(f"an echo of what was escaped, in pieces of {size}: {text}", [says(*(text[at : at + size] for at in range(0, len(text), size))),
        STOPS], f"answer: {shown}", "stop", columns=TEXT) for text, shown in ECHOES for size in range(1, min(len(text), 9) + 1)),
    # what the model wrote for nobody, where a server left it in the answer
    row("Harmony in the answer", [says(HARMONY), STOPS],
        f"hidden: <|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|> [E-PARSE-HEADER]",
        "answer: Hi", "stop", **UNPROVED),
    row("Harmony in the answer, in pieces", [says(*HARMONY), STOPS],
        f"hidden: <|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|> [E-PARSE-HEADER]",
        "answer: Hi", "stop", columns=TEXT),
    row("Harmony without its markers", [says(f"analysis{SECRET}assistantfinalHi"), STOPS],
        f"hidden: analysis{SECRET}assistantfinal [E-PARSE-HEADER]", "answer: Hi", "stop", **UNPROVED),
    row("thinking in tags", [says(f"<think>{SECRET}</think>Hi"), STOPS], f"hidden: <think>{SECRET}</think> [E-PARSE-HEADER]", "answer: Hi",
        "stop", **UNPROVED),
    row("thinking without its first tag", [says(f"{SECRET}</think>Hi"), STOPS], f"hidden: {SECRET}</think> [E-X-WITHHELD]", "answer: Hi",
        "stop", **UNPROVED),
    row("thinking whose last tag is missing", [says(f"<think>{SECRET}"), STOPS], f"hidden: <think>{SECRET} [E-X-WITHHELD]", "stop",
        **UNPROVED),
    row("Harmony in an answer that is cut", [says(HARMONY), CUT],
        f"hidden: <|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hi [E-X-LENGTH] [cut]",
        "length", **UNPROVED),
    row("Harmony in an answer that breaks off", [says(HARMONY)],
        f"hidden: <|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hi [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED", **UNPROVED),
    row("an answer of a server that has proved nothing", [says("Hi"), STOPS], "answer: Hi", "stop", knows="unproven", **UNPROVED),
    row("an answer that proves it", [thinks("hm"), says("Hi"), STOPS], "thought: hm", "answer: Hi", "stop", knows="structured", **UNPROVED),
    row("half an answer of a server that has proved nothing", [says("Hi")], "hidden: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED",
        **UNPROVED),
    row("half an answer after a proof", [says("Hi")], "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED",
        is_after_proof=True, **UNPROVED),
    # what the model itself writes
    *(row(f"{name}, and stops", [Writes(text), STOPS], *told) for name, text, told in (
        ("an answer with its own end", f"{FINAL}Hi<|return|>", ("answer: Hi", "stop")),
        ("a call with its own end", MODEL_CALL, ("call functions.f new: {}", "tool_calls")),
    )),
    row("an answer that ends where its length does", [Writes(f"{FINAL}Hi<|return|>"), CUT], "answer: Hi", "stop"),
    row("a message that ends where the length does", [Writes(f"{FINAL}Hi<|end|>"), CUT], "answer so far: Hi", "length"),
    row("a call that ends where its length does", [Writes(MODEL_CALL), CUT], "call functions.f new: {}", "length"),
    row("an answer behind a call, cut", [Writes(f"{MODEL_CALL}<|start|>assistant{FINAL}Hi"), CUT], "call functions.f new: {}",
        "hidden final (debug): Hi [E-X-LENGTH] [cut]", "length"),
    row("two calls that the model writes", [Writes(f"{MODEL_CALL}<|start|>assistant{MODEL_CALL}"), STOPS], "call functions.f new: {}",
        "call functions.f new: {}", "tool_calls"),
    row("a call without its last token, cut", [Writes(MODEL_CALL.removesuffix("<|call|>")), CUT], "call functions.f new: {}", "length"),
    row("a message behind its end, without an end of the stream", [Writes(f"{FINAL}Hi<|end|>")], "answer so far: Hi", "E-STREAM-TRUNCATED"),
    row("an answer with its end, without an end of the stream", [Writes(f"{FINAL}Hi<|return|>")], "answer: Hi", "stop"),
    row("text behind the end of the answer", [Writes(f"{FINAL}Hi<|return|>{SECRET}"), STOPS], "answer: Hi", "stop"),
    row("a channel that nobody knows", [Writes(f"<|channel|>gossip<|message|>{SECRET}<|end|><|start|>assistant{FINAL}Hi"), STOPS],
        f"hidden: <|channel|>gossip<|message|>{SECRET} [E-PARSE-HEADER]", "answer: Hi", "stop"),
    row("a header without its message", [Writes(f"<|channel|>final Part.<|end|><|start|>assistant{FINAL}Hi"), STOPS],
        "answer so far: Part. [E-PARSE-HEADER]", "answer: Hi", "stop"),
    row("a message to a person in the analysis", [Writes(f"<|channel|>analysis to=user<|message|>{SECRET}"), STOPS],
        f"no call user -, no JSON: {SECRET} [E-PARSE-HEADER]", "stop"),
    row("a message of a tool", [Writes(f"{FINAL}Hi<|end|><|start|>tool<|message|>{SECRET}"), STOPS], "answer so far: Hi",
        "hidden: <|start|>tool<|message|> [E-PARSE-HEADER]", "stop"),
    row("text between two messages", [Writes(f"<|channel|>analysis<|message|>hm<|end|>{SECRET}<|start|>assistant{FINAL}Hi"), STOPS],
        "thought: hm", "answer: Hi", "stop"),
    # what goes back
    row("the reasoning before a call, as a text", [thinks("hm"), calls("look", "{}"), STOPS], "thought: hm", "call functions.look c1: {}",
        "tool_calls", columns=("chat",),
        gives='{"reasoning_content": "hm"}', **LOOK),
    row("the reasoning before a call, as an item", [thinks("hm"), calls("look", "{}"), STOPS], "thought: hm", "call functions.look c1: {}",
        "tool_calls", columns=("responses",),
        gives='[{"content": [{"text": "hm", "type": "reasoning_text"}], "id": "i0", "type": "reasoning"}]', **LOOK),
    # limits
    row("as much as may be written", [says("abc", "def"), STOPS], "answer: abcdef", "stop", columns=TEXT, limits={"max_output_chars": 6}),
    row("more than may be written", [says("abc", "def"), STOPS], "answer so far: abcde [E-X-LENGTH] [cut]", "length", columns=TEXT,
        limits={"max_output_chars": 5}),
    row("more than may be written, with its header", [says("abc", "def"), STOPS], "answer so far: abcd [E-X-LENGTH] [cut]", "length",
        columns=tuple(IDS), limits={"max_output_chars": 31}),
    row("a thought counts as well", [thinks("abc"), says("def"), STOPS], "thought: abc", "answer so far: de [E-X-LENGTH] [cut]", "length",
        columns=TEXT, limits={"max_output_chars": 5}),
    row("arguments count as well", [calls("look", '{"q"', ": 1}"), STOPS],
        'no call functions.look c1, no JSON: {"q": 1 [E-X-LENGTH] [cut]', "length", columns=TEXT, limits={"max_output_chars": 7}, **LOOK),
]  # fmt: skip
