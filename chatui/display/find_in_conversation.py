"""Finds the messages of one conversation that contain a text. Only text that the person may see is ever searched."""

from __future__ import annotations

import re
from uuid import UUID

from chatui.display.search import QUERY_CHARS
from chatui.models import Conversation, User
from chatui.store import transcripts
from renderer.frame_kinds import PRODUCT_NAMES
from renderer.gate import Audience, show


def matching_messages(row: Conversation, person: User, text: str) -> list[UUID]:
    """The visible messages of the person's open branch that contain ``text``, ignoring case, in order.

    ``row`` must come from ``access`` for this person.
    """
    wanted = text[:QUERY_CHARS].strip()
    leaf = transcripts.active_leaf(row, person)
    if not wanted or leaf is None:
        return []
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    # Summaries of the thinking are folded into an answer, so a result could not link to them.
    shown = [message for message in transcripts.branch(row, leaf) if message.is_visible and message.name not in PRODUCT_NAMES]
    return [message.pk for message in shown if pattern.search(show(transcripts.frame_of(message), Audience.END_USER))]
