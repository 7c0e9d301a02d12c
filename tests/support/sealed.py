"""Sealed reasoning, as a program gets it and sends it back."""

from uuid import UUID

from chatui.turns import sealed
from chatui.turns.sealed import Purpose, SealedReasoning


def unsealed(person: UUID, purpose: Purpose, token: str) -> tuple[str, ...]:
    """The texts of a token that was sealed for this person and purpose; otherwise none."""
    return sealed.unseal(person, purpose, token)


def reasoning_of(person: UUID) -> SealedReasoning:
    """Seals the reasoning of a turn: raw events go into ``feed``, which returns a token after a frame of reasoning."""
    return SealedReasoning(person)
