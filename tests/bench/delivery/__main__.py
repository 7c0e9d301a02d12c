"""``python -m tests.bench.delivery``: the cost of delivering answers from the model server to pages, next to two relays in the same run.

Fails if a turn failed, or if a ratio is worse than the committed one by more than noise.
"""

import argparse
import contextlib
import os
import platform
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace

from tests.bench.delivery import judging, priority, processes, report
from tests.bench.delivery.figures import Figure
from tests.bench.delivery.judging import Verdict
from tests.bench.delivery.measuring import PARTS, SHORT_PARTS, Measuring, Plan, statements, token_calls
from tests.bench.delivery.processes import ModelServer, Stores

MIN_RUNS = 3


def main() -> int:
    """Measure, print and judge."""
    options = _options()
    # When it is terminated, it ends the processes that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    stores = Stores(options.database, options.redis, options.workers)
    with priority.raised():
        runs = [list(_run(options, stores)) for _ in range(options.commit or 1)]
    if options.commit:
        judging.write(stores.name, judging.settle([[figure for figure, _ in run] for run in runs]))
        print(f"What {options.commit} runs have in common is now in {judging.COMMITTED.name}.")
        return 0
    worse = [figure.key for figure, verdict in runs[0] if verdict and verdict.is_worse]
    if worse:
        print("Worse than committed by more than noise:", ", ".join(worse))
    return 1 if worse else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.delivery", description=__doc__)
    add = parser.add_argument
    add("--short", action="store_true", help="about three minutes instead of ten: fewer rounds, fewer parts")
    add("--only", nargs="+", choices=PARTS, metavar="PART", help=f"only some of: {', '.join(PARTS)}")
    add("--database", default="", metavar="URL", help="measure over this PostgreSQL server instead of SQLite")
    add("--redis", default="", metavar="URL", help="with this Redis")
    add("--workers", type=int, default=1, metavar="N", help="with so many processes of the product, which need both")
    add("--chainlit", nargs="?", const="chainlit", default="", metavar="COMMAND", help="put Chainlit beside them, where it is installed")
    add("--commit", type=int, default=0, metavar="RUNS", help="measure so often, and write ratios and margins to committed.json")
    options = parser.parse_args()
    if 0 < options.commit < MIN_RUNS:
        parser.error(f"fewer than {MIN_RUNS} runs do not show how much they differ")
    if options.workers > 1 and not (options.database and options.redis):
        parser.error("several processes share a PostgreSQL server and Redis: name both")
    if options.chainlit and not shutil.which(options.chainlit):
        parser.error(f"{options.chainlit} is not installed; it is no dependency of the project")
    return options


def _run(options: argparse.Namespace, stores: Stores) -> Iterator[tuple[Figure, Verdict | None]]:
    """Every figure, printed as soon as it is measured."""
    committed = judging.read(stores.name)
    plan = _plan(options)
    print(f"Python {platform.python_version()} from {sys.base_prefix}.")
    print(f"The way to the page, over {stores.name}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores before.")
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(processes.model_server())
        targets = [stack.enter_context(processes.relay(kind, upstream)) for kind in ("relay", "floor")]
        targets.append(stack.enter_context(processes.product(upstream, plan.people, stores)))
        if options.chainlit:
            targets.append(stack.enter_context(processes.chainlit(options.chainlit, upstream)))
        names = [target.name for target in targets]
        print(report.head(names))
        measuring = Measuring(plan, targets)
        for figure in _figures(measuring, plan, upstream, stores):
            verdict = judging.judge(figure, committed.get(figure.key))
            print(report.line(figure, names, verdict), flush=True)
            yield figure, verdict
    for message in (*measuring.notes, *measuring.faults):
        print(message)
    if measuring.faults:
        raise SystemExit("Some turns failed, so these numbers mean nothing.")


def _plan(options: argparse.Namespace) -> Plan:
    if options.short:
        return Plan(tuple(options.only or SHORT_PARTS), rounds=2, bursts=(200,))
    return Plan(tuple(options.only or PARTS))


def _figures(measuring: Measuring, plan: Plan, upstream: ModelServer, stores: Stores) -> Iterator[Figure]:
    yield from measuring.figures()
    if "statements" in plan.parts:
        # On a separate server, because counting costs time.
        with processes.product(upstream, 1, replace(stores, workers=1), is_counted=True) as counted:
            yield from statements(counted)
            yield from token_calls(counted)


if __name__ == "__main__":
    sys.exit(main())
