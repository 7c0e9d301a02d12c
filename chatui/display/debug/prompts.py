"""Prepares the request that was sent to the model for one turn, exact or formatted, in parts that fit on a page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from chatui.models import Conversation, Turn
from chatui.permissions import access
from chatui.store import requests
from chatui.store.requests import StoredRequest
from renderer.gate import VisibleText, as_debug_text

PART_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part of a request. ``part`` counts from 1. ``parts`` is 0 if nothing was stored."""

    turn_id: str
    path: str
    size: int
    is_laid_out: bool
    part: int
    parts: int
    text: VisibleText = field(repr=False)


def part(row: Conversation, turn_id: object, number: int, *, laid_out: bool) -> PromptPart:
    """Part ``number`` of the request, or the nearest one.

    Raises:
        NotFoundError: the turn is not part of this conversation.
    """
    turn = access.turn_of(row, turn_id)
    sent = sent_for(turn)
    body = sent.body if sent else None
    if sent is None or body is None:
        return PromptPart(str(turn.pk), sent.path if sent else "", sent.size if sent else 0, laid_out, 1, 0, as_debug_text(""))
    text = _laid_out(body) if laid_out else body
    parts = max(1, -(-len(text) // PART_CHARS))
    number = min(max(number, 1), parts)
    piece = text[(number - 1) * PART_CHARS : number * PART_CHARS]
    return PromptPart(str(turn.pk), sent.path, sent.size, laid_out, number, parts, as_debug_text(piece))


def whole(row: Conversation, turn_id: object) -> VisibleText:
    """The exact request that was sent.

    Raises:
        NotFoundError: the turn is not part of this conversation, or nothing was stored.
    """
    sent = sent_for(access.turn_of(row, turn_id))
    if sent is None or sent.body is None:
        raise access.NotFoundError
    return as_debug_text(sent.body)


def sent_for(turn: Turn) -> StoredRequest | None:
    """The stored request of a turn; None where there is none."""
    return requests.unpack(bytes(turn.request)) if turn.request else None


def _laid_out(body: str) -> str:
    """The request with one value per line, except that a list of numbers only (token ids) stays on one line."""
    try:
        text = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body
    # A line break inside a string is written as \\n, so a match over several lines is never text of a message.
    return _NUMBERS.sub(lambda found: " ".join(found[0].split()), text)


_NUMBERS = re.compile(r"\[\n\s+-?\d+(?:,\n\s+-?\d+)*\n\s*\]")
