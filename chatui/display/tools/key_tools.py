"""The tools that an API key can allow: those of its owner that run without approval, because nobody is there to give one."""

from __future__ import annotations

from chatui.display.tools.visible_text import visible
from chatui.models import User
from chatui.permissions import access
from chatui.tools import available


def tools_for_keys(person: User, *, is_demo: bool) -> list[tuple[str, str]]:
    """The name and title of each tool, sorted by title. At most one statement."""
    if not available.has_any(is_demo=is_demo):
        return []
    found = [tool for tool in access.usable_tools(person, is_demo=is_demo).values() if not available.needs_approval(tool)]
    return sorted(((tool.name, visible(tool.shown_title)) for tool in found), key=lambda each: each[1].casefold())
