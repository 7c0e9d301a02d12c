"""Where this process sends its spans, for tests that make the collector themselves: with a deadline, a share or a peer of their own."""

from chatui.observability import measures
from chatui.observability.measures import Tracer


def send_spans_to(tracer: Tracer | None) -> None:
    """From now on, spans go there; None: nowhere, as in a process without a collector."""
    measures.set_tracer(tracer)
