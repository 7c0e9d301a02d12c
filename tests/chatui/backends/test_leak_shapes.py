"""Reasoning hidden in answers stays hidden over each wire format at every split, and harmless answers about it stay whole."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chatui.backends.base import BackendError
from chatui.backends.harmony.dialects import DIALECTS
from chatui.backends.separation import Separation
from chatui.codes import ProductCode
from renderer.events import Assembler, Finished, RawEvent
from renderer.gate import Audience, Gate, VisibleDelta, VisibleOpened, VisibleWithdrawn, may_see
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.honest import HONEST
from tests.chatui.backends.honest_labels import HEADINGS
from tests.chatui.backends.honest_labels import LABELS as HONEST_LABELS
from tests.chatui.backends.leaking import LEAKING, VISIBLE
from tests.support import canary_runs, raw_answers
from tests.support.answer_text import guarded
from tests.support.cases import EVERY_SHAPE, example_count, for_each, is_drawn
from tests.support.cost import cost, costs_at_most
from tests.support.places import QUIRKS

SHAPES = [json.loads(line) for line in (Path(__file__).parent / "data" / "shapes.jsonl").read_text("utf-8").splitlines()]
SECRET = "SECRETzzq"
FALSE_ALARMS = 0.01
NO_WORDS = cast(Vocabulary, SimpleNamespace(bytes_of=[]))
Cut = list[str]


def cuts(text: str) -> Iterator[Cut]:
    """Whole, byte by byte, and split at random."""
    yield [text]
    yield list(text)
    for seed in (1, 3):
        chooser, pieces, rest = random.Random(seed), list[str](), text
        while rest:
            size = chooser.randint(1, 2 + 4 * seed)
            pieces.append(rest[:size])
            rest = rest[size:]
        yield pieces


def least(found: set[str]) -> str:
    """The shortest of what was shown of one text in several pieces. Others may have one more letter of a word, which ended its piece: so
    begins a sign, and any word."""
    shortest = min(found, key=len)
    for text in found - {shortest}:
        at = next((at for at, letter in enumerate(shortest) if text[at] != letter), len(shortest))
        assert text[:at] + text[at + 1 :] == shortest and re.search("[a-z][abcfmt]$", text[: at + 1]), (text, shortest)
    return shortest


# The guard alone


@pytest.mark.slow
@for_each(LEAKING)
def test_hidden_reasoning_never_remains_visible(text: str) -> None:
    assert "SECRET" not in guarded(text)


def test_answers_with_hidden_reasoning_keep_some_text() -> None:
    """Otherwise a guard that hides everything would pass."""
    assert sum(VISIBLE in guarded(text) for text in LEAKING) > len(LEAKING) / 3


def test_harmless_answers_about_markers_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(HONEST) >= 300
    hidden = [text for text in HONEST if guarded(text) != text]
    with capsys.disabled():
        print(f"\n  false alarms of the leak guard: {len(hidden)} of {len(HONEST)} honest answers")
    assert len(hidden) <= FALSE_ALARMS * len(HONEST), hidden


HOSTILE = ["<", "<a", "`", "`a ", "\n", "<\u200b", "<|", "\\", "&lt;", "the tag <think> ", "<think>a</think>", "`<think>", "```\n<think>\n"]
HOSTILE += ["assistant", "channel|", "x <|start|>assistant ", "<details>", "\n\n    <think>\n\nx", "[", ">", "~", "</think>"]
HOSTILE += ["а", "`<|end|>a"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_answer_takes_linear_time(unit: str) -> None:
    """With quadratic work, eight times the length would take 64 times as long."""

    short, long = (partial(guarded, (unit * length)[:length]) for length in (1_000, 8_000))
    assert costs_at_most(24 * cost(short) + 50, long)


# Over the wire formats


def events_of_chat(
    shape: Mapping[str, Any], pieces: Cut, *, whole: bool, separation: Separation = Separation.UNPROVEN, ends: bool = True
) -> list[RawEvent]:
    deltas = shape.get("deltas") or [{"content": piece} for piece in pieces]
    field, choice = ("message" if whole else "delta"), shape.get("choice", {})
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, field: delta, **choice}]} for delta in deltas]
    if ends:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return [*chain(*raw_answers.over_chat(chunks, breaks=not ends, separation=separation))]


def events_of_responses(
    text: str, pieces: Cut, labels: Mapping[str, Any], *, whole: bool, ends: bool = True, **known: Any
) -> list[RawEvent]:
    item = {"type": "message", "id": "m", "role": "assistant", **labels, "content": [{"type": "output_text", "text": text}]}
    events: list[dict[str, Any]] = []
    if not whole:
        events = [{"type": "response.output_item.added", "item": {**item, "content": []}}]
        events += [{"type": "response.output_text.delta", "item_id": "m", "delta": piece} for piece in pieces]
        events += [{"type": "response.output_item.done", "item": item}]
    if ends:
        events += [{"type": "response.completed", "response": {"status": "completed", "output": [item]}}]
    return [*chain(*raw_answers.over_responses(events, breaks=not ends, **known))]


def visible_text(events: list[RawEvent]) -> str:
    """The text visible at the end, according to the gate and to the stored frames, which must agree."""
    gate, messages = Gate(Audience.END_USER), list[str]()
    assembler, finished = Assembler(), list[Finished]()
    for event in events:
        finished += [done] if (done := assembler.feed(event)) else []
        match gate.admit(event):
            case VisibleOpened():
                messages.append("")
            case VisibleDelta(text=text):
                messages[-1] += text
            case VisibleWithdrawn():
                messages.pop()
    visible = [done.frame.body for done in finished if may_see(done.frame.header, Audience.END_USER)]
    assert messages == visible
    return "".join(messages)


@for_each(SHAPES)
def test_each_shape_gets_its_verdict_over_chat_completions(shape: dict[str, Any]) -> None:
    text = shape.get("content", "")
    for pieces in cuts(text):
        for whole in {shape["whole"]} if "deltas" in shape else {False, len(pieces) == 1}:
            visible = visible_text(events_of_chat(shape, pieces, whole=whole))
            if shape["verdict"] == "hides":
                assert SECRET not in visible
            elif shape["verdict"] == "shows whole":
                assert visible == text


@for_each([shape for shape in SHAPES if "content" in shape])
def test_each_shape_gets_its_verdict_over_responses(shape: dict[str, Any]) -> None:
    text = shape["content"]
    for pieces in cuts(text):
        for whole in (False, True):
            visible = visible_text(events_of_responses(text, pieces, {}, whole=whole))
            if shape["verdict"] == "hides":
                assert SECRET not in visible
            elif shape["verdict"] == "shows whole":
                assert visible == text


LABELS: list[dict[str, Any]] = [
    *({"role": role} for role in ("tool", "system", "developer", "user", "function", "critic", "Assistant", 7)),
    *({"channel": channel} for channel in ("analysis", "commentary", "Final", 7)),
    *({"phase": phase} for phase in ("analysis", "rehearsal", 7)),
    {"recipient": "functions.x"},
    {"type": "reasoning"},
    {"thought": True},
    {"tool_call_id": "c1"},
    {"name": "critic"},
    {"extra_content": {"google": {"thought": True}}},
    {"provider_specific_fields": {"kind": "thinking"}},
    {"x_segment": "thinking"},
]
HARMLESS: list[dict[str, Any]] = [
    {"role": "assistant"},
    {"role": ""},
    {"channel": "final"},
    {"phase": "final_answer"},
    {"recipient": "all"},
    {"thought": False},
    {"name": None},
    {"provider_specific_fields": {"citation": None, "blocks": []}},
    {"annotations": [{"type": "url_citation"}]},
    {"id": "x", "index": 0},
]


@pytest.mark.parametrize("label", LABELS, ids=json.dumps)
def test_a_label_that_names_another_kind_hides_text_anywhere(label: dict[str, Any]) -> None:
    text = {"content": SECRET}
    part = {"content": [{"type": "text", "text": SECRET, **label}]}
    chat: list[dict[str, Any]] = [{"deltas": [{**text, **label}]}, {"deltas": [text], "choice": label}, {"deltas": [part]}]
    if not label.keys() & {"extra_content", "provider_specific_fields", "x_segment"}:
        chat.append({"deltas": [{**label, "content": ""}, text]})
    for shape in chat:
        for whole in (False, True) if len(shape["deltas"]) == 1 else (False,):
            assert visible_text(events_of_chat(shape, [], whole=whole)) == ""
    if label.get("type") is None:
        for whole in (False, True):
            assert SECRET not in visible_text(events_of_responses(SECRET, list(SECRET), label, whole=whole))
    with pytest.raises(BackendError):
        vllm = DIALECTS["vLLM"](NO_WORDS)
        vllm.feed({"choices": [{"index": 0, "token_ids": [200005], **label}]})


@pytest.mark.parametrize("label", HARMLESS, ids=json.dumps)
def test_a_label_that_does_not_name_the_speaker_hides_nothing(label: dict[str, Any]) -> None:
    shapes: list[dict[str, Any]] = [{"deltas": [{"content": "Hi", **label}]}, {"deltas": [{"content": ""} | label, {"content": "Hi"}]}]
    for shape in shapes:
        assert visible_text(events_of_chat(shape, [], whole=False)) == "Hi"
    if "id" not in label and "annotations" not in label and label != {"role": ""}:
        assert visible_text(events_of_responses("Hi", ["H", "i"], label, whole=False)) == "Hi"


def test_a_label_before_any_text_applies_until_the_next_role() -> None:
    ahead: list[dict[str, Any]] = [{"role": "assistant", "channel": "analysis", "content": ""}, {"content": SECRET}]
    assert visible_text(events_of_chat({"deltas": ahead}, [], whole=False)) == ""
    assert visible_text(events_of_chat({"deltas": [*ahead, {"role": "assistant", "content": "Hi"}]}, [], whole=False)) == "Hi"


def test_a_known_label_around_the_choices_hides_text() -> None:
    def shown(**around: object) -> str:
        chunk = {**around, "choices": [{"index": 0, "delta": {"content": SECRET}}]}
        return visible_text([*chain(*raw_answers.over_chat([chunk]))])

    assert [shown(role="tool"), shown(channel="analysis"), shown(is_reasoning=True)] == [""] * 3
    assert [shown(), shown(x_trace={"a": 1}), shown(type="chunk"), shown(role="assistant")] == [SECRET] * 4


def test_raw_output_shows_its_answer_only_if_the_model_finished() -> None:
    def shown(reason: str | None) -> str:
        delta = {"content": f"analysis{SECRET} is the plan.assistantfinalHi"}
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        return visible_text([*chain(*raw_answers.over_chat([chunk], breaks=reason is None))])

    assert [shown(None), shown("length"), shown("content_filter"), shown("stop")] == ["", "", "", "Hi"]


def test_e_x_withheld_is_announced_if_the_hidden_text_is_uncertain() -> None:
    for text, is_announced in {
        f"<think>{SECRET}</think>Hi": False,
        f"{SECRET}</think>Hi": True,
        f"Hi.<|end|><|start|>assistant<|channel|>analysis<|message|>{SECRET}": True,
        f"Hi.<think>{SECRET}</think>": True,
    }.items():
        assembler = Assembler()
        done = [end for raw in events_of_chat({}, [text], whole=False) if (end := assembler.feed(raw))]
        assert (ProductCode.WITHHELD in {end.error for end in done}) == is_announced, text


# Every shape of the canary's catalogue through the readers of each wire format, split at many places; and the guard's rules.


CATALOGUE = canary_runs.catalogue()
HIDDEN, SHOWN = "ghjkmnpqrtvw00004", "zyxwvtrqpnmk00007"


def filled(shape: canary_runs.Shape) -> str:
    return shape.filled(f"{HIDDEN} bcdflbcdfl is what nobody may read.", f"Answer {SHOWN}.")


def text_ever_visible(events: list[RawEvent]) -> str:
    """Everything that a user could have read at some time."""
    gate = Gate(Audience.END_USER)
    return "".join(event.text for raw in events if isinstance(event := gate.admit(raw), VisibleDelta))


def event_sequences(text: str) -> Iterator[tuple[Cut, list[RawEvent]]]:
    """The events of an answer over the wire formats that have a field for it: whole, and split in many ways."""
    for pieces in cuts(text):
        yield pieces, events_of_chat({}, pieces, whole=False)
        yield pieces, events_of_responses(text, pieces, {}, whole=False)
    yield [text], events_of_chat({}, [text], whole=True)
    yield [text], events_of_responses(text, [text], {}, whole=True)


def test_the_catalogue_is_large_and_its_shapes_are_distinct() -> None:
    assert len(CATALOGUE) > 550 and len({shape.name for shape in CATALOGUE}) == len(CATALOGUE)
    assert all("{hidden}" in shape.text and shape.name.isprintable() and len(shape.name) < 60 for shape in CATALOGUE)
    assert sum(shape.shows for shape in CATALOGUE) > len(CATALOGUE) / 2, "a guard that hides everything would be useless"


@for_each([shape for shape in CATALOGUE if EVERY_SHAPE or is_drawn(2, shape.name)])
def test_every_shape_is_hidden_at_every_moment(shape: canary_runs.Shape) -> None:
    text = filled(shape)
    for pieces, events in event_sequences(text):
        visible = visible_text(events)
        assert HIDDEN not in visible, pieces
        assert HIDDEN not in text_ever_visible(events), pieces
        assert not shape.shows or SHOWN in visible, pieces


@for_each(random.Random(9).sample(CATALOGUE, min(example_count(250), len(CATALOGUE))))
def test_nothing_is_shown_of_a_shape_that_was_cut(shape: canary_runs.Shape) -> None:
    text = filled(shape)
    first = text.index(HIDDEN)
    for length in range(first, len(text), 7):
        for events in (
            events_of_chat({}, [text[:length]], whole=False, ends=False),
            events_of_responses(text[:length], [text[:length]], {}, whole=False, ends=False),
        ):
            assert text_ever_visible(events) == ""


# Plain-text labels


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Here is my thought process: SECRET Here is my response: Forty two.", " Forty two."),
        ("Analysis: SECRET\n\nFinal: Forty two.", " Forty two."),
        ("**Thinking**\n\nSECRET\n\n**Answer:** Forty two.", " Forty two."),
        ("Thought: SECRET\nFinal Answer: Forty two.", " Forty two."),
        ("```thinking\nSECRET\n```\nForty two.", "Forty two."),
        ("> **Thinking**\n> SECRET\n\nForty two.", "\nForty two."),
        ("思考过程：SECRET\n\n最终回答：42", "42"),
        ("Thinking: SECRET\nI will write\nAnswer: and go on. SECRET\nAnswer: 42", " 42"),
    ],
)
def test_a_second_label_hides_the_part_before_it(text: str, shown: str) -> None:
    assert guarded(text) == shown


def test_headings_without_a_second_label_are_shown_whole() -> None:
    assert len(HEADINGS) >= 40
    assert [text for text in HONEST_LABELS if guarded(text) != text] == []


@pytest.mark.parametrize("text", ["thought\nSECRET\n42", "```thinking\nSECRET", "think\nSECRET"])
def test_an_implausible_beginning_hides_the_whole_answer(text: str) -> None:
    assert guarded(text) == ""


def test_a_sign_in_a_suspect_answer_ends_it_and_is_judged_once() -> None:
    """Repeated judgement used to recurse without end."""
    for text in ("analysis of <|start|> SECRET<|end|>", "assistant\nanalysis\nSECRET\nassistant\nfinal\n42", "Analysis: a\n<|call|>SECRET"):
        assert "SECRET" not in guarded(text)


# The same text as reasoning and as answer


def test_text_sent_as_reasoning_and_answer_is_reasoning() -> None:
    deltas: list[dict[str, Any]] = [{"reasoning": word, "content": word} for word in ("We ", "think ", "SECRET.")]
    assert visible_text(events_of_chat({"deltas": [*deltas, {"content": "42"}]}, [], whole=False)) == "42"
    whole = {"role": "assistant", "reasoning_content": "SECRET", "content": "SECRET"}
    assert visible_text(events_of_chat({"deltas": [whole]}, [], whole=True)) == ""


# The rows of the quirk catalogue that concern a backend: text without markers, and events of servers.


ROWS = {row["id"]: row for row in map(json.loads, QUIRKS.read_text("utf-8").splitlines())}
WIRE = [row for row in ROWS.values() if row["mode"] == "wire"]
STRIPPED = [row for row in ROWS.values() if row["mode"] == "stripped"]


@pytest.mark.parametrize("row", [row for row in WIRE if "choices" in row["raw"]], ids=lambda row: row["id"])
def test_an_odd_server_event_shows_exactly_the_visible_text(row: dict[str, str]) -> None:
    assert visible_text([*chain(*raw_answers.over_chat([json.loads(row["raw"])]))]) == row["visible"]


@pytest.mark.parametrize("row", STRIPPED, ids=lambda row: row["id"])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_an_answer_with_stripped_markers_shows_its_proven_part_through_the_adapter(row: dict[str, str], size: int) -> None:
    raw = row["raw"]
    parts = [raw[start : start + size] for start in range(0, len(raw), size)] if size else [raw]
    assert visible_text(events_of_chat({}, parts, whole=not size)) == row["visible"]
