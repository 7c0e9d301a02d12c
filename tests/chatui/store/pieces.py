"""Stored pieces of an open frame, as a dead process leaves them."""

from datetime import timedelta
from uuid import UUID, uuid4

from django.utils import timezone

from chatui.models.turn import Turn, TurnPiece


def leave(turn_id: UUID, text: str, header: str = "assistant<|channel|>final") -> None:
    """Store a piece of a frame with this header and text, and an expired lease."""
    number = TurnPiece.objects.filter(turn=turn_id).count() + 1
    TurnPiece.objects.create(turn_id=turn_id, number=number, frame=uuid4(), header=f"<|start|>{header}<|message|><|end|>", text=text)
    Turn.objects.filter(pk=turn_id).update(lease_until=timezone.now() - timedelta(seconds=1))


def saved(turn_id: UUID) -> list[tuple[str, str]]:
    """The stored frames of a running turn: header and text of each piece, in order."""
    return list(TurnPiece.objects.filter(turn=turn_id).order_by("number").values_list("header", "text"))
