"""Sends spans to the operator's collector with OpenTelemetry, from a background thread.

If the collector is unavailable, slow or hostile, only spans are lost, and one line is logged: the queue is bounded, response bodies are not
read, and redirects are not followed.
"""

from __future__ import annotations

import logging
import threading
import time
from asyncio import CancelledError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any, get_args

import requests
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from chatui import program
from chatui.observability.measures import NAMES, Kind, Span, SpanAttributes

log = logging.getLogger(__name__)

MAX_WAITING = 2048
"""The most spans in the queue. If it is full, a new span replaces the oldest."""
MAX_AT_ONCE = 256
PAUSE_SECONDS = 2.0
"""How long spans are collected before they are sent together."""
SEND_SECONDS = 5.0
LATE_SECONDS = 15.0
"""A request that takes longer than this hangs: SEND_SECONDS starts again with each byte of the response."""
MAX_CHARS = 200

_KINDS = {kind: trace.SpanKind[kind.upper()] for kind in get_args(Kind)}


class Collector:
    """The tracer that sends its spans. Call ``stop`` once, when the process ends."""

    def __init__(self, url: str, headers: Mapping[str, str], share: float, *, propagates_to_model_servers: bool) -> None:
        """``url`` includes the path. ``share``: which part of the traces is sent, from 0 to 1."""
        # These loggers report every failed attempt, and quote the collector's response.
        for name in ("opentelemetry", "urllib3"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        inner = OTLPSpanExporter(url, headers=dict(headers), timeout=SEND_SECONDS, session=_Session())
        self._exporter = MonitoredExporter(inner)
        resource = Resource.create({"service.name": "chatui", "service.version": program.version()})
        self._provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(share)), resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(_Processor(self._exporter))
        self._tracer = self._provider.get_tracer("chatui", program.version())
        self._propagator = TraceContextTextMapPropagator() if propagates_to_model_servers else None

    @contextmanager
    def span(self, name: str, kind: Kind, attributes: SpanAttributes) -> Iterator[Span]:
        # An exception's message may quote hidden text, so OpenTelemetry is not to record it.
        opened = self._tracer.start_as_current_span(name, kind=_KINDS[kind], record_exception=False, set_status_on_exception=False)
        with opened as inner:
            measured = _Measured(inner)
            measured.set_attributes(**attributes)
            try:
                yield measured
            except (CancelledError, GeneratorExit):
                raise  # somebody pressed Stop, or disconnected
            except BaseException as error:
                inner.set_attribute("error.type", type(error).__name__)
                inner.set_status(trace.StatusCode.ERROR)
                raise

    def current(self) -> Span:
        return _Measured(trace.get_current_span())

    def headers(self) -> Mapping[str, str]:
        carrier: dict[str, str] = {}
        if self._propagator is not None:
            self._propagator.inject(carrier)
        return carrier

    def stop(self, seconds: float) -> None:
        # In a thread, because the provider itself would wait for half a minute.
        ending = threading.Thread(target=self._provider.shutdown, name="traces end", daemon=True)
        ending.start()
        ending.join(seconds)


class _Measured(Span):
    def __init__(self, inner: trace.Span) -> None:
        self._inner = inner

    def set_attributes(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            if value is not None and value != "":
                self._inner.set_attribute(NAMES[name], value if isinstance(value, int | float) else str(value)[:MAX_CHARS])
        if attributes.get("code") or attributes.get("response_status", 0) >= 500:
            self._inner.set_status(trace.StatusCode.ERROR)


class MonitoredExporter(SpanExporter):
    """Passes batches on, and logs when the collector becomes unavailable and when it is available again."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self._sending_since: float | None = None
        self._away_since: float | None = None
        self._lost = 0
        self._lock = threading.Lock()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._sending_since = time.monotonic()
        try:
            result = self._inner.export(spans)
        except Exception:  # noqa: BLE001 - whatever error a collector can cause here, only spans may be lost
            result = SpanExportResult.FAILURE
        self._sending_since = None
        if result is SpanExportResult.SUCCESS:
            self._report_back()
        else:
            self._lost += len(spans)
            self._report_away("it does not accept them")
        return result

    def check_for_hang(self) -> None:
        """Notice a collector whose response never ends."""
        since = self._sending_since
        if since is not None and time.monotonic() - since > LATE_SECONDS:
            self._report_away("it does not finish its response")

    def _report_away(self, why: str) -> None:
        with self._lock:
            if self._away_since is not None:
                return
            self._away_since = time.monotonic()
        log.warning("the collector of traces is away (%s): spans are dropped until it is back; answers are not affected", why)

    def _report_back(self) -> None:
        with self._lock:
            since, self._away_since = self._away_since, None
        if since is not None:
            log.info("the collector of traces is back after %.0f s; at least %d spans were dropped", time.monotonic() - since, self._lost)
            self._lost = 0

    def shutdown(self) -> None:
        self._inner.shutdown()


class _Processor(BatchSpanProcessor):
    """OpenTelemetry's processor, which also checks at each span whether the collector hangs."""

    def __init__(self, exporter: MonitoredExporter) -> None:
        super().__init__(exporter, MAX_WAITING, PAUSE_SECONDS * 1000, MAX_AT_ONCE, SEND_SECONDS * 1000)
        self._monitored = exporter

    def on_end(self, span: ReadableSpan) -> None:
        self._monitored.check_for_hang()
        super().on_end(span)


class _Session(requests.Session):
    """Reads only the head of a response, stores no cookies, and ignores proxies and passwords in the environment."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))

    def request(self, *args: Any, **options: Any) -> requests.Response:
        response = super().request(*args, **(options | {"stream": True, "allow_redirects": False}))
        response.close()
        if not response.ok or response.is_redirect:
            response.headers.pop("retry-after", None)  # the next batch tries again anyway
        if response.is_redirect:
            response.status_code = HTTPStatus.BAD_GATEWAY  # OpenTelemetry would treat a redirect as success
        return response
