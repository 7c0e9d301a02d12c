"""The catalogue of tools: the built-in ones, those of packages with ``chatui.tools`` entry points, and those of the tool servers in the
operator's tools file."""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from chatui.env import environment
from chatui.tools import arguments, built_in
from chatui.tools.functions import tool_of
from chatui.tools.python.python_tool import PYTHON
from chatui.tools.tool import Tool, ToolUnusableError

log = logging.getLogger(__name__)

GROUP = "chatui.tools"
_OWN = "chatui"


def tools() -> dict[str, Tool]:
    """All usable tools by name. If a tool server's tool has the name of an installed one, the installed one takes precedence."""
    return {**_of_servers(), **installed()}


def _of_servers() -> dict[str, Tool]:
    if environment().tools_file is None:
        return {}
    from chatui.tools.servers import registry  # takes 1 MB, and most installations have no such file

    return registry.tools()


@cache
def of_demo() -> dict[str, Tool]:
    """The tools of the built-in demo, by name. They are scripted like the demo itself."""
    functions = (built_in.get_current_weather, built_in.keep_note)
    return {function.__name__: tool_of(function, function.__name__, _OWN, is_for_demo=True) for function in functions}


@cache
def installed() -> dict[str, Tool]:
    """The installed tools by name. Unusable tools and tools with a duplicate name are left out, and logged with the reason."""
    from chatui.tools.browser.tools import browser_tools  # takes 2 MB, and most installations offer no tools

    clock = tool_of(built_in.current_time, "current_time", _OWN)
    found = {each.name: each for each in (clock, *of_demo().values(), PYTHON, *browser_tools())}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if (loaded := _loaded(entry)) is None:
            continue
        if loaded.name in found:
            log.error("tool %s of %s is not offered: another tool has that name", loaded.name, loaded.source)
        else:
            found[loaded.name] = loaded
    return found


def _loaded(entry: EntryPoint) -> Tool | None:
    source = entry.dist.name if entry.dist else entry.module
    try:
        found = tool_of(entry.load(), entry.name, source)
        arguments.fault(found.parameters, {})
    except ToolUnusableError as error:
        log.error("tool %s of %s is not offered: %s", entry.name, source, error)
    except Exception as error:  # noqa: BLE001 - a package that cannot be imported must not keep the product from starting
        log.error("tool %s of %s is not offered: it could not be loaded (%s)", entry.name, source, type(error).__name__)
    else:
        return found
    return None
