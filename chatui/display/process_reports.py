"""What each process says about itself, for Administration: whether it can serve a page and why not, its load, and how quickly it works.

With Redis, a process stores a report there every REPORT_SECONDS, and takes it away when it ends. One that was killed, or stands still, is
therefore known by its silence. It is not in the database, because a process without its database has the most to say. While Redis is away,
and without it, a process knows only itself. Reports are states, numbers and versions: nothing that people write.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import logging
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime

from asgiref.sync import async_to_sync
from django.core.cache import cache
from django.db.models import Count, Q
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_noop as noop

from chatui import program
from chatui.database import connections
from chatui.display import readiness
from chatui.display.readiness import RequirementState
from chatui.env import environment
from chatui.limits import CACHE_ERRORS
from chatui.models.turn import Turn, TurnState
from chatui.observability import measures
from chatui.wire.bus import PROCESS

REPORT_SECONDS = 5.0
SILENT_SECONDS = 20
"""Without a report for this long, a process is silent. Redis counts it: the clocks of machines differ."""
KEEP_SECONDS = 24 * 3600
"""How long the last report of a silent process is shown."""
LATE_SECONDS = 1.0
"""From this many seconds on, an event loop, a database or Redis is slow."""
_INDEX = "processes"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """What a process says of itself. Times are in seconds since 1970."""

    process: str
    version: str = ""
    begun: float = 0.0
    at: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)
    lag: float = 0.0
    """The most seconds that the event loop was late a short while ago."""
    pages: int = 0
    """Open ones of people who are signed in."""
    database: float | None = None
    redis: float | None = None
    """As ``database``: seconds of the last check; None if there was none."""


def read(text: object) -> ProcessReport | None:
    """A stored report. Other releases may leave fields out or have more; None if it is none."""
    try:
        found = json.loads(str(text))
        return ProcessReport(**{each.name: found[each.name] for each in fields(ProcessReport) if each.name in found})
    except (ValueError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class ShownProcess:
    """A process, as the page about the system shows it. Times are in milliseconds."""

    name: str
    version: str
    is_own: bool
    is_other_version: bool
    is_silent: bool
    is_bad: bool
    state: str
    """In words."""
    reasons: tuple[str, ...]
    """In words."""
    begun: datetime
    at: datetime
    running: int
    """How many answers it writes."""
    waiting: int
    """How many answers wait in it."""
    pages: int
    lag: int
    database: int | None
    redis: int | None
    slow: frozenset[str]
    """The names of what is slow."""


@dataclass(frozen=True, slots=True)
class Processes:
    """``knows_all``: Redis answered, or there is none; otherwise only the own process is in the list."""

    shown: tuple[ShownProcess, ...]
    knows_all: bool

    @property
    def bad(self) -> int:
        """How many serve no pages, or are silent."""
        return sum(each.is_bad for each in self.shown)

    @property
    def versions(self) -> int:
        return len({each.version for each in self.shown if not each.is_silent})


_begun = time.time()
# A thread of its own, because a Redis that is away lets it wait for seconds. It keeps one connection.
_storing = ThreadPoolExecutor(1, thread_name_prefix="report")


def begin() -> None:
    """Report from now on, until the process ends."""
    global _reporting
    if environment().redis_url:
        _reporting = asyncio.get_running_loop().create_task(_report_often(), name="reports")
        atexit.register(take_away, PROCESS)


_reporting: asyncio.Task[None] | None = None


async def _report_often() -> None:
    while True:
        try:
            await asyncio.get_running_loop().run_in_executor(_storing, store, await own_report())
        except Exception as error:  # noqa: BLE001 - whatever the error, the next report may succeed
            log.warning("the report of this process failed (%s)", type(error).__name__)
        await asyncio.sleep(REPORT_SECONDS)


async def own_report() -> ProcessReport:
    """How this process is now."""
    findings = await readiness.check()
    return ProcessReport(
        PROCESS,
        program.version(),
        _begun,
        time.time(),
        {name: str(state) for name, state in findings.items()},
        measures.worst_lag(),
        round(sum(sample.value for metric in measures.SOCKETS.collect() for sample in metric.samples)),
        readiness.seconds_of("database"),
        readiness.seconds_of("redis"),
    )


def store(report: ProcessReport) -> None:
    """Keep a report where all processes find it. Lost while the cache is away: the log says so by another line."""
    with contextlib.suppress(*CACHE_ERRORS):
        cache.set(_key(report.process), json.dumps(asdict(report)), KEEP_SECONDS)
        cache.set(_alive_key(report.process), 1, SILENT_SECONDS)
        known = cache.get(_INDEX) or []
        if report.process not in known:
            # Two processes may write it at once; the one that is lost adds itself with its next report.
            kept = cache.get_many([_key(each) for each in known])
            cache.set(_INDEX, [*(each for each in known if _key(each) in kept), report.process], None)


def take_away(process: str) -> None:
    """Forget a process that ends."""
    with contextlib.suppress(*CACHE_ERRORS):
        cache.delete_many([_key(process), _alive_key(process)])


def _key(process: str) -> str:
    return f"process:{process}"


def _alive_key(process: str) -> str:
    return f"process-alive:{process}"


def processes() -> Processes:
    """All processes that are known, those with something wrong first. One statement."""
    own, knows_all = async_to_sync(own_report)(), True
    by_process: dict[str, ProcessReport] = {}
    alive: set[str] = set()
    if environment().redis_url:
        try:
            names = cache.get(_INDEX) or []
            kept = cache.get_many([*map(_key, names), *map(_alive_key, names)])
        except CACHE_ERRORS:
            knows_all = False
        else:
            reports = (read(kept[_key(name)]) for name in names if _key(name) in kept)
            by_process = {report.process: report for report in reports if report is not None}
            alive = {name for name in names if _alive_key(name) in kept}
    by_process[PROCESS] = own
    work = _work()
    shown = [_shown(each, each.process in alive or each is own, work.get(each.process, (0, 0))) for each in by_process.values()]
    shown.sort(key=lambda each: (not each.is_bad, not each.reasons, each.is_silent, each.name))
    return Processes(tuple(shown), knows_all)


def _work() -> dict[str, tuple[int, int]]:
    """How many answers each process writes, and how many questions wait in it."""
    alive = Turn.objects.filter(state=TurnState.RUNNING, lease_until__gte=connections.now())
    counts = alive.values_list("lease_owner").annotate(
        running=Count("pk", filter=Q(is_queued=False)), waiting=Count("pk", filter=Q(is_queued=True))
    )
    return {process: (running, waiting) for process, running, waiting in counts.order_by()}


def _shown(report: ProcessReport, is_alive: bool, work: tuple[int, int]) -> ShownProcess:
    is_ready = RequirementState.FAILED not in report.findings.values()
    slow = frozenset(name for name in ("lag", "database", "redis") if (getattr(report, name) or 0) >= LATE_SECONDS)
    reasons = tuple(_reasons(report, slow)) if is_alive else ()
    if not is_alive:
        state = pgettext("a process", "Silent")
    elif not is_ready:
        state = pgettext("a process", "Serves no pages")
    else:
        state = pgettext("a process", "Ready, but limited") if reasons else pgettext("a process", "Ready")
    host, _, rest = report.process.rpartition(":")[0].rpartition(":")
    return ShownProcess(
        f"{host} · {rest}",
        report.version,
        report.process == PROCESS,
        is_alive and report.version != program.version(),
        not is_alive,
        not (is_alive and is_ready),
        state,
        reasons,
        datetime.fromtimestamp(report.begun, UTC),
        datetime.fromtimestamp(report.at, UTC),
        *work,
        report.pages,
        round(1000 * report.lag),
        _milliseconds(report.database),
        _milliseconds(report.redis),
        slow,
    )


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(1000 * seconds))


def _reasons(report: ProcessReport, slow: Iterable[str]) -> Iterable[str]:
    for name, state in report.findings.items():
        if state not in _GOOD and (name, state) in _REASONS:
            yield gettext(_REASONS[name, state])
    if "lag" in slow:
        yield gettext(_LATE)


_GOOD = (RequirementState.GOOD, RequirementState.NOT_USED)
_LATE = noop("It was busy for more than a second at a time, and everybody waited.")
_REASONS: dict[tuple[str, str], str] = {
    ("database", "failed"): noop("The database cannot be reached, or stores nothing."),
    ("database", "busy"): noop("Another process has the database’s lock."),
    ("migrations", "failed"): noop("The database has not the tables of this version."),
    ("migrations", "newer"): noop("The database was migrated by a newer version: replace this process."),
    ("disk", "failed"): noop("The disk is full."),
    ("disk", "degraded"): noop("The disk is full."),
    ("configuration", "degraded"): noop("No model server is connected."),
    ("redis", "degraded"): noop("Redis does not answer."),
    ("connections", "degraded"): noop("Pages use all database connections that they may, so others wait."),
    ("clock", "degraded"): noop("Its clock differs from the database’s by more than five minutes, so it removes nothing."),
}
"""By requirement and state of ``readiness``."""
