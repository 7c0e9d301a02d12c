"""The tool menu at the message box: which tools are on in a conversation, and which exclude each other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _

from chatui.display.tools.visible_text import visible
from chatui.model_servers import model_choice
from chatui.models import Conversation, ToolRule, User
from chatui.permissions import access
from chatui.permissions.tools import server_tools_combine_with, tools_in
from chatui.tools import available, combinations, switches
from chatui.tools.combinations import Combination
from chatui.tools.tool import Tool

STATES = ("on", "off", "ask")
"""The choices for a tool: switch it on or off, or be asked again before each call."""


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool in the menu. ``note``: a remark about it. ``is_allowed``: it runs without approval, because the person always allowed it in
    this conversation."""

    name: str
    title: str
    is_on: bool
    is_allowed: bool
    note: str


@dataclass(frozen=True, slots=True)
class ShownTools:
    """All tools that a person is offered, by title. ``count``: how many of them the model may call. ``by_server``: the tools that the model
    server may use by itself, in words; they cannot be switched here."""

    all: tuple[ShownTool, ...]
    count: int
    by_server: str = ""


def has_tools(person: User, *, is_demo: bool) -> bool:
    """Whether a person is offered any tools, or a model server uses some by itself. At most two statements."""
    if model_choice.any_server_tools(person):
        return True
    return available.has_any(is_demo=is_demo) and bool(access.usable_tools(person, is_demo=is_demo))


@dataclass(frozen=True, slots=True)
class Chosen:
    """The settings at the message box: the model, and, for a new conversation, the names of the tools that are ``off``."""

    choice: str = ""
    off: Collection[str] = ()


def shown_tools(person: User, row: Conversation | None, chosen: Chosen = Chosen(), *, is_demo: bool) -> ShownTools:
    """The tools for a conversation, or for a new one if ``row`` is None."""
    known, off = access.usable_tools(person, is_demo=is_demo), chosen.off
    by_server = model_choice.server_tools(person, chosen.choice or (row.choice if row else ""))
    if not known:
        return ShownTools((), 0, _by_server(by_server, (), row))
    rules = {rule.tool: rule for rule in ToolRule.objects.filter(conversation=row)} if row else {}
    if row is not None:
        off = {name for name, rule in rules.items() if not rule.is_allowed}
        together = tools_in(person, row, is_demo=is_demo)
    else:
        together = combinations.combine({name: tool for name, tool in known.items() if name not in off})
    shown = [_shown(tool, known, together, off, rules.get(tool.name)) for tool in known.values()]
    return ShownTools(
        tuple(sorted(shown, key=lambda each: each.title.casefold())),
        len(together.offered),
        _by_server(by_server, together.offered.values(), row),
    )


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
    return ", ".join(dict.fromkeys(known.get(kind) or visible(kind.replace("_", " ")) for kind in kinds))


def _shown(tool: Tool, known: dict[str, Tool], together: Combination, off: Collection[str], rule: ToolRule | None) -> ShownTool:
    is_on = tool.name not in off
    is_allowed = rule is not None and rule.is_allowed and rule.fingerprint == tool.fingerprint and available.needs_approval(tool)
    note = ""
    if is_on and tool.name in together.left_out:
        note = _why(tool, [_title(known[name]) for name in together.left_out[tool.name] if name in known])
    elif is_on and is_allowed:
        note = _("Runs without asking you in this conversation.")
    elif is_on and available.needs_approval(tool):
        note = _("You are asked before each call.")
    return ShownTool(tool.name, _title(tool), is_on, is_allowed, note)


def _why(tool: Tool, others: list[str]) -> str:
    if not others:
        return _(
            "Not available: this conversation has private data or text by others (a file, an import), and this tool could send data out."
        )
    named = {"others": ", ".join(others)}
    if tool.sends_outside and not tool.reads_private_data:
        return _("Not available together with %(others)s: private data could be sent out. Switch that off to use this.") % named
    return _("Not available together with %(others)s: one could send out what the other reads. Switch that off to use this.") % named


def _title(tool: Tool) -> str:
    return visible(tool.shown_title)


def switch(person: User, conversation_id: object, name: str, state: str) -> Conversation:
    """Switch a tool on or off in the person's own conversation, or have them asked again.

    Raises:
        NotFoundError: they have no such conversation, or the name or state is invalid.
    """
    row = access.own_conversation(person, conversation_id)
    # Any valid name is accepted: the tool may have been available when the page was rendered.
    if state not in STATES or not _is_name(name):
        raise access.NotFoundError
    rules = ToolRule.objects.filter(conversation=row, tool=name)
    if state == "off":
        ToolRule.objects.update_or_create(conversation=row, tool=name, defaults={"is_allowed": False, "fingerprint": ""})
    elif state == "on":
        rules.filter(is_allowed=False).delete()
    else:
        rules.filter(is_allowed=True).delete()
    return row


def _is_name(name: str) -> bool:
    return bool(switches.names_of(name)) and "," not in name
