"""The benchmark itself, in small: every server that it measures answers, and each word arrives once."""

import contextlib

import pytest

from tests.bench.delivery import processes
from tests.bench.delivery.measuring import Measuring, Plan, statements


@pytest.mark.extended
@pytest.mark.served
def test_the_relays_and_the_product_bring_every_word() -> None:
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(processes.model_server())
        targets = [stack.enter_context(processes.relay(kind, upstream)) for kind in ("relay", "floor")]
        targets.append(stack.enter_context(processes.product(upstream, 5, processes.Stores(), is_counted=True)))
        outcomes = {target.name: processes.run(target.job(2, 200, 100, fetches=True)) for target in targets}
        outcomes["program"] = processes.run(targets[-1].as_programs().job(2, 200, 100))
        counted = list(statements(targets[-1], turns=2))
        measuring = Measuring(Plan(("idle",)), targets)
        assert [figure.key for figure in measuring.figures()] == ["idle_memory"]
    assert {name: outcome.faults for name, outcome in outcomes.items()} == {"relay": [], "floor": [], "product": [], "program": []}
    assert {outcome.tokens for outcome in outcomes.values()} == {400}
    assert {outcome.turns for outcome in outcomes.values()} == {2}
    assert outcomes["relay"].frames == 400, "one frame per token"
    assert all(0 < outcome.p50 <= outcome.p99 for outcome in outcomes.values())
    assert all(0 < outcome.wait_p50 <= outcome.wait_p99 < 30 for outcome in outcomes.values())
    assert all(outcome.cpu > 0 and outcome.received > 0 and outcome.memory > 10 for outcome in outcomes.values())
    assert outcomes["product"].fetched == 0, "a turn arrives as events only"
    found = {figure.key: figure.values["product"] for figure in counted}
    # Nothing is fetched in a turn, so the last two differ only by what the server does once a second, whatever is asked.
    assert 0 < found["statements_first"] <= found["statements"] and found["statements_page"] > 0
    assert found["calls"] > 1_000 and found["writes"] >= 2 and found["hand_overs"] >= 2
    assert min(value for key, value in found.items() if key.startswith(("calls_", "statements_"))) > 0
