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
    """The visible messages of the branch that the person has open which contain ``text``, regardless of case, from the first.

    ``row`` is a conversation that ``access`` gave to this person.
    """
    wanted = text[:QUERY_CHARS].strip()
    leaf = transcripts.active_leaf(row, person)
    if not wanted or leaf is None:
        return []
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    # Summaries of the thinking stand folded beside an answer, and have no place of their own to lead to.
    shown = [message for message in transcripts.branch(row, leaf) if message.is_visible and message.name not in PRODUCT_NAMES]
    return [message.pk for message in shown if pattern.search(show(transcripts.frame_of(message), Audience.END_USER))]
