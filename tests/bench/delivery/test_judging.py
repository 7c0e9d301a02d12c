"""Ratios of a run are compared with the committed ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.delivery import judging, report
from tests.bench.delivery.figures import Figure, bytes_per_token, cpu_per_flush, cpu_per_token, cpu_per_turn, middle
from tests.bench.delivery.judging import Committed, judge, settle
from tests.bench.delivery.load.job import Outcome


def figure(product: float, relay: float | None = 2.0, *, is_more_better: bool = False, is_judged: bool = True) -> Figure:
    values = {"product": product} if relay is None else {"product": product, "relay": relay}
    return Figure("cpu", "CPU", "s", values, is_more_better, is_judged)


def test_a_ratio_is_a_multiple_of_the_bare_relays() -> None:
    assert figure(3.0).ratio == 1.5


def test_latencies_are_multiples_of_the_floors() -> None:
    values = {"product": 60.0, "relay": 1.0, "floor": 30.0}
    assert Figure("p50", "latency", "ms", values, base="floor").ratio == 2.0


def test_what_relays_do_not_have_is_its_own_ratio() -> None:
    assert figure(41.0, None).ratio == 41.0


def test_there_is_no_ratio_to_nothing() -> None:
    assert figure(1.0, 0.0).ratio is None


@pytest.mark.parametrize(
    ("product", "is_worse", "is_better"), [(4.5, True, False), (4.3, False, False), (3.7, False, False), (3.5, False, True)]
)
def test_a_cost_is_worse_when_it_grew_by_more_than_the_margin(product: float, is_worse: bool, is_better: bool) -> None:
    verdict = judge(figure(product), Committed(2.0, 0.1))
    assert verdict is not None
    assert (verdict.is_worse, verdict.is_better) == (is_worse, is_better)


@pytest.mark.parametrize(
    ("product", "is_worse", "is_better"), [(3.5, True, False), (3.7, False, False), (4.3, False, False), (4.5, False, True)]
)
def test_a_number_of_streams_is_worse_when_it_fell_by_more_than_the_margin(product: float, is_worse: bool, is_better: bool) -> None:
    verdict = judge(figure(product, is_more_better=True), Committed(2.0, 0.1))
    assert verdict is not None
    assert (verdict.is_worse, verdict.is_better) == (is_worse, is_better)


def test_no_stream_at_all_is_worse() -> None:
    verdict = judge(figure(0.0, is_more_better=True), Committed(2.0, 0.1))
    assert verdict is not None
    assert verdict.is_worse


def test_what_was_not_committed_or_was_disturbed_is_not_judged() -> None:
    assert judge(figure(9.0), Committed(2.0, 0.1)) is not None
    assert judge(figure(9.0), None) is None
    assert judge(figure(9.0, is_judged=False), Committed(2.0, 0.1)) is None


def test_the_committed_ratio_is_the_middle_of_some_runs_and_its_margin_covers_them_all() -> None:
    committed = settle([[figure(2.0)], [figure(4.0)], [figure(3.0)]])["cpu"]
    assert committed.ratio == 1.5
    assert committed.margin == pytest.approx(0.75), "one and a half times the 50 % between 2 and 3"
    assert all(not verdict.is_worse for value in (2.0, 3.0, 4.0) if (verdict := judge(figure(value), committed)))


def test_runs_that_agree_leave_a_margin_nevertheless() -> None:
    assert settle([[figure(3.0)]] * 3)["cpu"] == Committed(1.5, judging.MIN_MARGIN)


def test_a_disturbed_run_settles_nothing() -> None:
    assert settle([[figure(2.0)], [figure(9.0, is_judged=False)]])["cpu"].ratio == 1.0


def test_what_was_not_measured_stays_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "committed.json"
    place.write_text("{}")
    monkeypatch.setattr(judging, "COMMITTED", place)
    judging.write("sqlite", {"cpu": Committed(1.0, 0.1), "p99": Committed(2.0, 0.2)})
    judging.write("sqlite", {"cpu": Committed(0.5, 0.1)})
    judging.write("services", {"cpu": Committed(3.0, 0.3)})
    assert judging.read("sqlite") == {"cpu": Committed(0.5, 0.1), "p99": Committed(2.0, 0.2)}
    assert judging.read("services") == {"cpu": Committed(3.0, 0.3)}
    assert judging.read("elsewhere") == {}


def test_the_committed_file_can_be_read() -> None:
    stores = json.loads(judging.COMMITTED.read_text())
    assert "sqlite" in stores
    for store in stores:
        assert all(committed.ratio > 0 and committed.margin >= judging.MIN_MARGIN for committed in judging.read(store).values())


def test_costs_are_told_per_token_per_turn_and_per_frame() -> None:
    found = Outcome(cpu=2.0, turns=10, tokens=4_000, frames=500, received=100_000)
    assert (cpu_per_token(found), cpu_per_turn(found), bytes_per_token(found)) == (0.5, 200.0, 25.0)
    # Of 2 s, ten turns of 50 ms are no streaming.
    assert cpu_per_flush({"product": [found]}, {"product": 50.0}) == {"product": 3.0}


def test_the_middle_of_several_rounds_counts() -> None:
    rounds = [Outcome(tokens=1, cpu=cpu) for cpu in (0.001, 0.009, 0.002)]
    assert middle({"product": rounds, "relay": []}, cpu_per_token) == {"product": 2.0}


@pytest.mark.parametrize(
    ("product", "expected"), [(8.0, "2.00 ±10%  WORSE"), (4.0, "2.00 ±10%"), (1.0, "2.00 ±10%  better")], ids=["worse", "same", "better"]
)
def test_a_line_says_what_was_committed(product: float, expected: str) -> None:
    shown = figure(product)
    assert report.line(shown, ["relay", "product"], judge(shown, Committed(2.0, 0.1))).endswith(expected)


def test_a_line_of_a_disturbed_figure_says_that_it_is_not_judged() -> None:
    assert "not judged" in report.line(figure(8.0, is_judged=False), ["relay", "product"], None)
