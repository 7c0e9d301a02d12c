"""Prints figures: a line for each, with a number for each server, the ratio, and the committed ratio."""

from collections.abc import Sequence

from tests.bench.delivery.figures import Figure
from tests.bench.delivery.judging import Verdict


def head(servers: Sequence[str]) -> str:
    """The header line of the figures."""
    return f"{'':52}{'':>4}" + "".join(f"{server:>10}" for server in servers) + f"{'x relay':>10}  committed"


def line(figure: Figure, servers: Sequence[str], verdict: Verdict | None) -> str:
    """The line of one figure."""
    numbers = "".join(f"{_short(figure.values[server]) if server in figure.values else '':>10}" for server in servers)
    ratio = f"{figure.ratio:.2f}" if len(figure.values) > 1 and figure.ratio is not None else ""
    rating = _against(verdict) if figure.is_judged else "not judged: the relay had to wait for its core"
    return f"{figure.title:52}{figure.unit:>4}{numbers}{ratio:>10}  {rating}".rstrip()


def _short(number: float) -> str:
    return f"{number:.3f}" if abs(number) < 1 else f"{number:.1f}" if abs(number) < 100 else f"{number:,.0f}"


def _against(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    suffix = "  WORSE" if verdict.is_worse else "  better" if verdict.is_better else ""
    return f"{verdict.committed.ratio:.2f} ±{verdict.committed.margin:.0%}{suffix}"
