"""Short model requests for the product itself, such as a summary line or a title."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from chatui.backends import retries
from chatui.backends.base import Backend, BackendError, EndReason, SampleEnded, SampleEvent, SampleRequest, Usage
from chatui.backends.context.token_budget import weight
from chatui.store import transcripts
from chatui.tracing import spans
from chatui.tracing.spans import Span
from chatui.usage.counting import Spent
from chatui.usage.reported_tokens import plausible_count, spent_on
from renderer.events import FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import is_answer

Charged = Callable[[Spent, str], None]
"""Called with the usage of a request, and with the server's name for the model, made storable."""


async def text_of(backend: Backend, request: SampleRequest, max_chars: int, charged: Charged, what: str) -> str:
    """The answer's visible text, at most its first ``max_chars``. Empty if it was withdrawn or cut off, or if the sample is far too long.

    ``charged`` is called once, however the request ends. ``what``: its name in traces, such as ``title``.

    Raises:
        BackendError: the server refused, failed, timed out or closed the connection early.
    """
    meter = _Meter()
    try:
        with spans.span(what, "client", backend=backend.name) as span:
            return await _measured(backend.sample(request), max_chars, meter, span)
    except BackendError:
        meter.is_refused = not meter.has_answered
        raise
    finally:
        charged(Spent() if meter.is_refused else spent_on(request, meter.usage, meter.written), transcripts.header_text(meter.model))


async def _measured(sample: AsyncGenerator[SampleEvent], max_chars: int, meter: _Meter, span: Span) -> str:
    try:
        async with contextlib.aclosing(sample) as events:
            return await _text(meter.measuring(events), max_chars)
    except BackendError as error:
        span.set_attributes(code=error.code.value, status=retries.status_of(error))
        raise
    finally:
        if meter.usage is not None:
            span.set_attributes(
                input_tokens=plausible_count(meter.usage.prompt_tokens), output_tokens=plausible_count(meter.usage.completion_tokens)
            )


async def _text(events: AsyncIterator[SampleEvent], max_chars: int) -> str:
    parts: list[str] = []
    is_wanted, chars = False, 0
    async for event in events:
        match event:
            case FrameOpened(header=header):
                is_wanted = is_answer(header)
            case FrameText(text=text):
                chars += len(text)
                if is_wanted:
                    parts.append(text)
            case FrameWithdrawn():
                return ""
            case SampleEnded(reason=reason) if reason is not EndReason.STOP:
                return ""
        if chars > 10 * max_chars:
            return ""
    return transcripts.storable("".join(parts)[:max_chars])


class _Meter:
    """Measures one sample."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.model = ""
        self.written = 0.0
        self.has_answered = self.is_refused = False

    async def measuring(self, events: AsyncIterator[SampleEvent]) -> AsyncIterator[SampleEvent]:
        """The same events, each measured as it passes."""
        async for event in events:
            self.has_answered = True
            if isinstance(event, FrameText):
                self.written += weight(event.text)
            elif isinstance(event, SampleEnded):
                self.usage, self.model = event.usage, event.model or ""
            yield event
