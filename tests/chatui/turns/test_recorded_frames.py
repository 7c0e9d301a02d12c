"""What the frame recorder passes to the writer, to pages and to the pieces, and when."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from chatui.codes import ProductCode
from chatui.models.message import Message
from chatui.turns import frame_recorder
from renderer.activities.activity import Activity
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import ANALYSIS, ANSWER, PREAMBLE, TOOL_LINE
from renderer.frames import Channel, Frame, Header, Role, Terminator
from tests.support.recorded_frames import Recording, start
from tests.support.recorded_frames import recording as recording

LINE = Activity("weigh")
CALL = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.look", call_id="c1")
REPLY = Header(Role.TOOL, Channel.COMMENTARY, name="look", recipient="assistant", call_id="c1")


async def test_hidden_frames_wait_for_the_next_visible_one(recording: Recording) -> None:
    recording.feed(ANALYSIS, "a")
    recording.feed(CALL, "b", Terminator.CALL)
    assert recording.posts == [] and recording.recorder.are_saved
    recording.feed(PREAMBLE, "c")
    recording.feed(ANALYSIS, "d")
    recording.feed(PREAMBLE, "e")
    (_, first, parents, keys), (_, second, later_parents, _) = recording.posts
    assert (first, second) == (["a", "b", "c"], ["d", "e"])
    assert (parents, later_parents) == ((recording.job.turn.question_id,), (keys[-1],))
    assert [frame.body for frame in recording.recorder.written] == ["a", "b", "c", "d", "e"]
    assert not recording.recorder.are_saved


async def test_an_answer_waits_for_the_end_of_its_turn_or_for_the_next_visible_frame(recording: Recording) -> None:
    recording.feed(ANALYSIS, "a")
    recording.feed(ANSWER, "b")
    assert recording.posts == [] and recording.recorder.has_answer
    assert [row.text for row in recording.pieces.rows()] == ["a", "b"], "meanwhile they are stored in pieces"
    recording.feed(ANALYSIS, "c")
    recording.feed(PREAMBLE, "d")
    recording.feed(ANSWER, "e", Terminator.RETURN)
    await recording.recorder.close()
    [(_, texts, _, keys)] = recording.posts
    assert texts == ["a", "b", "c", "d"]
    parents, unsaved = recording.recorder.take_unsaved()
    assert (parents, [each.frame.body for _, each in unsaved]) == ((keys[-1],), ["e"])
    assert recording.recorder.take_unsaved()[1] == []


async def test_many_hidden_frames_do_not_wait(recording: Recording) -> None:
    for _ in range(frame_recorder.MAX_UNSAVED - 1):
        recording.feed(ANALYSIS, "a")
    assert recording.posts == []
    recording.feed(ANALYSIS, "a")
    assert recording.texts() == [["a"] * 20]
    recording.feed(ANALYSIS, "b")
    recording.recorder.save_now()
    recording.recorder.save_now()
    assert recording.texts()[1:] == [["b"]]


async def test_the_end_of_a_turn_waits_for_all_its_writes(recording: Recording) -> None:
    recording.feed(PREAMBLE, "a")
    waiting = asyncio.create_task(recording.recorder.saved())
    await asyncio.sleep(0)
    recording.feed(PREAMBLE, "b")
    for saving in recording.saving:
        assert not waiting.done()
        saving.set_result([Message()])
        await asyncio.sleep(0)
    await waiting
    assert recording.recorder.are_saved and len(recording.recorder.stored or ()) == 2


async def test_a_summary_is_stored_before_its_answer_and_may_be_lost(recording: Recording, caplog: pytest.LogCaptureFixture) -> None:
    recording.summary = [LINE]
    recording.feed(ANALYSIS, "a")
    recording.feed(PREAMBLE, "b")
    recording.feed(ANALYSIS, "c")
    recording.feed(ANSWER, "d")
    recording.recorder.save_now()
    assert [post[:2] for post in recording.posts] == [
        ("store_frames", ["a", "b"]),
        ("store_frames", ["c"]),
        ("store_summary", [LINE.sentence]),
        ("store_frames", ["d"]),
    ]
    before, [summary] = recording.posts[1][3][-1], recording.posts[2][3]
    assert [post[2] for post in recording.posts[2:]] == [(before,), (summary, before)]
    recording.saving[2].set_exception(RuntimeError("SECRET"))
    await asyncio.sleep(0)
    assert recording.failures == [], "only the summary is lost"
    assert "RuntimeError" in caplog.text and "SECRET" not in caplog.text


async def test_a_turn_without_an_answer_stores_its_summary_at_the_end(recording: Recording) -> None:
    recording.summary = [LINE]
    recording.way_back.feed(FrameOpened(ANALYSIS))
    recording.way_back.feed(FrameText("a"))
    await recording.recorder.close()
    assert recording.texts() == [["a"], [LINE.sentence]]
    assert recording.recorder.last_error is Code.STREAM_TRUNCATED
    assert isinstance(recording.published[-1][0], FrameClosed)
    await recording.recorder.close()
    assert len(recording.posts) == 2


async def test_a_line_that_is_shown_as_the_turn_ends_is_stored(recording: Recording) -> None:
    recording.feed(ANALYSIS, "a")
    recording.late_summary = [LINE]
    await recording.recorder.close()
    assert recording.texts() == [["a"], [LINE.sentence]]


async def test_a_fault_at_the_end_is_logged_without_its_text(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    quoted = "-".join(["hidden", "words"])

    def broken(*_: object, **__: object) -> Any:
        raise RuntimeError(quoted)

    recording.feed(ANALYSIS, "a", error=Code.STREAM_TRUNCATED)
    recording.summary = [LINE]
    monkeypatch.setattr(frame_recorder, "writer", SimpleNamespace(post=broken))
    with caplog.at_level(logging.WARNING):
        await recording.recorder.close()
    assert "frames with problems" in caplog.text and "RuntimeError" in caplog.text and quoted not in caplog.text


async def test_frames_that_cannot_be_stored_fail_the_turn_and_stay_in_the_pieces(recording: Recording) -> None:
    recording.feed(PREAMBLE, "a")
    recording.feed(PREAMBLE, "b")
    error = RuntimeError()
    recording.saving[0].set_exception(error)
    recording.saving[1].set_result([Message()])
    await recording.recorder.saved()
    await asyncio.sleep(0)
    assert recording.failures == [error] and recording.recorder.are_saved
    assert [row.text for row in recording.pieces.rows()] == ["a"]
    assert len(recording.recorder.stored or ()) == 1


@pytest.mark.parametrize(
    ("header", "text", "is_stored"),
    [
        (ANSWER, "", False),
        (ANSWER, " \n", False),
        (ANSWER, ", or", True),
        (PREAMBLE, "", False),
        (PREAMBLE, "Fo", True),
        (PREAMBLE, "Four \n", False),
        (ANALYSIS, "", True),
        (ANALYSIS, "Four", True),
    ],
)
async def test_neither_an_empty_answer_nor_the_cut_one_is_stored_again(
    header: Header, text: str, is_stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = start(monkeypatch, cut_answer=Frame(PREAMBLE, "Four"))
    recording.feed(header, text)
    recording.recorder.save_now()
    assert recording.texts() == ([[f"Four{text}" if header == ANSWER else text]] if is_stored else [])
    assert len(recording.recorder.written) == is_stored and recording.recorder.has_answer == (is_stored and header == ANSWER)
    assert bool(recording.pieces.rows()) is is_stored, "else its pieces are dropped"


async def test_events_are_published_with_the_key_that_the_frame_is_stored_with(recording: Recording) -> None:
    recording.feed(ANALYSIS, "a\x00\ud800")
    recording.feed(PREAMBLE, "b")
    keys = recording.posts[0][3]
    # The half of a character waits for the other one, until the frame ends.
    assert [key for _, key in recording.published] == [keys[0]] * 4 + [keys[1]] * 3
    assert recording.texts() == [["a\ufffd\ufffd", "b"]]
    assert {row.frame for row in recording.pieces.rows()} == set(keys)


async def test_a_frame_that_cannot_be_recorded_is_published_all_the_same(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise RuntimeError

    recording.summary = [LINE]
    monkeypatch.setattr(frame_recorder, "writer", SimpleNamespace(post=broken))
    with pytest.raises(RuntimeError):
        recording.feed(PREAMBLE, "a")
    assert isinstance(recording.published[-1][0], FrameClosed)


async def test_messages_must_be_read_again_if_the_result_of_a_write_was_lost(recording: Recording) -> None:
    one = Message()
    recording.recorder.note_stored([one])
    assert recording.recorder.stored == [one]
    for stored in ([], [one]):
        recording.recorder.note_stored(stored)
        assert recording.recorder.stored is None


async def test_stored_summaries_are_among_the_stored_messages(recording: Recording) -> None:
    recording.summary = [LINE]
    recording.feed(ANSWER, "a")
    recording.recorder.save_now()
    for saving in recording.saving:
        saving.set_result([Message()])
    await recording.recorder.saved()
    await asyncio.sleep(0)
    assert len(recording.recorder.stored or ()) == 2


async def test_withdrawn_text_is_hidden_in_the_database_at_once(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: list[int] = []
    monkeypatch.setattr(frame_recorder, "leases", SimpleNamespace(renew_now=lambda: renewed.append(len(recording.published))))
    for event in (FrameOpened(ANSWER), FrameText("a"), FrameWithdrawn(), FrameClosed(None, ProductCode.WITHHELD)):
        recording.way_back.feed(event)
    assert renewed == [3] and recording.recorder.is_withheld and not recording.recorder.has_answer
    recording.feed(ANALYSIS, "b")
    assert recording.recorder.is_withheld


async def test_the_products_own_frames_are_complete_and_may_use_its_names(recording: Recording) -> None:
    recording.recorder.add(Frame(TOOL_LINE, "Looking\x00"))
    assert recording.summarized == [] and recording.texts() == [["Looking\ufffd"]]
    recording.recorder.add(Frame(REPLY, "b", Terminator.CALL), Code.STREAM_TRUNCATED)
    added = [event for event, _ in recording.published[3:]]
    assert added == [FrameOpened(REPLY), FrameText("b"), FrameClosed(Terminator.CALL, Code.STREAM_TRUNCATED)]
    assert recording.summarized == []


# The text before the cut of a continued answer: it comes once, at the start of the first answer that opens.
