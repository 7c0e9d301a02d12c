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
    """A back end that may know how much its models can read."""

    def known_context(self, model: str | None) -> int | None:
        """In tokens of prompt and answer together. May be called in any thread, and waits for nothing."""
        ...


LEARNT_SECONDS = 3600.0
"""After so long what was learnt from a refusal is forgotten: the server may have been started anew, with more."""
_MOST_MODELS = 200
_LEAST_WEIGHT = 300.0
"""Of a shorter prompt most is template: it says nothing of how many tokens a text has."""
_LOWEST, _HIGHEST = 0.3, 3.0
_SMALLER = 0.8
_TOKENS_PER_WEIGHT = 4.0
"""No text has more: a refusal that claims so is not believed."""


@dataclass(slots=True)
class _Learnt:
    limit: int
    until: float
    asked: int | None
    is_said: bool


class Window:
    """The context window of one model. ``factor``: tokens of a text for each that ``token_budget.weight`` gives it, as the server last
    counted them."""

    def __init__(self, given: int | None, now: Callable[[], float] = time.monotonic) -> None:
        """``given``: what the operator says, in tokens of prompt and answer together."""
        self._given = given
        self._now = now
        self._asked: int | None = None
        self._learnt: _Learnt | None = None
        self.factor = 1.0

    @property
    def limit(self) -> int | None:
        """How many tokens a prompt and its answer may have together, as far as is known."""
        known = [found for found in (self._given or self._asked, self._current()) if found]
        return min(known) if known else None

    @property
    def is_declared(self) -> bool:
        """Whether the limit is what the operator or the server says, and nothing that was only read out of a refusal."""
        return self.limit is not None and self.limit == (self._given or self._asked)

    @property
    def size(self) -> int | None:
        """The limit, if somebody has named it: a guess is not told to people."""
        return None if self._learnt and not self._learnt.is_said else self.limit

    def ask(self, asked: int | None) -> None:
        """What the server says now. If that changed, what it refused before counts no more."""
        if self._learnt and asked != self._learnt.asked:
            self._learnt = None
        self._asked = asked

    def learn(self, overflow: Overflow, weight: float, max_tokens: int | None, counted: float = 0.0) -> bool:
        """The server refused a prompt of this weight, with so many tokens for its answer. Returns whether that can be: its words may
        quote a person, who must not decide what others can send. ``counted``: see ``fitting.Fit``."""
        most = weight * _TOKENS_PER_WEIGHT
        if overflow.limit is not None and overflow.limit > most + (max_tokens or 0):
            return False
        if overflow.prompt is not None and overflow.prompt <= most:
            self._measure(overflow.prompt, weight, counted)
        limit = overflow.limit or max(int(weight * self.factor * _SMALLER), 1)
        self._learnt = _Learnt(limit, self._now() + LEARNT_SECONDS, self._asked, overflow.limit is not None)
        return True

    def note(self, usage: Usage | None, weight: float, counted: float = 0.0) -> None:
        """The server took a prompt of this weight, and may have counted it."""
        prompt, written = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
        if prompt:
            self._measure(prompt, weight, counted)
        taken = (prompt or int(weight * _LOWEST)) + (written or 0)
        if self._learnt and taken > self._learnt.limit:
            self._learnt = None

    def _measure(self, tokens: int, weight: float, counted: float) -> None:
        """More tokens count at once, fewer only slowly: the next conversation may be in another script. What was counted says nothing of
        how many tokens other texts have."""
        if weight < _LEAST_WEIGHT or 2 * counted > weight:
            return
        measured = min(max(tokens / weight, _LOWEST), _HIGHEST)
        self.factor = measured if measured > self.factor else (3 * self.factor + measured) / 4

    def _current(self) -> int | None:
        if self._learnt and self._now() >= self._learnt.until:
            self._learnt = None
        return self._learnt.limit if self._learnt else None


class Windows:
    """The windows of one back end, by model."""

    def __init__(self, given: int | None) -> None:
        """As ``Window``."""
        self._given = given
        self._by_model: dict[str | None, Window] = {}

    def of(self, model: str | None) -> Window:
        """The window of this model."""
        if model not in self._by_model and len(self._by_model) >= _MOST_MODELS:
            del self._by_model[next(iter(self._by_model))]
        return self._by_model.setdefault(model, Window(self._given))
