"""The browser's functions as tools: in gpt-oss's trained form, and as ordinary functions for other formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from chatui.env import environment
from chatui.tools.browser import engines
from chatui.tools.browser.session import Browser
from chatui.tools.fetcher import Fetcher, Hosts
from chatui.tools.tool import CallingTurn, Tool

_CITE = "Cite what you read as 【cursor†L1-L4】, by the number in brackets above it."
_OPENS = (
    "Opens the link with an id, shown as 【id†text】, on the page with a cursor, from line loc on; or an address. Without an id it shows "
    f"another part of that page. Without a cursor it means the latest page. {_CITE}"
)
_NUMBER = {"type": "integer", "default": -1, "minimum": -1, "maximum": 1_000_000}
_SOURCE = {"type": "string", "maxLength": 100}
_ID = {
    "anyOf": [{"type": "integer", "minimum": -1, "maximum": 1_000_000}, {"type": "string", "maxLength": 2000}],
    "description": "The id of a link, or an address that the person wrote or that was shown (integer or string)",
}
_DESCRIBED: dict[str, tuple[str, str, dict[str, Any], list[str]]] = {
    "search": (
        "Searching the web",
        f"Searches the web for information on a query. {_CITE}",
        {
            "query": {"type": "string", "minLength": 1, "maxLength": 1000},
            "topn": {"type": "integer", "default": 10, "minimum": 1, "maximum": 100},
            "source": _SOURCE,
        },
        ["query"],
    ),
    "open": (
        "Reading a web page",
        _OPENS,
        {"id": _ID, "cursor": _NUMBER, "loc": _NUMBER, "num_lines": _NUMBER, "view_source": {"type": "boolean"}, "source": _SOURCE},
        [],
    ),
    "find": (
        "Searching a web page",
        f"Finds exact matches of a text in the page with a cursor, or in the latest one. {_CITE}",
        {"pattern": {"type": "string", "minLength": 1, "maxLength": 200}, "cursor": _NUMBER},
        ["pattern"],
    ),
}
_TITLES = {"search": "Web search", "open": "Web pages", "find": "Search in web pages"}
_READ = {"search": ("query", "topn"), "open": ("id", "cursor", "loc", "num_lines"), "find": ("pattern", "cursor")}
"""The trained arguments that are used. ``source`` has only one value, and a page's source code is never shown."""


def browser_tools() -> list[Tool]:
    """The functions that can be offered. Without a search engine, the model can still open pages that the person names."""
    return [_tool(name) for name in _DESCRIBED if name != "search" or engines.is_configured(environment())]


def new_browser(turn: CallingTurn) -> Browser:
    """A browser for a turn, as configured by the operator."""
    env = environment()
    return Browser(turn, env, Fetcher(Hosts(env.browser_allow_hosts, env.browser_deny_hosts)))


def _tool(name: str) -> Tool:
    label, description, properties, required = _DESCRIBED[name]
    return Tool(
        name=f"browser_{name}",
        description=description,
        parameters={"type": "object", "properties": properties, "required": required, "additionalProperties": False},
        is_async=True,
        label=label,
        source="chatui",
        recipient=f"browser.{name}",
        begin=partial(_begin, name),
        title=_TITLES[name],
        reads_private_data=False,
        sends_outside=True,
    )


def _begin(name: str, turn: CallingTurn) -> Callable[[Mapping[str, Any]], Any]:
    """The function for the calls of one turn. All three functions share one browser, which is created at the first call."""

    def call(arguments: Mapping[str, Any]) -> Any:
        browser: Browser = turn.shared.get("browser") or turn.shared.setdefault("browser", new_browser(turn))
        return getattr(browser, name)(**{key: arguments[key] for key in _READ[name] if key in arguments})

    return call
