"""Prepares the tools that a person is offered: the menu at the message box, and the choices of a key and of an assistant.

The menu has the tools that are on in a conversation, and which of them exclude each other. An API key can allow the tools of its owner that
run without approval, because nobody is there to give one.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from chatui.display.tool_words import own_title
from chatui.model_servers import choice, connected
from chatui.models.conversation import Conversation
from chatui.models.tools import ToolRule
from chatui.models.user import User
from chatui.permissions import access
from chatui.permissions.tools import ToolsHere, server_tools_combine_with, tools_here
from chatui.permissions.tools import prompt_servers as may_ask_for_prompts
from chatui.permissions.tools import resource_servers as may_attach_from
from chatui.tools import catalogue, rules
from chatui.tools.document_search import FIND
from chatui.tools.tool import Tool
from renderer.characters import escape


def tools_for_keys(person: User) -> list[tuple[str, str]]:
    """The name and title of each tool, sorted by title. At most one statement."""
    is_demo = connected.is_demo()
    if not catalogue.has_any(is_demo=is_demo):
        return []
    found = [tool for tool in access.usable_tools(person, is_demo=is_demo).values() if catalogue.is_for_programs(tool)]
    return sorted(((tool.name, own_title(tool)) for tool in found), key=lambda each: each[1].casefold())


STATES = ("on", "off", "ask")
"""The choices for a tool: switch it on or off, or be asked again before each call."""


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool in the menu."""

    name: str
    title: str
    is_on: bool
    """Whether the model may call it."""
    can_be_on: bool
    """Whether it can be switched on."""
    is_allowed: bool
    """Whether it runs without approval, because the person always allowed it in this conversation."""
    note: str
    """A remark about it."""


@dataclass(frozen=True, slots=True)
class ShownTools:
    """All tools that a person is offered, by title."""

    all: tuple[ShownTool, ...]
    count: int
    """How many of them the model may call."""
    by_server: str = ""
    """The tools that the model server may use by itself, in words; they cannot be switched here."""


def has_tools(person: User) -> bool:
    """Whether a person is offered any tools, or a model server uses some by itself. At most two statements."""
    if choice.any_server_tools(person):
        return True
    is_demo = connected.is_demo()
    return catalogue.has_any(is_demo=is_demo) and bool(access.usable_tools(person, is_demo=is_demo))


def resource_servers(person: User) -> list[str]:
    """The names of the tool servers whose resources a person may attach. No statement without tool servers."""
    return may_attach_from(person, is_demo=connected.is_demo()) if rules.has_servers() else []


def prompt_servers(person: User) -> list[str]:
    """The names of the tool servers that a person may ask for prompts. No statement without tool servers."""
    return may_ask_for_prompts(person, is_demo=connected.is_demo()) if rules.has_servers() else []


def shown_tools(person: User, row: Conversation | None, model: str = "", off: Set[str] = frozenset(), on: str = "") -> ShownTools:
    """The tools for a conversation, or for a new one if ``row`` is None. ``model``: the one that is chosen at the message box, with the
    names of the tools that are ``off`` in a new conversation, and of the one that is now switched ``on``."""
    here = tools_here(person, row, is_demo=connected.is_demo())
    if row is None:
        here = replace(here, off=off)
        here = here.switched(on, is_on=True) if on else here
    by_server = choice.server_tools(person, model or (row.choice if row else ""))
    of_row = {rule.tool: rule for rule in ToolRule.objects.filter(conversation=row)} if row and here.offered else {}
    offered = here.together().offered
    shown = [_shown(tool, here, of_row.get(tool.name)) for tool in _in_menu(here)]
    return ShownTools(
        tuple(sorted(shown, key=lambda each: each.title.casefold())),
        sum(tool.is_on for tool in shown),
        _by_server(by_server, offered.values(), row),
    )


def tools_to_choose(person: User, chosen: Collection[str]) -> list[tuple[str, str]]:
    """The name and title of each tool in the person's menu, by title, then of those of ``chosen`` that are not in it any more."""
    offered = {tool.name: own_title(tool) for tool in _in_menu(tools_here(person, None, is_demo=connected.is_demo()))}
    gone = [(name, _("%(tool)s (not offered now)") % {"tool": title_of(name)}) for name in chosen if name not in offered]
    return [*sorted(offered.items(), key=lambda each: each[1].casefold()), *gone]


def title_of(name: str) -> str:
    """The title of the tool with that name, or the name, if there is no such tool any more."""
    tool = {**catalogue.of_demo(), **catalogue.tools()}.get(name)
    return own_title(tool) if tool else name


@dataclass(frozen=True, slots=True)
class BegunTools:
    """The tools of a new conversation with an assistant."""

    off: str
    """The names of those that are off, separated by commas."""
    missing: tuple[str, ...]
    """Of its tools, the titles of those that the person is not offered."""


def begun_with(person: User, wanted: Collection[str]) -> BegunTools:
    """Which tools are off in a new conversation with an assistant that wants these, and which the person lacks. At most one statement."""
    offered = {tool.name for tool in _in_menu(tools_here(person, None, is_demo=connected.is_demo()))}
    return BegunTools(",".join(sorted(offered - set(wanted))), tuple(map(title_of, sorted(set(wanted) - offered))))


def _in_menu(here: ToolsHere) -> list[Tool]:
    """The search in the person's own documents is in no menu, and some tools are a part of another one there."""
    return [tool for name, tool in here.offered.items() if name != FIND.name and not tool.switched_with]


def _by_server(kinds: Collection[str], tools: Collection[Tool], row: Conversation | None) -> str:
    """The hosted tools in words; empty if there are none, or they may not be combined with the other tools of the conversation."""
    if not kinds or not server_tools_combine_with(tools, row):
        return ""
    known = {
        "web_search": _("web search"),
        "web_search_preview": _("web search"),
        "browser_search": _("web search"),
        "file_search": _("file search"),
        "code_interpreter": _("code execution"),
        "image_generation": _("image generation"),
    }
    return ", ".join(dict.fromkeys(known.get(kind) or escape(kind.replace("_", " ")) for kind in kinds))


def _shown(tool: Tool, here: ToolsHere, rule: ToolRule | None) -> ShownTool:
    offered = here.together().offered
    is_on, needs_approval = tool.name in offered, catalogue.needs_approval(tool)
    can_be_on = is_on or tool.name in here.switched(tool.name, is_on=True).together().offered
    is_allowed = rule is not None and rule.is_allowed and rule.fingerprint == tool.fingerprint and needs_approval
    others = ", ".join(own_title(each) for each in catalogue.against(tool, offered.values()))
    if not can_be_on:
        note = _(
            "Not available: this conversation has private data or text by others (a file, an import), and this tool could send data out."
        )
    elif not is_on:
        note = _("Turning this on turns off %(others)s: one could send out what the other reads.") % {"others": others} if others else ""
    elif is_allowed:
        note = _("Runs without asking you in this conversation.")
    else:
        note = _("You are asked before each call.") if needs_approval else ""
    return ShownTool(tool.name, own_title(tool), is_on, can_be_on, is_allowed, note)


def switch(person: User, conversation_id: object, name: str, state: str) -> Conversation:
    """Switch a tool on or off in the person's own conversation or have them asked again. One that goes on switches off what it excludes."""
    row = access.own_conversation(person, conversation_id)
    # Any valid name is accepted: the tool may have been available when the page was rendered.
    if state not in STATES or not _is_name(name):
        raise access.NotFoundError
    if state == "ask":
        # What goes on and off with the tool is part of it for people.
        parts = [each.name for each in catalogue.tools().values() if each.switched_with == name]
        ToolRule.objects.filter(conversation=row, tool__in=[name, *parts], is_allowed=True).delete()
        return row
    before = tools_here(person, row, is_demo=connected.is_demo())
    after = before.switched(name, is_on=state == "on")
    off = after.off | {name} if state == "off" else after.off
    ToolRule.objects.filter(conversation=row, tool__in=before.off - off, is_allowed=False).delete()
    for each in sorted(off - before.off):
        ToolRule.objects.update_or_create(conversation=row, tool=each, defaults={"is_allowed": False, "fingerprint": ""})
    return row


def _is_name(name: str) -> bool:
    return bool(catalogue.names_of(name)) and "," not in name
