"""The data classes for tokens and their purposes, whether a back end reported or we estimated them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from chatui.models.usage.entry import UsageKind


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens. ``cached`` are part of ``input``, reasoning is part of ``output``. ``is_estimate``: the server did not say all of it."""

    input: int = 0
    cached: int = 0
    output: int = 0
    is_estimate: bool = False

    @property
    def tokens(self) -> int:
        """All that limits count."""
        return self.input + self.output

    def __add__(self, other: Spent) -> Spent:
        """Both together."""
        either = self.is_estimate or other.is_estimate
        return Spent(self.input + other.input, self.cached + other.cached, self.output + other.output, either)


@dataclass(frozen=True, slots=True)
class Charge:
    """A line to book. ``turns``: 1 for an answer that counts as one."""

    kind: UsageKind
    spent: Spent
    choice: str = ""
    backend: str = ""
    model: str = ""
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who asked, on which day, by which key, and how many tokens were reserved for it; None where nothing was."""

    person_id: UUID
    day: date
    key_id: UUID | None = None
    reserved_tokens: int | None = None
