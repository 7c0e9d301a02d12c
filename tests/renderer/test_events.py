"""The Assembler: events to frames, complete or not."""

import pytest

from renderer.errors import Code, Location
from renderer.events import Assembler, Finished, FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN
from renderer.frames import Frame, Header, Terminator
from renderer.gate import Audience, may_see

HEADER = Header("assistant", channel="final")


def test_events_of_a_frame_fold_into_it() -> None:
    assembler = Assembler()
    assert assembler.feed(FrameOpened(HEADER)) is None
    assert assembler.feed(FrameText("Hello ")) is None
    assert assembler.feed(FrameText("there")) is None
    finished = assembler.feed(FrameClosed(Terminator.RETURN))
    assert finished is not None
    assert finished.frame == Frame(HEADER, "Hello there", Terminator.RETURN)
    assert finished.complete and finished.error is None


def test_e_stream_truncated_a_frame_that_broke_off_is_kept_as_incomplete() -> None:
    assembler = Assembler()
    assembler.feed(FrameOpened(HEADER))
    assembler.feed(FrameText("Hel"))
    assert assembler.open_frame() == Frame(HEADER, "Hel", Terminator.END)
    finished = assembler.finish()
    assert finished is not None
    assert (finished.frame, finished.complete, finished.error) == (Frame(HEADER, "Hel", Terminator.END), False, Code.STREAM_TRUNCATED)
    assert assembler.finish() is None and assembler.open_frame() is None


@pytest.mark.parametrize("events", [[FrameText("x")], [FrameClosed(None)], [FrameWithdrawn()], [FrameOpened(HEADER)] * 2])
def test_events_out_of_order_raise_an_error(events: list[RawEvent]) -> None:
    assembler = Assembler()
    with pytest.raises(ValueError):
        for event in events:
            assembler.feed(event)


@pytest.mark.parametrize(
    ("body", "error"), [('{"a": 1}', None), ("{", Code.BODY_CONSTRAINT_VIOLATION), ("", Code.BODY_CONSTRAINT_VIOLATION)]
)
def test_e_body_constraint_violation_is_reported_when_the_frame_closes(body: str, error: Code | None) -> None:
    finished = fold(Header("assistant", "commentary", constrain="json"), body, FrameClosed(Terminator.END))
    assert (finished.error, finished.complete, finished.frame.body) == (error, True, body)


@pytest.mark.parametrize("constrain", [None, "text", "markdown", "xml"])
def test_only_json_is_checked(constrain: str | None) -> None:
    assert fold(Header("assistant", constrain=constrain, content_type="json"), "{", FrameClosed(Terminator.END)).error is None


PREAMBLE = Header("assistant", "commentary", intent="preamble")


def test_an_answer_can_turn_out_to_be_a_preamble_at_its_end() -> None:
    assert FrameClosed(Terminator.END, header=PREAMBLE).is_preamble_after_all and not FrameClosed(Terminator.END).is_preamble_after_all
    for header in (HEADER, Header("assistant")):
        finished = fold(header, "I will look.", FrameClosed(Terminator.END, header=PREAMBLE))
        assert finished.frame == Frame(PREAMBLE, "I will look.")
        assert may_see(header, Audience.END_USER) == may_see(PREAMBLE, Audience.END_USER)


@pytest.mark.parametrize(
    ("header", "becomes"),
    [
        (Header("assistant", "analysis"), PREAMBLE),
        (Header("assistant", "commentary"), PREAMBLE),
        (Header("assistant", "final", recipient="functions.x"), PREAMBLE),
        (Header("user"), PREAMBLE),
        (HEADER, Header("assistant", "analysis")),
        (PREAMBLE, HEADER),
    ],
)
def test_no_other_frame_can_change_its_header_when_it_closes(header: Header, becomes: Header) -> None:
    with pytest.raises(ValueError, match="only an answer"):
        fold(header, "x", FrameClosed(Terminator.END, header=becomes))


def test_a_frame_that_broke_off_or_has_an_error_keeps_that_error() -> None:
    header = Header("assistant", constrain="json")
    assert fold(header, "{", FrameClosed(None, Code.STREAM_TRUNCATED)).error is Code.STREAM_TRUNCATED
    assert fold(header, "{", FrameClosed(None)).error is None
    assert fold(header, "{", FrameClosed(Terminator.END, Code.CALL_SCHEMA)).error is Code.CALL_SCHEMA


def test_a_folded_frame_keeps_its_place() -> None:
    assembler = Assembler()
    assembler.feed(FrameOpened(HEADER, Location(5, 2, 1, 0)))
    finished = assembler.feed(FrameClosed(Terminator.END))
    assert finished is not None and finished.location == Location(5, 2, 1, 0)


def fold(header: Header, body: str, closed: FrameClosed) -> Finished:
    assembler = Assembler()
    assembler.feed(FrameOpened(header))
    assembler.feed(FrameText(body))
    finished = assembler.feed(closed)
    assert finished is not None
    return finished


def test_a_frame_that_is_withdrawn_is_hidden_with_all_of_its_text_and_stays_open() -> None:
    assembler = Assembler()
    for event in (FrameOpened(HEADER), FrameText("one "), FrameWithdrawn(), FrameText("two")):
        assert assembler.feed(event) is None
    assert assembler.open_frame() == Frame(BROKEN, "one two")
    finished = assembler.feed(FrameClosed(Terminator.END, Code.PARSE_HEADER))
    assert finished is not None and finished.frame == Frame(BROKEN, "one two")
    assert not may_see(BROKEN, Audience.END_USER)
