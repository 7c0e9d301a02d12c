"""Holds the figures of a run against the committed ones. A ratio may fall behind by as much as runs of the same code differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from tests.bench.delivery.figures import Figure

COMMITTED = Path(__file__).with_name("committed.json")
LEAST_MARGIN = 0.1
SAFETY = 1.5
"""The margin is this much more than the largest difference that a few runs have shown: a few runs have not shown everything."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A ratio as it was committed. ``margin``: by which share of it other runs of the same code may differ."""

    ratio: float
    margin: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """``change`` is the share by which the figure is worse than the committed one; below 0 it is better."""

    committed: Committed
    change: float

    @property
    def is_worse(self) -> bool:
        """By more than noise."""
        return self.change > self.committed.margin

    @property
    def is_better(self) -> bool:
        """By more than noise: time to commit the new ratios."""
        return self.change < -self.committed.margin / (1 + self.committed.margin)


def read(store: str) -> dict[str, Committed]:
    """The committed ratios over that store (``sqlite`` or ``services``), by the keys of their figures."""
    return {key: Committed(**values) for key, values in json.loads(COMMITTED.read_text()).get(store, {}).items()}


def write(store: str, ratios: Mapping[str, Committed]) -> None:
    """Commit to these from now on; what was not measured stays."""
    everything = json.loads(COMMITTED.read_text())
    everything.setdefault(store, {}).update({key: asdict(committed) for key, committed in ratios.items()})
    COMMITTED.write_text(json.dumps(everything, indent=2) + "\n")


def judge(figure: Figure, committed: Committed | None) -> Verdict | None:
    """None where there is nothing to compare."""
    ratio = figure.ratio
    if committed is None or ratio is None or not figure.is_judged:
        return None
    if figure.is_more_better:
        return Verdict(committed, committed.ratio / ratio - 1 if ratio else float("inf"))
    return Verdict(committed, ratio / committed.ratio - 1)


def settle(runs: Sequence[Iterable[Figure]]) -> dict[str, Committed]:
    """What to commit after several runs: the middle of their ratios, and a margin that covers all of them."""
    ratios: dict[str, list[float]] = {}
    for run in runs:
        for figure in run:
            if figure.ratio and figure.is_judged:
                ratios.setdefault(figure.key, []).append(figure.ratio)
    return {key: _committed(found) for key, found in ratios.items()}


def _committed(ratios: list[float]) -> Committed:
    usual = median(ratios)
    differs = max(max(ratio / usual, usual / ratio) - 1 for ratio in ratios)
    return Committed(round(usual, 3), round(max(LEAST_MARGIN, SAFETY * differs), 2))
