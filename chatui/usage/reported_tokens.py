"""Determines how many tokens one request took: from the server's report, or by an estimate."""

from __future__ import annotations

from chatui.backends.base import SampleRequest, Usage
from chatui.backends.context.token_budget import weight_of, weight_of_tools
from chatui.usage.counting import Spent

MAX_TOKENS = 1_000_000_000
"""The largest plausible token count that a server may report."""


def spent_on(request: SampleRequest, usage: Usage | None, written: float) -> Spent:
    """The tokens spent on a request that the server accepted. ``written``: about how many tokens of output arrived."""
    reported = usage or Usage()
    read, wrote = plausible_count(reported.prompt_tokens), plausible_count(reported.completion_tokens)
    cached = plausible_count(reported.cached_tokens) or 0
    if read is None:
        others = (frame for frame in request.frames if frame not in request.counted)
        counted = sum(request.counted.get(frame, 0) for frame in request.frames)
        about = int(weight_of(others) + weight_of_tools(request.tools)) + counted
        return Spent(about, 0, int(written) if wrote is None else wrote, is_estimate=True)
    if wrote is None:
        return Spent(read, min(cached, read), int(written), is_estimate=True)
    return Spent(read, min(cached, read), wrote)


def plausible_count(reported: int | None) -> int | None:
    """A token count from a server; None if it reports none, or an implausible one."""
    return reported if reported is not None and not isinstance(reported, bool) and 0 <= reported <= MAX_TOKENS else None
