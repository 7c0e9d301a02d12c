"""Writes metrics in Prometheus's format: this process's measurements, and counts from the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def _gauge(name: str, description: str, label: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, description, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family
