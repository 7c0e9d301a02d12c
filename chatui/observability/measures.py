"""The counters and timers of this process, for ``/metrics``, and spans of the product's work, for the operator's collector of traces.

Counters contain no ids, no names and no content. Without a token nobody can read ``/metrics``. Spans have ids, codes, counts and seconds
only. If tracing is off, they are discarded, OpenTelemetry is not loaded, and a span costs one global lookup.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Literal, Protocol, TypedDict, TypeVar, Unpack
from uuid import UUID

import prometheus_client
from prometheus_client import CollectorRegistry, ProcessCollector

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
_counter = partial(prometheus_client.Counter, registry=REGISTRY)
_histogram = partial(prometheus_client.Histogram, registry=REGISTRY)

_SHORT = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_REQUEST = (0.03, 0.1, 0.3, 1, 3, 10, 30)
_LONG = (0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800)

TURNS = _counter("chatui_turns_ended", "Turns that ended.", ["backend", "state", "code"])
TURN_SECONDS = _histogram("chatui_turn_seconds", "From the question until the answer was stored.", ["backend"], buckets=_LONG)
FIRST_TOKEN_SECONDS = _histogram(
    "chatui_first_token_seconds",
    "From a request to a model server until it wrote something, hidden or not.",
    ["backend"],
    buckets=_LONG,
)
QUEUE_SECONDS = _histogram("chatui_queue_seconds", "How long answers waited for a slot of this process.", buckets=_LONG)
DATABASE_SECONDS = _histogram(
    "chatui_database_seconds", "From asking the database until it was done, by kind of work.", ["work"], buckets=_SHORT
)
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
SOCKETS = prometheus_client.Gauge("chatui_sockets", "Open sockets of people who are signed in.", registry=REGISTRY)
SIGN_INS = _counter("chatui_sign_ins", "Attempts to sign in.", ["outcome"])
BLOCKED_ADDRESSES = _counter(
    "chatui_blocked_addresses", "Addresses and networks whose guesses at secrets began to have to wait, by kind of secret.", ["kind"]
)
GUESSES_COUNTED_TOGETHER = prometheus_client.Gauge(
    "chatui_guesses_counted_together",
    "1 if all processes count guesses at secrets together, 0 while the cache is away and this one counts for itself.",
    registry=REGISTRY,
)
GUESSES_COUNTED_TOGETHER.set(1)
ERROR_PAGES = _counter("chatui_error_pages", "Error pages and refusals, by their code.", ["code", "status"])
WAITING = prometheus_client.Gauge("chatui_turns_waiting", "Questions that wait for a slot of this process now.", registry=REGISTRY)
REQUEST_SECONDS = _histogram(
    "chatui_http_request_duration_seconds",
    "From a request until its response began. kind: page, api, static, or socket, until it was accepted or refused. status: 2xx and so on.",
    ["kind", "status"],
    buckets=_REQUEST,
)
LOOP_LAG_SECONDS = _histogram(
    "chatui_event_loop_lag_seconds", "How late the event loop began what was due, seen once a second.", buckets=_SHORT
)
LOOP_SECONDS = 1.0
"""How often the event loop is seen to be late."""
_latest_lags: deque[float] = deque((0.0,), maxlen=10)

RequestKind = Literal["page", "api", "static", "socket"]
Measure = TypeVar("Measure", prometheus_client.Counter, prometheus_client.Histogram)


def count_request(kind: RequestKind, status: int, begun: float) -> None:
    """Count a request to which this HTTP status is the answer. ``begun``: the time of ``time.perf_counter``."""
    labelled(REQUEST_SECONDS, kind, f"{status // 100}xx").observe(time.perf_counter() - begun)


@cache
def labelled(measure: Measure, *values: str) -> Measure:
    """The counter or timer for these values of its labels. There are as many as ``/metrics`` has lines: to look one up by itself takes
    longer than to count."""
    return measure.labels(*values)


def watch_loop() -> None:
    """Measure the lag of the running event loop from now on."""
    loop = asyncio.get_running_loop()

    def look(due: float) -> None:
        now = loop.time()
        _latest_lags.append(max(0.0, now - due))
        LOOP_LAG_SECONDS.observe(_latest_lags[-1])
        loop.call_at(now + LOOP_SECONDS, look, now + LOOP_SECONDS)

    loop.call_soon(look, loop.time())


def worst_lag() -> float:
    """The most seconds that the event loop was late, of the last ten times that it was seen."""
    return max(_latest_lags)


Kind = Literal["server", "client", "internal"]


class SpanAttributes(TypedDict, total=False):
    """The attributes that a span may have. None is written by a person, a model or a model server, and none is a URL with the id of a
    link.
    """

    turn: UUID
    conversation: UUID
    backend: str
    """The operator's name for the model server."""
    state: str
    code: str
    status: str
    """The HTTP status of a model server's response; empty if there was none."""
    first_token_seconds: float
    input_tokens: int | None
    output_tokens: int | None
    tool: str
    method: str
    route: str
    """The URL pattern, such as c/<uuid:conversation_id>/, never the URL itself."""
    response_status: int
    """The HTTP status of our own response."""


NAMES: Mapping[str, str] = {
    "turn": "chatui.turn.id",
    "conversation": "chatui.conversation.id",
    "backend": "chatui.backend",
    "state": "chatui.turn.state",
    "code": "chatui.code",
    "status": "chatui.model_server.status",
    "first_token_seconds": "chatui.first_token_seconds",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "tool": "gen_ai.tool.name",
    "method": "http.request.method",
    "route": "http.route",
    "response_status": "http.response.status_code",
}
"""The attribute names for the collector: those of OpenTelemetry's conventions, if there are any."""


class Span:
    """A measured piece of work. This base class discards everything."""

    def set_attributes(self, **attributes: Unpack[SpanAttributes]) -> None: ...


class Tracer(Protocol):
    """Measures spans, and sends them until it is stopped: ``collector``, which is not loaded if tracing is off."""

    def span(self, name: str, kind: Kind, attributes: SpanAttributes) -> AbstractContextManager[Span]: ...
    def current(self) -> Span: ...
    def headers(self) -> Mapping[str, str]: ...
    def stop(self, seconds: float) -> None: ...


_DISCARDED = Span()
_tracer: Tracer | None = None


def set_tracer(tracer: Tracer | None) -> Tracer | None:
    """Use this tracer from now on; with None, tracing is off. Returns the one before."""
    global _tracer
    before, _tracer = _tracer, tracer
    return before


def is_tracing() -> bool:
    return _tracer is not None


def span(name: str, kind: Kind = "internal", **attributes: Unpack[SpanAttributes]) -> AbstractContextManager[Span]:
    """Measure the ``with`` block, inside the current span. An exception in it is recorded by the name of its class, and propagates."""
    return nullcontext(_DISCARDED) if _tracer is None else _tracer.span(name, kind, attributes)


def current_span() -> Span:
    return _DISCARDED if _tracer is None else _tracer.current()


def trace_headers() -> Mapping[str, str]:
    """Headers that tell a model server to which span a request belongs; empty unless CHATUI_TRACES_TO_MODEL_SERVERS is on."""
    return {} if _tracer is None else _tracer.headers()
