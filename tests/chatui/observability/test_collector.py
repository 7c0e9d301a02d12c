"""Spans reach a collector by OTLP over HTTP; one that is unavailable, slow or hostile delays nobody and causes one log line."""

import itertools
import logging
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from uuid import uuid4

import pytest
from opentelemetry.sdk.trace import TracerProvider

from chatui.observability import measures
from chatui.observability.collector import Collector
from tests.chatui.observability.peer import (
    Way,
    attributes_of,
    collecting,
    drips,
    fails,
    floods,
    garbage,
    hangs,
    redirects,
    refuses_at_length,
    takes,
)
from tests.support.limits import set_limits
from tests.support.spans import send_spans_to

SECRET = "what a model wrote"


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    set_limits(monkeypatch, "chatui.observability", PAUSE_SECONDS=0.05)
    set_limits(monkeypatch, "chatui.observability", SEND_SECONDS=0.15)
    set_limits(monkeypatch, "chatui.observability", LATE_SECONDS=0.25)
    yield
    send_spans_to(None)


def start(url: str, *, propagates_to_model_servers: bool = False, share: float = 1.0) -> Collector:
    collector = Collector(url, {"X-Key": "of the operator"}, share, propagates_to_model_servers=propagates_to_model_servers)
    send_spans_to(collector)
    return collector


def test_a_span_has_only_allowed_attributes_and_the_current_span_as_parent() -> None:
    turn = uuid4()
    with collecting() as peer:
        sender = start(peer.url)
        with measures.span("turn", turn=turn) as outer:
            with measures.span("sampling", "client", backend="main") as inner:
                inner.set_attributes(first_token_seconds=0.5, input_tokens=3, output_tokens=None, code="")
            measures.current_span().set_attributes(state="completed")
            outer.set_attributes(output_tokens=4)
        sender.stop(10)
        inside, around = peer.spans
        [(path, headers, _)] = peer.requests
    assert (path, headers["x-key"], headers["content-type"]) == ("/v1/traces", "of the operator", "application/x-protobuf")
    assert inside.parent_span_id == around.span_id and inside.trace_id == around.trace_id and not around.parent_span_id
    assert attributes_of(inside) == {"chatui.backend": "main", "chatui.first_token_seconds": 0.5, "gen_ai.usage.input_tokens": 3}
    assert attributes_of(around) == {"chatui.turn.id": str(turn), "chatui.turn.state": "completed", "gen_ai.usage.output_tokens": 4}
    assert inside.end_time_unix_nano >= inside.start_time_unix_nano


def test_an_exception_is_recorded_by_its_class_alone() -> None:
    with collecting() as peer:
        sender = start(peer.url)
        with pytest.raises(ValueError, match=SECRET), measures.span("tool call", tool="wiki_search"):
            raise ValueError(SECRET)
        sender.stop(10)
        [span] = peer.spans
    assert (
        attributes_of(span) == {"gen_ai.tool.name": "wiki_search", "error.type": "ValueError"}
        and span.status.code == span.status.STATUS_CODE_ERROR
    )
    assert not span.events and SECRET.encode() not in peer.raw


def test_the_trace_is_propagated_to_a_model_server_only_if_the_operator_allows_it() -> None:
    with collecting() as peer:
        sender = start(peer.url)
        with measures.span("turn"):
            assert measures.trace_headers() == {}
        sender.stop(10)
        sender = start(peer.url, propagates_to_model_servers=True)
        with measures.span("turn"):
            header = measures.trace_headers()["traceparent"]
        sender.stop(10)
        assert peer.spans[-1].trace_id.hex() in header and peer.spans[-1].span_id.hex() in header


def test_a_share_of_none_sends_nothing() -> None:
    with collecting() as peer:
        sender = start(peer.url, share=0)
        with measures.span("turn"):
            pass
        sender.stop(10)
        assert peer.requests == []


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.slow
@pytest.mark.parametrize("way", [redirects, drips, garbage])
def test_a_failing_collector_delays_nobody_and_is_reported_once(way: Way, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with collecting(way) as peer:
        sender = start(peer.url)
        slowest, until, latest = 0.0, time.monotonic() + 0.9, time.monotonic() + 60
        # On a busy machine the sending thread may take longer than these to notice.
        while time.monotonic() < until or (not warnings_in(caplog) and time.monotonic() < latest):
            started = time.monotonic()
            for _ in range(100):
                with measures.span("turn", turn=uuid4()):
                    pass
            slowest = max(slowest, time.monotonic() - started)
            time.sleep(0.05)
        started = time.monotonic()
        sender.stop(0.3)
        assert time.monotonic() - started < 20, "the process does not wait for the half minute that OpenTelemetry would"
        assert {path for path, _, _ in peer.requests} == {"/v1/traces"}, "no redirect is followed"
        # Not later: a response that drips ends when the collector does, and the next one is another outage.
        lines = warnings_in(caplog)
    assert slowest < 15, "a hundred spans that wait for the collector would take half a minute"
    [line] = lines
    assert line.name == "chatui.observability.collector" and "away" in line.getMessage()


def test_an_unavailable_collector_is_reported_when_it_fails_and_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with collecting(fails) as peer:
        sender = start(peer.url)
        for number in range(20):
            with measures.span("turn"):
                pass
            time.sleep(0.05)
            if number == 10:
                peer.way = takes
        sender.stop(10)
    away, back = [record.getMessage() for record in caplog.records]
    assert "is away" in away and "is back" in back


def test_the_queue_of_spans_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.observability", MAX_WAITING=500)
    with collecting(hangs) as peer:
        sender = start(peer.url)
        for _ in range(5000):
            with measures.span("turn"):
                pass
        processor = sender._provider._active_span_processor._span_processors[0]
        assert isinstance(sender._provider, TracerProvider) and len(processor._batch_processor._queue) <= 500  # type: ignore[attr-defined]
        sender.stop(0.1)


@pytest.mark.parametrize("way", [floods, refuses_at_length], ids=["taken", "refused"])
def test_the_body_of_an_answer_is_not_read(way: Way, caplog: pytest.LogCaptureFixture) -> None:
    with collecting(way) as peer:
        sender = start(peer.url)
        with measures.span("turn"):
            pass
        sender.stop(60)
        assert peer.requests and sum(peer.written) < 50_000_000, "no more than the buffers on the way hold"
    assert len(caplog.records) == (way is not floods), "a collector that says 200 has taken them"


_numbers = itertools.count()


def cookies(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    for _ in range(50):
        handler.send_header("Set-Cookie", f"c{next(_numbers)}={'x' * 4000}; Path=/")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def test_cookies_are_neither_stored_nor_sent_back() -> None:
    with collecting(cookies) as peer:
        sender = start(peer.url)
        until = time.monotonic() + 20
        while len(peer.requests) < 3 and time.monotonic() < until:
            with measures.span("turn"):
                pass
            time.sleep(0.05)
        sender.stop(10)
        assert len(peer.requests) >= 3
        assert not any("cookie" in headers for _, headers, _ in peer.requests)
