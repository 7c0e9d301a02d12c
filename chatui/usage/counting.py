"""Data classes for token usage: how many tokens, for what, and for whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from chatui.models.usage.entry import UsageKind


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens. ``cached`` are part of ``input``, reasoning is part of ``output``. ``is_estimate``: the server did not report all of it."""

    input: int = 0
    cached: int = 0
    output: int = 0
    is_estimate: bool = False

    @property
    def tokens(self) -> int:
        """All tokens that count towards limits."""
        return self.input + self.output

    def __add__(self, other: Spent) -> Spent:
        """The sum of both."""
        either = self.is_estimate or other.is_estimate
        return Spent(self.input + other.input, self.cached + other.cached, self.output + other.output, either)


@dataclass(frozen=True, slots=True)
class Charge:
    """An entry for the ledger. ``turns``: 1 for an answer that counts as one."""

    kind: UsageKind
    spent: Spent
    choice: str = ""
    backend: str = ""
    model: str = ""
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who asked, on which day, with which key, and how many tokens were reserved; None if none were."""

    person_id: UUID
    day: date
    key_id: UUID | None = None
    reserved_tokens: int | None = None
