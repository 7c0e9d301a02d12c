"""The catalogue of tools, and which of them a person is offered.

There are the built-in ones, those of packages with ``chatui.tools`` entry points, and those of the tool servers of the operator's tools
file and of Administration. Built in are the browser, Python, questions to the person and the current time, off by default, and two for the
demo, the weather and a note that needs approval. People are offered those that are on (``rules``) for everybody or for the person's groups.
A form submits the names of those that a person has switched off.

Dangerous combinations are prevented: a tool that reads private data is never offered together with one that sends data out. A model that
reads untrusted text may follow instructions in it (prompt injection). With both kinds of tools it could exfiltrate data; with one kind
alone it cannot. A tool that does both is incompatible with every other tool of either kind, but not with itself.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from chatui.env import environment
from chatui.json_schemas import UnusableError, check_schema
from chatui.tools import clock, demo, document_search, rules
from chatui.tools.ask_person import ASK
from chatui.tools.functions import tool_of
from chatui.tools.python.tool import PYTHON
from chatui.tools.tool import NAME, Tool, line_of

log = logging.getLogger(__name__)

GROUP = "chatui.tools"
_OWN = "chatui"


def tools() -> dict[str, Tool]:
    """All usable tools by name. If a tool server's tool has the name of an installed one, the installed one takes precedence."""
    if not rules.has_servers():
        return installed()
    from chatui.tools import server_registry  # takes 1 MB, and most installations have no tool servers

    return {**server_registry.tools(), **installed()}


@cache
def of_demo() -> dict[str, Tool]:
    """The tools of the built-in demo, by name. They are scripted like the demo itself, and take no name from any other tool."""
    functions = (demo.get_current_weather, demo.keep_note)
    return {function.__name__: tool_of(function, function.__name__, _OWN, is_for_demo=True) for function in functions}


@cache
def installed() -> dict[str, Tool]:
    """The installed tools by name. Unusable tools and tools with a duplicate name are left out, and logged with the reason."""
    from chatui.tools.browser import browser_tools  # takes 2 MB, and most installations offer no tools

    current_time = tool_of(clock.current_time, "current_time", _OWN)
    found = {each.name: each for each in (current_time, ASK, PYTHON, *browser_tools())}
    unusable.clear()
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if (loaded := _loaded(entry)) is None:
            continue
        if loaded.name in found:
            _note(entry.name, loaded.source, "another tool has that name")
        else:
            found[loaded.name] = loaded
    return found


def _loaded(entry: EntryPoint) -> Tool | None:
    source = entry.dist.name if entry.dist else entry.module
    try:
        found = tool_of(entry.load(), entry.name, source)
        check_schema(found.parameters)
        return found
    except UnusableError as error:
        _note(entry.name, source, str(error))
    except Exception as error:  # noqa: BLE001 - a package that cannot be imported must not keep the product from starting
        _note(entry.name, source, f"it could not be loaded ({type(error).__name__})")
    return None


unusable: dict[tuple[str, str], str] = {}
"""Why tools of packages cannot be offered, by the package and the name of the entry point, since ``installed`` was called."""


def _note(name: str, source: str, reason: str) -> None:
    unusable[source, name] = reason
    log.error("tool %s of %s is not offered: %s", name, source, reason)


MAX_OFFERED = 20
"""The maximum number of tools offered at once: models choose badly among more, and each costs about 60 tokens in every prompt."""


def has_any(*, is_demo: bool) -> bool:
    """Whether any tool is available to anybody."""
    return is_demo or rules.has_any()


def is_on(name: str) -> bool:
    """Whether the tools of that name in settings are on for anybody."""
    return name in rules.rules()


def depends_on_groups(*, is_demo: bool) -> bool:
    """Whether availability depends on a person's groups."""
    return not is_demo and any(rule.groups for rule in rules.rules().values())


def offered_to(groups: Collection[str], *, is_demo: bool) -> dict[str, Tool]:
    """The tools by name, sorted, so that the prompt begins with the same text each time. ``groups``: the person's.

    ``is_demo``: the model is the built-in demo. It has only its own tools, which are scripted like the demo itself.
    """
    if is_demo:
        return dict(of_demo())
    known = tools()
    if rules.has_servers():
        from chatui.tools import server_registry  # as in ``tools``

        server_registry.refresh_if_due()
    may = {name: rule for name, rule in rules.rules().items() if not rule.groups or set(rule.groups) & set(groups)}
    named = sorted(name for name, each in known.items() if each.offered_as in may and each.is_usable)
    return {name: _with_facts(known[name], may) for name in named[:MAX_OFFERED]}


def all_enabled() -> dict[str, Tool]:
    """The tools that are on for anybody."""
    on = rules.rules()
    known = tools() if on else {}
    return {name: _with_facts(each, on) for name, each in sorted(known.items()) if each.offered_as in on}


def labels_of(names: Collection[str]) -> dict[str, str]:
    """What these tools do, without the arguments of any call, by the recipients that a call of each may have."""
    known = {**of_demo(), **tools()}
    found = [known[name] for name in sorted(names) if name in known]
    return {recipient: line_of(tool, {}) for tool in found for recipient in (f"functions.{tool.name}", tool.recipient) if recipient}


def needs_approval(tool: Tool) -> bool:
    """Whether each call waits for the person's approval: always, unless its rule exempts the tool, it does nothing but ask the person, or
    it is the search in the person's own documents.
    """
    if tool.needs_person:
        return False
    if (tool.source, tool.name) == (document_search.FIND.source, document_search.FIND.name):
        return False
    if tool.is_for_demo:
        return tool.reads_private_data or tool.sends_outside
    rule = rules.rules().get(tool.offered_as)
    return rule.needs_approval if rule else tool.offered_as not in environment().tools_without_approval


def is_for_programs(tool: Tool) -> bool:
    """Whether a program may be offered the tool: it has no page on which somebody could approve a call, or answer a question."""
    return not tool.needs_person and not needs_approval(tool)


def _with_facts(tool: Tool, on: Mapping[str, rules.OfferRule]) -> Tool:
    """The tool with the operator's facts about it: the operator knows what the company wiki contains, and the tool's author does not."""
    facts = on[tool.offered_as].facts
    if facts is None:
        return tool
    return replace(tool, reads_private_data="private" in facts, sends_outside="outside" in facts)


MAX_NAMES = 40
"""The maximum number of names to read: more than there are tools on offer."""


def names_of(line: str) -> frozenset[str]:
    """The names in a comma-separated line, without invalid ones."""
    names = (name.strip() for name in line[:4000].split(","))
    return frozenset([name for name in names if NAME.fullmatch(name)][:MAX_NAMES])


@dataclass(frozen=True, slots=True)
class Combination:
    """The tools that can be offered together."""

    offered: dict[str, Tool]
    """By name, in their original order."""
    left_out: dict[str, tuple[str, ...]]
    """By name, each with the names of the tools that exclude it; without any if it is excluded by a tool that was used earlier and is no
    longer offered."""


def combine(tools: Mapping[str, Tool], used: Collection[str] = (), *, has_foreign_text: bool = False) -> Combination:
    """The tools that may be offered in one conversation. ``used``: the names of all tools that were called in it before, because their
    results may be in every later prompt. ``has_foreign_text``: the person attached a file, or imported or inherited the conversation. Such
    text is as private as a tool's result, and somebody else may have written it.

    Tools that only read take precedence, then those that only send, then those that do both. This keeps most look-up tools.
    """
    if environment().tool_combinations == "any":
        return Combination(dict(tools), {})
    distinct: list[Tool] = []
    left_out: dict[str, tuple[str, ...]] = {}
    readers = {name for name in used if name not in tools or tools[name].reads_private_data}
    ranked = sorted(tools.values(), key=lambda tool: (tool.sends_outside * (1 + tool.reads_private_data), tool.name))
    for candidate in ranked:
        others = against(candidate, distinct)
        if others or (candidate.sends_outside and (has_foreign_text or readers - {candidate.name})):
            left_out[candidate.name] = tuple(each.name for each in others) or tuple(sorted((readers - {candidate.name}) & set(tools)))
        else:
            distinct.append(candidate)
    names = {tool.name for tool in distinct}
    return Combination({name: tool for name, tool in tools.items() if name in names}, left_out)


def against(tool: Tool, others: Iterable[Tool]) -> list[Tool]:
    """The other tools that may not be offered together with this one, whatever happened before."""
    if environment().tool_combinations == "any":
        return []
    return [
        other for other in others if (tool.reads_private_data and other.sends_outside) or (tool.sends_outside and other.reads_private_data)
    ]
