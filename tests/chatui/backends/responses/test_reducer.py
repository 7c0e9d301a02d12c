"""The rules that turn a Responses stream into frames, each with its own small stream."""

from collections.abc import Mapping
from typing import Any

import pytest

from chatui.backends.base import EndReason
from chatui.backends.leaks.labels import Asked
from chatui.backends.responses.reducer import Reducer
from chatui.backends.separation import Separation
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import Assembler, Finished
from renderer.frame_kinds import ANSWER
from renderer.frames import Terminator
from renderer.gate import Audience, may_see, show
from renderer.harmony.prompt import FunctionTool

SECRET = "RAW-COT-SECRET"


class Read:
    """The result of a stream."""

    def __init__(self, finished: list[Finished], reason: EndReason | None, reducer: Reducer) -> None:
        self.finished, self.reason, self.reducer = finished, reason, reducer
        seen = [done.frame for done in finished if may_see(done.frame.header, Audience.END_USER)]
        self.visible = "".join(show(frame, Audience.END_USER) for frame in seen)
        self.pairs = [("preamble" if frame.header.intent else "final", frame.body) for frame in seen]
        self.hidden = "".join(done.frame.body for done in finished if not may_see(done.frame.header, Audience.END_USER))
        self.calls = [(done.frame.header.call_id, done.frame.body) for done in finished if done.frame.terminator == "<|call|>"]


LOOK = FunctionTool("look")


def read(*events: dict[str, Any], breaks: bool = False, has_tools: bool = False, **given: Any) -> Read:
    """Every frame that is opened is closed, and none is nested in another: otherwise the Assembler fails the test."""
    numbers, token_limit = iter(range(1, 100)), given.pop("token_limit", None)
    options: dict[str, Any] = {
        "max_chars": 10_000,
        "separation": Separation.STRUCTURED,
        "asked": Asked(tools=(LOOK,) if has_tools else ()),
    } | given
    reducer = Reducer(lambda: f"new_{next(numbers)}", **options)
    reducer.token_limit = token_limit
    assembler, reason = Assembler(), None
    raws = [raw for event in events for raw in reducer.feed(event["type"], event)]
    if breaks:
        raws += reducer.break_off()
    else:
        rest, reason = reducer.finish()
        raws += rest
    finished = [done for raw in raws if (done := assembler.feed(raw))]
    assert assembler.finish() is None
    return Read(finished, reason, reducer)


def added(kind: str, item_id: str = "", index: int | None = None, **more: Any) -> dict[str, Any]:
    item = {"type": kind, **({"id": item_id} if item_id else {}), **more}
    return {"type": "response.output_item.added", "item": item, **({} if index is None else {"output_index": index})}


def message(item_id: str = "m", index: int | None = None, **more: Any) -> dict[str, Any]:
    return added("message", item_id, index, **{"role": "assistant", "content": [], **more})


def done(kind: str, item_id: str = "", index: int | None = None, **more: Any) -> dict[str, Any]:
    return {**added(kind, item_id, index, **more), "type": "response.output_item.done"}


def text(delta: str, item_id: str = "m", kind: str = "output_text.delta", **more: Any) -> dict[str, Any]:
    named = {"item_id": item_id} if item_id else {}
    return {"type": f"response.{kind}", **named, "delta": delta, **more}


def whole(value: str, item_id: str = "m", kind: str = "output_text.done", **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "item_id": item_id, "text": value, **more}


def part(text: str, kind: str = "output_text") -> dict[str, str]:
    return {"type": kind, "text": text}


def completed(*output: Mapping[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": status, "output": list(output), **more}}


def ended(*parts: object, **more: Any) -> dict[str, Any]:
    return done("message", "m", role="assistant", content=list(parts), **more)


def snapshot(*parts: object, item_id: str = "m") -> dict[str, Any]:
    """The message, as the last event repeats it."""
    return {"type": "message", "id": item_id, "role": "assistant", "content": list(parts)}


def thought(delta: str, item_id: str = "r") -> dict[str, Any]:
    return text(delta, item_id, "reasoning_text.delta")


def opened(kind: str, place: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "response.content_part.added", "item_id": "m", "content_index": place, "part": {**part("", kind), **more}}


def part_done(place: int | None = 0, **fields: Any) -> dict[str, Any]:
    where = {} if place is None else {"content_index": place}
    return {"type": "response.content_part.done", "item_id": "m", **where, "part": fields}


UNPROVEN: dict[str, Any] = {"separation": Separation.UNPROVEN}
TRUSTED: dict[str, Any] = {"summaries_are_trusted": True}
BROKEN_OFF: dict[str, Any] = {"breaks": True}
RAW = text(f"analysis{SECRET} is the plan.assistantfinalHi")
CUT: dict[str, Any] = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
REASONED = {"type": "reasoning", "id": "r", "summary": [part(SECRET, "summary_text")], "content": [part(SECRET)]}
HELLO = snapshot(part("Hello"))
NO_PARTS: tuple[object, ...] = (None, "reasoning_text", [])

ROWS: dict[str, tuple[list[dict[str, Any]], str | list[tuple[str, str]], str | None, dict[str, Any]]] = {
    # whose text it is
    "an answer whose phase comes late stays the answer": (
        [message(), text("Four."), ended(part("Four."), phase="final_answer"), completed()], [("final", "Four.")], "", {}),
    "hidden text is not made a preamble by a late phase": (
        [message(), text(f"<think>{SECRET}"), text("</think>Hello"), ended(part(f"<think>{SECRET}</think>Hello"), phase="commentary"),
         completed()], [("preamble", "Hello")], f"<think>{SECRET}</think>", {}),
    "a proxy's reasoning item with a role and parts called output_text is hidden": (
        [completed({**snapshot(part(SECRET), item_id="r"), "type": "reasoning"}, HELLO)], "Hello", SECRET, {}),
    "reasoning events about a message are hidden": (
        [message(), text(SECRET, kind="reasoning_text.delta"), text("Hello"), completed()], "Hello", SECRET, {}),
    "summary events about a message are hidden even if summaries are trusted": (
        [message(), text(SECRET, kind="reasoning_summary_text.delta"), text("Hi"), completed()], "Hi", SECRET, TRUSTED),
    "a label beside reasoning does not hide the answer of its message": (
        [message(), text("hm", kind="reasoning_text.delta", is_thinking=True), text("Hi"), completed()], "Hi", "hm", {}),
    "a part of unknown kind is hidden": (
        [message(), text("Hello"), opened("reasoning_text", 1), text(SECRET, content_index=1),
         completed(snapshot(part("Hello"), part(SECRET, "reasoning_text")))], "Hello", SECRET, {}),
    "a part once called reasoning stays hidden": (
        [message(), opened("reasoning_text"), text(SECRET, content_index=0), ended(part(SECRET), part("Hi")), completed()],
        "Hi", SECRET, {}),
    "text that the end calls reasoning under another id is no message": (
        [message(), text(SECRET), completed({"type": "reasoning", "id": "r9", "content": [part(SECRET, "reasoning_text")]})],
        "", None, {}),
    "a hidden part beside the shown one, at its end": (
        [message(), text("Hi", content_index=0), part_done(1, type="reasoning_text", text=SECRET), completed()], "Hi", SECRET, {}),
    "a hidden part beside the shown one, in the whole message": (
        [message(), text("Hi", content_index=0), ended(part("Hi"), part(SECRET, "x")), completed()], "Hi", SECRET, {}),
    **{f"the kind of a {family} says nothing about the text of its message": (
        [message(), {**opened("reasoning_text"), "type": f"response.{family}.added"}, text("Hi", content_index=0), completed()],
        "Hi", "", {}) for family in ("reasoning_part", "reasoning_summary_part")},
    "the kind of a reasoning item's part says nothing about its summary": (
        [added("reasoning", "r"), opened("reasoning_text") | {"item_id": "r"},
         text("I checked.", "r", "reasoning_summary_text.delta", summary_index=0), completed()], "I checked.", "", TRUSTED),
    "an event without a place is about the first part": (
        [message(), opened("reasoning_text"), text(SECRET), completed()], "", SECRET, {}),
    "a place that is no number is the first": (
        [message(), opened("reasoning_text") | {"content_index": "1"}, text(SECRET, content_index=0), text("Hi", content_index=1),
         completed()], "Hi", SECRET, {}),
    # a chain of thought that comes twice
    "a chain of thought sent as summary and content is stored once": ([added("reasoning", "r"), completed(REASONED)], "", SECRET, {}),
    "so is one in several parts": (
        [done("reasoning", "r", summary=[part("a", "summary_text"), part("b", "summary_text")], content=[part("a"), part("b")]),
         completed()], "", "a\n\nb", {}),
    "summaries with and without a place are one": (
        [added("reasoning", "r"), text("a", "r", "reasoning_summary_text.delta"),
         text("b", "r", "reasoning_summary_text.delta", summary_index=0), completed()], "", "ab", {}),
    # raw output
    "raw output shows its answer if the model finished": ([message(), RAW, completed()], "Hi", None, {}),
    "and not if it was cut by its limit": ([message(), RAW, completed(**CUT)], "", None, {}),
    "nor by a filter": (
        [message(), RAW, completed(status="incomplete", incomplete_details={"reason": "content_filter"})], "", None, {}),
    "nor if the stream broke off": ([message(), RAW], "", None, BROKEN_OFF),
    "nor if its message was cut, even if another follows": (
        [message(), RAW, ended(part(str(RAW["delta"])), status="incomplete"), message("n"), text("Next", "n"), completed()],
        "Next", None, {}),
    "the whole text of a part is judged as a whole if none was streamed": (
        [message(), whole(f"It is 346.assistantanalysis{SECRET}assistantfinalHi"), completed()], "Hi", None, UNPROVEN),
    "escaped markers in echoes are restored": (
        [message(), text("You wrote <"), text("\u2060|end|>."), completed()], "You wrote <|end|>.", "", {}),
    "a preamble is judged like an answer": (
        [message(phase="commentary"), text("<think>"), text(f"{SECRET}</think>Hello!"), completed()], [("preamble", "Hello!")],
        f"<think>{SECRET}</think>", {}),
    # what later events repeat
    "extra text in a snapshot is appended": (
        [message(), text("Hello"), completed(snapshot(part("Hello there")))], [("final", "Hello there")], "", {}),
    "the last of several snapshots counts": (
        [message(), text("Hello,"), whole("Hello,!"), ended(part("Hello,")), completed()], "Hello,", "", {}),
    "an empty piece of another part does not settle what a part said": (
        [message(), text("Hello,"), whole("Hello,!"), text("", content_index=1), ended(part("Hello,")), completed()], "Hello,", "", {}),
    "without another snapshot, the end of a part counts": ([message(), text("Hello,"), whole("Hello,!"), completed()], "Hello,!", "", {}),
    "an answer only in its part": ([message(), whole("Hello"), completed()], [("final", "Hello")], "", {}),
    "an answer only in its item": ([ended(part("Hello")), completed()], [("final", "Hello")], "", {}),
    "an answer only in the last event": ([completed(HELLO)], [("final", "Hello")], "", {}),
    "an answer everywhere, once": (
        [message(), text("Hello"), whole("Hello"), ended(part("Hello")), completed(snapshot(part("Hello"), item_id="n"))],
        [("final", "Hello")], "", {}),
    "parts of a message are one answer": (
        [message(), text("One. ", content_index=0), whole("One. ", content_index=0), text("Two.", content_index=1),
         completed(snapshot(part("One. "), part("Two.")))], [("final", "One. Two.")], "", {}),
    "the text of a part event counts like that of the whole part": (
        [message(), text("He"), part_done(type="output_text", text="Hello"), completed()], "Hello", "", {}),
    "so does that of a refusal": ([message(), part_done(type="refusal", refusal="No."), completed()], "No.", "", {}),
    "a part event without a part changes nothing": (
        [message(), *({**part_done(None), "part": odd} for odd in NO_PARTS), text("Hi"), completed()], "Hi", "", {}),
    "parts that are no objects are left out": ([ended("x", None, part("Hi"), 5), completed()], "Hi", "", {}),
    **{f"content that is no list changes nothing: {odd}": (
        [message(), text("Hi"), ended() | {"item": snapshot() | {"content": odd}}, completed()], "Hi", "", {})
       for odd in (None, 5, {"type": "output_text", "text": "x"})},
    "an answer interrupted by reasoning stays one frame": (
        [added("reasoning", "r"), message(), text("Hel"), thought(SECRET), text("lo"), completed()], [("final", "Hello")], SECRET, {}),
    # which item it is
    "text of an item that nobody names is hidden": ([text(SECRET, "x"), completed()], "", SECRET, {}),
    "text before its message waits for it": (
        [text("Hello", "x"), done("message", "x", role="assistant", content=[part("Hello")]), completed()], [("final", "Hello")], "", {}),
    "text before its message is shown although the stream breaks off": ([text("Hel"), message(), text("lo")], "Hello", "", BROKEN_OFF),
    "text of an item without a type waits until it has one": ([text("Hello."), added("", "m"), message(), completed()], "Hello.", "", {}),
    "text before its reasoning item is hidden": ([text(SECRET, "x"), done("reasoning", "x"), completed()], "", SECRET, {}),
    "items whose ids change are found by their place": (
        [added("reasoning", "id1", 0), thought(SECRET, "id2") | {"output_index": 0}, text(SECRET, "id3", output_index=0),
         done("reasoning", "id4", 0), message("id5", 1), text("Hel", "id6", output_index=1), text("lo", "id7", output_index=1),
         done("message", "id8", 1, role="assistant", content=[part("Hello")]),
         completed({"type": "reasoning", "id": "id9"}, snapshot(part("Hello"), item_id="id10"))], [("final", "Hello")], SECRET * 2, {}),
    "events without ids or places belong to the newest item": (
        [added("reasoning"), text(SECRET, ""), message(""), text("Hello", ""), completed()], "Hello", SECRET, {}),
    "a message with the id of earlier reasoning is a message": (
        [added("reasoning", "m", 0), thought(SECRET, "m"), done("reasoning", "m", 0), message("m", 1), text("Hello"), completed()],
        "Hello", SECRET, {}),
    "also if that reasoning ends late": (
        [added("reasoning", "m", 0), message("m", 1), done("reasoning", "m", 0, content=[part(SECRET)]), text("Hello"), completed()],
        "Hello", SECRET, {}),
    "two messages with one id are two messages": (
        [message(), text("One."), ended(part("One.")) | {"output_index": 0}, message(), text("Two."), completed()],
        [("final", "One.\n\nTwo.")], "", {}),
    "a message followed by another gets no more visible text": (
        [message("m"), text("One."), message("n"), text("Two.", "n"), text("late", "m"), completed()], "One.\n\nTwo.", "late", {}),
    "a full sample takes no more from the last event": (
        [message(), text("x" * 30), completed({"type": "web_search_call", "id": "w", "query": "more"})], "x" * 10, "", {"max_chars": 10}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_stream_shows_and_hides_what_the_table_says(name: str) -> None:
    events, shown, hidden, options = ROWS[name]
    result = read(*events, **options)
    assert (result.pairs if isinstance(shown, list) else result.visible) == shown
    assert hidden is None or result.hidden == hidden
    assert SECRET not in result.visible


# Visibility


@pytest.mark.parametrize("phase", ["analysis", "Final_Answer", "", "final", 7, {"a": 1}, ["final_answer"], "acme:thinking"])
def test_a_message_with_an_unknown_phase_is_hidden(phase: object) -> None:
    result = read(message(phase=phase), text(SECRET), completed())
    assert (result.visible, result.hidden) == ("", SECRET)
    assert result.finished[0].error == Code.PARSE_HEADER


@pytest.mark.parametrize("when", ["item", "response"])
def test_a_late_phase_makes_the_shown_answer_one_preamble(when: str) -> None:
    late: dict[str, Any] = {"role": "assistant", "phase": "commentary", "content": [part("I will look at it.")]}
    ends = [done("message", "m", **late)] if when == "item" else []
    call = [added("function_call", "c", call_id="c1", name="look"), done("function_call", "c", call_id="c1", name="look", arguments="{}")]
    result = read(message(), text("I will "), text("look"), *ends, *call, completed({"type": "message", "id": "m", **late}))
    assert result.pairs == [("preamble", "I will look at it.")]
    assert [finished.frame.header.intent for finished in result.finished] == ["preamble", None]
    assert result.finished[0].frame.terminator == "<|end|>"


def test_text_of_a_reasoning_item_is_hidden_under_every_name() -> None:
    names = ("output_text", "reasoning", "reasoning_text", "reasoning_summary_text", "reasoning_summary", "refusal")
    for name in names:
        result = read(added("reasoning", "r"), text(SECRET, "r", f"{name}.delta"), message(), text("Hello"), completed())
        assert (result.visible, result.hidden) == ("Hello", SECRET), name
        assert (result.finished[0].frame.header.intent, result.finished[0].error) == (None, None), name


def test_a_part_labelled_otherwise_is_hidden_in_stream_and_snapshot() -> None:
    for label in ({"channel": "analysis"}, {"thought": True}, {"x_segment": "thinking"}):
        odd, plain = {**part(SECRET), **label}, part("Hi")
        opened = {"type": "response.content_part.added", "item_id": "m", "content_index": 0, "part": {**odd, "text": ""}}
        streamed = read(message(), opened, text(SECRET, content_index=0), text("Hi", content_index=1), completed())
        events = read(message(), done("message", "m", role="assistant", content=[odd, plain]), completed())
        assert (streamed.visible, events.visible) == ("Hi", "Hi")
        assert SECRET in streamed.hidden and SECRET in events.hidden


def test_encrypted_content_is_not_stored() -> None:
    more: dict[str, Any] = {"encrypted_content": SECRET, "summary": []}
    result = read(added("reasoning", "r", **more), done("reasoning", "r", **more), done("compaction", "c", **more), completed())
    assert result.finished
    assert SECRET not in result.visible + result.hidden


def test_unknown_items_and_events_are_hidden_and_counted() -> None:
    events = (
        added("acme:note", "a"),
        text(SECRET, "a"),
        {"type": "acme:note.delta", "item_id": "a", "delta": SECRET},
        done("acme:note", "a", text="noted"),
        done("web_search_call", "w", action={"query": "harmony"}),
    )
    result = read(*events, message(), text("Hello"), completed(instructions=SECRET, tools=[{"name": SECRET}]))
    assert result.visible == "Hello"
    assert "noted" in result.hidden
    assert "harmony" in result.hidden
    assert SECRET not in result.hidden
    assert result.reducer.oddities == {"unknown event": 1, "other item": 2, "text of an item that holds none": 1}


@pytest.mark.parametrize("after", [done("hologram", "h"), done("web_search_call", "w"), done("reasoning", "r", content=[part("Hm.")])])
def test_an_item_after_the_message_does_not_change_how_it_ends(after: dict[str, Any]) -> None:
    for end, breaks, expected in (([completed()], False, (Terminator.RETURN, True)), ([], True, (Terminator.END, True))):
        result = read(message(), text("Yes."), done("message", "m", content=[part("Yes.")]), after, *end, breaks=breaks)
        [answer] = [each for each in result.finished if each.frame.header == ANSWER]
        assert (answer.frame.terminator, answer.complete, answer.error) == (*expected, None)
        assert result.finished[-1].frame.body != "Yes.", "the other item is kept, for staff"


# Summaries


SUMMARIZED = (
    added("reasoning", "r"),
    text("Checked", "r", "reasoning_summary_text.delta", summary_index=0),
    text(" units.", "r", "reasoning_summary_text.delta", summary_index=0),
    text("Then added.", "r", "reasoning_summary_text.delta", summary_index=1),
    text(SECRET, "r", "reasoning_text.delta"),
    message(),
    text("4"),
    completed(),
)


def test_a_summary_is_hidden_unless_the_operator_trusts_it() -> None:
    assert read(*SUMMARIZED).pairs == [("final", "4")]
    trusted = read(*SUMMARIZED, summaries_are_trusted=True)
    assert trusted.pairs == [("preamble", "Checked units.\n\nThen added."), ("final", "4")]
    assert trusted.finished[0].frame.header.name == "reasoning_summary"
    assert trusted.hidden == SECRET


def test_a_trusted_summary_equal_to_the_content_leaves_the_content_where_it_is() -> None:
    """It is the chain of thought itself, which the model may need again between its calls."""
    item = {"type": "reasoning", "id": "r", "summary": [part(SECRET, "summary_text")], "content": [part(SECRET)]}
    result = read(added("reasoning", "r"), completed(item), summaries_are_trusted=True)
    assert [done.frame.header.channel for done in result.finished] == ["commentary", "analysis"]
    assert result.hidden == SECRET


# Streamed text and later snapshots of it


def test_shown_text_is_not_taken_back() -> None:
    snapshot = {"type": "message", "id": "m", "role": "assistant", "content": [part("Good day")]}
    result = read(message(), text("Hello"), whole("Good day"), completed(snapshot))
    assert result.pairs == [("final", "Hello")]
    assert result.reducer.oddities == {"a text that changed afterwards": 1}


# Identifying items


# Calls


def test_the_call_id_of_the_snapshot_wins() -> None:
    events = [
        added("function_call", "f1", 0, call_id="call_stream", name="weather", arguments=""),
        {"type": "response.function_call_arguments.delta", "item_id": "f1", "delta": '{"a":'},
        {"type": "response.function_call_arguments.delta", "item_id": "f1", "delta": "1}"},
    ]
    snapshot = {"type": "function_call", "id": "f9", "call_id": "call_final", "name": "weather", "arguments": '{"a":1}'}
    result = read(*events, completed(snapshot))
    assert (result.calls, result.reason) == ([("call_final", '{"a":1}')], EndReason.TOOL_CALLS)


def test_text_after_a_call_is_hidden_and_flagged() -> None:
    call = done("function_call", "f", 1, name="weather", arguments="{}", call_id="call_1")
    thought = done("reasoning", "r", 2, content=[part("hm")])
    result = read(message("m", 0), text("I look."), call, thought, message("n", 3), text(SECRET, "n"), completed())
    assert (result.visible, result.calls) == ("I look.", [("call_1", "{}")])
    late = [(done.frame.header.channel, done.frame.header.intent, done.frame.body, done.error) for done in result.finished[1:-1]]
    assert late == [("analysis", "debug", "hm", Code.CALL_SCHEMA), ("final", "debug", SECRET, Code.CALL_SCHEMA)]


def test_parallel_calls_keep_their_own_arguments() -> None:
    events = [added("function_call", f"f{n}", n, call_id=f"call_{n}", name="f") for n in (0, 1)]
    for piece in ('{"n":', "%d}"):
        for n in (0, 1):
            delta = piece.replace("%d", str(n))
            events.append({"type": "response.function_call_arguments.delta", "item_id": f"f{n}", "delta": delta})
    assert read(*events, completed()).calls == [("call_0", '{"n":0}'), ("call_1", '{"n":1}')]


def test_a_call_without_a_name_is_told_to_the_model_and_invalid_arguments_are_flagged() -> None:
    calls = [done("function_call", "a", name="<|call|>", arguments=SECRET), done("function_call", "b", name="f", arguments="[1]")]
    result = read(*calls, completed())
    assert (result.calls, result.visible) == ([("new_1", SECRET), ("new_2", "[1]")], "")
    assert [finished.error for finished in result.finished] == [Code.CALL_SCHEMA] * 2


def test_no_call_of_a_broken_stream_is_run() -> None:
    result = read(done("function_call", "f", name="f", arguments="{}", call_id="call_1"), breaks=True)
    assert result.calls == []
    assert [finished.complete for finished in result.finished] == [False]


# End reasons


# The leak guard


LEAKS = [
    (f"analysis{SECRET}assistantfinalHello!", "Hello!"),
    (f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>", "Hello!"),
    (f"<|channel|>analysis<|message|>{SECRET}<|end|>Hello!", ""),
    (f"<think>{SECRET}</think>Hello!", "Hello!"),
    (f"<reasoning>{SECRET}</reasoning>Hello!", "Hello!"),
    ("Show <|start|>assistant<|channel|>analysis<|message|> to me.", "Show "),
]


def test_text_withdrawn_by_a_late_label_is_announced() -> None:
    late = done("message", "m", role="assistant", channel="analysis", content=[part(SECRET)])
    result = read(message(), text(SECRET), late, completed())
    assert (result.visible, result.finished[0].error) == ("", ProductCode.WITHHELD)


@pytest.mark.parametrize("limit", [1000, 10])
@pytest.mark.parametrize(
    "late", [{"type": "reasoning"}, {"type": "message", "role": "assistant", "channel": "analysis"}], ids=["type", "channel"]
)
def test_a_label_in_the_last_event_withdraws_text_even_of_a_full_sample(late: dict[str, Any], limit: int) -> None:
    result = read(message(), text(SECRET), completed({"id": "m", **late}), max_chars=limit)
    assert (result.visible, result.finished[0].error) == ("", ProductCode.WITHHELD if limit == 1000 else ProductCode.LENGTH)
    followed = read(message(), text(SECRET), message("n"), text("Hello", "n"), completed({"id": "m", **late}), max_chars=limit)
    assert followed.visible == ("Hello" if limit == 1000 else "")
