"""Writes metrics in Prometheus's format: this process's measurements and its readiness, and what the database says about all processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Count, Sum
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from chatui import workers
from chatui.codes import ProductCode
from chatui.database import connections, faults, pools
from chatui.database.faults import DatabaseBusyError
from chatui.display import metrics_of_workers, readiness, system
from chatui.display.readiness import Findings, RequirementState
from chatui.models.audit import AuditEvent
from chatui.models.turn import Turn, TurnState
from chatui.observability import measures
from chatui.store import transcripts
from renderer.errors import Code

Families = Iterable[Metric]


async def text() -> str:
    """All metrics, in Prometheus's text format, after five seconds at the latest: whatever the database, Redis and other workers do."""
    own = workers.own
    others = set(range(1, own.count + 1)) - {own.number} if own else ()
    async with asyncio.TaskGroup() as group:
        checked, counted = group.create_task(readiness.check()), group.create_task(_counted())
        asked = [group.create_task(metrics_of_workers.text_of(own.directory, each)) for each in others] if own else []
    if own:
        texts = {own.number: written(checked.result()), **dict(zip(others, (each.result() for each in asked), strict=True))}
        return _text_of([*metrics_of_workers.merged(texts), *counted.result()])
    return written(checked.result(), counted.result())


async def answer_workers() -> None:
    """From now on, give the other workers behind the same address what this one has measured."""

    async def own_text() -> str:
        return written(await readiness.check())

    if own := workers.own:
        _answering.append(await metrics_of_workers.answer(own.directory, own.number, own_text))


_answering: list[asyncio.Server] = []


async def _counted() -> Families:
    try:
        return await pools.metrics.run(stored)
    except DatabaseBusyError:
        return [_up(0)]


def written(findings: Findings, counts: Families = ()) -> str:
    """The text of this process's measurements, of what ``readiness`` found, and of ``stored``."""
    return generate_latest(measures.REGISTRY).decode() + _text_of([*_of_process(findings), *counts])


def _text_of(families: Families) -> str:
    read = CollectorRegistry()
    read.register(_Families(families))
    return generate_latest(read).decode()


class _Families(Collector):
    def __init__(self, families: Families) -> None:
        self._families = families

    def collect(self) -> Families:
        return self._families


def _of_process(findings: Findings) -> Families:
    yield GaugeMetricFamily("chatui_ready", "Whether this process can serve pages, as /readyz says.", int(readiness.is_ready(findings)))
    met = {
        name: int(state == RequirementState.GOOD)
        for name, state in findings.items()
        if isinstance(state, RequirementState) and state != RequirementState.NOT_USED
    }
    if "redis" in met:
        yield GaugeMetricFamily("chatui_redis_up", "Whether Redis answered this process. Left out without Redis.", met.pop("redis"))
    yield _gauge("chatui_requirement_met", "Whether /readyz says ok, by requirement.", "requirement", met)
    if used := connections.of_pages():
        yield GaugeMetricFamily("chatui_page_connections", "Connections to PostgreSQL that pages of this process use now.", used[0])
        yield GaugeMetricFamily("chatui_page_connections_limit", "How many of them pages of this process may use.", used[1])


def stored() -> list[Metric]:
    """What the database says about all processes: every process reports the same values. They are gauges: a purge lowers counts of rows.

    Without a database, only that it is away: whoever is called at night needs the counts of the process all the more. While a lock holds
    the rows, that it is there.
    """
    try:
        return [_up(1), *_server_connections(), *_times(), *_counts()]
    except (DatabaseError, InterfaceError) as error:
        return [_up(int(faults.ends_one_statement(error)))]


def _server_connections() -> Families:
    if connection.vendor == "postgresql":
        used, allowed = connections.of_server()
        yield GaugeMetricFamily("chatui_postgresql_connections", "Connections to PostgreSQL, of whatever program.", used)
        yield GaugeMetricFamily("chatui_postgresql_connections_limit", "How many the server allows the product.", allowed)


def _times() -> Families:
    for name, action in (("purge", system.PURGE_ENDED), ("backup", system.BACKUP_ENDED)):
        at = AuditEvent.objects.filter(action=action).order_by("-number").values_list("at", flat=True).first()
        seconds = at.timestamp() if at else 0
        yield GaugeMetricFamily(f"chatui_last_{name}_timestamp_seconds", f"When the last {name} ended, as Unix time; 0: never.", seconds)


def _counts() -> Families:
    turns = dict(Turn.objects.values_list("state").annotate(count=Count("pk")).order_by())
    yield _gauge("chatui_turns", "Stored turns, by state.", "state", {state: turns.get(state, 0) for state in TurnState.values})
    alive = Turn.objects.filter(state=TurnState.RUNNING, lease_until__gte=connections.now()).count()
    yield GaugeMetricFamily("chatui_turns_alive", "Turns that are running now.", alive)
    sums = Turn.objects.aggregate(input=Sum("input_tokens"), output=Sum("output_tokens"))
    tokens = {direction: sums[direction] or 0 for direction in ("input", "output")}
    yield _gauge("chatui_tokens", "Tokens of the stored turns, as the model servers counted them.", "direction", tokens)
    refused = AuditEvent.objects.filter(code=Code.PERM_VISIBILITY).count()
    yield GaugeMetricFamily("chatui_refused_looks", "Audit log lines about refused attempts to see hidden channels.", refused)
    found = transcripts.problem_counts()
    problems = {code.value: found.get(code, 0) for code in (*Code, *ProductCode)}
    yield _gauge("chatui_frames_with_problems", "Stored frames with a problem, by error code.", "code", problems)


def _up(value: int) -> GaugeMetricFamily:
    return GaugeMetricFamily("chatui_database_up", "Whether the database answered; if not, the counts of its rows are left out.", value)


def _gauge(name: str, description: str, label: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, description, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family
