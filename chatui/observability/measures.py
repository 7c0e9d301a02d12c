"""The counters and timers of this process, for ``/metrics``. They contain no ids, no names and no content.

Without a token nobody can read ``/metrics``. Then nothing is counted, and prometheus_client, which takes 1 MB, is not loaded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class NotCounted:
    """Stands for a counter, gauge or histogram, and does nothing."""

    def labels(self, *_: str) -> Self:
        """See Prometheus."""
        return self

    def inc(self, _: float = 1) -> None:
        """See Prometheus."""

    def dec(self, _: float = 1) -> None:
        """See Prometheus."""

    def observe(self, _: float) -> None:
        """See Prometheus."""


@cache
def registry() -> CollectorRegistry:
    """All metrics of this process."""
    from prometheus_client import CollectorRegistry, ProcessCollector

    found = CollectorRegistry()
    ProcessCollector(registry=found)
    return found


def _metric(kind: str, name: str, description: str, labels: Sequence[str], **options: Any) -> Any:
    # Not from the settings: backends count as well, and know no Django.
    if not any(value for variable, value in os.environ.items() if variable.upper() == "CHATUI_METRICS_TOKEN"):
        return NotCounted()
    import prometheus_client

    return getattr(prometheus_client, kind)(name, description, labels, registry=registry(), **options)


def _counter(name: str, description: str, labels: Sequence[str]) -> Counter:
    metric: Counter = _metric("Counter", name, description, labels)
    return metric


def _gauge(name: str, description: str) -> Gauge:
    metric: Gauge = _metric("Gauge", name, description, ())
    return metric


def _histogram(name: str, description: str, labels: Sequence[str], buckets: Sequence[float]) -> Histogram:
    metric: Histogram = _metric("Histogram", name, description, labels, buckets=buckets)
    return metric


_SHORT = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_LONG = (0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800)

TURNS = _counter("chatui_turns_ended", "Turns that ended.", ["backend", "state", "code"])
TURN_SECONDS = _histogram("chatui_turn_seconds", "From the question until the answer was stored.", ["backend"], _LONG)
FIRST_TOKEN_SECONDS = _histogram(
    "chatui_first_token_seconds",
    "From a request to a model server until it wrote something, hidden or not.",
    ["backend"],
    _LONG,
)
QUEUE_SECONDS = _histogram("chatui_queue_seconds", "How long answers waited for a slot of this process.", (), _LONG)
DATABASE_SECONDS = _histogram("chatui_database_seconds", "From asking the database until it was done, by kind of work.", ["work"], _SHORT)
MODEL_SERVER_ERRORS = _counter(
    "chatui_model_server_errors",
    "Requests that a model server failed, after all attempts. status: of HTTP, or empty.",
    ["backend", "code", "status"],
)
ANSWERS_READ = _counter(
    "chatui_model_answers",
    "Answers of model servers: read as structured, plain or unproven, and whether something in them was withheld (yes or no).",
    ["backend", "separation", "withheld"],
)
TOKENS = _counter("chatui_model_tokens", "Tokens, as the model servers counted them.", ["backend", "direction"])
SOCKETS = _gauge("chatui_sockets", "Open sockets of people who are signed in.")
SIGN_INS = _counter("chatui_sign_ins", "Attempts to sign in.", ["outcome"])
ERROR_PAGES = _counter("chatui_error_pages", "Error pages and refusals, by their code.", ["code", "status"])
