"""Writes metrics in Prometheus's format: this process's measurements, and counts from the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Count, Sum
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from chatui.codes import ProductCode
from chatui.models.audit import AuditEvent
from chatui.models.turn import Turn, TurnState
from chatui.observability import measures
from chatui.store import transcripts
from renderer.errors import Code


def text() -> str:
    """All metrics, in Prometheus's text format."""
    stored = CollectorRegistry()
    stored.register(StoredCounts())
    return generate_latest(measures.REGISTRY).decode() + generate_latest(stored).decode()


class StoredCounts(Collector):
    """Counts of rows in the database. They are gauges: a purge lowers them, and every process reports the same values."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The counts; without a database, only that it is away: whoever is called at night needs the counts of the process all the more."""
        try:
            with transaction.atomic():
                if connection.vendor == "postgresql":
                    with connection.cursor() as cursor:
                        cursor.execute("SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '5s'")
                found = [_up(1), *self._counts()]
        except (DatabaseError, InterfaceError):
            found = [_up(0)]
        return found

    def _counts(self) -> Iterable[GaugeMetricFamily]:
        turns = dict(Turn.objects.values_list("state").annotate(count=Count("pk")).order_by())
        yield _gauge("chatui_turns", "Stored turns, by state.", "state", {state: turns.get(state, 0) for state in TurnState.values})
        alive = Turn.objects.filter(state=TurnState.RUNNING, lease_until__gte=timezone.now()).count()
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
