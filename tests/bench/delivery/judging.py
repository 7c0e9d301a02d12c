"""Compares the figures of a run with the committed ones. A ratio may be worse by as much as runs of the same code differ."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from tests.bench.delivery.figures import Figure

COMMITTED = Path(__file__).with_name("committed.json")
MIN_MARGIN = 0.1
SAFETY = 1.5
"""The margin exceeds the largest difference of a few runs by this factor, because a few runs do not show every difference."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed ratio. ``margin``: the share by which other runs of the same code may differ from it."""

    ratio: float
    margin: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """``change`` is the share by which the figure is worse than the committed one; below 0 it is better."""

    committed: Committed
    change: float

    @property
    def is_worse(self) -> bool:
        """Whether it is worse by more than noise."""
        return self.change > self.committed.margin

    @property
    def is_better(self) -> bool:
        """Whether it is better by more than noise: time to commit the new ratios."""
        return self.change < -self.committed.margin / (1 + self.committed.margin)


def read(store: str) -> dict[str, Committed]:
    """The committed ratios for that store (``sqlite`` or ``services``), by the keys of their figures."""
    return {key: Committed(**values) for key, values in json.loads(COMMITTED.read_text()).get(store, {}).items()}


def write(store: str, ratios: Mapping[str, Committed]) -> None:
    """Commit these ratios; those that were not measured stay."""
    everything = json.loads(COMMITTED.read_text())
    everything.setdefault(store, {}).update({key: asdict(committed) for key, committed in ratios.items()})
    COMMITTED.write_text(json.dumps(everything, indent=2) + "\n")


def judge(figure: Figure, committed: Committed | None) -> Verdict | None:
    """The verdict; None if there is nothing to compare."""
    ratio = figure.ratio
    if committed is None or ratio is None or not figure.is_judged:
        return None
    if figure.is_more_better:
        return Verdict(committed, committed.ratio / ratio - 1 if ratio else float("inf"))
    return Verdict(committed, ratio / committed.ratio - 1)


def settle(runs: Sequence[Iterable[Figure]]) -> dict[str, Committed]:
    """The ratios to commit after several runs: the medians, each with a margin that covers all runs."""
    ratios: dict[str, list[float]] = {}
    for run in runs:
        for figure in run:
            if figure.ratio and figure.is_judged:
                ratios.setdefault(figure.key, []).append(figure.ratio)
    return {key: _committed(found) for key, found in ratios.items()}


def _committed(ratios: list[float]) -> Committed:
    usual = median(ratios)
    differs = max(max(ratio / usual, usual / ratio) - 1 for ratio in ratios)
    return Committed(round(usual, 3), round(max(MIN_MARGIN, SAFETY * differs), 2))
