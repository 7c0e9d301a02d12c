"""The known context length of one model on one server: from the operator, from the server, or from its refusals."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from chatui.backends.base import Usage
from chatui.backends.context.refusals import Overflow


@runtime_checkable
class HasContextWindow(Protocol):
    """A back end that may know its models' context lengths."""

    def known_context(self, model: str | None) -> int | None:
        """In tokens of prompt and answer together. May be called in any thread, and never blocks."""
        ...


LEARNED_SECONDS = 3600.0
"""How long a limit from a refusal is trusted: the server may have been restarted with a larger one."""
_MAX_MODELS = 200
_MIN_WEIGHT = 300.0
"""Shorter prompts are mostly template, so they are not used to measure the factor."""
_LOWEST, _HIGHEST = 0.3, 3.0
_SMALLER = 0.8
_TOKENS_PER_WEIGHT = 4.0
"""No text has more: a refusal that claims more is ignored."""


@dataclass(slots=True)
class _Learned:
    limit: int
    until: float
    asked: int | None
    is_exact: bool


class Window:
    """The context window of one model. ``factor``: the server's token counts relative to ``token_budget.weight``."""

    def __init__(self, given: int | None, now: Callable[[], float] = time.monotonic) -> None:
        """``given``: the operator's setting, in tokens of prompt and answer together."""
        self._given = given
        self._now = now
        self._asked: int | None = None
        self._learned: _Learned | None = None
        self.factor = 1.0

    @property
    def limit(self) -> int | None:
        """How many tokens a prompt and its answer may have together; None if unknown."""
        known = [found for found in (self._given or self._asked, self._current()) if found]
        return min(known) if known else None

    @property
    def is_declared(self) -> bool:
        """Whether the limit comes from the operator or the server's description, not just from a refusal."""
        return self.limit is not None and self.limit == (self._given or self._asked)

    @property
    def size(self) -> int | None:
        """The limit, unless it is a guess, which people must not see."""
        return None if self._learned and not self._learned.is_exact else self.limit

    def ask(self, asked: int | None) -> None:
        """Set what the server reports now. If that changed, limits from earlier refusals are dropped."""
        if self._learned and asked != self._learned.asked:
            self._learned = None
        self._asked = asked

    def learn(self, overflow: Overflow, weight: float, max_tokens: int | None, counted: float = 0.0) -> bool:
        """The server refused a prompt of this weight, with ``max_tokens`` for its answer.

        Returns whether that is plausible: the message may quote a person, who must not decide what others can send. ``counted``: see
        ``fitting.Fit``.
        """
        most = weight * _TOKENS_PER_WEIGHT
        if overflow.limit is not None and overflow.limit > most + (max_tokens or 0):
            return False
        if overflow.prompt is not None and overflow.prompt <= most:
            self._measure(overflow.prompt, weight, counted)
        limit = overflow.limit or max(int(weight * self.factor * _SMALLER), 1)
        self._learned = _Learned(limit, self._now() + LEARNED_SECONDS, self._asked, overflow.limit is not None)
        return True

    def note(self, usage: Usage | None, weight: float, counted: float = 0.0) -> None:
        """The server accepted a prompt of this weight, and may have counted its tokens."""
        prompt, written = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
        if prompt:
            self._measure(prompt, weight, counted)
        taken = (prompt or int(weight * _LOWEST)) + (written or 0)
        if self._learned and taken > self._learned.limit:
            self._learned = None

    def _measure(self, tokens: int, weight: float, counted: float) -> None:
        """The factor rises at once and falls slowly: the next conversation may be in another script.

        Prompts that were mostly counted exactly are not used.
        """
        if weight < _MIN_WEIGHT or 2 * counted > weight:
            return
        measured = min(max(tokens / weight, _LOWEST), _HIGHEST)
        self.factor = measured if measured > self.factor else (3 * self.factor + measured) / 4

    def _current(self) -> int | None:
        if self._learned and self._now() >= self._learned.until:
            self._learned = None
        return self._learned.limit if self._learned else None


class Windows:
    """The windows of one back end, by model."""

    def __init__(self, given: int | None) -> None:
        """As ``Window``."""
        self._given = given
        self._by_model: dict[str | None, Window] = {}

    def window_of(self, model: str | None) -> Window:
        """The window of this model."""
        if model not in self._by_model and len(self._by_model) >= _MAX_MODELS:
            del self._by_model[next(iter(self._by_model))]
        return self._by_model.setdefault(model, Window(self._given))
