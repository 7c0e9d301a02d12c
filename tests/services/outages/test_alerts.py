"""What a real process tells under a real fault makes exactly the alerts of that fault fire, and nothing while all is well."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from tests.services.databases import OwnServer, create_tables, own_server
from tests.services.redis_server import Redis
from tests.support.alerts import RULES, Situation, run, series_of, verify
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.services
SUFFIXES = {"counter": ("",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}


@pytest.fixture
def database() -> Iterator[OwnServer]:
    with own_server() as server:
        create_tables(server.url)
        yield server


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path)
    yield server
    server.stop()


def scraped(server: Server) -> str:
    answer = httpx.get(f"{server.url}/metrics", headers={"Authorization": "Bearer token"}, trust_env=False, timeout=60)
    assert answer.status_code == 200
    return answer.text


def until(server: Server, *lines: str) -> str:
    """What the process tells once these are lines of it: what /readyz found is a second old."""
    end = time.monotonic() + 60
    while not set(lines) <= set((text := scraped(server)).splitlines()):
        assert time.monotonic() < end, lines
    return text


def test_exactly_the_alerts_of_a_real_fault_fire(database: OwnServer, redis: Redis, tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "data", CHATUI_DATABASE_URL=database.url, CHATUI_REDIS_URL=redis.url, CHATUI_METRICS_TOKEN="token")
    with served(deployment, "ada") as server:
        assert server.sign_in("ada").get("/").status_code == 200
        well = until(server, "chatui_redis_up 1.0")
        redis.stop()
        without_redis = until(server, "chatui_redis_up 0.0")
        redis.start()
        until(server, "chatui_redis_up 1.0")
        database.stop()
        without_database = until(server, "chatui_database_up 0.0", "chatui_ready 0.0")
        database.start()
        again = until(server, "chatui_database_up 1.0", "chatui_ready 1.0", "chatui_redis_up 1.0")
    for text in (well, without_redis, without_database):
        run("check", "metrics", text=text)
    told = {f"{name}{suffix}" for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", well, re.MULTILINE) for suffix in SUFFIXES[kind]}
    rules = [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]
    asked = {name for rule in rules for name in re.findall(r"\b(?:chatui|process)_\w+", rule["expr"])}
    assert len(asked) > 15 and asked - told == {"chatui_worker_up"}, "which only several workers tell"
    situations = {
        "well": (well, ()),
        "Redis is away": (without_redis, ("ChatuiRedisAway",)),
        "PostgreSQL is away": (without_database, ("ChatuiDatabaseAway", "ChatuiNotReady")),
        "well again": (again, ()),
    }
    verify((Situation(name, series_of(text, "a"), frozenset(firing)) for name, (text, firing) in situations.items()), tmp_path)
