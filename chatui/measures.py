"""The counters and timers of this process, for ``/metrics``. They contain no ids, no names and no content."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

_SHORT = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_LONG = (0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800)

TURNS = Counter("chatui_turns_ended", "Turns that ended.", ["backend", "state", "code"], registry=REGISTRY)
TURN_SECONDS = Histogram(
    "chatui_turn_seconds", "From the question until the answer was stored.", ["backend"], buckets=_LONG, registry=REGISTRY
)
FIRST_TOKEN_SECONDS = Histogram(
    "chatui_first_token_seconds",
    "From a request to a model server until it wrote something, hidden or not.",
    ["backend"],
    buckets=_LONG,
    registry=REGISTRY,
)
QUEUE_SECONDS = Histogram("chatui_queue_seconds", "How long answers waited for a slot of this process.", buckets=_LONG, registry=REGISTRY)
DATABASE_SECONDS = Histogram(
    "chatui_database_seconds", "From asking the database until it was done, by kind of work.", ["work"], buckets=_SHORT, registry=REGISTRY
)
MODEL_SERVER_ERRORS = Counter(
    "chatui_model_server_errors",
    "Requests that a model server failed, after all attempts. status: of HTTP, or empty.",
    ["backend", "code", "status"],
    registry=REGISTRY,
)
TOKENS = Counter("chatui_model_tokens", "Tokens, as the model servers counted them.", ["backend", "direction"], registry=REGISTRY)
SUMMARY_LINES_DROPPED = Counter("chatui_summary_lines_dropped", "Lines of summaries that were not shown.", ["reason"], registry=REGISTRY)
SOCKETS = Gauge("chatui_sockets", "Open sockets of people who are signed in.", registry=REGISTRY)
SIGN_INS = Counter("chatui_sign_ins", "Attempts to sign in.", ["outcome"], registry=REGISTRY)
ERROR_PAGES = Counter("chatui_error_pages", "Error pages and refusals, by their code.", ["code", "status"], registry=REGISTRY)
