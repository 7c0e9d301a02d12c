"""Readiness: whether this process can serve a page, as far as a cheap check can tell. No content, no names, no numbers.

It takes a page's way to the database, a new connection, and asks whether a write would be stored, without writing. What a page can do
without is said, but takes no process out of service: in an outage of Redis every process would be, and nobody served.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Set
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pkgutil import iter_modules

from django.apps import apps
from django.core.cache import cache as counters
from django.db import connection

from chatui.database import connections, faults, versions
from chatui.database.faults import DatabaseBusyError
from chatui.database.pools import Pool
from chatui.env import environment
from chatui.model_servers import connected

MIN_FREE_BYTES = 100 * 1024 * 1024
"""The least free space on the disk with the data directory. With less, a database or a log soon fails."""
CACHE_SECONDS = 1.0
"""How long a result is cached, so that frequent checks cost nothing."""

REDIS_SECONDS = 0.5
"""How long Redis may take to answer. Without it pages are served, so it must not delay the answer: a balancer waits for two seconds."""

_pool = Pool("readiness", threads=1, waiting=50, seconds=5, lock_seconds=1)


class RequirementState(StrEnum):
    GOOD = "ok"
    FAILED = "failed"
    BUSY = "busy"
    """Another process has SQLite's lock just now."""
    DEGRADED = "degraded"
    """It is missing, and pages are served without it, or a little later."""
    NEWER = "newer"
    """The database was migrated by a newer version since this process started. It goes on, until it is replaced."""
    NOT_USED = "not used"


Findings = dict[str, RequirementState | str]
"""The state of each requirement, and perhaps a ``problem`` in words."""
_UNKNOWN: Findings = {"database": RequirementState.FAILED}


class _Cache:
    """The last findings, their time, and how long each requirement took to check."""

    def __init__(self) -> None:
        self.findings: Findings = _UNKNOWN
        self.at = float("-inf")
        self.seconds: dict[str, float] = {}

    def is_recent(self) -> bool:
        return time.monotonic() - self.at < CACHE_SECONDS


_cache = _Cache()


async def check() -> Findings:
    """The state of each requirement. Takes at most five seconds; recent results are cached, and who asks meanwhile waits for them."""
    if _cache.is_recent():
        return _cache.findings
    try:
        return await _pool.run_or_busy(_find_unless_recent)
    except DatabaseBusyError:
        return _UNKNOWN  # the database does not answer, or the kept connection has just been lost


def is_ready(findings: Findings) -> bool:
    return RequirementState.FAILED not in findings.values()


def seconds_of(requirement: str) -> float | None:
    """How long its last check took: of ``database`` a page's way to it, of ``redis`` one answer. None if it was not checked."""
    return _cache.seconds.get(requirement)


def _find_unless_recent() -> Findings:
    """Check, one thread at a time. Threads that waited for a check use its result."""
    if not _cache.is_recent():
        _cache.findings, _cache.at = _find(), time.monotonic()
    return _cache.findings


def _find() -> Findings:
    """Check each requirement. Without the model server and Redis, and on PostgreSQL without room on the disk or a clock that agrees with
    the database's, this process can still serve people: a failure of these is only DEGRADED. Migrations that came after the start are
    NEWER, with a sentence as the ``problem``."""
    findings: Findings = {name: _state(name, check) for name, check in _CHECKS.items()}
    if findings["migrations"] == RequirementState.GOOD and (newer := _newer()):
        findings["migrations"] = RequirementState.NEWER if _begun_with.names else RequirementState.FAILED
        findings["problem"] = newer
    findings["configuration"] = _degraded(_state("configuration", _has_model_server))
    findings["redis"] = _degraded(_state("redis", _redis)) if environment().redis_url else RequirementState.NOT_USED
    findings["connections"] = _connections()
    findings["clock"] = RequirementState.NOT_USED
    if connection.vendor != "sqlite":
        findings["clock"] = _degraded(_state("clock", connections.is_clock_right))
        findings["disk"] = _degraded(findings["disk"])  # the database is elsewhere
    return findings


def _state(name: str, check: Callable[[], bool]) -> RequirementState:
    begun = time.perf_counter()
    try:
        return RequirementState.GOOD if check() else RequirementState.FAILED
    except Exception as error:  # noqa: BLE001 - whatever the error is, the requirement is not met, and a caller is told nothing more
        return RequirementState.BUSY if faults.is_locked(error) else RequirementState.FAILED
    finally:
        _cache.seconds[name] = time.perf_counter() - begun


def _degraded(state: RequirementState | str) -> RequirementState | str:
    return RequirementState.DEGRADED if state == RequirementState.FAILED else state


def _connections() -> RequirementState:
    used = connections.of_pages()
    if used is None:
        return RequirementState.NOT_USED
    return RequirementState.GOOD if used[0] < used[1] else RequirementState.DEGRADED


class _BegunWith:
    """The migrations that were applied when this process started to serve, having made sure that none was newer; empty before."""

    names: frozenset[tuple[str, str]] = frozenset()


_begun_with = _BegunWith()


def begin() -> None:
    """Remember what was applied: whatever comes later is newer. Call it after the database was migrated to this version."""
    _begun_with.names = frozenset(applied())


def _newer() -> str:
    later = {(app, name) for app, name in applied() - on_disk() - _begun_with.names if app == versions.APP}
    return versions.sentence(versions.unknown(later))


@cache
def on_disk() -> frozenset[tuple[str, str]]:
    """The migrations of this release, as pairs of app and name."""
    return frozenset((app.label, name) for app in apps.get_app_configs() for name in _migrations_in(f"{app.name}.migrations"))


def applied() -> Set[tuple[str, str]]:
    """The applied migrations, as pairs of app and name. One statement."""
    from django.db.migrations.recorder import MigrationRecorder  # takes 1 MB

    return MigrationRecorder(connection).applied_migrations().keys()


def _migrations_in(package: str) -> Iterator[str]:
    """The names of the migrations in a package. Django's own loader would load them all, which takes 23 MB."""
    spec = find_spec(package)
    for module in iter_modules(spec.submodule_search_locations) if spec else ():
        if not module.name.startswith("_"):
            yield module.name


def _has_model_server() -> bool:
    """Whether a model server is configured: without one, conversations are read and Administration can connect one. Whether it responds is
    in the metrics."""
    return bool(connected.specs())


def _redis() -> bool:
    """Whether Redis answers soon. While it is silent, one thread waits for it, as long as its client does."""
    if _asked.redis is None or _asked.redis.done():
        _asked.redis = _asked.thread.submit(counters.get, "readiness")
    _asked.redis.result(REDIS_SECONDS)
    return True


class _Asked:
    """What Redis was asked last, by a thread of its own."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="redis-readiness")
        self.redis: Future[object] | None = None


_asked = _Asked()


_CHECKS: dict[str, Callable[[], bool]] = {
    "database": lambda: connections.accepts_writes(),
    "migrations": lambda: on_disk() <= applied(),
    "disk": lambda: shutil.disk_usage(environment().data_dir).free >= MIN_FREE_BYTES,
}
