"""Decides which tools may be called in a conversation, and that only its owner may approve a call."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from uuid import UUID

from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.models.conversation import Conversation
from chatui.models.tools import CardKind, ToolApproval, ToolCall, ToolRule
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access, collections
from chatui.store import documents, passages
from chatui.tools import catalogue, document_search, rules
from chatui.tools.catalogue import Combination
from chatui.tools.document_search import FIND
from chatui.tools.tool import Tool

_BY_SERVER = "tools of the model server"
"""The name for all tools that a model server ran by itself. No tool of ours has this name."""


@dataclass(frozen=True, slots=True)
class ToolsHere:
    """The tools that a person is offered in one conversation, by name, and what decides which of them may be called."""

    offered: dict[str, Tool]
    off: Set[str] = frozenset()
    """The names of those that are switched off."""
    used: Set[str] = frozenset()
    """As for ``catalogue.combine``."""
    has_foreign_text: bool = False
    """As for ``catalogue.combine``."""

    def together(self) -> Combination:
        """The tools that a model may call together: if some exclude each other, only one kind of them."""
        wanted = {name: tool for name, tool in self.offered.items() if name not in self.off and tool.switched_with not in self.off}
        return catalogue.combine(wanted, self.used, has_foreign_text=self.has_foreign_text)

    def switched(self, name: str, *, is_on: bool) -> ToolsHere:
        """The same with this tool on or off. What excludes a tool that goes on is off then; no other tool goes on by itself. Unchanged if
        the tool cannot be had.
        """
        on, tool = set(self.together().offered) - {name}, self.offered.get(name)
        if is_on and tool is not None:
            parts = {each.name for each in self.offered.values() if name in (each.name, each.switched_with)}
            on = on - {other.name for other in catalogue.against(tool, self.offered.values())} | parts
        # The search in the person's own documents is in no menu, so nobody could switch it on again.
        after = replace(self, off=(self.off | self.offered.keys()) - on - {FIND.name})
        return after if not is_on or name in after.together().offered else self


def tools_here(person: User, conversation: Conversation | None, *, is_demo: bool) -> ToolsHere:
    """The tools for this person in that conversation (None: a new one). At most six statements, and only one if no tool is available."""
    offered = access.usable_tools(person, is_demo=is_demo)
    if conversation is not None and not is_demo:
        if access.asks_collections(conversation) and (asked := collections.described_in(person, conversation.pk)):
            offered[FIND.name] = document_search.over(asked)
        elif passages.are_in(conversation.pk):
            offered[FIND.name] = FIND
    if not offered or conversation is None:
        return ToolsHere(offered)
    switched_off = ToolRule.objects.filter(conversation=conversation, is_allowed=False).values_list("tool", flat=True)
    here = ToolsHere(offered, set(switched_off))
    if is_demo or not any(tool.sends_outside for tool in offered.values()):
        return here
    used = set(ToolCall.objects.filter(turn__conversation=conversation).values_list("tool", flat=True).distinct())
    if Turn.objects.filter(conversation=conversation, by_server__isnull=False).exists():
        used.add(_BY_SERVER)
    return replace(here, used=used, has_foreign_text=conversation.has_words_of_others or documents.are_in(conversation))


def connectable_servers(person: User, *, is_demo: bool) -> set[str]:
    """The names of the tool servers at which this person may connect an account of theirs: those of which they are offered a tool, and all
    for those who may see hidden channels, since a server's tools are confirmed as such an account lists them. At most one statement."""
    from chatui.tools import tool_accounts  # as in ``catalogue.tools``

    servers = set(tool_accounts.servers())
    if access.can_see_hidden(person):
        return servers
    return servers & {tool.source for tool in access.usable_tools(person, is_demo=is_demo).values()} if servers else servers


def resource_servers(person: User, *, is_demo: bool) -> list[str]:
    """The names of the tool servers whose resources this person may attach: those that give them, of which the person is offered a tool. At
    most three statements, and none without tool servers."""
    if is_demo or not rules.has_servers():
        return []
    from chatui.tools import server_registry  # as in ``catalogue.tools``

    return _offered_a_tool(person, server_registry.resource_servers())


def prompt_servers(person: User, *, is_demo: bool) -> list[str]:
    """The names of the tool servers that this person may ask for prompts: those of which the person is offered a tool. Statements as for
    ``resource_servers``."""
    if is_demo or not rules.has_servers():
        return []
    from chatui.tools import server_registry  # as in ``catalogue.tools``

    return _offered_a_tool(person, server_registry.prompt_servers())


def _offered_a_tool(person: User, servers: Mapping[str, Set[str]]) -> list[str]:
    """The tool servers of which the person is offered a tool. ``servers``: the names of their tools."""
    if not servers:
        return []
    usable = access.usable_tools(person, is_demo=False)
    # A tool of a package may have the name, too, and comes before the server's.
    named = {(tool.source, name) for name, tool in usable.items()}
    return sorted(server for server, tools in servers.items() if any((server, name) in named for name in tools))


def tools_in(person: User, conversation: Conversation | None, *, is_demo: bool) -> Combination:
    """The tools that a model may call for this person in that conversation (None: a new one)."""
    return tools_here(person, conversation, is_demo=is_demo).together()


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
    """The visitor's approval of a tool call, or the form that one of them asks to fill in, decided or not, with its turn and conversation.

    Raises NotFoundError if there is none, or it is for somebody else.
    """
    conversation = access.own_conversation(visitor.user, conversation_id)
    found = ToolApproval.objects.filter(pk=approval_id, turn__conversation=conversation).exclude(kind=CardKind.TEXT).exclude(arguments="")
    return access.existing(found.select_related("turn__conversation__owner").defer("turn__request").first())
