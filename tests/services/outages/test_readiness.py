"""``/readyz`` with a real PostgreSQL and a real Redis: 503 where no page could be served or stored, 200 where pages do without."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import httpx
import psycopg
import pytest

from tests.services.databases import OwnServer, create_tables, own_server
from tests.services.redis_server import Redis
from tests.support.limits import limit
from tests.support.served import Deployment, Server, served

MAX_CONNECTIONS = limit("chatui.database", "MAX_CONNECTIONS")

pytestmark = [pytest.mark.services, pytest.mark.faults]

BALANCER_SECONDS = 2.0
"""How long deploy/haproxy.cfg waits for an answer."""
GOOD = dict.fromkeys(("database", "migrations", "disk", "configuration", "redis", "connections", "clock"), "ok")


@pytest.fixture(scope="module")
def database() -> Iterator[OwnServer]:
    with own_server() as server:
        create_tables(server.url)
        yield server


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    server = Redis(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def process(database: OwnServer, redis: Redis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """All tests of this module share it: each leaves everything available."""
    deployment = Deployment(tmp_path_factory.mktemp("data"), CHATUI_DATABASE_URL=database.url, CHATUI_REDIS_URL=redis.url)
    with served(deployment, "ada") as server:
        yield server


def until(server: Server, status: int, **other: str) -> None:
    """Wait until ``/readyz`` has this status, and names these as not "ok" and nothing else."""
    expected, end, found = (status, GOOD | {"ready": status == 200} | other), time.monotonic() + 60, None
    while found != expected:
        assert time.monotonic() < end, (found, expected)
        answer = httpx.get(f"{server.url}/readyz", trust_env=False, timeout=60)
        found = answer.status_code, answer.json()


def test_a_server_that_accepts_no_writes_is_not_ready_until_it_does(database: OwnServer, process: Server) -> None:
    client = process.sign_in("ada")
    until(process, 200)
    for is_recovering in (False, True):
        if is_recovering:
            database.become_standby()
        else:
            set_on(database, "default_transaction_read_only", "on")
        until(process, 503, database="failed")
        assert client.get("/healthz").status_code == 200
        if is_recovering:
            database.promote()
        else:
            set_on(database, "default_transaction_read_only", "off")
        until(process, 200)
        assert client.get("/").status_code == 200


def test_a_server_that_has_no_connection_left_is_not_ready(database: OwnServer, process: Server) -> None:
    until(process, 200)
    taken: list[Any] = []
    try:
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            while True:
                taken.append(psycopg.connect(database.url))
        until(process, 503, database="failed")
    finally:
        for each in taken:
            each.close()
    until(process, 200)


def test_pages_that_use_all_connections_of_the_process_leave_it_ready(database: OwnServer, process: Server) -> None:
    client = process.sign_in("ada")
    until(process, 200)
    with ThreadPoolExecutor(2 * MAX_CONNECTIONS) as threads:
        with psycopg.connect(database.url) as holder:
            holder.execute("LOCK TABLE chatui_conversation IN ACCESS EXCLUSIVE MODE")
            pages = [threads.submit(client.get, "/", timeout=120) for _ in range(2 * MAX_CONNECTIONS)]
            until(process, 200, connections="degraded")
        wait(pages)
    until(process, 200)


@pytest.mark.parametrize("fault", ["away", "silent"])
def test_redis_away_leaves_it_ready_for_all_who_ask_and_soon(fault: str, redis: Redis, process: Server) -> None:
    until(process, 200)
    redis.stop() if fault == "away" else redis.silence()
    try:
        until(process, 200, redis="degraded")
        with ThreadPoolExecutor(8) as threads:
            for _ in range(4):
                answers = list(threads.map(lambda _: httpx.get(f"{process.url}/readyz", trust_env=False, timeout=60), range(8)))
                assert {(answer.status_code, answer.json()["redis"]) for answer in answers} == {(200, "degraded")}
                assert min(answer.elapsed.total_seconds() for answer in answers) < BALANCER_SECONDS
                time.sleep(1.1)  # what was found is forgotten, as the balancer finds it each time
    finally:
        redis.start() if fault == "away" else redis.wake()
    until(process, 200)


def set_on(database: OwnServer, name: str, value: str) -> None:
    """Change a setting of the running server, for connections that are open, too."""
    with psycopg.connect(database.url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
        connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        connection.execute("SELECT pg_reload_conf()")
