"""The page of the system: each process with its state in words, why, and its load; model servers and failures without any content."""

import json
import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone

from chatui import __version__, program
from chatui.database import connections
from chatui.display import readiness
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.wire.bus import PROCESS
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.web.manage.test_manage import failed_turn
from tests.support import environment, process_reports
from tests.support.process_reports import GOOD, OTHER, report

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction of a test holds SQLite's lock, which no page does."""
    monkeypatch.setattr(connections, "accepts_writes", lambda: True)
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0.0)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were other processes: the cache of the tests is the one that all share."""
    environment.change(monkeypatch, {"redis_url": "redis://127.0.0.1:1/0"})


def page_of(person: User) -> str:
    response = signed_in(person).get("/manage/system/")
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode())


def card_of(page: str, name: str) -> str:
    [card] = [each for each in re.findall(r'<li class="manage-card.*?</li>', page) if f"{name}</bdi>" in each]
    return card


def test_the_version_is_the_full_one(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "version", lambda: "0.1.0.dev20261129123629")
    page = page_of(root)
    assert page.count("0.1.0.dev20261129123629") == 2, "of the release, and of the process"


def test_one_process_knows_itself_without_redis(root: User) -> None:
    page = page_of(root)
    own = card_of(page, str(PROCESS.split(":")[1]))
    assert "The only process is ready." in page and "> Ready<" in own and "This page comes from it." in own and __version__ in own
    assert "Database answers in" in own and "Redis answers in" not in own and "does not answer" not in page
    assert cache.get("processes") is None, "it tells nobody"


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        ({}, "Ready", ()),
        ({"findings": {**GOOD, "redis": "degraded"}}, "Ready, but limited", ("Redis does not answer.",)),
        ({"findings": {**GOOD, "connections": "degraded"}}, "Ready, but limited", ("Pages use all database connections",)),
        ({"findings": {**GOOD, "clock": "degraded"}}, "Ready, but limited", ("Its clock differs from the database’s",)),
        ({"findings": {"database": "failed"}}, "Serves no pages", ("The database cannot be reached",)),
        ({"findings": {**GOOD, "migrations": "failed", "problem": "SECRET"}}, "Serves no pages", ("has not the tables",)),
        ({"lag": 2.5}, "Ready, but limited", ("It was busy for more than a second", "2500 ms · slow")),
        ({"database": 1.2}, "Ready", ("1200 ms · slow",)),
        ({"version": "0.0.1"}, "Ready", ("0.0.1", "They have different releases.")),
    ],
)
def test_another_process_is_shown_with_its_state_and_why(
    change: dict[str, object], state: str, words: tuple[str, ...], root: User, shared: None
) -> None:
    report(**change)
    page = page_of(root)
    card = card_of(page, "beech · 17")
    assert f"> {state}<" in card and "SECRET" not in page
    assert all(each in page for each in words), words
    assert ("1 of 2 processes are silent or serve no pages." in page) == (state == "Serves no pages")
    assert ("All 2 processes are ready." in page) == (state != "Serves no pages")
    assert ("manage-warns" in card) == (state == "Serves no pages")


def test_a_silent_process_is_shown_with_the_time_of_its_last_word_and_one_that_ended_is_not(root: User, shared: None) -> None:
    report()
    cache.delete(f"process-alive:{OTHER}")  # as the cache does after SILENT_SECONDS
    page = page_of(root)
    card = card_of(page, "beech · 17")
    assert "> Silent<" in card and 'datetime="2026-09-21T' in card and "Answers being written" not in card
    assert "1 of 2 processes are silent" in page and page.index("beech · 17") < page.index("This page comes from it.")
    report()
    assert "> Silent<" not in page_of(root), "it speaks again"
    process_reports.end()
    assert "beech" not in page_of(root)


def test_what_another_release_stored_is_read_as_far_as_it_goes(root: User, shared: None) -> None:
    cache.set("processes", [OTHER, "oak:1:x", "elm:1:x"])
    cache.set(f"process:{OTHER}", json.dumps({"process": OTHER, "version": "9", "findings": {"moon": "failed"}, "later": 1}))
    cache.set("process:oak:1:x", "no report")
    page = page_of(root)
    assert "> Silent<" in card_of(page, "beech · 17") and "oak" not in page and "elm" not in page


def test_while_redis_is_away_the_page_says_so(root: User, shared: None, monkeypatch: pytest.MonkeyPatch) -> None:
    report()

    process_reports.lose_cache(monkeypatch)
    page = page_of(root)
    assert "Redis does not answer, so only the process that made this page is shown." in page and "beech" not in page
    report()  # raises nothing


def test_answers_and_questions_count_for_the_process_that_has_them(root: User, ada: User, shared: None) -> None:
    until = timezone.now() + timedelta(seconds=60)
    for is_queued in (False, True, True):
        turn = failed_turn(ada)
        Turn.objects.filter(pk=turn.pk).update(state="running", lease_owner=OTHER, lease_until=until, is_queued=is_queued)
    report()
    card = card_of(page_of(root), "beech · 17")
    assert "Answers being written</dt><dd>1<" in card and "Questions that wait</dt><dd>2<" in card


def test_model_servers_and_failures_have_rates_and_causes_and_no_content(root: User, ada: User) -> None:
    assert "No answer has failed in the last 24 hours." in page_of(root)
    for _ in range(2):
        failed_turn(ada)
    page = page_of(root)
    assert "<strong>2 ×</strong>" in page and "No longer connected" in page and "100 % · answered: 0" in page
    assert "Private" not in page and "SECRET" not in page and ">ada<" not in page
    keeper = make_person("kim", "change_storedbackend", staff=True)
    assert "2 ×" not in page_of(keeper), "causes are for those who may see model servers"
