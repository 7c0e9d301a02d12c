"""A turn, a program's answer and a page call no more functions, statements and writes than is committed. No quiet machine is needed."""

import pytest

from tests.bench.delivery import judging, processes
from tests.bench.delivery.measuring import statements


@pytest.mark.served
def test_what_is_counted_is_no_more_than_committed() -> None:
    stores = processes.Stores()
    with processes.model_server() as upstream, processes.product(upstream, 1, stores, is_counted=True) as target:
        figures = list(statements(target, turns=7))
    committed = judging.read(stores.name)
    assert {figure.key for figure in figures} <= set(committed), "the premise: each has a committed count"
    verdicts = {figure.key: judging.judge(figure, committed[figure.key]) for figure in figures}
    worse = {
        key: f"{verdict.change:+.0%} of {verdict.committed.ratio}" for key, verdict in verdicts.items() if verdict and verdict.is_worse
    }
    assert not worse, f"{worse}: make it cheaper, or commit the new counts: python -m tests.bench.delivery --only statements --commit 3"
