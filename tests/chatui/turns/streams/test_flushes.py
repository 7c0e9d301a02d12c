"""When a turn's events are sent to pages: together, at once or later, and what a silent turn sends."""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from chatui import wire
from chatui.turns import publisher
from chatui.wire.bus import PROCESS
from renderer.activities.activity import Activity
from renderer.events import FrameClosed, FrameOpened, FrameWithdrawn
from renderer.frame_kinds import ANSWER, PREAMBLE
from renderer.frames import Frame, Terminator
from renderer.gate import Audience
from tests.support import page_stream
from tests.support.published import Turn, World, followed
from tests.support.published import world as world

QUOTED = "-".join(["hidden", "words"])
LONG = "- an *item* of a list\n" * 700


def broken(*_: object, **__: object) -> None:
    raise RuntimeError(QUOTED)


def test_events_of_one_step_are_sent_together_and_the_next_ones_after_a_pause(world: World) -> None:
    turn = followed(world)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    assert world.waits() == [0, 2000] and world.sent == []
    world.go_on()
    [(group, message, elsewhere)] = world.sent
    assert (group, elsewhere, len(json.loads(message["json"]))) == (turn.people, False, 2)
    assert message["type"] == "turn.events" and (message["turn"], message["process"]) == (str(turn.turn_id), PROCESS)
    world.go_on(0.01)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    assert world.waits() == [20, 1990]
    world.go_on(0.019)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    assert len(world.sent) == 1
    world.go_on(0.001)
    assert len(world.sent) == 2 and world.waits() == [1970]


def test_what_was_read_together_is_sent_in_that_step_if_its_time_has_come(world: World) -> None:
    turn = followed(world)

    def reads(*texts: str) -> bool:
        for text in texts:
            turn.write(text)
        assert sent == len(world.sent), "not before all of it was taken"
        return False

    turn.open()
    world.go_on()
    sent = len(world.sent)
    turn.publisher.take_together(lambda: reads("One", " or"))
    assert len(world.sent) == sent + 1 and world.waits() == [2000], "nothing is left for the next step"
    sent += 1
    turn.publisher.take_together(lambda: reads(" two"))
    assert len(world.sent) == sent and world.waits() == [30, 2000]
    world.go_on(0.03)
    assert len(world.sent) == sent + 1
    turn.publisher.take_together(lambda: False)
    assert len(world.sent) == sent + 1, "there is nothing new"


@pytest.mark.parametrize("fails", [False, True])
def test_what_the_answer_ends_or_fails_with_may_still_be_withdrawn_in_that_step(world: World, *, fails: bool) -> None:
    turn = followed(world)
    turn.open()
    world.go_on()

    def reads() -> bool:
        turn.write("I must not tell them.\n\n")
        if fails:
            raise RuntimeError
        return True

    with pytest.raises(RuntimeError) if fails else nullcontext():
        assert turn.publisher.take_together(reads)
    assert world.waits()[0] == 0, "without that it is sent in the next step"
    turn.publisher.take(FrameWithdrawn(), turn.key)
    world.go_on(0.1)
    assert "must not" not in json.dumps([message for _, message, _ in world.sent])
    turn.open()
    turn.write("Four.")
    world.go_on(0.1)
    assert "Four." in world.sent[-1][1]["json"]


def test_the_first_words_do_not_wait_for_the_pause(world: World) -> None:
    turn = followed(world)
    turn.open()
    world.go_on()
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    assert world.waits() == [30, 2000]
    turn.write("Four")
    assert world.waits() == [0, 2000], "what waited is sent with them"
    turn.write(" or")
    assert world.waits() == [0, 2000]
    world.go_on()
    assert "response.delta" in turn.types()
    turn.write(" five")
    assert world.waits() == [30, 2000]


def test_a_text_that_waits_for_its_block_to_be_rendered_again_is_sent_though_nothing_follows_it(world: World) -> None:
    turn = followed(world)
    turn.open()
    turn.write("- an *item* of a list\n" * 60 + "- one")
    world.go_on()
    turn.write(" **two")
    world.go_on(0.03)
    sent = len(world.sent)
    assert world.waits()[0] == 220, "the rest of a quarter of a second"
    world.go_on(0.22)
    assert len(world.sent) == sent + 1 and "<strong>two</strong>" in world.sent[-1][1]["json"]
    assert len(world.waits()) == 1, "the beat alone"


def test_a_flush_makes_the_next_one_needless(world: World) -> None:
    turn = followed(world)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    turn.publisher.flush()
    assert len(world.sent) == 1 and world.waits() == [2000]
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    assert world.waits() == [30, 2000]


def test_the_time_in_the_queue_is_no_thinking(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.turns.publisher.time.monotonic", lambda: world.now)
    turn = followed(world)
    turn.publisher.set_position(2)
    world.go_on(40)
    turn.publisher.set_position(0)
    world.go_on(3)
    turn.think()
    assert turn.publisher.elapsed() == 3000
    world.go_on(2)
    turn.open()
    assert turn.publisher.end_thinking() == 5


def test_nothing_is_sent_after_the_end(world: World) -> None:
    turn = followed(world)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    turn.publisher.stop()
    assert world.waits() == []
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    turn.publisher.stop()
    world.go_on(10)
    assert world.sent == [] and world.waits() == []


def test_the_end_of_a_turn_does_not_wait_for_events_that_cannot_be_sent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = followed(world)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    page_stream.break_flushes(monkeypatch)
    asyncio.run(turn.publisher.catch_up())
    assert world.now == 0.125 and world.sent == []


def test_a_turn_that_is_silent_says_that_it_still_runs(world: World) -> None:
    turn = followed(world)
    turn.think()
    world.go_on(1.9)
    assert turn.types() == ["chatui:working"]
    world.go_on(0.1)
    assert turn.types() == ["chatui:working", "chatui:beat"]
    [beat] = json.loads(world.sent[-1][1]["json"])
    assert (beat["turn"], beat["sequence_number"]) == (str(turn.turn_id), 1)
    world.go_on(1.5)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    world.go_on(1.9)
    assert turn.types()[2:] == ["chatui:saving"], "the time counts from the last event"
    world.go_on(0.1)
    assert turn.types()[3:] == ["chatui:beat"]


def test_a_failing_flush_loses_only_pages_and_is_logged_without_its_text(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    turn = followed(world)

    turn.think()
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(world, "send", broken)
        world.go_on()
    assert "RuntimeError" in caplog.text and str(turn.turn_id) in caplog.text and QUOTED not in caplog.text
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    world.go_on(0.03)
    assert turn.types() == ["chatui:saving"]


def test_a_long_text_is_sent_in_steps(world: World) -> None:
    turn = followed(world)
    turn.open()
    turn.write(LONG)
    turn.publisher.take(FrameClosed(Terminator.RETURN), turn.key)
    world.go_on()
    assert not turn.publisher.is_shown_whole
    world.go_on(0.2)
    assert turn.publisher.is_shown_whole and "item" in json.dumps(world.sent)
    assert [part.kind for part in turn.publisher.shown()] == ["final"]


def test_the_state_of_the_turn_is_sent_and_a_position_only_if_it_is_new(world: World) -> None:
    turn = followed(world)
    turn.publisher.set_position(0)
    assert world.waits() == [2000]
    for change in (
        lambda: turn.publisher.set_position(2),
        lambda: turn.publisher.set_waiting_calls(1),
        lambda: turn.publisher.add_event(wire.FilesCame(2)),
        turn.publisher.note_answer_now,
        lambda: turn.publisher.add_event(wire.Delayed("chatui:saving")),
    ):
        change()
        assert len(world.waits()) == 2, "it is sent soon"
        world.go_on(0.03)
    assert turn.types() == ["chatui:queued", "chatui:calls_wait", "chatui:files", "chatui:working", "chatui:saving"]


def test_a_page_that_joins_late_is_told_what_delays_the_answer_until_the_model_works_again(world: World) -> None:
    turn = followed(world)
    turn.publisher.add_event(wire.Delayed("chatui:checking"))
    world.go_on(0.03)
    assert turn.types() == ["chatui:checking"] and turn.publisher._people.snapshot(0).delay == "chatui:checking"
    turn.think()
    world.go_on(0.03)
    assert not turn.publisher._people.snapshot(0).delay, "a new sampling has begun"


def test_the_end_of_a_turn_waits_for_its_text(world: World) -> None:
    turn = followed(world)
    turn.open()
    turn.write(LONG)
    turn.publisher.take(FrameClosed(Terminator.RETURN), turn.key)
    asyncio.run(turn.publisher.catch_up())
    assert turn.publisher.is_shown_whole and "item" in json.dumps(world.sent) and world.now == 0.125


@pytest.mark.parametrize(("seconds", "steps"), [(None, ()), (30, (Activity("calc"),))])
def test_a_continued_answer_adds_to_the_thinking_before(
    world: World, seconds: int | None, steps: tuple[Activity, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "time", SimpleNamespace(monotonic=world.time))
    turn = followed(world, continued_turn=uuid4())
    job: Any = SimpleNamespace(shown_before=(), cut_message_id=None, cut_stays=False, thought_before=seconds, steps_before=steps)
    asyncio.run(turn.publisher.show_before(job))
    turn.think()
    world.go_on(2)
    turn.open()
    turn.publisher.send_snapshot(Audience.END_USER, PROCESS, "a page")
    [snapshot] = json.loads(world.sent_to[0][2]["json"])
    assert snapshot["thought"] == 2 + (seconds or 0)
    assert [line["sentences"]["en"] for line in snapshot["steps"]] == [step.sentence for step in steps]


def test_a_page_sees_the_text_before_a_continuation(world: World) -> None:
    turn, cut = followed(world, continued_turn=uuid4()), uuid4()
    before = [(uuid4(), Frame(PREAMBLE, "A plan.")), (cut, Frame(ANSWER, "Four, or"))]
    job: Any = SimpleNamespace(shown_before=before, cut_message_id=cut, cut_stays=False, thought_before=None, steps_before=())
    asyncio.run(turn.publisher.show_before(job))
    assert [part.message_id for part in turn.publisher.shown()] == [str(key) for key, _ in before]
    turn.open()
    turn.write("Four, or five")
    turn.publisher.take(FrameClosed(Terminator.RETURN), turn.key)
    world.go_on()
    assert [part.message_id for part in turn.publisher.shown()] == [str(before[0][0]), str(turn.key)], "it takes the place of the cut one"


# The end of a message waits a moment for the end of its turn, so that both travel together.


def ended(world: World, seconds: float = 1.0) -> Turn:
    """A followed turn whose text was sent, and whose answer ends that many seconds later."""
    turn = followed(world)
    turn.open()
    turn.write("Four **and")
    world.go_on(seconds)
    turn.publisher.take(FrameClosed(Terminator.RETURN), turn.key)
    assert shown(turn) == []
    return turn


def shown(turn: Turn) -> list[str]:
    """The types of the events after the open text."""
    events = [event for to, message, _ in turn.world.sent if to == turn.people for event in json.loads(message["json"])]
    assert [event["sequence_number"] for event in events] == list(range(1, len(events) + 1))
    return [event["type"] for event in events[2:]]


def test_the_end_of_a_message_is_sent_together_with_the_end_of_its_turn(world: World) -> None:
    turn = ended(world)
    assert world.waits() == [100, 1000]
    asyncio.run(turn.publisher.catch_up())
    assert shown(turn) == [] and turn.publisher.is_shown_whole and len(turn.publisher.shown()) == 1
    before = len(world.sent)
    turn.publisher.end(wire.TurnEnded("response.completed", "completed", None, 5))
    assert shown(turn) == ["response.delta.flush", "response.completed"] and len(world.sent) == before + 1


def test_the_end_of_a_message_does_not_wait_long(world: World) -> None:
    turn = ended(world)
    world.go_on(0.05)
    asyncio.run(turn.publisher.catch_up())
    world.go_on(0.049)
    assert shown(turn) == []
    world.go_on(0.001)
    assert shown(turn) == ["response.delta.flush"]
    asyncio.run(turn.publisher.catch_up())
    assert shown(turn) == ["response.delta.flush"]


@pytest.mark.parametrize(
    "follows",
    [
        lambda turn: turn.publisher.add_event(wire.Delayed("chatui:saving")),
        lambda turn: turn.publisher.take(FrameOpened(ANSWER), uuid4()),
        lambda turn: turn.think(),
    ],
)
def test_whatever_follows_the_end_of_a_message_sends_it(world: World, follows: Callable[[Turn], None]) -> None:
    turn = ended(world)
    follows(turn)
    world.go_on()
    assert "response.delta.flush" in shown(turn)


def test_a_snapshot_comes_after_the_end_of_a_message(world: World) -> None:
    turn = ended(world)
    asyncio.run(turn.publisher.catch_up())
    turn.publisher.send_snapshot(Audience.END_USER, PROCESS, "page")
    assert shown(turn) == ["response.delta.flush"] and len(world.sent_to) == 1


def test_no_beat_numbers_an_event_that_was_not_sent(world: World) -> None:
    turn = ended(world, 1.95)
    asyncio.run(turn.publisher.catch_up())
    world.go_on(0.06)
    assert shown(turn) == ["response.delta.flush"]
    world.go_on(2)
    assert world.sent[-1][1]["json"].count("chatui:beat") == 1


def test_a_turn_that_dies_before_its_end_sends_the_end_of_its_message(world: World) -> None:
    turn = ended(world)
    asyncio.run(turn.publisher.catch_up())
    turn.publisher.stop()
    assert shown(turn) == ["response.delta.flush"] and world.waits() == []
