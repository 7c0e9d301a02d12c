"""Logs the end of a turn for the operator, and updates the metrics, without content."""

from __future__ import annotations

import logging

from chatui import measures
from chatui.tracing import spans
from chatui.turns.ledger import Account, Job, Outcome

log = logging.getLogger(__name__)


def note_end(job: Job, outcome: Outcome, account: Account, milliseconds: int) -> None:
    """Log the end and count it. Both name the back end as the operator does; neither contains text from a server."""
    code, seconds = outcome.code.value if outcome.code else "", milliseconds / 1000
    measures.TURNS.labels(account.backend, outcome.state.value, code).inc()
    measures.TURN_SECONDS.labels(account.backend).observe(seconds)
    for direction, count in (("input", account.input_tokens), ("output", account.output_tokens)):
        measures.TOKENS.labels(account.backend, direction).inc(count or 0)
    spans.current().set_attributes(
        backend=account.backend,
        state=outcome.state.value,
        code=code,
        input_tokens=account.input_tokens,
        output_tokens=account.output_tokens,
    )
    log.info(
        "turn ended",
        extra={
            "turn": str(job.turn_id),
            "backend": account.backend,
            "state": outcome.state.value,
            "code": code,
            "cause": outcome.cause,
            "seconds": seconds,
            "input_tokens": account.input_tokens,
            "output_tokens": account.output_tokens,
        },
    )
