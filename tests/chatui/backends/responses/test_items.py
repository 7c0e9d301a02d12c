"""The header of a Responses item, the kinds of a message's parts and the labels beside its text: they decide which text is the answer.

Text is visible only if it is an assistant's message without any sign to the contrary.
"""

from typing import Any

import pytest

from chatui.backends.responses.items import CALL, Items, OutputItem
from chatui.backends.responses.reducer import Reducer
from chatui.backends.separation import Separation
from chatui.backends.speaker import SpeakerLabel
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import FrameOpened, FrameText
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header
from tests.chatui.backends.responses.test_reducer import SECRET, added, completed, done, message, part, read, snapshot, text, whole

MESSAGE = {"type": "message", "role": "assistant"}


@pytest.mark.parametrize(
    ("learned", "expected"),
    [
        ([MESSAGE], ANSWER),
        ([MESSAGE | {"channel": "final", "phase": "final_answer", "status": "completed"}], ANSWER),
        ([MESSAGE | {"phase": "commentary"}], PREAMBLE),
        ([MESSAGE, {"phase": "commentary"}, {"phase": None}], PREAMBLE),
        ([MESSAGE | {"phase": "draft"}], BROKEN),
        ([MESSAGE | {"phase": 5}], BROKEN),
        ([MESSAGE | {"channel": "analysis"}], BROKEN),
        ([MESSAGE | {"channel": "final "}], BROKEN),
        ([MESSAGE | {"name": "x"}], BROKEN),
        ([MESSAGE | {"call_id": "x"}], BROKEN),
        ([MESSAGE | {"is_thinking": True}], BROKEN),
        ([MESSAGE | {"channel": "analysis"}, {"channel": None}], BROKEN),
        ([MESSAGE, {"channel": "analysis"}], BROKEN),
        ([MESSAGE | {"arguments": "x", "summary": ["x"], "encrypted_content": "x"}], ANSWER),
        ([MESSAGE, {"name": "x"}, {"name": ""}], BROKEN),
        ([MESSAGE | {"mystery": "thinking"}], BROKEN),
        ([MESSAGE | {"mystery": "thinking"}, MESSAGE], BROKEN),
        ([MESSAGE, {"type": "reasoning"}], BROKEN),
        ([MESSAGE, {"role": "tool"}], BROKEN),
        ([MESSAGE, {"role": 5}], BROKEN),
        ([MESSAGE, {"role": ["assistant"]}], BROKEN),
        ([MESSAGE, {"role": ""}], ANSWER),
        ([{"type": "message"}], BROKEN),
        ([{"role": "assistant"}], BROKEN),
        ([{"type": "reasoning", "role": "assistant"}], BROKEN),
        ([], BROKEN),
    ],
)
def test_only_an_unmarked_message_of_the_assistant_is_visible(learned: list[dict[str, Any]], expected: Header) -> None:
    item = OutputItem(0)
    for data in learned:
        item.learn(data)
    assert item.header() == expected


@pytest.mark.parametrize(("late", "name"), [({"type": "reasoning"}, "type"), ({"role": 5}, "role")])
def test_another_type_or_role_is_a_known_label(late: dict[str, Any], name: str) -> None:
    item = OutputItem(0)
    item.learn(MESSAGE)
    item.learn(late)
    item.learn({"mystery": "thinking"})
    assert item.label == SpeakerLabel(name, is_known=True)


def test_an_item_that_an_event_names_first_is_found_by_its_id() -> None:
    items = Items()
    assert [items.item_for_text({"item_id": name}).number for name in ("a", "b", "a")] == [0, 1, 0]
    assert [items.item_for_call({"item_id": name}).number for name in ("c", "d", "c")] == [2, 3, 2]
    assert [item.kind for item in items] == ["", "", CALL, CALL]


def test_text_at_the_place_of_an_item_that_has_ended_belongs_to_a_new_one() -> None:
    items = Items()
    items.added(MESSAGE, 0).is_done = True
    assert items.item_for_text({"output_index": 0}).number == 1


Event = dict[str, Any]


def part_event(step: str, *, family: str = "content_part", place: int | None = 0, **fields: Any) -> Event:
    where = {} if place is None else {"content_index": place}
    return {"type": f"response.{family}.{step}", "item_id": "m", **where, "part": fields}


def ended(*parts: Event, **more: Any) -> Event:
    return done("message", "m", role="assistant", content=list(parts), **more)


@pytest.mark.parametrize(
    ("fields", "is_shown"),
    [
        ({"type": "output_text", "text": "", "annotations": [], "logprobs": []}, True),
        ({"type": "text"}, True),
        ({"type": "refusal", "refusal": ""}, True),
        ({}, True),
        ({"type": None, "text": "", "thought": False}, True),
        ({"type": ""}, False),
        ({"type": "reasoning_text"}, False),
        ({"type": 5}, False),
        ({"type": ["output_text"]}, False),
        ({"thought": True}, False),
        ({"mystery": "thinking"}, False),
        ({"type": "output_text", "channel": "analysis"}, False),
    ],
)
def test_a_part_of_another_kind_or_with_a_label_hides_its_text(fields: Event, is_shown: bool) -> None:
    result = read(message(), part_event("added", **fields), text(SECRET, content_index=0), completed())
    assert (result.visible, result.hidden) == ((SECRET, "") if is_shown else ("", SECRET))


@pytest.mark.parametrize("first", [{"type": "reasoning_text"}, {"type": "output_text", "channel": "analysis"}, {"thought": True}])
@pytest.mark.parametrize("ends", [[], [ended(part(SECRET))], [ended(part(SECRET), part("Hi"))]])
def test_a_part_that_began_as_something_else_stays_hidden_whatever_its_end_says(first: Event, ends: list[Event]) -> None:
    stream = [message(), part_event("added", **first), text(SECRET, content_index=0)]
    result = read(*stream, part_event("done", type="output_text", text=SECRET), *ends, completed())
    assert SECRET not in result.visible and SECRET in result.hidden


def thought(value: str, item_id: str = "r") -> Event:
    return done("reasoning", item_id, content=[part(value, "reasoning_text")], summary=[])


SPOKEN = [
    [message(), text(SECRET)],
    [message(), text(SECRET[:3]), text(SECRET[3:])],
    [message(), whole(SECRET)],
    [ended(part(f"{SECRET}\n"))],
    [message(phase="commentary"), text(SECRET)],
]


@pytest.mark.parametrize("spoken", SPOKEN)
@pytest.mark.parametrize("order", [1, -1])
def test_text_that_is_reasoning_elsewhere_in_the_response_is_no_message(spoken: list[Event], order: int) -> None:
    parts = [[thought(SECRET)], spoken][::order]
    assert read(*parts[0], *parts[1], completed()).visible == ""
    others = [[thought("Other")], spoken][::order]
    assert read(*others[0], *others[1], completed()).visible.strip() == SECRET, "the premise"


OTHER_PARTS = [{"type": "reasoning_text"}, {"type": "output_text", "thought": True}, {"mystery": "thinking"}]
BOTH = [part(SECRET), part("More")]


@pytest.mark.parametrize("separation", [Separation.STRUCTURED, Separation.UNPROVEN])
@pytest.mark.parametrize("other", OTHER_PARTS)
@pytest.mark.parametrize("stream", [
    [message(), text(SECRET, content_index=0), "other", text("More", content_index=1)],
    [message(), text("More", content_index=1), text(SECRET, content_index=0), "other"],
    [message(), text("Mo", content_index=1), text(SECRET, content_index=0), "other", text("re", content_index=1)],
    [message(), text(SECRET, content_index=0), text("More", content_index=1), ended(*BOTH), "other"],
    [message(), text(SECRET, content_index=0), text("More", content_index=1), ended(*BOTH), "ended"],
    [ended(*BOTH), "ended"], [ended(*BOTH), "completed"],
    [text(SECRET, item_id="m", content_index=0), text("More", item_id="m", content_index=1), "other", ended({}, part("More"))],
])  # fmt: skip
def test_a_part_that_turns_out_to_be_something_else_withdraws_itself_alone(stream: list[Any], other: Event, separation: Separation) -> None:
    parts = [{**part(SECRET), **other}, part("More")]
    late = {"other": part_event("done", **other), "ended": ended(*parts), "completed": completed(snapshot(*parts))}
    spoken = done("message", "before", role="assistant", content=[part("Before.")])
    events = [message("before"), text("Before.", item_id="before"), spoken]
    events += [late[each] if isinstance(each, str) else each for each in stream]
    result = read(*events, completed(), separation=separation)
    assert "".join(result.visible.split()) == "Before.More" and SECRET in result.hidden


@pytest.mark.parametrize("other", OTHER_PARTS)
def test_what_is_left_is_judged_anew(other: Event) -> None:
    stream = [message(), text("<think>a", content_index=0), text(f"</think>{SECRET}</think>More", content_index=1)]
    assert read(*stream, part_event("done", **other), completed()).visible == "More"


def test_a_message_whose_shown_part_ends_as_reasoning_is_withdrawn() -> None:
    result = read(message(), text(SECRET, content_index=0), ended(part(SECRET, "reasoning_text")), completed())
    assert result.visible == "" and result.finished[0].error == ProductCode.WITHHELD


@pytest.mark.parametrize(
    ("labels", "is_shown"),
    [
        ({"response_id": "r", "event": "x", "logprobs": [], "sequence_number": 4, "obfuscation": "x"}, True),
        ({"part": {"type": "output_text"}, "item": {"type": "message"}}, True),
        ({"channel": "final", "recipient": "user"}, True),
        ({"channel": "analysis"}, False),
        ({"mystery": "thinking"}, False),
        ({"is_thinking": True}, False),
        ({"chat_template_kwargs": {"enable_thinking": True}, "metadata": {"reasoning": True}}, True),
        ({"metadata": {"channel": "analysis"}}, False),
    ],
)
def test_a_label_beside_text_of_the_answer_hides_it(labels: Event, is_shown: bool) -> None:
    assert read(message(), text("Hello", **labels), completed()).visible == ("Hello" if is_shown else "")
    assert read(message(), whole("Hello", **labels), completed()).visible == ("Hello" if is_shown else "")


@pytest.mark.parametrize("breaks", [True, False])
@pytest.mark.parametrize(
    "late",
    [text("", channel="analysis"), message(channel="analysis"), message(mystery="thinking")],
    ids=["beside no text", "known", "unknown"],
)
def test_a_label_that_comes_without_text_withdraws_what_was_shown_at_once(late: Event, breaks: bool) -> None:
    result = read(message(), text(f"{SECRET} one."), late, *([] if breaks else [completed()]), breaks=breaks)
    assert result.visible == "" and result.finished[0].frame.header == BROKEN
    assert result.hidden == f"{SECRET} one."


def test_only_text_of_an_item_that_holds_some_is_kept_and_other_is_counted() -> None:
    events = [added("web_search_call", "w"), text("x", "w"), text("y", "w", "reasoning_text.delta")]
    result = read(*events, added("function_call", "c", name="f", call_id="c1"), text("z", "c"), completed())
    assert [finished.frame.body for finished in result.finished] == ["{}"]
    assert result.reducer.oddities == {"text of an item that holds none": 3}
    assert read(added("function_call", "c"), text("", "c"), completed()).reducer.oddities == {}


@pytest.mark.parametrize(("kind", "header"), [("reasoning", ANALYSIS), ("acme:note", BROKEN)])
def test_text_that_waited_for_its_item_has_the_header_of_its_kind(kind: str, header: object) -> None:
    result = read(text(SECRET, "x"), added(kind, "x"), completed())
    assert [(finished.frame.header, finished.frame.body) for finished in result.finished] == [(header, SECRET)]


def test_text_that_waited_for_its_message_is_shown_before_more_arrives() -> None:
    reducer = Reducer(lambda: "new", max_chars=1000, separation=Separation.STRUCTURED)
    assert reducer.feed("response.output_text.delta", text("Hello.", "m")) == []
    assert reducer.feed("response.output_item.added", message()) == [FrameOpened(ANSWER), FrameText("Hello.")]


def test_text_of_an_item_that_is_never_named_is_an_invalid_frame() -> None:
    result = read(text(SECRET, "x"), completed())
    assert [(finished.frame.header, finished.error) for finished in result.finished] == [(BROKEN, Code.PARSE_HEADER)]
    empty = read(text("", "x"), completed())
    assert (empty.finished, empty.reducer.oddities) == ([], {})


def test_reasoning_that_was_streamed_is_completed_although_its_summary_is_the_same() -> None:
    ends = done("reasoning", "r", content=[part("abc")], summary=[part("abc", "summary_text")])
    begun = [added("reasoning", "r"), text("ab", "r", "reasoning_text.delta")]
    assert read(*begun, ends, completed()).hidden.replace("abc", "", 1) == "abc"
