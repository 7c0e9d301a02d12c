"""Decides which tools may be called in a conversation, and that only its owner may approve a call."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.models.conversation import Conversation
from chatui.models.tools import ToolApproval, ToolCall, ToolRule
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import documents, passages
from chatui.tools import catalogue
from chatui.tools.catalogue import Combination
from chatui.tools.document_search import FIND
from chatui.tools.tool import Tool

_BY_SERVER = "tools of the model server"
"""The name for all tools that a model server ran by itself. No tool of ours has this name."""


def switched_off(conversation: Conversation | None) -> set[str]:
    """The names of the tools that the owner has switched off in a conversation."""
    if conversation is None:
        return set()
    return set(ToolRule.objects.filter(conversation=conversation, is_allowed=False).values_list("tool", flat=True))


def tools_in(person: User, conversation: Conversation | None, *, is_demo: bool) -> Combination:
    """The tools that a model may call for this person in that conversation (None: a new one).

    These are the tools available to the person without those that they switched off, and of tools that exclude each other only one kind. At
    most five statements, and only one if no tool is available.
    """
    offered = access.usable_tools(person, is_demo=is_demo)
    if conversation is not None and not is_demo and passages.are_in(conversation.pk):
        offered[FIND.name] = FIND
    if not offered:
        return Combination({}, {})
    off = switched_off(conversation)
    wanted = {name: tool for name, tool in offered.items() if name not in off}
    used: set[str] = set()
    has_foreign_text = False
    if conversation is not None and not is_demo and any(tool.sends_outside for tool in wanted.values()):
        has_foreign_text = conversation.has_words_of_others or documents.are_in(conversation)
        used = set(ToolCall.objects.filter(turn__conversation=conversation).values_list("tool", flat=True).distinct())
        if Turn.objects.filter(conversation=conversation, by_server__isnull=False).exists():
            used.add(_BY_SERVER)
    return catalogue.combine(wanted, used, has_foreign_text=has_foreign_text)


def server_tools_combine_with(tools: Collection[Tool], conversation: Conversation | None) -> bool:
    """Whether a model server may run its own tools together with these tools in that conversation (None: a new one).

    We do not know what a server's tools read, or where they send their input. So they exclude tools that read private data or send it, and
    conversations in which documents were attached or pages were read. At most two statements.
    """
    if environment().tool_combinations == "any":
        return True
    if any(tool.reads_private_data or tool.sends_outside for tool in tools):
        return False
    if conversation is None:
        return True
    has_foreign_text = conversation.has_words_of_others or documents.are_in(conversation)
    return not (has_foreign_text or ToolCall.objects.filter(turn__conversation=conversation).exists())


def own_approval(visitor: Visitor, conversation_id: UUID, approval_id: UUID) -> ToolApproval:
    """The visitor's approval of a tool call, decided or not, with its turn and conversation.

    Raises NotFoundError if there is none, or it is for somebody else.
    """
    conversation = access.own_conversation(visitor.user, conversation_id)
    found = ToolApproval.objects.filter(pk=approval_id, turn__conversation=conversation).exclude(arguments="")
    row = found.select_related("turn__conversation__owner").defer("turn__request").first()
    if row is None:
        raise access.NotFoundError
    return row
