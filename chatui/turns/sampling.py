"""Samples a model for a turn or for the product itself, and records the usage.

Each event of a turn's sample goes the way back (``stages``). The product's own requests are short, such as for a summary line or a
title.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from django.utils import timezone

from chatui.backends import http
from chatui.backends.base import Backend, BackendError, EndReason, SampleEnded, SampleRequest, Taker, Usage
from chatui.backends.context_window import weight
from chatui.backends.registry import needs_vocabulary
from chatui.observability import measures
from chatui.observability.measures import Span
from chatui.store import transcripts
from chatui.turns.running_turn import TokenAccount
from chatui.usage.counting import Spent, plausible_count, spent_on
from renderer import characters
from renderer.events import FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import is_answer

_MAX_TOKENS = 2**31 - 1
"""The largest value of an integer column."""


class Sampling:
    """One request to a model server. Call ``run`` once; ``account`` works afterwards, even if the request was cancelled or failed."""

    def __init__(self, backend: Backend, request: SampleRequest, take: Callable[[RawEvent], None], *, own: str = "") -> None:
        """``take`` is called with each event, in order. ``own``: the name in traces of a request of the product itself, which is not
        repeated if the server is busy, and is no answer that anybody waits for."""
        self._backend = backend
        self._request = request
        self._take = take
        self._own = own
        self._sent: tuple[str, bytes] | None = None
        self.ended = SampleEnded(EndReason.STOP)
        """How the sample ended; as here if the server did not say."""
        self._has_answered = False
        self._first_token_ms: int | None = None
        self._is_refused = False
        self._written: list[str] = []

    @property
    def is_over_ids(self) -> bool:
        """Whether the prompt is one of token ids. Known once the model has written something."""
        return needs_vocabulary(self._backend.kind)

    async def run(self) -> None:
        """Send the request and pass on everything that the model writes.

        Raises:
            BackendError: the server refused, failed, timed out or closed the connection early.
        """
        with measures.span(self._own or "sampling", "client", backend=self._backend.name) as span:
            try:
                await self._run(span)
            except BackendError as error:
                self._is_refused = not self._has_answered
                span.set_attributes(code=error.code.value, status=error.status)
                raise
            finally:
                self._note_usage(span)

    async def _run(self, span: Span) -> None:
        begun_at = time.monotonic()

        def take(event: RawEvent) -> None:
            if not self._has_answered:
                self._note_first(span, time.monotonic() - begun_at)
            if isinstance(event, FrameText):
                self._written.append(event.text)
            self._take(event)

        # Not an attribute: with it, this object would refer to itself, and wait for the garbage collector with all that it holds.
        if self._own:
            self.ended = await self._backend.sample(replace(self._request, on_sent=self._note_sent), Taker(take))
        else:
            self.ended = await http.sample(self._backend, self._request, Taker(take), on_sent=self._note_sent)
        if not self._has_answered:
            self._note_first(span, time.monotonic() - begun_at)

    def _note_first(self, span: Span, waited: float) -> None:
        self._has_answered = True
        if self._own:
            return
        measures.labelled(measures.FIRST_TOKEN_SECONDS, self._backend.name).observe(waited)
        span.set_attributes(first_token_seconds=waited)
        self._first_token_ms = round(waited * 1000)

    def account(self) -> TokenAccount:
        ended, reported = self.ended, self.ended.usage or Usage()
        return TokenAccount(
            backend=self._backend.name,
            model=ended.model or "",
            input_tokens=plausible_count(reported.prompt_tokens),
            output_tokens=plausible_count(reported.completion_tokens),
            turns_left_out=ended.turns_left_out,
            context=ended.context,
            request=self._sent,
            sampled_with=self._settings() if self._has_answered else None,
            spent=Spent() if self._is_refused else spent_on(self._request, ended.usage, weight("".join(self._written))),
            first_token_ms=self._first_token_ms,
        )

    def _note_usage(self, span: Span) -> None:
        if usage := self.ended.usage:
            span.set_attributes(input_tokens=plausible_count(usage.prompt_tokens), output_tokens=plausible_count(usage.completion_tokens))

    def _settings(self) -> dict[str, object]:
        """The document header fields for this sample. Values that the server chose itself are unknown, so they are left out."""
        settings: dict[str, object] = {"reasoning_effort": self._request.effort}
        if self._request.max_tokens is not None:
            settings["max_tokens"] = self._request.max_tokens
        if self._request.sampling and self._sent:
            # A parameter that this server has rejected before is not in the body.
            body = json.loads(self._sent[1])
            settings |= {name: body[name] for name in self._request.sampling if name in body}
        return settings

    def _note_sent(self, path: str, body: bytes) -> None:
        self._sent = (path, body)


def account_of(
    samplings: Sequence[Sampling],
    thought_seconds: int | None,
    *,
    turns_left_out: int = 0,
    by_server: Mapping[str, object] | None = None,
) -> TokenAccount:
    """The account of a turn that ends now: the token counts of all its samplings added up, the wait for the first token of the first one,
    everything else from the last one. The model is the last one that was reported: servers name it at the end, so a stopped sample has
    none. ``turns_left_out``: those that the turn left out before its server did."""
    accounts = [sampling.account() for sampling in samplings] or [TokenAccount()]
    return replace(
        accounts[-1],
        model=next((account.model for account in reversed(accounts) if account.model), ""),
        input_tokens=_sum([account.input_tokens for account in accounts]),
        output_tokens=_sum([account.output_tokens for account in accounts]),
        turns_left_out=turns_left_out + accounts[-1].turns_left_out,
        thought_seconds=thought_seconds,
        by_server=by_server,
        ended_at=timezone.now(),
        spent=sum((account.spent for account in accounts), Spent()),
        first_token_ms=accounts[0].first_token_ms,
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return min(sum(known), _MAX_TOKENS) if known else None


Charged = Callable[[Spent, str], None]
"""Called with the usage of a request, and with the server's name for the model, made storable."""


async def text_of(backend: Backend, request: SampleRequest, max_chars: int, charged: Charged, what: str) -> str:
    """The answer's visible text, at most its first ``max_chars``. Empty if it was withdrawn or cut off, or if the sample is far too long.

    ``charged`` is called once, however the request ends. ``what``: its name in traces, such as ``title``.

    Raises:
        BackendError: the server refused, failed, timed out or closed the connection early.
    """
    answer = _Answer(10 * max_chars)
    sampling = Sampling(backend, request, answer.take, own=what)
    try:
        await sampling.run()
    except _NoTextError:
        return ""
    finally:
        account = sampling.account()
        charged(account.spent, transcripts.header_text(account.model))
    return characters.storable("".join(answer.parts)[:max_chars]) if sampling.ended.reason is EndReason.STOP else ""


class _NoTextError(Exception):
    """The text was withdrawn, or the sample is too long: nothing more is read."""


class _Answer:
    def __init__(self, most: int) -> None:
        self.parts: list[str] = []
        self._is_wanted, self._left = False, most

    def take(self, event: RawEvent) -> None:
        match event:
            case FrameOpened(header=header):
                self._is_wanted = is_answer(header)
            case FrameText(text=text):
                self._left -= len(text)
                if self._is_wanted:
                    self.parts.append(text)
        if isinstance(event, FrameWithdrawn) or self._left < 0:
            raise _NoTextError
