"""Decides which tools a person is offered: those that the operator has enabled for everybody or for the person's groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from chatui.env import environment
from chatui.tools import catalogue, documents
from chatui.tools.tool import Tool

MAX_OFFERED = 20
"""The maximum number of tools offered at once: models choose badly among more, and each costs about 60 tokens in every prompt."""


def has_any(*, is_demo: bool) -> bool:
    """Whether any tool is available to anybody."""
    return is_demo or bool(environment().tools)


def depends_on_groups(*, is_demo: bool) -> bool:
    """Whether availability depends on a person's groups."""
    return not is_demo and any(environment().tools.values())


def offered_to(groups: Collection[str], *, is_demo: bool) -> dict[str, Tool]:
    """The tools by name, sorted, so that the prompt begins with the same text each time. ``groups``: the person's.

    ``is_demo``: the model is the built-in demo. It has only its own tools, which are scripted like the demo itself.
    """
    if is_demo:
        return dict(catalogue.of_demo())
    known = catalogue.tools()
    if environment().tools_file is not None:
        from chatui.tools.servers import registry  # as in ``catalogue``

        registry.refresh_if_due()
    may = {rule for rule, allowed in _rules().items() if _is_allowed(allowed, groups)}
    named = sorted(name for name, each in known.items() if each.offered_as in may and not each.is_for_demo)
    return {name: _with_facts(known[name]) for name in named[:MAX_OFFERED] if known[name].is_usable}


def all_enabled() -> dict[str, Tool]:
    """The tools that the operator has enabled for anybody."""
    known = catalogue.tools() if _rules() else {}
    return {name: _with_facts(each) for name, each in sorted(known.items()) if each.offered_as in _rules() and not each.is_for_demo}


def needs_approval(tool: Tool) -> bool:
    """Whether each call waits for the person's approval: always, unless the operator has exempted the tool, or it is the search in the
    person's own documents.
    """
    if (tool.source, tool.name) == (documents.FIND.source, documents.FIND.name):
        return False
    if tool.is_for_demo:
        return tool.reads_private_data or tool.sends_outside
    return tool.offered_as not in environment().tools_without_approval


def _with_facts(tool: Tool) -> Tool:
    """The tool with the operator's facts about it: the operator knows what the company wiki contains, and the tool's author does not."""
    facts = environment().tool_facts.get(tool.offered_as)
    if facts is None:
        return tool
    return replace(tool, reads_private_data="private" in facts, sends_outside="outside" in facts)


def _rules() -> Mapping[str, Collection[str]]:
    return environment().tools


def _is_allowed(allowed: Collection[str], groups: Collection[str]) -> bool:
    return not allowed or bool(set(allowed) & set(groups))
