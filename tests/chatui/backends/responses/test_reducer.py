"""The rules that turn a Responses stream into frames, each with its own small stream."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from chatui.backends.base import EndReason
from chatui.backends.leaks.labels import Asked
from chatui.backends.responses.reducer import Reducer
from chatui.backends.responses.speech import TokenLimit
from chatui.backends.separation import Separation
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import Assembler, Finished
from renderer.frame_kinds import ANSWER
from renderer.frames import Terminator
from renderer.gate import Audience, may_see, show
from renderer.harmony.prompt import FunctionTool
from tests.support.cases import example_count

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


def read(*events: dict[str, Any], breaks: bool = False, has_tools: bool = False, **options: Any) -> Read:
    """Every frame that is opened is closed, and none is nested in another: otherwise the Assembler fails the test."""
    numbers, token_limit = iter(range(1, 100)), options.pop("token_limit", None)
    reducer = Reducer(
        lambda: f"new_{next(numbers)}", max_chars=options.pop("max_chars", 10_000), **{"separation": Separation.STRUCTURED} | options
    )
    reducer.token_limit = token_limit
    reducer.asks(Asked(tools=(LOOK,) if has_tools else ()))
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


def test_an_answer_with_a_late_phase_stays_the_answer() -> None:
    ended = done("message", "m", role="assistant", phase="final_answer", content=[part("Four.")])
    assert read(message(), text("Four."), ended, completed()).pairs == [("final", "Four.")]


def test_hidden_text_is_not_made_a_preamble_by_a_late_phase() -> None:
    ended = done("message", "m", role="assistant", phase="commentary", content=[part(f"<think>{SECRET}</think>Hello")])
    result = read(message(), text(f"<think>{SECRET}"), text("</think>Hello"), ended, completed())
    assert SECRET not in result.visible and SECRET in result.hidden
    assert result.pairs == [("preamble", "Hello")]


@pytest.mark.parametrize(("phase", "kind"), [(None, "final"), ("final_answer", "final"), ("commentary", "preamble")])
def test_a_message_with_a_known_phase_is_shown_as_such(phase: object, kind: str) -> None:
    assert read(message(phase=phase), text("Hello"), completed()).pairs == [(kind, "Hello")]


@pytest.mark.parametrize("role", ["user", "system", "developer", "tool", "", None, "Assistant"])
def test_a_message_of_another_role_is_hidden(role: object) -> None:
    result = read(message(role=role), text(SECRET), completed())
    assert (result.visible, result.hidden) == ("", SECRET)


def test_text_of_a_reasoning_item_is_hidden_under_every_name() -> None:
    names = ("output_text", "reasoning", "reasoning_text", "reasoning_summary_text", "reasoning_summary", "refusal")
    for name in names:
        result = read(added("reasoning", "r"), text(SECRET, "r", f"{name}.delta"), message(), text("Hello"), completed())
        assert (result.visible, result.hidden) == ("Hello", SECRET), name
        assert (result.finished[0].frame.header.intent, result.finished[0].error) == (None, None), name


def test_reasoning_in_an_output_text_part_of_a_snapshot_is_hidden() -> None:
    """The format of a well-known proxy: a reasoning item with a role and parts called output_text."""
    item = {"type": "reasoning", "id": "r", "role": "assistant", "content": [part(SECRET)]}
    answer = {"type": "message", "id": "m", "role": "assistant", "content": [part("Hello")]}
    result = read(completed(item, answer))
    assert (result.visible, result.hidden) == ("Hello", SECRET)


def test_reasoning_events_about_a_message_are_hidden() -> None:
    result = read(message(), text(SECRET, kind="reasoning_text.delta"), text("Hello"), completed())
    assert (result.visible, result.hidden) == ("Hello", SECRET)


def test_a_message_part_of_unknown_kind_is_hidden() -> None:
    opened = {"type": "response.content_part.added", "item_id": "m", "content_index": 1, "part": part("", "reasoning_text")}
    snapshot = {"type": "message", "id": "m", "role": "assistant", "content": [part("Hello"), part(SECRET, "reasoning_text")]}
    result = read(message(), text("Hello"), opened, text(SECRET, content_index=1), completed(snapshot))
    assert result.visible == "Hello"
    assert SECRET in result.hidden


def test_a_part_labelled_otherwise_is_hidden_in_stream_and_snapshot() -> None:
    for label in ({"channel": "analysis"}, {"thought": True}, {"x_segment": "thinking"}):
        odd, plain = {**part(SECRET), **label}, part("Hi")
        opened = {"type": "response.content_part.added", "item_id": "m", "content_index": 0, "part": {**odd, "text": ""}}
        streamed = read(message(), opened, text(SECRET, content_index=0), text("Hi", content_index=1), completed())
        events = read(message(), done("message", "m", role="assistant", content=[odd, plain]), completed())
        assert (streamed.visible, events.visible) == ("Hi", "Hi")
        assert SECRET in streamed.hidden and SECRET in events.hidden


def test_summary_events_about_a_message_are_hidden_even_if_summaries_are_trusted() -> None:
    result = read(message(), text(SECRET, kind="reasoning_summary_text.delta"), text("Hi"), completed(), summaries_are_trusted=True)
    assert (result.visible, SECRET in result.hidden) == ("Hi", True)


def test_raw_output_shows_its_answer_only_if_the_model_finished() -> None:
    events = [message(), text(f"analysis{SECRET} is the plan.assistantfinalHi")]
    cuts: tuple[dict[str, Any], ...] = tuple(
        {"status": "incomplete", "incomplete_details": {"reason": reason}} for reason in ("content_filter", "max_output_tokens")
    )
    assert [read(*events, completed(**cut)).visible for cut in cuts] == ["", ""]
    assert (read(*events, breaks=True).visible, read(*events, completed()).visible) == ("", "Hi")


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


def test_unknown_events_change_nothing() -> None:
    events = [message(), text("Hel"), text("lo"), done("message", "m", role="assistant", content=[part("Hello")]), completed()]
    strewn = [odd for event in events for odd in (event, {"type": "acme:x", "delta": SECRET, "item_id": "m"})]
    assert read(*strewn).pairs == read(*events).pairs == [("final", "Hello")]


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


def test_a_chain_of_thought_sent_as_summary_and_content_is_stored_once() -> None:
    item = {"type": "reasoning", "id": "r", "summary": [part(SECRET, "summary_text")], "content": [part(SECRET)]}
    assert read(added("reasoning", "r"), completed(item)).hidden == SECRET


def test_a_trusted_summary_equal_to_the_content_leaves_the_content_where_it_is() -> None:
    """It is the chain of thought itself, which the model may need again between its calls."""
    item = {"type": "reasoning", "id": "r", "summary": [part(SECRET, "summary_text")], "content": [part(SECRET)]}
    result = read(added("reasoning", "r"), completed(item), summaries_are_trusted=True)
    assert [done.frame.header.channel for done in result.finished] == ["commentary", "analysis"]
    assert result.hidden == SECRET


# Streamed text and later snapshots of it


def test_extra_text_in_a_snapshot_is_appended() -> None:
    snapshot = {"type": "message", "id": "m", "role": "assistant", "content": [part("Hello there")]}
    assert read(message(), text("Hello"), completed(snapshot)).pairs == [("final", "Hello there")]


def test_shown_text_is_not_taken_back() -> None:
    snapshot = {"type": "message", "id": "m", "role": "assistant", "content": [part("Good day")]}
    result = read(message(), text("Hello"), whole("Good day"), completed(snapshot))
    assert result.pairs == [("final", "Hello")]
    assert result.reducer.oddities == {"a text that changed afterwards": 1}


def test_the_last_of_several_snapshots_counts() -> None:
    ended = done("message", "m", role="assistant", content=[part("Hello,")])
    assert read(message(), text("Hello,"), whole("Hello,!"), ended, completed()).visible == "Hello,"
    assert read(message(), text("Hello,"), whole("Hello,!"), completed()).visible == "Hello,!"


def test_an_answer_that_comes_only_in_the_snapshot_is_shown_once() -> None:
    item: dict[str, Any] = {"role": "assistant", "content": [part("Hello")]}
    only_part = read(message(), whole("Hello"), completed())
    only_item = read(done("message", "m", **item), completed())
    only_snapshot = read(completed({"type": "message", **item}))
    everywhere = read(
        message(), text("Hello"), whole("Hello"), done("message", "m", **item), completed({"type": "message", "id": "n", **item})
    )
    assert [result.pairs for result in (only_part, only_item, only_snapshot, everywhere)] == [[("final", "Hello")]] * 4


def test_parts_of_a_message_are_one_answer() -> None:
    snapshot = {"type": "message", "id": "m", "role": "assistant", "content": [part("One. "), part("Two.")]}
    events = [message(), text("One. ", content_index=0), whole("One. ", content_index=0), text("Two.", content_index=1)]
    assert read(*events, completed(snapshot)).pairs == [("final", "One. Two.")]


def test_an_answer_interrupted_by_reasoning_stays_one_frame() -> None:
    events = [added("reasoning", "r"), message(), text("Hel"), text(SECRET, "r", "reasoning_text.delta"), text("lo"), completed()]
    result = read(*events)
    assert result.pairs == [("final", "Hello")]
    assert result.hidden == SECRET


# Identifying items


def test_text_of_an_unknown_item_waits_for_its_type() -> None:
    assert read(text(SECRET, "x"), completed()).visible == ""
    ended = done("message", "x", role="assistant", content=[part("Hello")])
    assert read(text("Hello", "x"), ended, completed()).pairs == [("final", "Hello")]
    thought = read(text(SECRET, "x"), done("reasoning", "x"), completed())
    assert (thought.visible, thought.hidden) == ("", SECRET)


def test_items_whose_ids_change_are_found_by_index() -> None:
    events = [
        added("reasoning", "id1", 0),
        text(SECRET, "id2", "reasoning_text.delta", output_index=0),
        text(SECRET, "id3", output_index=0),
        done("reasoning", "id4", 0),
        message("id5", 1),
        text("Hel", "id6", output_index=1),
        text("lo", "id7", output_index=1),
        done("message", "id8", 1, role="assistant", content=[part("Hello")]),
    ]
    snapshot: list[dict[str, Any]] = [
        {"type": "reasoning", "id": "id9"},
        {"type": "message", "id": "id10", "role": "assistant", "content": [part("Hello")]},
    ]
    result = read(*events, completed(*snapshot))
    assert (result.pairs, result.hidden) == ([("final", "Hello")], SECRET * 2)


def test_events_without_ids_or_indices_belong_to_the_newest_item() -> None:
    result = read(added("reasoning"), text(SECRET, ""), message(""), text("Hello", ""), completed())
    assert (result.visible, result.hidden) == ("Hello", SECRET)


def test_a_message_with_the_id_of_earlier_reasoning_is_a_message() -> None:
    events = [added("reasoning", "m", 0), text(SECRET, kind="reasoning_text.delta"), done("reasoning", "m", 0)]
    result = read(*events, message("m", 1), text("Hello"), completed())
    assert (result.visible, result.hidden) == ("Hello", SECRET)
    late = [added("reasoning", "m", 0), message("m", 1), done("reasoning", "m", 0, content=[part(SECRET)])]
    result = read(*late, text("Hello"), completed())
    assert (result.visible, result.hidden) == ("Hello", SECRET)


def test_two_messages_with_one_id_are_two_messages() -> None:
    ended = done("message", "m", 0, role="assistant", content=[part("One.")])
    assert read(message(), text("One."), ended, message(), text("Two."), completed()).pairs == [("final", "One.\n\nTwo.")]


def test_a_message_followed_by_another_gets_no_more_visible_text() -> None:
    result = read(message("m"), text("One."), message("n"), text("Two.", "n"), text("late", "m"), completed())
    assert (result.visible, result.hidden) == ("One.\n\nTwo.", "late")


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


def test_a_call_reported_only_at_its_end_is_a_call() -> None:
    ended = done("function_call", name="weather", arguments="{}", call_id="call_1")
    assert read(ended, completed()).calls == [("call_1", "{}")]


def test_a_call_without_a_name_is_told_to_the_model_and_invalid_arguments_are_flagged() -> None:
    calls = [done("function_call", "a", name="<|call|>", arguments=SECRET), done("function_call", "b", name="f", arguments="[1]")]
    result = read(*calls, completed())
    assert (result.calls, result.visible) == ([("new_1", SECRET), ("new_2", "[1]")], "")
    assert [finished.error for finished in result.finished] == [Code.CALL_SCHEMA] * 2


def test_two_calls_never_share_an_id() -> None:
    calls = [done("function_call", f"f{n}", n, name="f", arguments="{}", call_id="call_1") for n in (0, 1)]
    assert [call_id for call_id, _ in read(*calls, completed()).calls] == ["call_1", "new_1"]


def test_no_call_of_a_broken_stream_is_run() -> None:
    result = read(done("function_call", "f", name="f", arguments="{}", call_id="call_1"), breaks=True)
    assert result.calls == []
    assert [finished.complete for finished in result.finished] == [False]


# End reasons


@pytest.mark.parametrize(
    ("response", "options", "reason"),
    [
        (completed(), {}, EndReason.STOP),
        (completed(status="incomplete"), {}, EndReason.LENGTH),
        (completed(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), {}, EndReason.LENGTH),
        (completed(status="incomplete", incomplete_details={"reason": "content_filter"}), {}, EndReason.CONTENT_FILTER),
        (completed(usage={"output_tokens": 20}), {"token_limit": TokenLimit(20)}, EndReason.LENGTH),
        (completed(usage={"output_tokens": 19}), {"token_limit": TokenLimit(20)}, EndReason.STOP),
        (completed(usage={"input_tokens": 80, "output_tokens": 20}), {"token_limit": TokenLimit(None, 100)}, EndReason.LENGTH),
        (completed(usage={"input_tokens": 80, "output_tokens": 19}), {"token_limit": TokenLimit(None, 100)}, EndReason.STOP),
        (completed(usage={"input_tokens": 100}), {"token_limit": TokenLimit(20, 100)}, EndReason.STOP),
        ({"type": "response.incomplete", "response": {}}, {}, EndReason.LENGTH),
        (completed({"type": "message", "id": "m", "role": "assistant", "status": "incomplete"}), {}, EndReason.LENGTH),
    ],
)
def test_a_cut_answer_is_marked_under_every_event_name(response: Any, options: Any, reason: EndReason) -> None:
    result = read(message(), text("Once upon a"), response, **options)
    assert (result.visible, result.reason) == ("Once upon a", reason)
    assert (result.finished[-1].error == ProductCode.LENGTH) == (reason == EndReason.LENGTH)


def test_a_final_answer_ends_with_return() -> None:
    assert [str(done.frame.terminator) for done in read(message(), text("Hello"), completed()).finished] == ["<|return|>"]


def test_a_model_over_its_output_limit_is_stopped() -> None:
    result = read(message(), text("x" * 90), text("y" * 90), max_chars=100)
    assert result.reducer.is_full
    assert (len(result.visible), result.reason) == (100, EndReason.LENGTH)


def test_a_server_that_opens_items_endlessly_is_stopped() -> None:
    result = read(*(message(f"m{n}") for n in range(1002)))
    assert (result.reducer.is_full, result.reason) == (True, EndReason.LENGTH)


# The leak guard


LEAKS = [
    (f"analysis{SECRET}assistantfinalHello!", "Hello!"),
    (f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>", "Hello!"),
    (f"<|channel|>analysis<|message|>{SECRET}<|end|>Hello!", ""),
    (f"<think>{SECRET}</think>Hello!", "Hello!"),
    (f"<reasoning>{SECRET}</reasoning>Hello!", "Hello!"),
    ("Show <|start|>assistant<|channel|>analysis<|message|> to me.", "Show "),
]


@pytest.mark.parametrize(("leak", "visible"), LEAKS)
@pytest.mark.parametrize("phase", [None, "commentary"])
def test_reasoning_inside_an_answer_is_hidden_at_every_split(leak: str, visible: str, phase: str | None) -> None:
    ended = done("message", "m", role="assistant", phase=phase, content=[part(leak)])
    for seed in range(example_count(20)):
        pieces, chooser, rest = [], random.Random(seed), leak
        while rest:
            size = chooser.randint(1, 1 + seed)
            pieces.append(text(rest[:size]))
            rest = rest[size:]
        assert read(message(phase=phase), *pieces, ended, completed()).visible == visible
    assert read(message(phase=phase), ended, completed()).visible == visible


def test_a_suspect_answer_that_was_cut_is_hidden() -> None:
    leak = text(f"analysis{SECRET}assistantfinalHel")
    assert read(message(), leak, completed(status="incomplete")).visible == ""
    assert read(message(), leak, breaks=True).visible == ""


def test_a_message_marked_incomplete_by_the_server_is_cut_even_if_another_follows() -> None:
    leak = f"analysis{SECRET}assistantfinalHel"
    ended = done("message", "m", role="assistant", status="incomplete", content=[part(leak)])
    assert read(message(), text(leak), ended, message("n"), text("Next", "n"), completed()).visible == "Next"


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
    assert followed.visible == ""


def test_a_full_sample_takes_no_more_from_the_last_event() -> None:
    result = read(message(), text("x" * 30), completed({"type": "web_search_call", "id": "w", "query": "more"}), max_chars=10)
    assert (result.visible, result.hidden, result.reason) == ("x" * 10, "", EndReason.LENGTH)


def test_escaped_markers_in_echoes_are_restored() -> None:
    result = read(message(), text("You wrote <"), text("\u2060|end|>."), completed())
    assert result.visible == "You wrote <|end|>."


def test_a_part_once_called_reasoning_stays_hidden() -> None:
    reducer, assembler, item = (
        Reducer(lambda: "c", max_chars=1000, separation=Separation.STRUCTURED),
        Assembler(),
        {"type": "message", "id": "m", "role": "assistant"},
    )
    at = {"item_id": "m", "output_index": 0, "content_index": 0}
    events = [
        *reducer.feed("response.output_item.added", {"output_index": 0, "item": item}),
        *reducer.feed("response.content_part.added", {**at, "part": {"type": "reasoning_text", "text": ""}}),
        *reducer.feed("response.output_text.delta", {**at, "delta": "THOUGHT"}),
    ]
    content = [{"type": "output_text", "text": "THOUGHT"}, {"type": "output_text", "text": "Hi"}]
    events += reducer.feed("response.output_item.done", {"output_index": 0, "item": {**item, "content": content}})
    frames = [done.frame for event in [*events, *reducer.finish()[0]] if (done := assembler.feed(event))]
    assert [frame.body for frame in frames if may_see(frame.header, Audience.END_USER)] == ["Hi"]
