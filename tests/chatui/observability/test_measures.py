"""What is counted for ``/metrics``: nothing if no token is configured."""

from __future__ import annotations

import pytest
from prometheus_client import Counter, Gauge, Histogram

from chatui.observability import measures


def test_work_is_counted_with_a_token() -> None:
    assert isinstance(measures.TURNS, Counter) and isinstance(measures.SOCKETS, Gauge) and isinstance(measures.TURN_SECONDS, Histogram)
    before = measures.registry().get_sample_value("chatui_sockets") or 0.0
    measures.SOCKETS.inc()
    assert measures.registry().get_sample_value("chatui_sockets") == before + 1
    measures.SOCKETS.dec()


def test_nothing_is_counted_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_METRICS_TOKEN", "")
    counter, gauge = measures._metric("Counter", "chatui_a", "A.", ["kind"]), measures._metric("Gauge", "chatui_b", "B.", ())
    histogram = measures._metric("Histogram", "chatui_c", "C.", ["kind"], buckets=[1.0])
    assert {type(metric).__name__ for metric in (counter, gauge, histogram)} == {"NotCounted"}
    counter.labels("x").inc()
    counter.labels("x").inc(3)
    gauge.inc()
    gauge.dec()
    histogram.labels("x").observe(0.5)
    assert "chatui_a" not in {family.name for family in measures.registry().collect()}
