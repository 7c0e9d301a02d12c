"""``/metrics`` counts every request for next to nothing, and is never kept waiting by what it reports."""

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
import pytest_django
from asgiref.sync import sync_to_async
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from chatui.database import pools
from chatui.database.pools import Pool
from chatui.models.user import User
from chatui.observability import measures
from chatui.store import transcripts
from chatui.turns.slots import Slots
from chatui.web.middleware import CountingMiddleware
from tests.support.cost import python_calls
from tests.support.other_processes import set_lease, stored_by_another
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _with_a_token(settings: pytest_django.Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"metrics_token": "token"})


def scraped() -> dict[str, float]:
    text = Client().get("/metrics", headers={"authorization": "Bearer token"}).content.decode()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))}


def requests() -> dict[tuple[str, str], float]:
    found: Iterator[object] = (sample for family in measures.REQUEST_SECONDS.collect() for sample in family.samples)
    counts = (each for each in found if getattr(each, "name", "").endswith("_count"))
    return {(each.labels["kind"], each.labels["status"]): each.value for each in counts}  # type: ignore[attr-defined]


@pytest.mark.parametrize("hours", [-2, 2])
async def test_a_wrong_clock_miscounts_no_running_turn(
    ada: User, backend: ScriptedBackend, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = timezone.now()
    alive, dead = await stored_by_another(ada), await stored_by_another(ada)
    await set_lease(alive, 600)
    await set_lease(dead, -600)
    monkeypatch.setattr(timezone, "now", lambda: right + timedelta(hours=hours))
    assert (await sync_to_async(scraped)())["chatui_turns_alive"] == 1


@pytest.mark.parametrize(
    ("path", "counted"),
    [
        ("/setup/", ("page", "2xx")),
        ("/", ("page", "3xx")),
        ("/no-such-page", ("page", "4xx")),
        ("/static/no-such-file.js", ("static", "4xx")),
        ("/v1/models", ("api", "4xx")),
        ("/scim/v2/Users", ("api", "4xx")),
        ("/healthz", None),
        ("/metrics", None),
    ],
)
def test_each_request_is_counted_once_by_its_kind(path: str, counted: tuple[str, str] | None) -> None:
    before = requests()
    Client().get(path)
    found = {key: value - before.get(key, 0) for key, value in requests().items() if value != before.get(key, 0)}
    assert found == ({counted: 1} if counted else {})


def test_counting_a_request_is_a_handful_of_calls() -> None:
    request, response = RequestFactory().get("/"), HttpResponse()
    counting = CountingMiddleware(lambda _: response)
    counting(request)
    assert python_calls(lambda: counting(request)) <= 10


def test_a_database_that_does_not_answer_holds_up_no_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scraped()["chatui_database_up"] == 1, "the premise"
    over = threading.Event()
    monkeypatch.setattr(pools, "metrics", Pool("metrics", threads=1, waiting=1, seconds=0.2))
    monkeypatch.setattr(transcripts, "problem_counts", over.wait)
    try:
        found = scraped()
    finally:
        over.set()
    assert found["chatui_database_up"] == 0 and "chatui_turns_alive" not in found
    assert found["chatui_ready"] == 1 and "chatui_turns_waiting" in found


def test_the_last_backup_is_told_whoever_made_it() -> None:
    assert scraped()["chatui_last_backup_timestamp_seconds"] == scraped()["chatui_last_purge_timestamp_seconds"] == 0
    began = time.time()
    call_command("backup", "--ended")
    call_command("purge")
    found = scraped()
    for name in ("backup", "purge"):
        assert began - 1 <= found[f"chatui_last_{name}_timestamp_seconds"] <= time.time() + 1


async def test_who_waits_for_a_slot_is_counted_until_the_wait_is_over() -> None:
    def waiting() -> float:
        return measures.REGISTRY.get_sample_value("chatui_turns_waiting") or 0

    slots, told = Slots(1), asyncio.Event()
    before = waiting()

    async def ask() -> None:
        async with slots.acquire(lambda _: told.set()):
            assert waiting() == before

    async with slots.acquire(lambda _: None):
        second = asyncio.create_task(ask())
        await told.wait()
        assert waiting() == before + 1
    await second


async def test_a_loop_that_stands_still_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    def seen(what: str) -> float:
        return measures.REGISTRY.get_sample_value(f"chatui_event_loop_lag_seconds_{what}") or 0

    monkeypatch.setattr(measures, "LOOP_SECONDS", 0.01)
    measures.watch_loop()
    count = seen("count")
    async with asyncio.timeout(60):
        while seen("count") < count + 2:
            await asyncio.sleep(0)
        late = seen("sum")
        time.sleep(0.5)
        while seen("sum") < late + 0.4:
            await asyncio.sleep(0)
