"""Which tools a person is offered. The operator decides, for each tool and group; what is not named is off."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from chatui.env import environment
from chatui.tools import found
from chatui.tools.servers import known as servers
from chatui.tools.tool import Tool

MOST_OFFERED = 20
"""More than that a model chooses badly among, and each costs about 60 tokens of every prompt."""


def are_any(*, is_demo: bool) -> bool:
    """Whether anybody is offered anything."""
    return is_demo or bool(environment().tools)


def go_by_groups(*, is_demo: bool) -> bool:
    """Whether it matters which groups a person is in."""
    return not is_demo and any(environment().tools.values())


def offered_to(groups: Collection[str], *, is_demo: bool) -> dict[str, Tool]:
    """The tools by name, in the order of their names, so that the prompt begins with the same text each time. ``groups``: the person's.

    ``is_demo``: the built-in demo answers. It has its own tool, which is a script like the demo itself, and no other.
    """
    known = found.tools()
    if is_demo:
        return {name: each for name, each in known.items() if each.is_for_demo}
    servers.keep_fresh()
    may = {rule for rule, allowed in _rules().items() if _is_allowed(allowed, groups)}
    named = sorted(name for name, each in known.items() if each.offered_as in may and not each.is_for_demo)
    unasked = set(environment().tools_without_approval)
    # Whatever is not declared harmless would have to be approved by the person, call by call; until that is possible, it is not offered.
    return {name: known[name] for name in named[:MOST_OFFERED] if known[name].offered_as in unasked and known[name].is_usable}


def _rules() -> Mapping[str, Collection[str]]:
    return environment().tools


def _is_allowed(allowed: Collection[str], groups: Collection[str]) -> bool:
    return not allowed or bool(set(allowed) & set(groups))
