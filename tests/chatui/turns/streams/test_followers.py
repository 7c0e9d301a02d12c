"""Who is sent which of a turn's events: people and staff, pages of this process and of others."""

import json
from types import SimpleNamespace
from uuid import uuid4

import pytest

from chatui import wire
from chatui.turns.streams.program import ProgramStream
from chatui.wire.bus import PROCESS
from renderer.activities.activity import Activity
from renderer.events import FrameText, FrameWithdrawn
from renderer.gate import Audience
from tests.support.published import Turn, World, followed, in_world
from tests.support.published import world as world

ENDED = wire.TurnEnded("response.completed", "completed", None, 1)


def test_nothing_is_encoded_while_nobody_listens(world: World) -> None:
    turn = Turn(world)
    turn.think()
    world.go_on(3)
    assert world.sent == [] and not turn.publisher.is_watched
    world.heard.add(turn.debug)
    turn.think()
    world.go_on(3)
    assert [group for group, *_ in world.sent] == [turn.debug] and not turn.publisher.is_watched
    assert turn.types(turn.debug) == ["chatui:frame.opened"]


def test_staff_are_sent_every_frame_and_people_only_that_there_is_hidden_work(world: World) -> None:
    turn = followed(world)
    world.heard.add(turn.debug)
    turn.think()
    turn.publisher.take(FrameText("hidden words"), turn.key)
    world.go_on()
    sent = {group: message["json"] for group, message, _ in world.sent}
    assert "hidden words" in sent[turn.debug] and "hidden words" not in sent[turn.people]
    assert turn.types() == ["chatui:working"]


def test_the_first_event_of_a_turn_is_sent_to_all_processes_and_the_next_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    world = in_world(monkeypatch, reaches_others=True)
    turn = Turn(world)
    assert turn.publisher.is_watched and turn.publisher.is_followed
    turn.think()
    world.go_on(1.9)
    assert turn.types(elsewhere=True) == ["chatui:working"] and turn.types(turn.debug) == []
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    world.go_on(0.1)
    assert turn.types(elsewhere=True) == ["chatui:working"] and not turn.publisher.is_watched
    turn.publisher.end(ENDED)
    assert turn.types(elsewhere=True) == ["chatui:working", "response.completed"]


@pytest.mark.parametrize("seconds", [0.1, 2.0])
def test_a_follower_that_reports_itself_within_two_seconds_misses_nothing(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    world = in_world(monkeypatch, reaches_others=True)
    turn = Turn(world)
    turn.think()
    world.go_on()
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    world.go_on(seconds)
    turn.publisher.note_follower(Audience.END_USER)
    turn.publisher.add_event(wire.Delayed("chatui:checking"))
    world.go_on(0.1)
    missed = ["chatui:saving"] if seconds < 2 else []  # later, its page notices the gap and asks for a snapshot
    assert turn.types(elsewhere=True) == ["chatui:working", *missed, "chatui:checking"]


def test_other_processes_get_what_people_see_over_the_owners_group_and_what_staff_see_over_the_views(world: World) -> None:
    turn = Turn(world)
    for audience in (Audience.END_USER, Audience.DEBUG):
        turn.publisher.note_follower(audience)
    turn.think()
    world.go_on(0.1)
    assert world.over == {turn.people: turn.owner, turn.debug: ""}


def test_what_was_kept_reaches_a_follower_over_the_owners_group(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn(in_world(monkeypatch, reaches_others=True))
    turn.think()
    turn.world.go_on()
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    turn.world.go_on(0.1)
    turn.world.over.clear()
    turn.publisher.note_follower(Audience.END_USER)
    assert turn.world.over == {turn.people: turn.owner}


def test_a_turn_whose_first_event_was_lost_on_the_way_is_found_at_its_next_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    world = in_world(monkeypatch, reaches_others=True)
    turn = Turn(world)
    turn.think()
    world.go_on()
    world.sent.clear()  # Redis was away for a moment
    world.go_on(2.1)
    assert turn.types(elsewhere=True) == ["chatui:beat"]
    turn.publisher.note_follower(Audience.END_USER)
    world.go_on(0.1)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    world.go_on(0.1)
    assert turn.types(elsewhere=True) == ["chatui:beat", "chatui:saving"]


def test_text_that_was_withdrawn_is_not_sent_to_a_follower_that_reports_itself_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    world = in_world(monkeypatch, reaches_others=True)
    turn = Turn(world)
    turn.publisher.add_event(wire.Delayed("chatui:saving"))
    world.go_on(0.1)
    turn.open()
    turn.write("I must not tell them.\n\n")
    world.go_on(0.1)
    assert "must not" in json.dumps([message["json"] for _, message, _ in world.sent])
    turn.publisher.take(FrameWithdrawn(), turn.key)
    world.sent.clear()
    turn.publisher.note_follower(Audience.END_USER)
    world.go_on(0.1)
    assert turn.types(elsewhere=True)[:1] == ["chatui:withdrawn"]
    assert "must not" not in json.dumps([message["json"] for _, message, _ in world.sent])


def test_a_programs_turn_is_announced_to_other_processes_but_not_rendered_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn(in_world(monkeypatch, reaches_others=True), program=SimpleNamespace(stream=ProgramStream()))
    assert not turn.publisher.is_watched
    turn.think()
    turn.world.go_on()
    assert turn.types(elsewhere=True) == ["chatui:working"]


@pytest.mark.parametrize("audience", [Audience.END_USER, Audience.DEBUG])
def test_a_follower_in_another_process_is_sent_events_for_75_seconds(world: World, audience: Audience) -> None:
    turn = Turn(world)
    turn.publisher.note_follower(audience)
    is_person = audience is Audience.END_USER
    assert turn.publisher.is_watched is is_person
    world.go_on(74.9)
    assert turn.publisher.is_watched is is_person
    turn.think()
    world.go_on()
    assert turn.types(turn.people if is_person else turn.debug, elsewhere=True)[-1] == (
        "chatui:working" if is_person else "chatui:frame.opened"
    )
    assert turn.types(turn.debug if is_person else turn.people) == []
    world.go_on(0.1)
    count = len(world.sent)
    turn.think()
    world.go_on(3)
    assert len(world.sent) == count and not turn.publisher.is_watched


def test_the_end_is_sent_to_all_processes(world: World) -> None:
    turn = Turn(world)
    turn.publisher.end(ENDED)
    assert turn.types(elsewhere=True) == ["response.completed"], "at once"


@pytest.mark.parametrize("audience", [Audience.END_USER, Audience.DEBUG])
def test_a_snapshot_contains_all_that_was_sent_before(world: World, audience: Audience) -> None:
    turn = Turn(world)
    turn.open()
    turn.write("Four")
    group = turn.people if audience is Audience.END_USER else turn.debug
    world.heard.add(group)
    turn.publisher.send_snapshot(audience, PROCESS, "a page")
    [(process, to, message)] = world.sent_to
    assert (process, to, message["type"], message["audience"]) == (PROCESS, "a page", "turn.snapshot", audience.value)
    [snapshot] = json.loads(message["json"])
    assert "Four" in message["json"] and snapshot["type"] == ("chatui:debug.snapshot" if audience is Audience.DEBUG else "chatui:snapshot")
    assert turn.types(group), "events that waited are sent before it"
    world.go_on()
    assert snapshot["sequence_number"] == json.loads(world.sent[-1][1]["json"])[-1]["sequence_number"] and len(world.sent) == 1
    world.heard.clear()
    assert not turn.publisher.is_watched, "a page of this process is known by its group"


def test_a_page_in_another_process_follows_once_it_asks_for_a_snapshot(world: World) -> None:
    turn = Turn(world)
    turn.publisher.send_snapshot(Audience.END_USER, "elsewhere:1", "a page")
    assert [(process, group) for process, group, _ in world.sent_to] == [("elsewhere:1", "a page")]
    assert turn.publisher.is_watched
    turn.think()
    world.go_on(0.03)
    assert turn.types(elsewhere=True) == ["chatui:working"]


@pytest.mark.parametrize("is_continuation", [True, False])
def test_only_an_answer_from_the_start_may_be_asked_for_at_once(world: World, is_continuation: bool) -> None:
    turn = followed(world, continued_turn=uuid4() if is_continuation else None)
    turn.think()
    world.go_on()
    [event] = json.loads(world.sent[0][1]["json"])
    assert bool(event.get("can_answer_now")) is not is_continuation
    turn.publisher.send_snapshot(Audience.END_USER, PROCESS, "a page")
    assert bool(world.sent_to) is not is_continuation, "the text before must be there first"


def test_a_line_of_the_summary_is_sent_to_pages_and_to_the_program(world: World) -> None:
    program = ProgramStream()
    turn = followed(world, program=SimpleNamespace(stream=program))
    turn.think()
    turn.publisher.step(Activity("compare", ("tea", "coffee")))
    world.go_on()
    assert turn.types() == ["chatui:working", "chatui:summary"]
    assert "Comparing tea and coffee" in repr([getattr(each, "text", "") for each in program._waiting])
