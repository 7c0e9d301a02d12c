"""The metrics for a monitoring system, in Prometheus's format. They are counts only: no id, no name, no content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.db.models import Count, Sum
from django.utils import timezone

from chatui.codes import ProductCode
from chatui.models import AuditEvent, Turn
from chatui.models.turn import TurnState
from chatui.store import transcripts
from renderer.errors import Code


def text() -> str:
    """All counts in Prometheus's text format. They are gauges: they count what the database holds, and a purge lowers them."""
    return "".join(f"{line}\n" for line in (*_turns(), *_tokens(), *_attempts(), *_problems()))


def _turns() -> Iterator[str]:
    counts = dict(Turn.objects.values_list("state").annotate(count=Count("pk")).order_by())
    yield from _gauge(
        "chatui_turns", "Stored turns, by state.", {f'{{state="{state}"}}': counts.get(state, 0) for state in TurnState.values}
    )
    alive = Turn.objects.filter(state=TurnState.RUNNING, lease_until__gte=timezone.now()).count()
    yield from _gauge("chatui_turns_alive", "Turns that are running now.", {"": alive})


def _tokens() -> Iterator[str]:
    sums = Turn.objects.aggregate(input=Sum("input_tokens"), output=Sum("output_tokens"))
    by_direction = {f'{{direction="{direction}"}}': sums[direction] or 0 for direction in ("input", "output")}
    yield from _gauge("chatui_tokens", "Tokens of the stored turns, as the model servers counted them.", by_direction)


def _attempts() -> Iterator[str]:
    count = AuditEvent.objects.filter(code=Code.PERM_VISIBILITY).count()
    yield from _gauge("chatui_refused_looks", "Lines of the audit log about refused attempts to see hidden channels.", {"": count})


def _problems() -> Iterator[str]:
    counts = transcripts.problem_counts()
    by_code = {f'{{code="{code}"}}': counts.get(code, 0) for code in (*Code, *ProductCode)}
    yield from _gauge("chatui_frames_with_problems", "Stored frames with a problem, by error code.", by_code)


def _gauge(name: str, says: str, values: Mapping[str, int]) -> Iterator[str]:
    yield f"# HELP {name} {says}"
    yield f"# TYPE {name} gauge"
    yield from (f"{name}{labels} {value}" for labels, value in values.items())
