"""The results of a run: one figure per measurement, with a number for each server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tests.bench.delivery.load.job import Outcome

PRODUCT, RELAY, FLOOR = "product", "relay", "floor"
PAGES = "pages"
"""The product as used by pages, where it is measured as used by programs."""


@dataclass(frozen=True, slots=True)
class Figure:
    """``key`` identifies it permanently. ``values`` are by server, in ``unit``; ``base`` is the server that the product is compared with.

    ``is_more_better``: for streams, not costs. ``is_judged``: False if other programs on the measured core made it meaningless.
    """

    key: str
    title: str
    unit: str
    values: Mapping[str, float]
    is_more_better: bool = False
    is_judged: bool = True
    base: str = RELAY

    @property
    def ratio(self) -> float | None:
        """The product's number as a multiple of the base's in this run; the number itself if the base has none; None if the base has 0."""
        products, others = self.values[PRODUCT], self.values.get(self.base)
        if others is None:
            return products
        return products / others if others else None


Outcomes = Mapping[str, Sequence[Outcome]]
"""By server, one for each round."""


def middle(outcomes: Outcomes, number: Callable[[Outcome], float]) -> dict[str, float]:
    """Each server's median over the rounds."""
    return {server: median(number(outcome) for outcome in found) for server, found in outcomes.items() if found}


def cpu_per_token(outcome: Outcome) -> float:
    """Milliseconds per token, which are seconds per 1,000."""
    return outcome.cpu / max(1, outcome.tokens) * 1000


def cpu_per_turn(outcome: Outcome) -> float:
    """Milliseconds."""
    return outcome.cpu / max(1, outcome.turns) * 1000


def bytes_per_token(outcome: Outcome) -> float:
    """Bytes of everything on the socket from the question to the end."""
    return outcome.received / max(1, outcome.tokens)


def cpu_per_flush(outcomes: Outcomes, turn: Mapping[str, float]) -> dict[str, float]:
    """Milliseconds per frame with text. ``turn``: the cost of a turn with almost none."""
    return {
        server: median(max(0.0, found.cpu * 1000 - turn[server] * found.turns) / max(1, found.frames) for found in rounds)
        for server, rounds in outcomes.items()
    }
