"""Creates conversations of the maximum length, or longer, quickly, with related rows."""

from datetime import timedelta
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.keys import new_key
from chatui.models.message import Author, Message, SearchEntry
from chatui.models.ratings import Rating
from chatui.models.shares import ShareLink
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.store import requests

MODELS = (Conversation, Message, Turn, SearchEntry, ActiveLeaf, ShareLink, DebugRequest, Rating)


@transaction.atomic  # messages and turns refer to each other: constraints are checked at the end
def long_conversation(owner: User, messages: int, word: str = "cabbage") -> Conversation:
    """One chain of questions and answers, each message below the previous one, with a turn for each question."""
    row = Conversation.objects.create(owner=owner, title=f"About {word}")
    keys = [new_key() for _ in range(messages)]
    turns = [_turn(row, question, word) for question in keys[::2]]
    turns[-1].continued_message_id = keys[1]
    Turn.objects.bulk_create(turns, batch_size=500)
    chain = [_message(row, keys, position, word) for position in range(messages)]
    for answer, turn in zip(chain[1::2], turns, strict=False):
        answer.turn_id = turn.pk
    Message.objects.bulk_create(chain, batch_size=500)
    SearchEntry.objects.bulk_create([SearchEntry(conversation=row, message_id=key, terms=word) for key in [*keys, None]], batch_size=500)
    ActiveLeaf.objects.create(conversation=row, person=owner, message=chain[-1])
    ShareLink.objects.create(token=uuid4().hex[:22], conversation=row, leaf=chain[-1], title=row.title, created_by=owner)
    Rating.objects.create(message=chain[1], person=owner, verdict="down", note=f"too much {word}", rated_at=timezone.now())
    DebugRequest.objects.create(conversation=row, person=owner, minutes=15, reason=f"a look at {word}")
    return row


def _message(row: Conversation, keys: list[UUID], position: int, word: str) -> Message:
    role, channel = ("assistant", "final") if position % 2 else ("user", "")
    return Message(
        id=keys[position],
        conversation=row,
        parent_id=keys[position - 1] if position else None,
        position=position,
        text=f"<|start|>{role}<|message|>{word} {position}<|end|>",
        role=role,
        channel=channel,
        terminator="<|end|>",
        is_visible=True,
        author=Author.MODEL if position % 2 else Author.PERSON,
    )


def _turn(row: Conversation, question: UUID, word: str) -> Turn:
    return Turn(
        conversation=row,
        question_id=question,
        asked_by=row.owner,
        client_id=uuid4(),
        state=TurnState.COMPLETED,
        lease_until=timezone.now() - timedelta(days=1),
        effort="low",
        request=requests.pack("/v1/chat/completions", word.encode()),
    )
