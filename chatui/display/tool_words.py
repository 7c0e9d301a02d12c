"""What people read about tools: their titles, the lines for their calls, and what a call will do and who receives it, before they decide
about it.

All words of models and servers are plain text, with nothing invisible in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override, pgettext_lazy
from django.utils.translation import gettext_noop as noop

from chatui.env import environment
from chatui.models.tools import ToolApproval
from chatui.tools.tool import Tool, line_of
from renderer.characters import escape
from renderer.gate import VisibleText, approval_text

_TITLES = frozenset(
    (
        *(noop("Search the web"), noop("Read web pages"), noop("Find text in web pages"), noop("Run Python code")),
        *(noop("Search in documents"), noop("Ask questions"), noop("Clock"), noop("Weather"), noop("Notes")),
    )
)
"""The titles of our own tools, as they are in the code and in stored rows."""


def own_title(tool: Tool) -> str:
    """The title of a tool for a page: of our own tools in its language."""
    return title_in_words(tool.shown_title)


def title_in_words(title: str) -> str:
    return _(title) if title in _TITLES else escape(title)


_LABELS = frozenset(
    (
        *(noop("Searching the web"), noop("Reading a web page"), noop("Searching a web page"), noop("Working something out in Python")),
        *(noop("Searching in documents"), noop("Looking at the clock"), noop("Looking up the weather in {city}"), noop("Keeping a note")),
        noop("Using a tool"),
    )
)
"""The labels of our own tools, as they are in the code."""


def line(tool: Tool, arguments: Mapping[str, Any], language: str) -> str:
    """The line for a call, as ``line_of``; of our own tools in that language. It is a part of the conversation, in one language."""
    with override(language):
        return line_of(replace(tool, label=_(tool.label)) if tool.label in _LABELS else tool, arguments)


Act = Literal["open", "look", "search", "code", "remote_code", "clock", "send", "call"]
"""What a call does: opens a page, looks at one that is open, searches the web, runs code here or on another machine, asks for the time,
sends its arguments to a tool server, or is of another tool."""
_OWN_ACTS: Mapping[str, Act] = {
    "browser_open": "open",
    "browser_find": "look",
    "browser_search": "search",
    "run_python": "code",
    "current_time": "clock",
}
"""By the names of our own tools, which no other tool can have (``tools.catalogue``)."""
_OWN_ARGUMENTS: Mapping[str, Mapping[str, Promise]] = {
    "browser_open": {
        "id": pgettext_lazy("of a web page", "Address"),
        "loc": gettext_lazy("From line"),
        "num_lines": gettext_lazy("Lines"),
        "cursor": gettext_lazy("Number of the open page"),
    },
    "browser_find": {"pattern": gettext_lazy("Text to find"), "cursor": gettext_lazy("Number of the open page")},
    "browser_search": {"query": gettext_lazy("Words"), "topn": gettext_lazy("Most results")},
    "run_python": {"code": gettext_lazy("Code")},
    "current_time": {"zone": gettext_lazy("Time zone")},
}


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a call will do, before somebody decides about it."""

    asks: str
    """The question."""
    receiver: VisibleText = field(repr=False)
    """A host or the name of a tool server."""
    sentence: tuple[str, str] | None
    """Who receives what is shown, in two pieces with the ``receiver`` between them; without one, that nobody does, in one piece; None if
    that is not known."""


def prospect(row: ToolApproval, title: str, arguments: Mapping[str, Any]) -> Prospect:
    """What the card of a call that waits for approval asks, and who receives what it shows."""
    act = _act(row, arguments)
    asks = {
        "open": _("Open this page?"),
        "look": _("Look at an open page again?"),
        "search": _("Search the web?"),
        "code": _("Run this Python code?"),
        "remote_code": _("Run this Python code?"),
        "clock": _("Ask what time it is?"),
    }.get(act) or _("Allow “%(tool)s”?") % {"tool": title}
    sentence = {
        "open": _("%(receiver)s will receive the address that you see."),
        "look": _("Nobody receives anything: the page is open already."),
        "search": _("%(receiver)s will receive these words."),
        "code": _("It runs in a sandbox without a network."),
        "remote_code": _("It runs on a machine that the operator set up for it."),
        "clock": _("Nobody receives anything."),
        "send": _("%(receiver)s will receive what you see.") if arguments else _("%(receiver)s will be called."),
    }.get(act)
    pieces = sentence.partition("%(receiver)s") if sentence else None
    return Prospect(asks, approval_text(escape(row.receiver)), (pieces[0], pieces[2]) if pieces else None)


def _act(row: ToolApproval, arguments: Mapping[str, Any]) -> Act:
    act = _OWN_ACTS.get(row.tool, "send" if row.receiver else "call")
    if act in ("open", "search") and not row.receiver:
        # Another part of an open page has no address. Whoever would receive an address is named, or nothing is promised.
        return "look" if act == "open" and "id" not in arguments else "call"
    return "remote_code" if act == "code" and environment().python_service_url else act


def argument_name(tool: str, name: str) -> VisibleText:
    """The name of an argument: of our own tools in words, of others as they call it."""
    own = _OWN_ARGUMENTS.get(tool, {}).get(name)
    return approval_text(str(own) if own else escape(name))
