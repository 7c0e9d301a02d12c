"""Prevents dangerous combinations of tools: a tool that reads private data is never offered together with one that sends data out.

A model that reads untrusted text may follow instructions in it (prompt injection). With both kinds of tools it could exfiltrate data;
with one kind alone it cannot. A tool that does both is incompatible with every other tool of either kind, but not with itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from chatui.env import environment
from chatui.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Combination:
    """The tools that can be offered together. ``offered``: by name, in their original order. ``left_out``: by name, each with the names of
    the tools that exclude it; without any if it is excluded by a tool that was used earlier and is no longer offered."""

    offered: dict[str, Tool]
    left_out: dict[str, tuple[str, ...]]


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
    for tool in sorted(tools.values(), key=_order):
        against = _against(tool, distinct)
        if against or (tool.sends_outside and (has_foreign_text or readers - {tool.name})):
            left_out[tool.name] = tuple(each.name for each in against) or tuple(sorted((readers - {tool.name}) & set(tools)))
        else:
            distinct.append(tool)
    names = {tool.name for tool in distinct}
    return Combination({name: tool for name, tool in tools.items() if name in names}, left_out)


def _against(tool: Tool, others: Iterable[Tool]) -> list[Tool]:
    """The other tools that are incompatible with this one."""
    return [
        other for other in others if (tool.reads_private_data and other.sends_outside) or (tool.sends_outside and other.reads_private_data)
    ]


def _order(tool: Tool) -> tuple[int, str]:
    if tool.reads_private_data and tool.sends_outside:
        return 2, tool.name
    return int(tool.sends_outside), tool.name
