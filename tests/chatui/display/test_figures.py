"""The figures of the overview: counted by hour, for a day and a week, and readable as numbers without the figures."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chatui.backends.spec import BackendSpec
from chatui.codes import Cause
from chatui.display import figures, model_servers
from chatui.model_servers import connected
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.web.manage.test_manage import failed_turn, text_of

pytestmark = pytest.mark.django_db


def turn(owner: User, hours_ago: float = 0, **changes: object) -> None:
    """An answer that took a minute, and its server two seconds to begin it."""
    begun = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours_ago)
    ended = {"started_at": begun, "finished_at": begun + timedelta(minutes=1), "state": "completed", "error_code": "", "error_cause": ""}
    Turn.objects.filter(pk=failed_turn(owner).pk).update(**ended | {"first_token_ms": 2000} | changes)


def test_answers_failures_waits_and_load_of_a_day_and_a_week(ada: User) -> None:
    for hours in (0, 0, 5, 30, 160):
        turn(ada, hours)
    turn(ada, 5, state="failed", error_code="E-X-BACKEND", error_cause=Cause.OUT_OF_MEMORY.log_text("HTTP 500"), first_token_ms=None)
    turn(ada, 30, state="incomplete", error_code="E-X-LENGTH", first_token_ms=12_000)
    turn(ada, 5, state="failed", error_code="E-X-BACKEND-BUSY", error_cause=Cause.BUSY.log_text("HTTP 429"), first_token_ms=None)
    turn(ada, 200)
    shown = figures.figures()
    numbers = {name: (getattr(shown, name).day, getattr(shown, name).week) for name in ("answers", "failed", "first_word", "at_once")}
    assert numbers["answers"] == ("3", "6") and numbers["failed"] == ("1", "1") and shown.failed_today == 1
    assert numbers["first_word"] == ("2.0 s", "3.7 s"), "the average of those that began at all"
    day, week = shown.answers.day_bars, shown.answers.week_bars
    assert (len(day.bars), len(week.bars)) == (24, 28) and max(bar.height for bar in day.bars) == figures.HEIGHT
    assert day.words.endswith("0 · 1 · 0 · 0 · 0 · 0 · 2") and week.words.startswith("Answers in every six hours, the oldest first: ")
    Turn.objects.all().delete()
    empty = figures.figures()
    assert (empty.first_word.day, empty.answers.week, empty.at_once.week) == ("–", "0", "0")
    assert {bar.height for bar in empty.answers.day_bars.bars} == {0}


def test_a_plot_is_drawn_once_there_is_something_to_compare(ada: User, root: User) -> None:
    turn(ada)
    page = text_of(signed_in(root), "/manage/")
    assert '<svg class="bars' not in page and "Plots appear here once answers of several hours can be compared." in page
    assert figures.figures().at_once.day == "< 0.1", "something is not shown as nothing"
    turn(ada, 5)
    page = text_of(signed_in(root), "/manage/")
    assert '<svg class="bars' in page and "Plots appear here" not in page


def is_bad(state: TurnState, code: str) -> bool:
    """Whether an answer with this end failed, or its server was only busy: it is no answer, unless it had ended well."""
    return state not in (TurnState.COMPLETED, TurnState.STOPPED) and code in ("E-X-BACKEND", "E-X-BACKEND-BUSY")


def test_each_page_counts_the_same_answers_and_failures(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer has ended and not failed, wherever it is counted, and whatever its end is."""
    spec = BackendSpec(name="vllm", url="http://127.0.0.1:9")
    monkeypatch.setattr(connected, "specs", lambda: (spec,))
    monkeypatch.setattr(model_servers, "ASK_SECONDS", 0)
    now = timezone.now()
    begins = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=23)
    ends = [
        (state, code)
        for state in TurnState
        if state is not TurnState.RUNNING
        for code in ("", "E-X-LENGTH", "E-X-BACKEND", "E-X-BACKEND-BUSY")
    ]
    for state, code in ends:
        for begun in (now, begins, begins - timedelta(seconds=1)):
            turn(ada, state=state, error_code=code, started_at=begun, finished_at=begun)
    shown, (server,) = figures.figures(), model_servers.all_of_them()
    assert int(shown.answers.day) == server.work.answered == 2 * sum(not is_bad(*end) for end in ends)
    assert int(shown.failed.day) == shown.failed_today == sum(day for _code, _hour, day in server.work.errors) > 0


def test_the_load_is_how_many_answers_were_written_at_once(ada: User) -> None:
    for _ in range(2):
        turn(ada, 3, finished_at=timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2))
    shown = figures.figures().at_once
    assert "2.0 · 0 · 0 · 0" in shown.day_bars.words and (shown.day, shown.week) == ("2.0", "2.0"), (
        "the busiest hour counts, not the nights"
    )


def test_running_and_queued_answers_are_counted_while_their_lease_holds(ada: User) -> None:
    later = timezone.now() + timedelta(seconds=10)
    turn(ada, state="running", finished_at=None, lease_until=later)
    turn(ada, state="running", finished_at=None, lease_until=later, is_queued=True)
    turn(ada, state="running", finished_at=None)
    shown = figures.figures()
    assert (shown.running, shown.waiting, shown.answers.day) == (1, 1, "0")


def test_a_small_value_has_a_bar_and_none_has_none() -> None:
    shown = figures.bars([1000, 1, 0], ["a", "b", "c"], "words")
    assert [bar.height for bar in shown.bars] == [100, 1, 0] and shown.width == 30
    assert figures.bars([0.5, 1.0], ["a", "b"], "").bars[0].height == 50
    assert figures.bars([], [], "").width == 0


def test_the_overview_has_them_as_text_for_those_who_may_see_failures_alone(ada: User) -> None:
    turn(ada)
    turn(ada, 2)
    omar = make_person("omar", "view_storedbackend", staff=True)
    page = text_of(signed_in(omar), "/manage/")
    assert 'aria-label="Answers in each hour, the oldest first: 0 · ' in page and "Wait for the first word, on average" in page
    assert "At a glance" not in text_of(signed_in(make_person("uma", "view_usage", staff=True)), "/manage/")
