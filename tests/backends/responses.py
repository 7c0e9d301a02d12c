"""Rows that only Responses can say: its items and their parts, what later events repeat, and whose text each is."""

import json
from typing import Any

from tests.backends.door import PLAIN, PROVED, SECRET, TRUSTED, Row

Event = dict[str, Any]


def sent(*events: Event) -> bytes:
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events)


def row(name: str, said: list[Event], *told: str, **more: Any) -> Row:
    return Row(name, sent(*said), told, columns=("responses",), **more)


def everywhere(name: str, said: list[Event], shows: str) -> list[Row]:
    """What people see in the end, whatever is known of the server."""
    more: list[tuple[str, dict[str, Any]]] = [
        ("of a server that has proved nothing", {"server": PROVED}),
        ("after a proof", {"server": PROVED, "is_after_proof": True}),
        ("of a server that always separates", {}),
        ("of a model that never reasons", {"server": PLAIN}),
    ]
    return [row(f"{name}, {of}", said, shows=shows, **given) for of, given in more]


def added(kind: str, item_id: str = "", index: int | None = None, **more: Any) -> Event:
    item = {"type": kind, **({"id": item_id} if item_id else {}), **more}
    return {"type": "response.output_item.added", "item": item, **({} if index is None else {"output_index": index})}


def done(kind: str, item_id: str = "", index: int | None = None, **more: Any) -> Event:
    return {**added(kind, item_id, index, **more), "type": "response.output_item.done"}


def message(item_id: str = "m", index: int | None = None, **more: Any) -> Event:
    return added("message", item_id, index, **{"role": "assistant", "content": [], **more})


def ended(*parts: object, item_id: str = "m", index: int | None = None, **more: Any) -> Event:
    return done("message", item_id, index, role="assistant", content=list(parts), **more)


def text(delta: str, item_id: str = "m", kind: str = "output_text.delta", **more: Any) -> Event:
    named = {"item_id": item_id} if item_id else {}
    return {"type": f"response.{kind}", **named, "delta": delta, **more}


def thought(delta: str, item_id: str = "r") -> Event:
    return text(delta, item_id, "reasoning_text.delta")


def summary(delta: str, place: int | None = 0) -> Event:
    return text(delta, "r", "reasoning_summary_text.delta", **({} if place is None else {"summary_index": place}))


def reasoned(value: str, item_id: str = "r") -> Event:
    """A whole item of reasoning."""
    return done("reasoning", item_id, content=[part(value, "reasoning_text")], summary=[])


def whole(value: str, item_id: str = "m", kind: str = "output_text.done", **more: Any) -> Event:
    return {"type": f"response.{kind}", "item_id": item_id, "text": value, **more}


def part(text: str, kind: str = "output_text") -> dict[str, str]:
    return {"type": kind, "text": text}


def opened(kind: str, place: int = 0, **more: Any) -> Event:
    return {"type": "response.content_part.added", "item_id": "m", "content_index": place, "part": {**part("", kind), **more}}


def part_event(step: str, place: int | None = 0, **fields: Any) -> Event:
    where = {} if place is None else {"content_index": place}
    return {"type": f"response.content_part.{step}", "item_id": "m", **where, "part": fields}


def part_done(place: int | None = 0, **fields: Any) -> Event:
    return part_event("done", place, **fields)


def arguments(delta: str, item_id: str = "c") -> Event:
    return {"type": "response.function_call_arguments.delta", "item_id": item_id, "delta": delta}


def call(body: object = "{}", item_id: str = "c", index: int | None = None, **more: Any) -> Event:
    return done("function_call", item_id, index, **{"call_id": "c1", "name": "look", "arguments": body, **more})


def snapshot(*parts: object, item_id: str = "m") -> Event:
    """The message, as the last event repeats it."""
    return {"type": "message", "id": item_id, "role": "assistant", "content": list(parts)}


def completed(*output: Any, status: str = "completed", **more: Any) -> Event:
    return {"type": "response.completed", "response": {"status": status, "output": list(output), **more}}


UNPROVEN: dict[str, Any] = {"server": PROVED}
LOOK: dict[str, Any] = {"tools": ("look",)}
RAW = text(f"analysis{SECRET} is the plan.assistantfinalHi")
CUT: dict[str, Any] = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
FILTERED: dict[str, Any] = {"incomplete_details": {"reason": "content_filter"}}
REASONED = {"type": "reasoning", "id": "r", "summary": [part(SECRET, "summary_text")], "content": [part(SECRET)]}
HELLO = snapshot(part("Hello"))
PHASES: tuple[dict[str, Any], ...] = ({}, {"phase": "commentary"})
UNNAMED = {"type": "message", "role": "assistant", "content": [part("Two.")]}
NO_PARTS: tuple[object, ...] = (None, "reasoning_text", [])
SUMMARIZED = [
    added("reasoning", "r"),
    summary("Checked"),
    summary(" units."),
    summary("Then added.", 1),
    thought(SECRET),
    message(),
    text("4"),
    completed(),
]
STREAMED_CALL = added("function_call", "c", call_id="c1", name="look")
PROSE = "analysis of the rain: it is wet."
"""An answer that is held until it is complete, because raw output may begin like this."""
WEIGHED = f"The user asks, and I weigh {SECRET} first."
ANSWERED = f"{WEIGHED}\n\nIt is 42."
WEIGHING = reasoned(WEIGHED)
TWO_PARTS = [text(WEIGHED, content_index=0), text("It is 42.", content_index=1)]
UNTAGGED = f"I weigh {SECRET} first.</think>It is 42."
HINT = reasoned("A hint.")
PREAMBLE = [message("p", phase="commentary"), text("I look.", "p"), ended(item_id="p", phase="commentary")]
ALL_REASONING = [added("reasoning", name) for name in ("r", "s", "t")]
TWO = [message(), text("One."), ended(), message("n"), text("Two.", "n")]
BOTH = [part(SECRET), part("More")]
BEFORE = [message("before"), text("Before.", "before"), ended(part("Before."), item_id="before")]
OF_THE_SERVER = json.dumps({"type": "code_interpreter_call", "id": "w", "code": "x" * 10_000})
MESSAGE = {"type": "message", "role": "assistant"}
LATE: list[tuple[dict[str, Any], str]] = [
    ({"channel": "analysis"}, "E-PARSE-HEADER"),
    ({"mystery": "thinking"}, "E-X-WITHHELD"),
    ({"phase": "draft"}, "E-PARSE-HEADER"),
]
SHOWN: list[list[Event]] = [
    [MESSAGE],
    [MESSAGE | {"channel": "final", "phase": "final_answer", "status": "completed"}],
    [MESSAGE | {"phase": "commentary"}],
    [MESSAGE, {"phase": "commentary"}, {"phase": None}],
    [MESSAGE | {"arguments": "x", "summary": ["x"], "encrypted_content": "x"}],
    [MESSAGE, {"role": ""}],
]
HIDDEN: list[list[Event]] = [
    *([MESSAGE | label] for label in ({"phase": "draft"}, {"phase": 5}, {"channel": "analysis"}, {"channel": "final "}, {"name": "x"},
        {"call_id": "x"}, {"is_thinking": True}, {"mystery": "thinking"})),
    [MESSAGE | {"channel": "analysis"}, {"channel": None}],
    [MESSAGE | {"mystery": "thinking"}, MESSAGE],
    *([MESSAGE, *later] for later in ([{"channel": "analysis"}], [{"name": "x"}, {"name": ""}], [{"type": "reasoning"}], [{"role": "tool"}],
        [{"role": 5}], [{"role": ["assistant"]}])),
    [{"type": "message"}],
    [{"role": "assistant"}],
    [{"type": "reasoning", "role": "assistant"}],
    [{}],
]  # fmt: skip
ROWS = [
    row("an answer whose phase comes late stays the answer", [message(), text("Four."), ended(part("Four."), phase="final_answer"),
        completed()], "answer: Four.", "stop"),
    row("hidden text is not made a preamble by a late phase", [message(), text(f"<think>{SECRET}"), text("</think>Hello"),
        ended(part(f"<think>{SECRET}</think>Hello"), phase="commentary"), completed()],
        f"hidden: <think>{SECRET}</think> [E-PARSE-HEADER]", "preamble: Hello", "stop"),
    row("a proxy's reasoning item with a role and parts called output_text is hidden", [completed({**snapshot(part(SECRET), item_id="r"),
        "type": "reasoning"}, HELLO)], f"thought: {SECRET}", "answer: Hello", "stop"),
    row("reasoning events about a message are hidden", [message(), text(SECRET, kind="reasoning_text.delta"), text("Hello"), completed()],
        f"thought: {SECRET}", "answer: Hello", "stop"),
    row("summary events about a message are hidden even if summaries are trusted", [message(), text(SECRET,
        kind="reasoning_summary_text.delta"), text("Hi"), completed()], f"thought: {SECRET}", "answer: Hi", "stop", server=TRUSTED),
    row("a label beside reasoning does not hide the answer of its message", [message(), text("hm", kind="reasoning_text.delta",
        is_thinking=True), text("Hi"), completed()], "thought: hm", "answer: Hi", "stop"),
    row("a part of unknown kind is hidden", [message(), text("Hello"), opened("reasoning_text", 1), text(SECRET, content_index=1),
        completed(snapshot(part("Hello"), part(SECRET, "reasoning_text")))], "answer: Hello", f"thought: {SECRET}", "stop"),
    row("a part once called reasoning stays hidden", [message(), opened("reasoning_text"), text(SECRET, content_index=0),
        ended(part(SECRET), part("Hi")), completed()], f"thought: {SECRET}", "answer: Hi", "stop"),
    row("text that the end calls reasoning under another id is no message", [message(), text(SECRET), completed({"type": "reasoning",
        "id": "r9", "content": [part(SECRET, "reasoning_text")]})], f"hidden: {SECRET} [E-X-WITHHELD] [withdrawn]", f"thought: {SECRET}",
        "stop"),
    row("a hidden part beside the shown one, at its end", [message(), text("Hi", content_index=0), part_done(1, type="reasoning_text",
        text=SECRET), completed()], "answer: Hi", f"thought: {SECRET}", "stop"),
    row("a hidden part beside the shown one, in the whole message", [message(), text("Hi", content_index=0), ended(part("Hi"), part(SECRET,
        "x")), completed()], "answer: Hi", f"thought: {SECRET}", "stop"),
    row("the kind of a reasoning item's part says nothing about its summary", [added("reasoning", "r"),
        opened("reasoning_text") | {"item_id": "r"}, summary("I checked."), completed()], "summary: I checked.", "stop", server=TRUSTED),
    row("an event without a place is about the first part", [message(), opened("reasoning_text"), text(SECRET), completed()],
        f"thought: {SECRET}", "stop"),
    row("a place that is no number is the first", [message(), opened("reasoning_text") | {"content_index": "1"}, text(SECRET,
        content_index=0), text("Hi", content_index=1), completed()], f"thought: {SECRET}", "answer: Hi", "stop"),
    row("a chain of thought sent as summary and content is stored once", [added("reasoning", "r"), completed(REASONED)],
        f"thought: {SECRET}", "stop"),
    row("so is one in several parts", [done("reasoning", "r", summary=[part("a", "summary_text"), part("b", "summary_text")],
        content=[part("a"), part("b")]), completed()], "thought: a\n\nb", "stop"),
    row("summaries with and without a place are one", [added("reasoning", "r"), summary("a", None), summary("b"), completed()],
        "thought: ab", "stop"),
    row("raw output shows its answer if the model finished", [message(), RAW, completed()],
        f"hidden: analysis{SECRET} is the plan.assistantfinal [E-PARSE-HEADER]", "answer: Hi", "stop"),
    row("and not if it was cut by its limit", [message(), RAW, completed(**CUT)],
        f"hidden: analysis{SECRET} is the plan.assistantfinalHi [E-X-LENGTH] [cut]", "length"),
    row("nor by a filter", [message(), RAW, completed(status="incomplete", incomplete_details={"reason": "content_filter"})],
        f"hidden: analysis{SECRET} is the plan.assistantfinalHi [E-X-WITHHELD]", "content_filter"),
    row("nor if the stream broke off", [message(), RAW],
        f"hidden: analysis{SECRET} is the plan.assistantfinalHi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("nor if its message was cut, even if another follows", [message(), RAW, ended(part(str(RAW["delta"])), status="incomplete"),
        message("n"), text("Next", "n"), completed()], f"hidden: analysis{SECRET} is the plan.assistantfinalHi [E-X-WITHHELD]",
        "answer so far: Next [E-X-LENGTH] [cut]", "length"),
    row("the whole text of a part is judged as a whole if none was streamed", [message(),
        whole(f"It is 346.assistantanalysis{SECRET}assistantfinalHi"), completed()], "hidden: It is 346. [E-X-WITHHELD]",
        f"hidden: assistantanalysis{SECRET}assistantfinal [E-PARSE-HEADER]", "answer: Hi", "stop", **UNPROVEN),
    row("escaped markers in echoes are restored", [message(), text("You wrote <"), text("\u2060|end|>."), completed()],
        "answer: You wrote <|end|>.", "stop"),
    row("a preamble is judged like an answer", [message(phase="commentary"), text("<think>"), text(f"{SECRET}</think>Hello!"),
        completed()], f"hidden: <think>{SECRET}</think> [E-PARSE-HEADER]", "preamble: Hello!", "stop"),
    row("extra text in a snapshot is appended", [message(), text("Hello"), completed(snapshot(part("Hello there")))],
        "answer: Hello there", "stop"),
    row("the last of several snapshots counts", [message(), text("Hello,"), whole("Hello,!"), ended(part("Hello,")), completed()],
        "answer: Hello,", "stop"),
    row("an empty piece of another part does not settle what a part said", [message(), text("Hello,"), whole("Hello,!"), text("",
        content_index=1), ended(part("Hello,")), completed()], "answer: Hello,", "stop"),
    row("without another snapshot, the end of a part counts", [message(), text("Hello,"), whole("Hello,!"), completed()],
        "answer: Hello,!", "stop"),
    row("an answer only in its part", [message(), whole("Hello"), completed()], "answer: Hello", "stop"),
    row("an answer only in its item", [ended(part("Hello")), completed()], "answer: Hello", "stop"),
    row("an answer only in the last event", [completed(HELLO)], "answer: Hello", "stop"),
    row("an answer everywhere, once", [message(), text("Hello"), whole("Hello"), ended(part("Hello")), completed(snapshot(part("Hello"),
        item_id="n"))], "answer: Hello", "stop"),
    row("parts of a message are one answer", [message(), text("One. ", content_index=0), whole("One. ", content_index=0), text("Two.",
        content_index=1), completed(snapshot(part("One. "), part("Two.")))], "answer: One. Two.", "stop"),
    row("the text of a part event counts like that of the whole part", [message(), text("He"), part_done(type="output_text", text="Hello"),
        completed()], "answer: Hello", "stop"),
    row("so does that of a refusal", [message(), part_done(type="refusal", refusal="No."), completed()], "answer: No.", "stop"),
    row("a part event without a part changes nothing", [message(), *({**part_done(None), "part": odd} for odd in NO_PARTS), text("Hi"),
        completed()], "answer: Hi", "stop"),
    row("parts that are no objects are left out", [ended("x", None, part("Hi"), 5), completed()], "answer: Hi", "stop"),
    row("an answer interrupted by reasoning stays one frame", [added("reasoning", "r"), message(), text("Hel"), thought(SECRET),
        text("lo"), completed()], "answer: Hello", f"thought: {SECRET}", "stop"),
    row("text of an item that nobody names is hidden", [text(SECRET, "x"), completed()], f"hidden: {SECRET} [E-PARSE-HEADER]", "stop"),
    row("text before its message waits for it", [text("Hello", "x"), ended(part("Hello"), item_id="x"), completed()], "answer: Hello",
        "stop"),
    row("text before its message is shown although the stream breaks off", [text("Hel"), message(), text("lo")],
        "answer so far: Hello [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("text of an item without a type waits until it has one", [text("Hello."), added("", "m"), message(), completed()],
        "answer: Hello.", "stop"),
    row("text before its reasoning item is hidden", [text(SECRET, "x"), done("reasoning", "x"), completed()], f"thought: {SECRET}", "stop"),
    row("items whose ids change are found by their place", [added("reasoning", "id1", 0), text(SECRET, "id2", "reasoning_text.delta",
        output_index=0), text(SECRET, "id3", output_index=0), done("reasoning", "id4", 0), message("id5", 1), text("Hel", "id6",
        output_index=1), text("lo", "id7", output_index=1), ended(part("Hello"), item_id="id8", index=1), completed({"type": "reasoning",
        "id": "id9"}, snapshot(part("Hello"), item_id="id10"))], f"thought: {SECRET}{SECRET}", "answer: Hello", "stop"),
    row("events without ids or places belong to the newest item", [added("reasoning"), text(SECRET, ""), message(""), text("Hello", ""),
        completed()], f"thought: {SECRET}", "answer: Hello", "stop"),
    row("a message with the id of earlier reasoning is a message", [added("reasoning", "m", 0), thought(SECRET, "m"), done("reasoning",
        "m", 0), message("m", 1), text("Hello"), completed()], f"thought: {SECRET}", "answer: Hello", "stop"),
    row("also if that reasoning ends late", [added("reasoning", "m", 0), message("m", 1), done("reasoning", "m", 0,
        content=[part(SECRET)]), text("Hello"), completed()], f"thought: {SECRET}", "answer: Hello", "stop"),
    row("two messages with one id are two messages", [message(), text("One."), ended(part("One.")) | {"output_index": 0}, message(),
        text("Two."), completed()], "answer: One.\n\nTwo.", "stop"),
    row("a message followed by another gets no more visible text", [message("m"), text("One."), message("n"), text("Two.", "n"),
        text("late", "m"), completed()], "answer: One.\n\nTwo.", "hidden: late [E-PARSE-HEADER]", "stop"),
    row("a full sample takes no more from the last event", [message(), text("x" * 30), completed({"type": "web_search_call", "id": "w",
        "query": "more"})], "answer so far: xxxxxxxxxx [E-X-LENGTH] [cut]", "length", limits={"max_output_chars": 10}),
    *(row(f"the kind of a {family} says nothing about the text of its message",
        [message(), {**opened("reasoning_text"), "type": f"response.{family}.added"}, text("Hi", content_index=0), completed()],
        "answer: Hi", "stop") for family in ("reasoning_part", "reasoning_summary_part")),
    *(row(f"content that is no list changes nothing: {odd}", [message(), text("Hi"), ended() | {"item": snapshot() | {"content": odd}},
        completed()], "answer: Hi", "stop") for odd in (None, 5, {"type": "output_text", "text": "x"})),
    row("content that is a text", [done("message", "m", role="assistant", content="Hi"), completed()], "answer: Hi", "stop"),
    # phases and labels
    *(row(f"a message with the unknown phase {phase!r}", [message(phase=phase), text(SECRET), completed()],
        f"hidden: {SECRET} [E-PARSE-HEADER]", "stop") for phase in ("analysis", "Final_Answer", "", "final", 7, {"a": 1}, ["final_answer"],
        "acme:thinking")),
    row("a message that its end calls commentary, before a call", [message(), text("I will "), text("look"),
        ended(part("I will look at it."), phase="commentary"), call(), completed()], "preamble: I will look at it.",
        "call functions.look c1: {}", "tool_calls"),
    row("a message that the last event calls commentary, before a call", [message(), text("I will "), text("look"), call(),
        completed(snapshot(part("I will look at it.")) | {"phase": "commentary"})], "preamble: I will look at it.",
        "call functions.look c1: {}", "tool_calls"),
    *(row(f"text of a reasoning item that is called {name}", [added("reasoning", "r"), text(SECRET, "r", f"{name}.delta"), message(),
        text("Hello"), completed()], f"thought: {SECRET}", "answer: Hello", "stop") for name in ("output_text", "reasoning",
        "reasoning_text", "reasoning_summary_text", "reasoning_summary")),
    row("text of a reasoning item that is called a refusal", [added("reasoning", "r"), text(SECRET, "r", "refusal.delta"), message(),
        text("Hello"), completed()], f"thought: {SECRET}", "answer: Hello", "refusal"),
    *(row(f"a streamed part with the label {label}", [message(), opened("output_text", **label), text(SECRET, content_index=0),
        text("Hi", content_index=1), completed()], shows="Hi") for label in ({"channel": "analysis"}, {"thought": True},
        {"x_segment": "thinking"})),
    *(row(f"a whole part with the label {label}", [message(), ended({**part(SECRET), **label}, part("Hi")), completed()],
        shows="Hi") for label in ({"channel": "analysis"}, {"thought": True}, {"x_segment": "thinking"})),
    row("encrypted reasoning", [added("reasoning", "r", encrypted_content="x", summary=[]), done("reasoning", "r",
        encrypted_content="x", summary=[]), done("compaction", "c", encrypted_content="x"), completed()],
        'hidden: {"type": "compaction", "id": "c"}', "stop"),
    row("items and events that nobody knows", [added("acme:note", "a"), text(SECRET, "a"), {"type": "acme:note.delta", "item_id": "a",
        "delta": SECRET}, done("acme:note", "a", text="noted"), done("web_search_call", "w", action={"query": "harmony"}), message(),
        text("Hello"), completed(instructions=SECRET, tools=[{"name": SECRET}])],
        'hidden: {"type": "acme:note", "id": "a", "text": "noted"}',
        'hidden: {"type": "web_search_call", "id": "w", "action": {"query": "harmony"}}', "answer: Hello", "stop"),
    *(row(f"an item behind the message: {item['item']['type']}", [message(), text("Yes."), ended(part("Yes.")), item, completed()],
        "answer: Yes.", line, "stop") for item, line in ((done("hologram", "h"), 'hidden: {"type": "hologram", "id": "h"}'),
        (done("web_search_call", "w"), 'hidden: {"type": "web_search_call", "id": "w"}'), (reasoned("Hm."), "thought: Hm."))),
    row("an item behind the message of a stream that breaks off", [message(), text("Yes."), ended(part("Yes.")), reasoned("Hm.")],
        "answer so far: Yes.", "thought: Hm. [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    # summaries
    row("a summary of which nobody says that it is one", SUMMARIZED, "thought: Checked units.\n\nThen added.", f"thought: {SECRET}",
        "answer: 4", "stop"),
    row("a summary that the operator trusts", SUMMARIZED, "summary: Checked units.\n\nThen added.", f"thought: {SECRET}", "answer: 4",
        "stop", server=TRUSTED),
    row("a trusted summary that is the chain of thought itself", [added("reasoning", "r"), completed({"type": "reasoning", "id": "r",
        "summary": [part("hm", "summary_text")], "content": [part("hm")]})], "summary: hm", "thought: hm", "stop", server=TRUSTED),
    row("each part of a summary has its own place", [added("reasoning", "r"), *({"type": "response.reasoning_summary_part.done",
        "item_id": "r", "summary_index": place, "part": part(each, "summary_text")} for place, each in enumerate("ab")), completed()],
        "thought: a\n\nb", "stop"),
    row("reasoning that was streamed, and whose summary is the same", [added("reasoning", "r"), thought("ab"), done("reasoning", "r",
        content=[part("abc")], summary=[part("abc", "summary_text")]), completed()], "thought: ab", "thought: abc", "thought: c", "stop"),
    row("text that was shown, and changes afterwards", [message(), text("Hello"), whole("Good day"), completed(snapshot(part("Good day")))],
        "answer: Hello", "stop"),
    # calls
    row("the id of a call is that of the last event", [added("function_call", "f1", 0, call_id="c1", name="weather", arguments=""),
        arguments('{"a":', "f1"), arguments("1}", "f1"), completed({"type": "function_call", "id": "f9", "call_id": "c9",
        "name": "weather", "arguments": '{"a":1}'})], 'call functions.weather c9: {"a":1}', "tool_calls"),
    row("a thought and a message behind a call", [message("m", 0), text("I look."), call(index=1), done("reasoning", "r", 2,
        content=[part("hm")]), message("n", 3), text(SECRET, "n"), completed()], "answer so far: I look.", "hidden: hm [E-CALL-SCHEMA]",
        f"hidden final (debug): {SECRET} [E-CALL-SCHEMA]", "call functions.look c1: {}", "tool_calls"),
    row("two calls whose arguments come by turns", [*(added("function_call", f"f{n}", n, call_id=f"c{n}", name="f") for n in (0, 1)),
        *(arguments(piece, f"f{n}") for piece, n in (('{"n":', 0), ('{"n":', 1), ("0}", 0), ("1}", 1))), completed()],
        'call functions.f c0: {"n":0}', 'call functions.f c1: {"n":1}', "tool_calls"),
    row("calls without a name, and with arguments that are no object", [done("function_call", "a", name="<|call|>", arguments=SECRET),
        done("function_call", "b", name="f", arguments="[1]"), completed()],
        f"call functions.no_name new, no JSON: {SECRET} [E-CALL-SCHEMA]", "call functions.f new, no JSON: [1] [E-CALL-SCHEMA]",
        "tool_calls"),
    row("a whole call of a stream that breaks off", [call()], "no call functions.look c1: {} [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED"),
    row("a call whose name comes with its arguments", [added("function_call", "c", call_id="c1", arguments='{"a": 1}'), {
        "type": "response.function_call_arguments.done", "item_id": "c", "name": "look"}, completed()], 'call functions.look c1: {"a": 1}',
        "tool_calls"),
    row("a call whose arguments come at their end", [STREAMED_CALL, {"type": "response.function_call_arguments.done", "item_id": "c",
        "arguments": '{"b": 2}'}, completed()], 'call functions.look c1: {"b": 2}', "tool_calls"),
    row("text of a message before a call, that comes after it", [message(), call(), text("I look."), completed()],
        "answer so far: I look.", "call functions.look c1: {}", "tool_calls"),
    row("a summary and text that nobody names behind a call", [call(), added("reasoning", "r"), summary("a", None), text("b", "new"),
        completed()], "hidden: a [E-CALL-SCHEMA]", "hidden: b [E-CALL-SCHEMA]", "call functions.look c1: {}", "tool_calls", server=TRUSTED),
    row("a thought about a message behind a call", [call(), message(), text("hm", kind="reasoning_text.delta"), completed()],
        "hidden: hm [E-CALL-SCHEMA]", "call functions.look c1: {}", "tool_calls"),
    row("an answer before a call of an offered tool", [message(), text("I look."), ended(), call(), completed()], "preamble: I look.",
        "call functions.look c1: {}", "tool_calls", **LOOK),
    row("an answer before a call, cut", [message(), text("I look."), ended(), call(), completed(status="incomplete")],
        "answer so far: I look. [E-X-LENGTH] [cut]", "call functions.look c1: {}", "length", **LOOK),
    row("an answer before a call, filtered", [message(), text("I look."), ended(), call(), completed(**FILTERED)],
        "answer so far: I look.", "call functions.look c1: {}", "content_filter", **LOOK),
    row("an answer that is withdrawn before a call", [message(), text(SECRET), ended(), added("reasoning", "r"), thought("hm"), call(),
        completed(snapshot() | {"channel": "analysis"})], f"hidden: {SECRET} [E-X-WITHHELD] [withdrawn]", "thought: hm",
        "call functions.look c1: {}", "tool_calls", **LOOK),
    row("an answer before a call of a stream that breaks off", [message(), text("I look."), ended(), call()],
        "answer so far: I look. [E-STREAM-TRUNCATED] [cut]", "no call functions.look c1: {} [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED", **LOOK),
    row("text of tools is not kept", [added("web_search_call", "w"), text("x", "w"), text("y", "w", "reasoning_text.delta"),
        STREAMED_CALL, text("z", "c"), completed()], "call functions.look c1: {}", "tool_calls"),
    row("an item of the server's, up to a limit", [added("code_interpreter_call", "w", code="x" * 10_000, encrypted_content=SECRET), done(
        "code_interpreter_call", "w", code="x" * 10_000, encrypted_content=SECRET), message(), text("Hi"), completed({"type":
        "code_interpreter_call", "id": "w", "code": "x" * 10_000})], f"hidden: {OF_THE_SERVER[:4000]}", "answer: Hi", "stop"),
    # what an item is called, at first and then
    *(row(f"an item that is called {learned}", [{"type": "response.output_item.added", "item": {"id": "m", **learned[0]}}, text("words"),
        *({"type": "response.output_item.done", "item": {"id": "m", **MESSAGE, **each}} for each in learned[1:]), completed()], shows=shows)
        for shows, learned in (*(("words", each) for each in SHOWN), *(("", each) for each in HIDDEN))),
    *(row(f"a message that is called {late} later, and something else", [message(), text(SECRET), done("message", "m", **late),
        ended(mystery="thinking"), completed()], f"hidden: {SECRET} [E-X-WITHHELD] [withdrawn]", "stop") for late in ({"role": 5},
        {"role": "tool"})),
    row("text at the place of an item that has ended", [message("m", 0), text("One."), ended(part("One."), index=0), text(SECRET, "",
        output_index=0), completed()], "answer: One.", f"hidden: {SECRET} [E-PARSE-HEADER]", "stop"),
    row("text without an id behind two messages and a call", [message("m"), message("n"), call(), text("words", ""), completed()],
        "answer so far: words", "call functions.look c1: {}", "tool_calls"),
    # which item an event is about
    row("two messages without ids, one behind the other", [message(""), text("One.", ""), message(""), text("Two.", ""), completed()],
        "answer: One.\n\nTwo.", "stop"),
    row("two messages without ids that end one behind the other", [message(""), message(""), ended(part("One."), item_id=""),
        ended(part("Two."), item_id=""), completed()], "answer: One.\n\nTwo.", "stop"),
    row("a message that ends under an id of its own", [message(""), ended(part("One."), item_id="x"), completed()], "answer: One.", "stop"),
    row("a message whose place becomes known", [message(), message("n"), message(index=2), message(), text("Hi", "", output_index=2),
        completed()], "answer: Hi", "stop"),
    row("text of an item that nobody names, before another message", [text("a", "t"), ended(part("b"), item_id="x"), completed()],
        "answer: b", "hidden: a [E-PARSE-HEADER]", "stop"),
    row("text at the place of a message that nobody named before its end", [text("a", "t", output_index=0), ended(part("ab"), item_id="x",
        index=0), completed()], "answer: ab", "stop"),
    row("arguments that name their calls by place, or not at all", [*(added("function_call", name, place, call_id=f"c{place}", name="look")
        for place, name in enumerate("ab")), {**arguments('{"q"', ""), "output_index": 0}, {**arguments('{"q": 2', ""), "output_index": 1},
        {**arguments(": 1}", "x"), "output_index": 0}, arguments("}", ""), completed()], 'call functions.look c0: {"q": 1}',
        'call functions.look c1: {"q": 2}', "tool_calls"),
    row("arguments before their call", [arguments('{"q": 1}'), call(""), completed()], 'call functions.look c1: {"q": 1}', "tool_calls"),
    row("arguments of a message", [message(), text("Hi"), arguments('{"q": 1}', "m"), completed()], "answer so far: Hi",
        'call functions.no_name new: {"q": 1}', "tool_calls"),
    row("calls without ids, that end in another order", [added("function_call", call_id="c1", name="look"),
        added("function_call", call_id="c2", name="find"), done("function_call", call_id="c2", name="find", arguments='{"n": 2}'),
        done("function_call", call_id="c1", name="look", arguments='{"n": 1}'), completed()], 'call functions.look c1: {"n": 1}',
        'call functions.find c2: {"n": 2}', "tool_calls"),
    row("a call without an id, whose call id comes at its end", [message(""), added("function_call"), done("function_call", call_id="c1",
        name="look", arguments='{"n": 2}'), completed()], 'call functions.look c1: {"n": 2}', "tool_calls"),
    row("a call and its output under one call id", [done("function_call", call_id="c1", name="look", arguments="{}"), done(
        "function_call_output", call_id="c1", output="x"), completed()],
        'hidden: {"type": "function_call_output", "call_id": "c1", "output": "x"}', "call functions.look c1: {}", "tool_calls"),
    row("an output before its call", [done("function_call_output", call_id="c1", output="x"), added("function_call", name="look"), done(
        "function_call", call_id="c1", name="look", arguments="{}"), completed()],
        'hidden: {"type": "function_call_output", "call_id": "c1", "output": "x"}', "call functions.look c1: {}", "tool_calls"),
    row("calls without ids, that end in their order", [added("function_call", call_id="c1", name="look"),
        added("function_call", call_id="c2", name="find"), done("function_call", call_id="c1", name="look", arguments='{"n": 1}'),
        done("function_call", call_id="c2", name="find", arguments='{"n": 2}'), completed()], 'call functions.look c1: {"n": 1}',
        'call functions.find c2: {"n": 2}', "tool_calls"),
    row("arguments of a call that nobody named, beside another", [STREAMED_CALL, arguments('{"q": 1}', "x"), completed()],
        "call functions.look c1: {}", 'call functions.no_name new: {"q": 1}', "tool_calls"),
    row("arguments at the place of a message", [message("m", 0), text("Hi"), {**arguments('{"q": 1}', "x"), "output_index": 0},
        completed()], "answer so far: Hi", 'call functions.no_name new: {"q": 1}', "tool_calls"),
    row("arguments that are an object with other letters", [call({"b": "é"}), completed()], 'call functions.look c1: {"b": "é"}',
        "tool_calls"),
    *(row(f"a last event that names {how} of two messages", [message("a"), text("One.", "a"), message("b"), text("Two", "b"),
        completed(*output)], "answer: One.\n\nTwo.", "stop") for how, output in (
        ("the first", [snapshot(part("One."), item_id="a"), UNNAMED]), ("none", [{**UNNAMED, "content": [part("One.")]}, UNNAMED]),
        ("the first, as its second,", [UNNAMED, snapshot(part("One."), item_id="a")]))),
    row("a message without an id that ends without one", [message(""), text("One", ""), ended(part("One."), item_id=""), completed()],
        "answer: One.", "stop"),
    row("a message without an id before the end of another", [message(""), text("One", ""), ended(part("Two."), item_id="x"),
        completed()], "answer: One\n\nTwo.", "stop"),
    row("reasoning with the id and the place of a later message", [added("reasoning", "m", 0), thought(SECRET, "m"), ended(part("Hi"),
        index=0), completed()], f"thought: {SECRET}", "answer: Hi", "stop"),
    row("a message with the id and the place of later reasoning", [message("m", 0), text("Hi"), ended(part("Hi"), index=0),
        done("reasoning", "m", 0, content=[part("hm")]), completed()], "answer: Hi", "thought: hm", "stop"),
    row("a message with the id of reasoning elsewhere", [message("m", 0), text("Hi"), done("reasoning", "m", 1, content=[part("hm")]),
        completed()], "answer: Hi", "thought: hm", "stop"),
    row("a message that ends as reasoning at its place", [message("m", 0), text(SECRET), done("reasoning", "m", 0,
        content=[part(SECRET)]), completed()], f"hidden: {SECRET} [E-X-WITHHELD] [withdrawn]", "stop"),
    row("a message that is named again without its type", [message(), text("Hi"), added("", "m"), completed()], "answer: Hi", "stop"),
    # what a whole text adds to its pieces
    *(row(f"a whole text {how}", [message(), *events, completed()], f"answer: {answer}", "stop") for how, answer, events in (
        ("before another part", "abc", [text("a", content_index=0), whole("ab", content_index=0), text("c", content_index=1)]),
        ("whose part goes on", "ab", [text("a", content_index=0), whole("ab", content_index=0), text("b", content_index=0)]),
        ("that differs", "Hello", [text("Hello"), whole("Good morning")]),
        ("that is shorter", "Hello", [text("Hello"), whole("Hell")]),
        ("of a part that another followed", "ab", [text("a", content_index=0), text("b", content_index=1), whole("ac", content_index=0)]),
        ("of a part that was not streamed", "ab", [text("a", content_index=0), whole("b", content_index=1)]),
        ("of each part", "abc", [text("a", content_index=0), text("b", content_index=1), whole("a", content_index=0), whole("bc",
            content_index=1)]),
        ("of an item that ends without", "ac", [text("a"), whole("ac"), ended()]),
        ("before that of its item", "ab", [text("a"), whole("ac"), ended(part("ab"))]),
        ("that goes on, and then its item", "abcd", [text("a"), whole("a"), text("b"), text("c", content_index=1), ended(part("ab"),
            part("cd"))]))),
    row("a whole text whose part is then called reasoning", [message(), whole(SECRET, content_index=0), part_done(type="reasoning_text"),
        text("Hi", content_index=1), completed()], shows="Hi"),
    row("a whole thought whose second part goes on", [added("reasoning", "r"), thought("a"), {**thought("b"), "content_index": 1},
        done("reasoning", "r", content=[part("a"), part("bc")]), completed()], "thought: a\n\nbc", "stop"),
    *(row(f"a whole thought that is {whole_text!r}", [added("reasoning", "r"), thought("a"), whole(whole_text, "r", "reasoning_text.done"),
        completed()], "thought: a", "stop") for whole_text in ("", "xyz")),
    # what goes back
    *(row(f"reasoning before a call: {name}", [*items, call(), completed()], gives=gives, **LOOK) for name, items, gives in (
        ("none", [], ""),
        ("only streamed", [added("reasoning", "r"), thought("a")], ""),
        ("encrypted", [done("reasoning", "r", encrypted_content="x")], '[{"encrypted_content": "x", "id": "r", "type": "reasoning"}]'),
        ("one of two items is only a summary", [done("reasoning", "r", encrypted_content="x"), done("reasoning", "s",
            summary=[part("a", "summary_text")])], ""),
        ("with a status", [done("reasoning", "r", status="completed", content=["a"])],
            '[{"content": ["a"], "id": "r", "type": "reasoning"}]'))),
    # late labels
    row("a label at the end of a message", [message(), text(SECRET), ended(part(SECRET), channel="analysis"), completed()],
        f"hidden: {SECRET} [E-X-WITHHELD] [withdrawn]", "stop"),
    *(row(f"a label in the last event: {late}", [message(), text(SECRET), completed({"id": "m", **late})],
        f"hidden: {SECRET} [E-X-WITHHELD] [withdrawn]", "stop") for late in ({"type": "reasoning"}, {"type": "message",
        "role": "assistant", "channel": "analysis"})),
    *(row(f"a label in the last event of a sample that is full: {late}", [message(), text(SECRET), completed({"id": "m", **late})],
        shows="", limits={"max_output_chars": 9}) for late in ({"type": "reasoning"}, {"type": "message", "role": "assistant",
        "channel": "analysis"})),
    *(row(f"a label of an earlier message in the last event: {late}", [message(), text(SECRET), message("n"), text("Hello", "n"),
        completed({"id": "m", **late})], shows="Hello") for late in ({"type": "reasoning"}, {"type": "message", "role": "assistant",
        "channel": "analysis"})),
    row("a second message that its end calls commentary", [*TWO, ended(item_id="n", phase="commentary"), completed()],
        "answer: One.\n\nTwo.", "stop"),
    *(row(f"a second message that its end gives the label {late}", [message(), text("One."), ended(), message("n"), text("anal", "n"),
        ended(item_id="n", **late), completed()], "answer: One.", f"hidden: anal [{code}]", "stop") for late, code in
        LATE),
    *(row(f"a message that its end gives the label {late}", [message(), text("anal"), ended(**late), completed()],
        f"hidden: anal [{code}]", "stop") for late, code in LATE),
    *(row(f"the label {label} beside later text", [message(), text("Hel"), text("lo", **label), completed()],
        "hidden: Hel [E-X-WITHHELD] [withdrawn]", f"hidden: lo [{code}]", "stop") for label, code in (({"is_thinking": True},
        "E-PARSE-HEADER"), ({"mystery": "thinking"}, "E-X-WITHHELD"))),
    *(row(f"the label {label} {where}", events, shows="") for label in ({"phase": "analysis"}, {"channel": "analysis"}, {
        "is_thought": True}, {"visible": False}) for where, events in (
        ("beside an item", [message() | label, text("words"), ended(), completed()]),
        ("beside the end of an item", [message(), text("words"), ended() | label, completed()]),
        ("of the response", [message(), text("words"), ended(), completed(**label)]))),
    row("what a response repeats of its request", [message(), text("words"), ended(part("words")), completed(instructions="Think!",
        user="thinker", reasoning={"effort": "low"}, tools=[{"type": "function", "name": "think"}])], "answer: words", "stop"),
    *(row(f"beside text: {labels}", [message(), text("Hello", **labels), completed()], shows="Hello" if is_shown else "")
        for labels, is_shown in (({"response_id": "r", "event": "x", "logprobs": [], "sequence_number": 4, "obfuscation": "x"}, True),
        ({"part": {"type": "output_text"}, "item": {"type": "message"}}, True), ({"channel": "final", "recipient": "user"}, True),
        ({"channel": "analysis"}, False), ({"mystery": "thinking"}, False), ({"is_thinking": True}, False),
        ({"chat_template_kwargs": {"enable_thinking": True}, "metadata": {"reasoning": True}}, True),
        ({"metadata": {"channel": "analysis"}}, False))),
    *(row(f"beside the whole text: {labels}", [message(), whole("Hello", **labels), completed()], shows="") for labels in (
        {"channel": "analysis"}, {"mystery": "thinking"}, {"is_thinking": True}, {"metadata": {"channel": "analysis"}})),
    *(row(f"a label without text withdraws at once: {late['type']} {sorted(late.get('item', late))[0]}", [message(), text(f"{SECRET} one."),
        late], f"hidden: {SECRET} one. [{code}] [cut] [withdrawn]", "E-STREAM-TRUNCATED") for late, code in (
        (text("", channel="analysis"), "E-STREAM-TRUNCATED"), (message(channel="analysis"), "E-STREAM-TRUNCATED"),
        (message(mystery="thinking"), "E-STREAM-TRUNCATED"))),
    *(row(f"text that waited for its item, {kind}", [text(SECRET, "x"), added(kind, "x"), completed()], line, "stop") for kind, line in (
        ("reasoning", f"thought: {SECRET}"), ("acme:note", f"hidden: {SECRET}"))),
    *(row(f"labels that come one after another, of a message {phase}", [message(**phase), text(SECRET), text("", mystery="thinking"),
        text("", channel="analysis"), text("more"), completed()], f"hidden: {SECRET} [E-X-WITHHELD] [withdrawn]",
        "hidden: more [E-X-WITHHELD]", "stop") for phase in PHASES),
    row("a label of a message that is hidden already", [message(phase="analysis"), text(SECRET), text("", mystery="thinking"),
        text("more"), completed()], f"hidden: {SECRET} [E-PARSE-HEADER]", "hidden: more [E-X-WITHHELD]", "stop"),
    row("a label of a thought", [added("reasoning", "r"), thought("hm "), {**thought(""), "mystery": "thinking"}, thought("so"),
        completed()], "thought: hm so", "stop"),
    row("text that waited for its message, before more arrives", [text("Hello.", "m"), message()],
        "answer so far: Hello. [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("an item that an event names, and no more", [text("", "x"), completed()], "stop"),
    # what is reasoning and message at once
    *(each for name, events in {
        "reasoning behind a message that begins with it": [message(), text(ANSWERED), ended(part(ANSWERED)), WEIGHING],
        "reasoning while the message is open": [message(), text(ANSWERED), thought(WEIGHED)],
        "reasoning between two pieces of it": [message(), text(WEIGHED), WEIGHING, text("It is 42.")],
        "reasoning that repeats a part": [message(), *TWO_PARTS, WEIGHING],
        "reasoning that is a whole message": [message(), text(WEIGHED), ended(part(WEIGHED)), WEIGHING, message("n"), text("It is 42.",
        "n")],
        "the second of two thoughts": [reasoned("Hm.", "q"), WEIGHING, message(), *map(text, ANSWERED)],
        "reasoning behind a closing tag": [WEIGHING, message(), *map(text, f"</think>{ANSWERED}")],
        "reasoning that waited for its item": [text(WEIGHED, "r"), WEIGHING, message(), text(ANSWERED), ended(part(ANSWERED))],
    }.items() for each in everywhere(name, [*events, completed()], "It is 42.")),
    *everywhere("reasoning only in the last event", [message(), text(ANSWERED), ended(part(ANSWERED)), completed(
        {"type": "reasoning", "id": "r", "content": [part(WEIGHED, "reasoning_text")]})], "It is 42."),
    *everywhere("a message before reasoning and its repetition", [message("n"), text("Hello.", "n"), message(), text(ANSWERED),
        ended(part(ANSWERED)), WEIGHING, completed()], "Hello. It is 42."),
    *everywhere("a message before the open one that is reasoning", [message("n"), text("Hello.", "n"), message(),
        text(f"{WEIGHED} It is 42."), thought(WEIGHED), completed()], "Hello. It is 42."),
    *everywhere("a message behind the repetition", [message(), text(ANSWERED), message("n"), text("Hello.", "n"), WEIGHING, completed()],
        "It is 42. Hello."),
    *everywhere("a thought that the last event calls a message", [message(), text("It is 42."), ended(part("It is 42.")), WEIGHING,
        completed(snapshot(part(WEIGHED), item_id="r"))], "It is 42."),
    row("reasoning that was shown as the answer ends a proof", [message(), text(ANSWERED), thought(WEIGHED), completed()],
        is_after_proof=True, knows="unproven", shows="It is 42.", **UNPROVEN),
    row("reasoning behind the text it was shown as proves nothing", [message(), text(UNTAGGED), HINT, ended(part(UNTAGGED)), completed()],
        knows="unproven", shows="It is 42.", **UNPROVEN),
    row("reasoning behind text that waited proves nothing", [text(UNTAGGED), HINT, message(), ended(part(UNTAGGED)), completed()],
        knows="unproven", shows="It is 42.", **UNPROVEN),
    row("reasoning behind a whole text proves nothing", [message(), whole(UNTAGGED), HINT, ended(part(UNTAGGED)), completed()],
        knows="unproven", shows="It is 42.", **UNPROVEN),
    row("reasoning that waited for its item proves it", [text("hm", "r"), reasoned("hm"), message(), text("Hi"), ended(part("Hi")),
        completed()], "thought: hm", "thought: hm", "answer: Hi", "stop", knows="structured", **UNPROVEN),
    row("a cut message that begins as later reasoning does", [message(), text(ANSWERED), ended(part(ANSWERED), status="incomplete"),
        WEIGHING, completed()], shows=""),
    row("a cut response whose message begins as its reasoning does", [message(), text(ANSWERED), thought(WEIGHED), completed(**CUT)],
        shows=""),
    row("a message that only begins like reasoning", [message(), text("I weigh it and say, it is 42."), ended(), reasoned("I weigh it."),
        completed()], "answer: I weigh it and say, it is 42.", "thought: I weigh it.", "stop"),
    *(row(f"a message that is reasoning {when}, as {how}", events, shows="") for how, spoken in {
        "one text": [message(), text(SECRET)], "two texts": [message(), text(SECRET[:3]), text(SECRET[3:])],
        "a whole text": [message(), whole(SECRET)], "an item": [ended(part(f"{SECRET}\n"))],
        "an announcement": [message(phase="commentary"), text(SECRET)],
    }.items() for when, events in (("behind it", [*spoken, reasoned(SECRET), completed()]), ("before it", [reasoned(SECRET), *spoken,
        completed()]))),
    row("a message that is not the reasoning beside it", [reasoned("Other"), message(), text("Hi"), completed()], "thought: Other",
        "answer: Hi", "stop"),
    # parts
    *(row(f"a part that begins as {fields}", [message(), part_event("added", **fields), text("words", content_index=0), completed()],
        "answer: words", "stop") for fields in ({"type": "output_text", "text": "", "annotations": [], "logprobs": []}, {"type": "text"},
        {"type": "refusal", "refusal": ""}, {}, {"type": None, "text": "", "thought": False})),
    *(row(f"a part that begins as {fields}", [message(), part_event("added", **fields), text(SECRET, content_index=0), completed()],
        shows="") for fields in ({"type": ""}, {"type": "reasoning_text"}, {"type": 5}, {"type": ["output_text"]}, {"thought": True},
        {"mystery": "thinking"}, {"type": "output_text", "channel": "analysis"})),
    *(row(f"a part that began as {first}, and ends {how}", [message(), part_event("added", **first), text(SECRET, content_index=0),
        part_done(type="output_text", text=SECRET), *ends, completed()], shows=shows) for first in ({"type": "reasoning_text"},
        {"type": "output_text", "channel": "analysis"}, {"thought": True}) for how, ends, shows in (("alone", [], ""),
        ("with its message", [ended(part(SECRET))], ""), ("beside another", [ended(part(SECRET), part("Hi"))], "Hi"))),
    *(each for other in ({"type": "reasoning_text"}, {"type": "output_text", "thought": True}, {"mystery": "thinking"})
        for how, events in {
        "at its end": [message(), text(SECRET, content_index=0), part_done(**other), text("More", content_index=1)],
        "at its end, behind another": [message(), text("More", content_index=1), text(SECRET, content_index=0), part_done(**other)],
        "at its end, within another": [message(), text("Mo", content_index=1), text(SECRET, content_index=0), part_done(**other),
            text("re", content_index=1)],
        "behind its message": [message(), text(SECRET, content_index=0), text("More", content_index=1), ended(*BOTH), part_done(**other)],
        "in a second end": [message(), text(SECRET, content_index=0), text("More", content_index=1), ended(*BOTH), ended(
            {**part(SECRET), **other}, part("More"))],
        "in a second item": [ended(*BOTH), ended({**part(SECRET), **other}, part("More"))],
        "in the last event": [ended(*BOTH), completed(snapshot({**part(SECRET), **other}, part("More")))],
        "before its message is known": [text(SECRET, content_index=0), text("More", content_index=1), part_done(**other), ended({},
            part("More"))],
    }.items() for each in everywhere(f"a part that is {other} {how}", [*BEFORE, *events, completed()], "Before.More")[:3:2]),
    *(row(f"what is left beside a part that is {other}", [message(), text("<think>a", content_index=0),
        text(f"</think>{SECRET}</think>More", content_index=1), part_done(**other), completed()], shows="More") for other in (
        {"type": "reasoning_text"}, {"type": "output_text", "thought": True}, {"mystery": "thinking"})),
    row("a message whose shown part ends as reasoning", [message(), text(SECRET, content_index=0), ended(part(SECRET, "reasoning_text")),
        completed()], f"hidden: {SECRET} [E-X-WITHHELD] [withdrawn]", f"thought: {SECRET}", "stop"),
    # what people are told of
    *(row(f"missing text: {answer}", [message(), text(answer), completed()], *told, "stop", **UNPROVEN) for answer, told in (
        (f"Hi.<think>{SECRET}</think> So.", ("answer: Hi. So.", f"hidden: <think>{SECRET}</think> [E-X-WITHHELD]")),
        (f"<think>{SECRET}</think>Hi.", (f"hidden: <think>{SECRET}</think> [E-PARSE-HEADER]", "answer: Hi.")),
        (f"{SECRET}</think>Hi.", (f"hidden: {SECRET}</think> [E-X-WITHHELD]", "answer: Hi.")),
        ("</think>Hi.", ("hidden: </think> [E-PARSE-HEADER]", "answer: Hi.")))),
    # several messages
    *(row(f"a doubtful beginning, {how}, and another message", [message(), text(PROSE), *between, message("n"), text("Two.", "n"),
        completed()], shows=f"{PROSE}Two.") for how, between in (("at once", []), ("a thought", [added("reasoning", "r"), thought("hm")]),
        ("its end and a thought", [ended(), added("reasoning", "r"), thought("hm")]))),
    row("a doubtful beginning before reasoning is shown at once", [message(), text(PROSE), ended(), added("reasoning", "r"), thought("hm")],
        "answer so far: analysis of the rain: it is wet.", "thought: hm [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("a cut message without proof", [message(), text(PROSE), ended(status="incomplete"), message("n"), text("Two.", "n"), completed()],
        shows="", **UNPROVEN),
    row("an answer behind messages that are withdrawn", [message(), text(f"{SECRET} one."), ended(), message("n"),
        text(f"{SECRET}</think>Hi.", "n"), completed()], shows="Hi.", **UNPROVEN),
    row("an answer that goes on behind reasoning", [message(), text("One."), ended(), added("reasoning", "r"), thought("hm"), message("n"),
        text("Two.", "n"), completed()], "answer: One.\n\nTwo.", "thought: hm", "stop"),
    row("an answer that breaks off behind reasoning", [message(), text("One."), ended(), added("reasoning", "r"), thought("hm"),
        message("n"), text("Two.", "n")], "answer so far: One.\n\nTwo. [E-STREAM-TRUNCATED] [cut]",
        "thought: hm [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("the end of a part before another message", [message(), text("On"), whole("One."), message("n"), text("Two.", "n"), completed()],
        "answer: One.\n\nTwo.", "stop"),
    row("the end of a part that has no room", [message(), text("On"), whole("One."), message("n"), text("Two.", "n"), completed()],
        "answer so far: On\n\nTwo. [E-X-LENGTH] [cut]", "length", limits={"max_output_chars": 6}),
    row("two answers in raw output", [message(), text("<|channel|>final<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>"
        "Two.<|return|>"), completed()],
        "hidden: <|channel|>final<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|> [E-PARSE-HEADER]", "answer: Two.",
        "stop"),
    row("a thought between an announcement and the answer", [*PREAMBLE, added("reasoning", "r"), thought("hm"), message(), text("Four."),
        completed()], "preamble: I look.", "thought: hm", "answer: Four.", "stop"),
    row("thoughts within and behind an answer", [*ALL_REASONING, message(), text("Fo"), thought("a", "r"), thought("b", "s"), text("ur."),
        ended(), thought("c", "t"), completed()], "answer: Four.", "thought: a", "thought: b", "thought: c", "stop"),
    row("a message without text before another", [message(), ended(), message("n"), text("Four.", "n"), ended(item_id="n"), completed()],
        "answer: Four.", "stop"),
    *(row(f"an answer announced with the phase {phase}", [message(phase=phase), text("I look.")],
        f"{kind}: I look. [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED") for phase, kind in (("commentary", "preamble"), (None,
        "answer so far"), ("final_answer", "answer so far"))),
    # raw output of every kind, where nothing is proved
    *(row(f"raw output: {raw}", [message(), text(raw), completed()], shows=shows, **UNPROVEN) for raw, shows in (
        (f"analysis{SECRET}assistantfinalHello!", "Hello!"),
        (f"<|channel|>analysis<|message|>{SECRET}<|end|>Hello!", "Hello!"),
        (f"<reasoning>{SECRET}</reasoning>Hello!", "Hello!"),
        ("Show <|start|>assistant<|channel|>analysis<|message|> to me.", "Show"))),
    # the end
    *(row(f"the last event says {how}", [message(), text("Hi."), end], *told) for how, end, told in (
        ("incomplete, and why not", completed(status="incomplete"), ("answer so far: Hi. [E-X-LENGTH] [cut]", "length")),
        ("incomplete for no reason", completed(status="incomplete", incomplete_details={"reason": 5}), (
            "answer so far: Hi. [E-X-LENGTH] [cut]", "length")),
        ("completed, with empty details", completed(incomplete_details={}), ("answer: Hi.", "stop")),
        ("that it was filtered, although completed", completed(**FILTERED), ("answer so far: Hi.", "content_filter")),
        ("that it refuses", completed(snapshot({"type": "refusal", "refusal": "Hi."})), ("answer: Hi.", "refusal")),
        ("that it refuses nothing", completed(snapshot(part("Hi."), {"type": "refusal", "refusal": ""})), ("answer: Hi.", "stop")))),
    *(row(f"{kind} with the status {reported!r}", [message(), text("Hi."), {"type": f"response.{kind}", "response": {"status": reported}}],
        f"answer so far: Hi. [{code}] [cut]", end) for kind, reported, code, end in (
        ("incomplete", "failed", "E-X-BACKEND", "E-X-BACKEND"), ("incomplete", "", "E-X-LENGTH", "length"),
        ("incomplete", 5, "E-X-LENGTH", "length"), ("incomplete", None, "E-X-LENGTH", "length"))),
    row("a message in progress of a response that is complete", [message(status="in_progress"), text("Hi."), completed()], "answer: Hi.",
        "stop"),
    row("an incomplete message of a response that is complete", [message(status="incomplete"), text("Hi."), completed()],
        "answer so far: Hi. [E-X-LENGTH] [cut]", "length"),
    row("an incomplete announcement of a response that is complete", [message(status="incomplete", phase="commentary"), text("Hi."),
        completed()], "preamble: Hi.", "stop"),
    row("an incomplete message of a tool", [message(status="incomplete", role="tool"), text(SECRET), completed()],
        f"hidden: {SECRET} [E-PARSE-HEADER]", "stop"),
    row("incomplete reasoning", [added("reasoning", "r", status="incomplete"), thought("hm"), completed()], "thought: hm", "stop"),
    row("a refusal before another message", [ended({"type": "refusal", "refusal": "No."}, item_id="a"), ended(part("Sorry."), item_id="b"),
        completed()], "answer: No.\n\nSorry.", "refusal"),
    row("output that is no list of objects", [completed(5, None, snapshot(part("Hi")))], "answer: Hi", "stop"),
    *(row(f"output that is {odd!r:.9}", [{"type": "response.completed", "response": {"status": "completed", "output": odd}}], "stop")
        for odd in (None, "x", {"0": snapshot(part(SECRET))})),
    row("the model that the last event names", [*({"type": "response.created", "response": {"model": name}} for name in ("tiny-2024-01-01",
        "tiny-2024-08-06", "", None, 5)), message(), text("Hi"), completed()], "answer: Hi", "stop, named tiny-2024-08-06"),
    row("a model that was neither asked for nor offered", [message(), text("Hi"), completed(model=SECRET)], "answer: Hi", "stop"),
    row("tokens that are no numbers", [message(), text("Hi"), completed(usage=[3])], "answer: Hi", "stop"),
    row("as many tokens as were asked for", [message(), text("Hi"), completed(usage={"output_tokens": 5})],
        "answer so far: Hi [E-X-LENGTH] [cut]", "length", asks={"max_tokens": 5}),
    row("fewer tokens than were asked for", [message(), text("Hi"), completed(usage={"output_tokens": 4})], "answer: Hi", "stop",
        asks={"max_tokens": 5}),
    row("as many tokens as the context has", [message(), text("Hi"), completed(usage={"input_tokens": 600, "output_tokens": 400})],
        "answer so far: Hi [E-X-LENGTH] [cut]", "length, 600 read, 400 written",
        server={"context": 1000}),
    row("fewer tokens than the context has", [message(), text("Hi"), completed(usage={"input_tokens": 600, "output_tokens": 399})],
        "answer: Hi", "stop, 600 read, 399 written",
        server={"context": 1000}),
    # no stream, but one body
    *(Row(f"a body {name}", json.dumps({"object": "response", "status": "completed", **more}).encode(), told, columns=("responses",),
        is_json=True) for name, more, told in (
        ("with a thought and a message", {"output": [reasoned(SECRET)["item"], HELLO]}, (f"thought: {SECRET}", "answer: Hello", "stop")),
        ("that was cut", {"output": [HELLO], **CUT}, ("answer so far: Hello [E-X-LENGTH] [cut]", "length")),
        ("that failed", {"status": "failed", "error": {"message": SECRET, "code": 500}}, ("E-X-BACKEND, may be asked again",)))),
    # limits
    row("text of an item that a full sample names too late", [text("abc"), message("n"), text("y" * 20, "n"), completed(snapshot())],
        "answer so far: yyyyyyy [E-X-LENGTH] [cut]", "hidden: abc [E-X-LENGTH] [cut]", "length",
        limits={"max_output_chars": 10}),
    row("streamed arguments beyond the limit", [STREAMED_CALL, *[arguments('{"a":')] * 3],
        'no call functions.look c1, no JSON: {"a":{"a":{" [E-X-LENGTH] [cut]', "length", limits={"max_output_chars": 12}),
    row("arguments that are repeated count once", [STREAMED_CALL, arguments('{"a": 1}'), call('{"a": 1}'), completed(call('{"a": 1}')[
        "item"])], 'call functions.look c1: {"a": 1}', "tool_calls", limits={"max_output_chars": 8}),
    row("whole arguments count", [STREAMED_CALL, call('{"a": 1}'), completed(call('{"a": 1}')["item"])],
        'call functions.look c1: {"a": 1}', "length", limits={"max_output_chars": 7}),
    row("arguments that grow count by what is new", [STREAMED_CALL, arguments('{"a"'), call('{"a": 1}'), completed()],
        'call functions.look c1: {"a": 1}', "tool_calls",
        limits={"max_output_chars": 8}),
    row("arguments that grow beyond the limit", [STREAMED_CALL, arguments('{"a"'), call('{"a": 1}'), completed()],
        'call functions.look c1: {"a": 1}', "length",
        limits={"max_output_chars": 7}),
    row("a thousand items", [*(added("reasoning", f"r{number}") for number in range(999)), message(), text("Hi"), completed()],
        "answer: Hi", "stop"),
    row("more than a thousand items", [*(added("reasoning", f"r{number}") for number in range(1001)), message(), text("Hi"), completed()],
        "length"),
    row("more than a thousand items of the last event", [completed(*({"type": "reasoning", "id": f"r{number}"} for number in range(1000)),
        HELLO)], "stop"),
]  # fmt: skip
