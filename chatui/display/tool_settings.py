"""What Administration shows of tools: which there are, what each does, for whom it is on, and why one is off or not offered.

The reasons are those that the product itself acts on, and the command ``tools`` prints: nothing is judged a second time here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.display.tool_words import own_title
from chatui.documents import reading
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models.tools import StoredToolServer
from chatui.tools import catalogue, rules, search_engines
from chatui.tools.ask_person import ASK
from chatui.tools.document_search import FIND
from chatui.tools.python import availability
from chatui.tools.python.tool import installed_packages
from chatui.tools.tool import Tool
from renderer.characters import escape

if TYPE_CHECKING:
    from chatui.tools.remote.definition import ServerSpec

_SENTENCES: Mapping[str, Promise] = {
    "browser_search": _("The model sends words to a search engine, and reads the titles and first lines of what it finds."),
    "browser_open": _("The model opens pages that the person named or that a search or a page showed, and reads and searches their text."),
    "run_python": _("The model calculates and evaluates files with code that it writes, in a sandbox without a network."),
    ASK.name: _("The model asks the person up to four things at once, in a form, and waits for the answers."),
    "current_time": _("The model asks for the date and the time in a time zone."),
    FIND.name: _("The model looks for passages in the long documents of the conversation. It needs no switch."),
}


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool, as the list shows it."""

    name: str
    """The name in settings, which names the page where it is switched; empty if there is none."""
    title: str
    sentence: str
    """What it does."""
    is_own_sentence: bool = False
    """Whether ``sentence`` is in the language of the page; otherwise it is its author's English."""
    is_on: bool = False
    is_from_file: bool = False
    is_paused: bool = False
    groups: tuple[str, ...] = ()
    """To whose members it is offered; empty: to everybody."""
    asks: bool = True
    reads_private_data: bool = False
    sends_outside: bool = False
    why: str = ""
    """Why it is not offered, although it is on, in the product's words."""
    reason: str = ""
    """The same in English, from a log line."""
    source: str = ""
    packages: tuple[str, ...] = ()
    """What the code that it runs can import, with versions."""
    needs_person: bool = False
    """Whether as of a ``Tool``."""

    @property
    def can_be_switched(self) -> bool:
        """Whether a page can switch it: what only the operator's settings offer, only where they do."""
        return bool(self.name) and (self.is_from_file or self.name not in rules.BY_OPERATOR)

    @property
    def is_offered(self) -> bool:
        return self.is_on and not self.why and not self.reason


@dataclass(frozen=True, slots=True)
class ShownToolServer:
    """A tool server."""

    name: str
    is_mcp: bool
    host: str
    """Host and port; empty for a program on this machine."""
    selected: int
    """How many of its tools are chosen."""
    is_here: bool = False
    """Whether it is kept in Administration."""
    is_on: bool = True
    """Whether it is on there."""


@dataclass(frozen=True, slots=True)
class ListedTools:
    """All tools."""

    built_in: list[ListedTool]
    of_packages: list[ListedTool]
    of_servers: list[tuple[ShownToolServer, list[ListedTool]]]
    """The confirmed ones of each server in the operator's file, by its name."""
    engine: str
    only_demo: bool
    """Whether the demo is the only model server, and has only its own tools."""


def listed() -> ListedTools:
    """All tools of this installation, in the order of the page."""
    state = _State()
    known = catalogue.installed()
    own = [known[name] for name in ("browser_search", "browser_open", "run_python", ASK.name, "current_time")]
    packages = [tool for name, tool in sorted(known.items()) if tool.source != own[0].source]
    failed = [ListedTool("", name, "", reason=reason, source=source) for (source, name), reason in sorted(catalogue.unusable.items())]
    find = ListedTool("", own_title(FIND), _sentence(FIND), is_own_sentence=True, is_on=True, asks=False, reads_private_data=True)
    used = search_engines.chosen()
    return ListedTools(
        [*map(state.of, own), find],
        [*map(state.of, packages), *failed],
        [(server, [state.of(tool) for tool in tools]) for server, tools in _of_servers()],
        used.engine.name if used else "",
        connected.is_demo(),
    )


def _of_servers() -> list[tuple[ShownToolServer, list[Tool]]]:
    path, rows = environment().tools_file, list(StoredToolServer.objects.order_by("name"))
    if path is None and not rows:
        return []
    from chatui.tools import server_registry  # takes 1 MB, and most installations have no tool servers
    from chatui.tools.remote import definition

    servers = [_of_file(spec) for spec in definition.read_file(path).servers] if path else []
    taken = {server.name for server in servers}
    servers += [
        ShownToolServer(row.name, True, urlsplit(row.url).netloc, len(row.selected), is_here=True, is_on=row.is_on)
        for row in rows
        if row.name not in taken
    ]
    confirmed = sorted(server_registry.tools().values(), key=lambda tool: tool.name)
    return [(server, [tool for tool in confirmed if tool.source == server.name]) for server in servers]


def _of_file(spec: ServerSpec) -> ShownToolServer:
    url = str(getattr(spec, "url", ""))  # a program has none
    return ShownToolServer(spec.name, not hasattr(spec, "document"), urlsplit(url).netloc, len(spec.selected))


def of_name(name: str) -> list[ListedTool]:
    """The tools that are switched by this name, last the one that is of use by itself; empty if there are none."""
    state = _State()
    return [state.of(tool) for tool in switched_by(name)]


def switched_by(name: str) -> list[Tool]:
    return [tool for tool in catalogue.tools().values() if tool.offered_as == name and not tool.switched_with]


class _State:
    """What decides about all tools at this moment."""

    def __init__(self) -> None:
        rules.forget_rows()  # another process may just have changed them
        self._on = rules.rules()
        enabled = catalogue.all_enabled()
        usable = [name for name, tool in enabled.items() if tool.is_usable]
        self._enabled: Mapping[str, Tool] = enabled
        self._beyond = set(usable[catalogue.MAX_OFFERED :])
        self._apart = catalogue.combine({name: enabled[name] for name in usable[: catalogue.MAX_OFFERED]}).left_out

    def of(self, tool: Tool) -> ListedTool:
        name, rule = tool.offered_as, self._on.get(tool.offered_as)
        now = self._enabled.get(tool.name, tool)
        return ListedTool(
            name=name,
            title=own_title(tool),
            sentence=_sentence(tool),
            is_own_sentence=tool.name in _SENTENCES,
            is_on=rule is not None,
            is_from_file=name in environment().tools,
            is_paused=rules.is_paused(name),
            groups=rule.groups if rule else (),
            asks=catalogue.needs_approval(tool),
            reads_private_data=now.reads_private_data,
            sends_outside=now.sends_outside,
            why=self._why(tool) if rule else "",
            reason=_reason(tool) if rule else "",
            packages=installed_packages() if rule and tool.name == "run_python" else (),
            source=tool.source,
            needs_person=tool.needs_person,
        )

    def _why(self, tool: Tool) -> str:
        if tool.name == "browser_search" and not search_engines.is_configured():
            return gettext("No search engine is set up.")
        if tool.recipient in ("browser.open", "browser.search") and not reading.is_confined():
            return gettext("Pages cannot be read safely on this machine: see the log, or run the check.")
        if tool.name in self._beyond:
            return gettext("More than %(count)s tools are on, and only the first by name are offered.") % {"count": catalogue.MAX_OFFERED}
        if tool.name in self._apart:
            return gettext("Not offered together with %(tools)s: one reads private data, and the other sends something out.") % {
                "tools": ", ".join(titles(self._apart[tool.name]))
            }
        return ""


def titles(names: Iterable[str]) -> Iterator[str]:
    known = catalogue.tools()
    return (own_title(known[name]) if name in known else escape(name) for name in names)


def _sentence(tool: Tool) -> str:
    return str(_SENTENCES[tool.name]) if tool.name in _SENTENCES and tool.source == FIND.source else escape(tool.description)


def _reason(tool: Tool) -> str:
    """Why a tool is off that the operator enabled; it has no translation. Only ``python`` can be: its sandbox may not hold here."""
    if tool.offered_as != availability.RECIPIENT or tool.is_usable:
        return ""
    why = availability.why_off()
    return f"{why[:1].upper()}{why[1:]}."
