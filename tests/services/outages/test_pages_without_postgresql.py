"""Pages while a real PostgreSQL server is stopped or frozen, and after it is back."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.services.databases import OwnServer, create_tables, own_server
from tests.support.served import Deployment, Server, served

pytestmark = [pytest.mark.services, pytest.mark.faults]

AT_ONCE = 6
AWAY_SECONDS = 2.0
"""The longest that a page may take while the database is away, on a machine that does nothing else."""
SLACK = 7
"""So many times as long on a busy one. A page that waits for a connection takes longer still: ``WAIT_SECONDS`` of ``database/base.py``."""


@pytest.fixture(scope="module")
def database() -> Iterator[OwnServer]:
    with own_server() as server:
        create_tables(server.url)
        yield server


@pytest.fixture(scope="module")
def page(database: OwnServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, httpx.Client]]:
    """A process that all tests of this module share: each leaves a database that is there again."""
    settings = {"CHATUI_DATABASE_URL": database.url, "CHATUI_REDIS_URL": os.environ["CHATUI_TEST_REDIS_URL"]}
    with served(Deployment(tmp_path_factory.mktemp("data"), **settings), "ada") as server:
        yield server, server.sign_in("ada")


def at_once(client: httpx.Client, count: int = AT_ONCE) -> list[tuple[int, float]]:
    """The status of each of some pages that are opened together, and the seconds that it took."""
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(lambda _: opened(client), range(count)))


def opened(client: httpx.Client) -> tuple[int, float]:
    started = time.monotonic()
    return client.get("/").status_code, time.monotonic() - started


def test_no_page_fails_or_waits_once_a_stopped_server_is_back(database: OwnServer, page: tuple[Server, httpx.Client]) -> None:
    server, client = page
    known = len(server.console)
    for away in (0.0, 3.0):
        assert {status for status, _ in at_once(client)} == {200}, "the premise: several connections are open"
        database.stop()
        missed = [*at_once(client), opened(client)] if away else []
        time.sleep(away)
        database.start()
        found = [opened(client) for _ in range(AT_ONCE)] + at_once(client)
        assert {status for status, _ in missed} <= {503}
        assert max((seconds for _, seconds in missed), default=0) < AWAY_SECONDS * SLACK, missed
        assert {status for status, _ in found} == {200}, (away, found)
        assert max(seconds for _, seconds in found) < AWAY_SECONDS * SLACK, (away, found)
    console = server.console[known:]
    assert "Traceback" not in console
    assert console.count("PostgreSQL cannot be reached for pages: connection failed") == 1


def test_error_pages_keep_no_connection(database: OwnServer, page: tuple[Server, httpx.Client]) -> None:
    """Django renders them in threads of which no request ends."""
    _, client = page

    def missing(_: int) -> int:
        return client.get("/no-such-page").status_code

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert set(threads.map(missing, range(4 * AT_ONCE))) == {404}, "the premise: several threads have rendered it"
        database.stop()
        database.start()
        assert set(threads.map(missing, range(4 * AT_ONCE))) == {404}


def test_pages_of_a_frozen_server_fail_soon_and_work_when_it_goes_on(database: OwnServer, page: tuple[Server, httpx.Client]) -> None:
    _, client = page
    assert {status for status, _ in at_once(client)} == {200}, "the premise"
    database.signal(signal.SIGSTOP)
    try:
        missed = [opened(client), *at_once(client), opened(client)]
    finally:
        database.signal(signal.SIGCONT)
    found = [opened(client) for _ in range(AT_ONCE)] + at_once(client)
    assert {status for status, _ in missed} == {503}
    assert max(seconds for _, seconds in missed) < AWAY_SECONDS * SLACK, missed
    assert {status for status, _ in found} == {200}
