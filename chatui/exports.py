"""Downloads of a branch as OpenChatML: for its owner what they may see, for permitted staff the whole."""

from __future__ import annotations

from chatui import transcripts
from chatui.models import Conversation, User
from renderer.gate import Audience


def transcript(row: Conversation, person: User, audience: Audience) -> str:
    """The open branch as a document. DEBUG only behind ``access.view_hidden``."""
    messages = transcripts.branch(row, transcripts.active_leaf(row, person))
    return transcripts.document(row, messages, audience)
