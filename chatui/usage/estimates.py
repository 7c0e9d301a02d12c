"""Estimates the tokens of a turn from its stored text, if its process has died or its server reported none."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Length

from chatui.backends.context.token_budget import ANSWER_TOKENS, SEEN_CHARS, weight
from chatui.env import environment
from chatui.models import Turn
from chatui.models.message import Author
from chatui.models.usage.entry import UsageKind
from chatui.usage.counting import Charge, Spent
from renderer.frame_kinds import DOCUMENT_NAME
from renderer.frames import Role

_CHARS_PER_TOKEN = 3.6


def tokens_to_reserve(text: str, before: int) -> int:
    """How many tokens a question may take: the estimate for its text, ``before`` for the earlier conversation, and an answer."""
    return before + int(weight(text)) + (environment().max_answer_tokens or ANSWER_TOKENS)


def charge_of(turn: Turn) -> Charge:
    """The charge for a turn without any report. If nothing was written, nothing is charged."""
    # Tool replies and a program's messages were input, not output. Text that is stored as a message may still exist in pieces as well.
    stored = turn.messages.filter(author=Author.MODEL)
    written = _chars(stored) + _chars(turn.pieces.exclude(frame__in=turn.messages.values("pk")))
    if not written:
        return Charge(UsageKind.ANSWER, Spent(is_estimate=True), turn.choice)
    # All branches count, because walking down one costs more than an estimate is worth. No model was sent more than SEEN_CHARS.
    seen = Q(is_visible=True) | Q(role=Role.USER, name=DOCUMENT_NAME)
    read = min(_chars(turn.conversation.messages.filter(seen, position__lte=turn.question.position)), SEEN_CHARS)
    return Charge(UsageKind.ANSWER, Spent(_tokens(read), 0, _tokens(written), is_estimate=True), turn.choice)


def _chars(rows: QuerySet[Any]) -> int:
    return rows.aggregate(chars=Sum(Length("text")))["chars"] or 0


def _tokens(chars: int) -> int:
    return -(-chars * 10 // int(_CHARS_PER_TOKEN * 10))
