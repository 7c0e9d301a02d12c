"""A process that is short of time reads less often."""

from __future__ import annotations

import pytest

from chatui.backends.http1.pace import Pace


def test_a_busy_process_reads_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"monotonic": 100.0, "process_time": 10.0}
    for clock in now:
        monkeypatch.setattr(f"time.{clock}", lambda clock=clock: now[clock])
    pace = Pace()
    factors = []
    for share in (0.0, 0.1, 0.4, 1.0, 0.0):
        now["monotonic"] += 1
        now["process_time"] += share
        factors.append(pace.factor())
    assert factors[0] == factors[1] == factors[4] == 1
    assert 1 < factors[2] < factors[3] == 2
