"""Shortens requests to fit the context window, and samples within it.

Whole turns and documents are dropped, but never the operator's instructions or the last question; the oldest turns go first, and more of
them if the server still refuses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from chatui.backends.base import BackendError, ContextUse, EndReason, Sample, SampleEnded, SampleRequest, Taker
from chatui.backends.context_window import (
    FRAME_TOKENS,
    MARGIN,
    TEMPLATE_TOKENS,
    ContextWindow,
    Overflow,
    overflow_of,
    reserved_tokens,
    weight,
    weight_of,
    weight_of_tools,
)
from chatui.codes import ProductCode
from renderer import history
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANALYSIS, is_answer, is_document, is_preamble
from renderer.frames import Channel, Frame, Role
from renderer.history import trim

_log = logging.getLogger(__name__)

_MIN_KEPT = 60.0
"""At least this much of a cut answer is kept: the model must see where it continues."""
_ASKING_TO_CONTINUE = 80.0
"""The weight of the request to continue, when it is made in words."""
_SPACE_WITHIN = 60


@dataclass(frozen=True, slots=True)
class Fit:
    """A request that should fit."""

    request: SampleRequest
    weight: float
    """Its estimated tokens, see ``context_window.weight``."""
    turns_left_out: int
    """How many questions were left out, each with all that follows it."""
    is_minimal: bool
    """Whether nothing more can be left out."""
    is_answer_limited: bool = False
    """Whether its answer must be shorter than requested."""
    counted: float = 0.0
    """The part of the weight that comes from exact counts."""


def fit(request: SampleRequest, max_weight: float | None, factor: float = 1.0) -> Fit:
    """Shorten the request (``renderer.history``) to a weight of at most ``max_weight``. ``factor``: the window's, for exact counts.

    If it still does not fit, the reasoning after a cut answer is left out, then the beginning of that answer.
    """
    orders = [frame for frame in request.frames if frame.header.role in (Role.SYSTEM, Role.DEVELOPER)]
    before, turns = history.turns(frame for frame in request.frames if frame.header.role not in (Role.SYSTEM, Role.DEVELOPER))
    parts = [before, *turns] if before else turns
    cut = request.cut_answer
    other = TEMPLATE_TOKENS + weight_of_tools(request.tools) + weight_of(orders) + (weight_of([cut]) + _ASKING_TO_CONTINUE if cut else 0.0)
    found = trim(parts, lambda frame: _weight(request, frame, factor), None if max_weight is None else max_weight - other)
    frames, total = list(found.frames), found.length + other
    if cut is not None and max_weight is not None and total > max_weight:
        frames, cut, total = _shortened(frames, cut, total, max_weight)
    fitted = request
    if cut is not request.cut_answer or frames != [frame for part in parts for frame in part]:
        fitted = replace(request, frames=(*orders, *frames), cut_answer=cut)
    return Fit(
        fitted,
        total,
        found.turns_left_out,
        found.is_minimal and (cut is None or weight(cut.body) <= _MIN_KEPT),
        counted=sum(_weight(request, frame, factor) for frame in frames if frame in request.counted),
    )


def _weight(request: SampleRequest, frame: Frame, factor: float) -> float:
    counted = request.counted.get(frame) if is_document(frame.header) else None
    return weight_of([frame]) if counted is None else FRAME_TOKENS + counted / factor


def without_last_reasoning(request: SampleRequest) -> SampleRequest:
    """The request without the reasoning at its end, which is not sent when a cut answer is continued in words. It may come again."""
    kept = _without_last_reasoning(list(request.frames))
    left_out = tuple(frame.body for frame in request.frames[len(kept) :])
    return replace(request, frames=tuple(kept), thoughts=(*request.thoughts, *left_out))


def _shortened(frames: list[Frame], cut: Frame, total: float, max_weight: float) -> tuple[list[Frame], Frame, float]:
    """The last turn with less of the model's text. ``total``: the weight of the whole request."""
    without = _without_last_reasoning(frames)
    total -= weight_of(frames[len(without) :])
    has = weight(cut.body)
    if total <= max_weight or has <= _MIN_KEPT:
        return without, cut, total
    keeps = max(has - (total - max_weight), _MIN_KEPT)
    body = _end_of(cut.body, int(len(cut.body) * keeps / has))
    return without, replace(cut, body=body), total - has + weight(body)


def _end_of(text: str, chars: int) -> str:
    """At most the last ``chars`` characters, from the beginning of a line or a word."""
    end = text[-chars:]
    start = next((end.find(mark, 0, _SPACE_WITHIN) for mark in ("\n", " ") if mark in end[:_SPACE_WITHIN]), -1)
    return end[start + 1 :]


def _without_last_reasoning(frames: list[Frame]) -> list[Frame]:
    last = next((index for index in range(len(frames), 0, -1) if frames[index - 1].header != ANALYSIS), 0)
    return frames[:last]


ATTEMPTS = 5
_SHRINK_FACTOR = 0.7
_NEAR_THE_END = 16
"""In tokens: how long before the end of the context servers may stop."""
_MAX_OVER_LIMIT = 1.5
"""A prompt that we estimate at this many times the limit is not sent."""
_FEW_FRAMES = 500
"""Up to this many frames are weighed on the event loop; more of them in a thread."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that was made to fit into a window, and how it is sampled."""

    window: ContextWindow
    fit: Fit
    sample: Callable[[Taker], Awaitable[SampleEnded]]


Plan = Callable[[float | None], Awaitable[Attempt]]
"""Makes an attempt of at most this weight; None: only the window limits it."""


async def attempt(window: ContextWindow, request: SampleRequest, max_weight: float | None, sample: Sample) -> Attempt:
    """As much of the request as fits."""
    found = await _fitted(request, window, max_weight)
    return Attempt(window, found, partial(sample, found.request))


async def sample_attempts(plan: Plan, take: Taker) -> SampleEnded:
    """Sample the attempts of ``plan``, each smaller than the one before, until the server accepts one. At most ATTEMPTS.

    Raises:
        BackendError: as the sample; or the question alone is too long, with the sizes in ``context``; or the conversation is, and nothing
            may be left out of it.
    """
    max_weight: float | None = None
    attempts_left = ATTEMPTS
    while True:
        attempts_left -= 1
        planned = await plan(max_weight)
        window, fitted = planned.window, planned.fit
        _check_fits(window, fitted)
        follower = _Follower(take, window, fitted)
        try:
            return follower.ended(await planned.sample(follower))
        except BackendError as error:
            overflow = overflow_of(error)
            if overflow is None:
                raise
            if take.has_begun:
                return follower.ended(SampleEnded(EndReason.LENGTH), is_full=True)
            if not window.learn(overflow, fitted.weight, fitted.request.max_tokens, fitted.counted):
                raise
            max_weight = _next_limit(window, fitted, overflow, error, is_last=not attempts_left)


def _check_fits(window: ContextWindow, fitted: Fit) -> None:
    """Raises BackendError if turns were left out of a request that must be sent whole: it is too long, or even its question alone is."""
    if not (fitted.request.must_fit and fitted.turns_left_out):
        return
    error = too_long(window, fitted, "nothing may be left out")
    if error.context is None or error.context.used <= error.context.size:
        size = window.size
        room = ContextUse(size - reserved_tokens(fitted.request.max_tokens, size), 0) if size else None
        error = BackendError(ProductCode.CONVERSATION_TOO_LONG, error.detail, context=room)
    raise error


def too_long(window: ContextWindow, fitted: Fit, detail: str) -> BackendError:
    """The error for a question that does not fit by itself."""
    size = window.size
    room = size - reserved_tokens(fitted.request.max_tokens, size) if size else None
    last = fitted.request.frames[-1].body if fitted.request.frames else ""
    question, other = weight(last), max(fitted.weight - weight(last), TEMPLATE_TOKENS)
    use = ContextUse(max(int(room - other * window.factor), 1), int(question * window.factor)) if room else None
    return BackendError(ProductCode.QUESTION_TOO_LONG, detail, context=use)


def _next_limit(window: ContextWindow, refused: Fit, overflow: Overflow, error: BackendError, *, is_last: bool) -> float:
    """The weight limit of the next attempt. Raises BackendError if there is none."""
    if is_last or (refused.is_minimal and not _answer_was_too_long(overflow, refused)):
        raise too_long(window, refused, error.detail) from error
    _log.info(
        "a prompt of about %d tokens did not fit (the server takes %s): asking again with less of it",
        refused.weight * window.factor,
        overflow.limit or "fewer",
    )
    return refused.weight if _answer_was_too_long(overflow, refused) else refused.weight * _SHRINK_FACTOR


def _answer_was_too_long(overflow: Overflow, refused: Fit) -> bool:
    wanted = refused.request.max_tokens
    return bool(wanted and overflow.limit and overflow.prompt and overflow.prompt < overflow.limit < overflow.prompt + wanted)


async def _fitted(request: SampleRequest, window: ContextWindow, max_weight: float | None) -> Fit:
    limit = window.limit
    if limit is not None:
        room = (limit - reserved_tokens(request.max_tokens, limit)) * MARGIN / window.factor
        max_weight = room if max_weight is None else min(room, max_weight)
    if max_weight is None or len(request.frames) <= _FEW_FRAMES:
        found = fit(request, max_weight, window.factor)
    else:
        found = await asyncio.to_thread(fit, request, max_weight, window.factor)
    # A limit that was read from a refusal may be a quotation of a person: it must not stop requests from being sent.
    if limit is not None and window.is_declared and found.is_minimal and found.weight * window.factor > _MAX_OVER_LIMIT * limit:
        raise too_long(window, found, f"about {int(found.weight * window.factor)} tokens, and the server takes {limit}")
    if limit is None or request.max_tokens is None:
        return found
    tokens_left = max(limit - int(found.weight * window.factor / MARGIN), reserved_tokens(request.max_tokens, limit), 1)
    if tokens_left >= request.max_tokens:
        return found
    return replace(found, request=replace(found.request, max_tokens=tokens_left), is_answer_limited=True)


class _Follower(Taker):
    """Passes on a sample: measures its visible text, and adds to its end how full the context is."""

    def __init__(self, take: Taker, window: ContextWindow, fitted: Fit) -> None:
        super().__init__(take)
        self._window = window
        self._fit = fitted
        self._shown = 0.0
        self._part: list[str] = []
        self._is_visible = False

    def __call__(self, event: RawEvent) -> None:
        self.has_begun = True
        match event:
            case FrameOpened(header=header):
                self._part, self._is_visible = [], is_answer(header) or is_preamble(header)
            case FrameText(text=text) if self._is_visible:
                self._part.append(text)
            case FrameWithdrawn():
                self._part, self._is_visible = [], False
            case FrameClosed():
                self._shown += weight("".join(self._part))
                self._part = []
        self.take(event)

    def ended(self, ended: SampleEnded, *, is_full: bool = False) -> SampleEnded:
        """The end of the sample with what is known of the context."""
        window, fitted = self._window, self._fit
        window.note(ended.usage, fitted.weight, fitted.counted)
        size, usage = window.size, ended.usage
        prompt = usage.prompt_tokens if usage and usage.prompt_tokens else int(fitted.weight * window.factor)
        written = usage.completion_tokens if usage else None
        is_full = is_full or (ended.reason is EndReason.LENGTH and self._has_filled(size, prompt, written))
        # Without reasoning: it is not sent again, and its length is private.
        hidden = weight_of(frame for frame in fitted.request.frames if frame.header.channel == Channel.ANALYSIS)
        used = max(int(prompt - hidden * window.factor), 0) + int(self._shown * window.factor)
        context = None if size is None else ContextUse(size, min(used, size))
        return replace(ended, turns_left_out=fitted.turns_left_out, is_context_full=is_full, context=context)

    def _has_filled(self, size: int | None, prompt: int, written: int | None) -> bool:
        if written is None:
            return False
        if self._fit.is_answer_limited and written >= (self._fit.request.max_tokens or 0):
            return True
        return size is not None and prompt + written >= size - _NEAR_THE_END
