"""Indexes a temporary conversation once its person keeps it. Before that, the search index has none of its words."""

from __future__ import annotations

from chatui.models import Conversation, Message, SearchEntry
from chatui.store import search_index, transcripts
from renderer.frame_kinds import PRODUCT_NAMES
from renderer.gate import Audience, show


def index_all(row: Conversation) -> None:
    """Index every message that a search may find, in the caller's transaction."""
    found = Message.objects.filter(conversation=row, is_visible=True).exclude(name__in=PRODUCT_NAMES).select_related("conversation")
    found = found.exclude(pk__in=SearchEntry.objects.filter(conversation=row, message__isnull=False).values("message"))
    search_index.add((message, show(transcripts.frame_of(message), Audience.END_USER)) for message in found.order_by("position"))
