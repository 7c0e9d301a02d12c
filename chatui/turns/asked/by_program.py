"""What a program wants of a turn: what was said before, its instructions and its settings, whatever format it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from chatui.turns.streams.program import ProgramStream


@dataclass(frozen=True, slots=True)
class Said:
    """A message before the question, as the program gives it: a person's, an answer, or a preamble."""

    text: str = field(repr=False)
    is_person: bool = False
    is_preamble: bool = False


@dataclass(frozen=True, slots=True)
class ProgramAsk:
    """``id`` is that of the answer. ``previous``: the answer that it goes on from; then ``before`` stands behind that one.

    ``carried``: what its system and developer messages say, which later turns are given again, unlike ``instructions``. ``sampling``:
    ``temperature`` and ``top_p``. ``is_kept``: whether anything stays after the answer. ``given``: its settings as its format has them.
    """

    id: UUID
    key_id: UUID
    question: str = field(repr=False)
    stream: ProgramStream = field(repr=False)
    choice: str
    effort: str = "medium"
    before: tuple[Said, ...] = field(default=(), repr=False)
    previous: UUID | None = None
    instructions: str = field(default="", repr=False)
    carried: str = field(default="", repr=False)
    max_tokens: int | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    must_fit: bool = True
    is_kept: bool = True
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def orders(self) -> str:
        """All that the program tells the model to do."""
        return "\n\n".join(filter(None, (self.carried, self.instructions)))
