"""The side record beside its Harmony: white space between messages, other beginnings and ends, and what the JSON looks like."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import pytest

from renderer.frames import Channel, Frame, Header, Intent, Terminator
from renderer.harmony import hip1
from renderer.harmony.hip1 import MessageRecord, SideRecord, SideRecordError
from renderer.harmony.pieces import Marker, Piece
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary
from renderer.tokens import Token

ASK = Frame(Header("user"), "2 + 2? <|end|>")
EMPTY = Frame(Header("assistant", Channel.ANALYSIS), "")
ANSWER = Frame(Header("assistant", Channel.FINAL), "4.", Terminator.RETURN)
FRAMES = (ASK, EMPTY, ANSWER)
START = MARKER_IDS[Token.START]


@pytest.mark.parametrize("space", [" ", "\n", "\r\n\t ", "\u3000"])
def test_white_space_between_messages_and_behind_them_means_nothing(space: str, vocabulary: Vocabulary) -> None:
    text, record = hip1.to_text(FRAMES)
    wide = text.replace("<|end|><|start|>", f"<|end|>{space}<|start|>") + space
    assert hip1.from_text(wide, record=record).frames == FRAMES
    ids, record = hip1.to_tokens(FRAMES, vocabulary)
    blank = vocabulary.encode(space)
    spaced = [number for place, each in enumerate(ids) for number in ([*blank, each] if place and each == START else [each])]
    assert hip1.from_tokens([*spaced, *blank], vocabulary, record=record).frames == FRAMES


@pytest.mark.parametrize("change", ["x", "\u200b", "<|end|>", "<|start|>"])
def test_anything_else_between_messages_belongs_to_another_document(change: str) -> None:
    text, record = hip1.to_text(FRAMES)
    with pytest.raises(SideRecordError, match="in message 2"):
        hip1.from_text(text.replace("<|end|><|start|>", f"<|end|>{change}<|start|>", 1), record=record)
    with pytest.raises(SideRecordError, match="a shorter text"):
        hip1.from_text(text + change, record=record)


def test_a_text_that_breaks_off_belongs_to_another_document() -> None:
    text, record = hip1.to_text(FRAMES)
    for end in range(len(text)):
        with pytest.raises(SideRecordError):
            hip1.from_text(text[:end], record=record)


def test_a_beginning_that_is_not_that_of_the_record_belongs_to_another_document(vocabulary: Vocabulary) -> None:
    text, record = hip1.to_text([ANSWER])
    ids, _ = hip1.to_tokens([ANSWER], vocabulary)
    opening = [START, *vocabulary.encode("assistant")]
    assert record.completion and hip1.from_tokens(ids, vocabulary, record=record).frames == (ANSWER,)
    with pytest.raises(SideRecordError):
        hip1.from_text(f"<|start|>assistant{text}", record=record)
    with pytest.raises(SideRecordError):
        hip1.from_tokens([*opening, *ids], vocabulary, record=record)
    whole = replace(record, completion=False, messages=(replace(record.messages[0], harmony="assistant<|channel|>final"),))
    assert hip1.from_text(f"<|start|>assistant{text}", record=whole).frames == (ANSWER,)
    assert hip1.from_tokens([*opening, *ids], vocabulary, record=whole).frames == (ANSWER,)
    for shorter in ([*opening[1:], *ids], opening, []):
        with pytest.raises(SideRecordError):
            hip1.from_tokens(shorter, vocabulary, record=whole)


@pytest.mark.parametrize(
    "change",
    [
        {"harmony": "<|channel|>analysis"},
        {"stop": Terminator.RETURN},
        {"characters": 3},
        {"characters": 1},
    ],
    ids=str,
)
def test_each_message_must_be_the_one_that_was_recorded(change: dict[str, object], vocabulary: Vocabulary) -> None:
    text, record = hip1.to_text([ANSWER])
    other = replace(record, messages=(replace(record.messages[0], **change),))  # type: ignore[arg-type]
    with pytest.raises(SideRecordError, match="in message 1"):
        hip1.from_text(text, record=other)
    with pytest.raises(SideRecordError):
        hip1.from_tokens(hip1.to_tokens([ANSWER], vocabulary)[0], vocabulary, record=other)


def test_nothing_is_written_and_read_as_nothing(vocabulary: Vocabulary) -> None:
    assert hip1.to_text([]) == ("", SideRecord(())) and hip1.to_tokens([], vocabulary) == ([], SideRecord(()))
    assert hip1.from_text("") == hip1.from_tokens([], vocabulary) == hip1.Reading((), SideRecord(()))
    assert hip1.from_text("", record=SideRecord(())).frames == ()


def test_the_document_of_an_earlier_record_stays_unless_another_is_given() -> None:
    _, first = hip1.to_text([ANSWER], document={"model": "a"})
    assert hip1.to_text([ANSWER], record=first)[1].document == {"model": "a"}
    assert hip1.to_text([ANSWER], record=first, document={"model": "b"})[1].document == {"model": "b"}
    assert hip1.to_text([ANSWER])[1].document is None


def test_a_record_is_written_as_json() -> None:
    header = Header("assistant", "final", "all", "c1", "Zoë", "status", "text", "json")
    record = SideRecord((MessageRecord(header, Terminator.CALL, "<|channel|>final", Terminator.END, 0),), {"day": date(2026, 11, 24)}, True)
    message = {
        "header": {
            "role": "assistant",
            "channel": "final",
            "to": "all",
            "call_id": "c1",
            "name": "Zoë",
            "intent": "status",
            "content_type": "text",
            "constrain": "json",
        },
        "terminator": "<|call|>",
        "harmony": "<|channel|>final",
        "stop": "<|end|>",
        "characters": 0,
    }
    text = record.to_json()
    assert "Zoë" in text and text.endswith("}\n")
    begin = {"format": "openchatml-harmony-side-record", "version": 1, "completion": True}
    assert json.loads(text) == {**begin, "document": {"day": "2026-11-24"}, "messages": [message]}
    assert SideRecord.from_json(text) == replace(record, document={"day": "2026-11-24"})
    assert "document" not in json.loads(replace(record, document=None).to_json())


@pytest.mark.parametrize(
    ("header", "written"),
    [
        (Header("user"), ["user"]),
        (Header("user", name="ada", call_id="c1", intent="debug"), ["user"]),
        (Header("assistant"), ["assistant", Marker("<|channel|>"), "final"]),
        (Header("assistant", Channel.FINAL, "all"), ["assistant", Marker("<|channel|>"), "final"]),
        (Header("assistant", Channel.FINAL, "all", content_type="text"), ["assistant", Marker("<|channel|>"), "final"]),
        (Header("assistant", Channel.FINAL, "user"), ["assistant", " to=user", Marker("<|channel|>"), "final"]),
        (
            Header("assistant", Channel.ANALYSIS, "python", content_type="code"),
            ["assistant", " to=python", Marker("<|channel|>"), "analysis", " code"],
        ),
        (Header("assistant", Channel.FINAL, content_type="text"), ["assistant", Marker("<|channel|>"), "final"]),
        (
            Header("assistant", Channel.FINAL, "f", constrain="json", content_type="text"),
            ["assistant", " to=f", Marker("<|channel|>"), "final", " ", Marker("<|constrain|>"), "json"],
        ),
        (Header("tool", Channel.COMMENTARY, "assistant", name="f"), ["f", " to=assistant", Marker("<|channel|>"), "commentary"]),
        (Header("tool", name="tool"), ["tool"]),
        (Header("tool", name="user"), ["functions.user"]),
    ],
)
def test_a_frame_is_written_as_openai_harmony_writes_it(header: Header, written: list[Piece]) -> None:
    begin, end = [Marker("<|start|>"), *written, Marker("<|message|>")], Marker("<|end|>")
    assert hip1.pieces_of_frame(Frame(header, "Hi")) == [*begin, "Hi", end]
    assert hip1.pieces_of_frame(Frame(header, "")) == [*begin, end]
    assert hip1.pieces_of_frame(Frame(header, "Hi", Terminator.RETURN)) == [*begin, "Hi", end]
    assert hip1.pieces_of_frame(Frame(header, "Hi", Terminator.CALL)) == [*begin, "Hi", Marker("<|call|>")]


@pytest.mark.parametrize(
    ("header", "stays"),
    [
        (Header("assistant", Channel.FINAL), True),
        (Header("assistant", Channel.ANALYSIS), True),
        (Header("assistant", Channel.ANALYSIS, intent=Intent.DEBUG), True),
        (Header("assistant", Channel.COMMENTARY, intent=Intent.PREAMBLE), True),
        (Header("assistant", Channel.COMMENTARY), False),
        (Header("assistant", Channel.COMMENTARY, content_type="json"), False),
        (Header("assistant", Channel.COMMENTARY, constrain="json"), True),
        (Header("assistant", Channel.FINAL, intent=Intent.DEBUG), False),
        (Header("assistant", "other", intent=Intent.DEBUG), True),
        (Header("system"), True),
        (Header("user", intent=Intent.DEBUG), False),
        (Header("tool", name="functions.f"), True),
        (Header("tool"), True),
        (Header("tool", name="user"), False),
    ],
)
def test_a_frame_that_harmony_would_show_is_written_as_reasoning(header: Header, stays: bool) -> None:
    written = hip1.as_written(Frame(header, "x"))
    assert written == (Frame(header, "x") if stays else Frame(Header("assistant", Channel.ANALYSIS), "x"))
