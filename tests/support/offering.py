"""Offers tools to tests: for everybody, as if the operator had declared them harmless and without access to private data or the network."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from chatui.tools import catalogue
from chatui.tools.functions import tool_of
from chatui.tools.tool import Tool
from tests.support import environment


def install(monkeypatch: pytest.MonkeyPatch, *tools: Tool) -> None:
    """Have the product find these tools, and no others. Settings say to whom they are offered."""
    monkeypatch.setattr(catalogue, "tools", lambda: {tool.name: tool for tool in tools})


def made(function: Any, name: str | None = None, source: str = "tests") -> Tool:
    """The tool that becomes of a function of a package (``source``), by default under its own name. Raises ``json_schemas.UnusableError``:
    why none does, for the operator."""
    return tool_of(function, function.__name__ if name is None else name, source)


def installed(monkeypatch: pytest.MonkeyPatch, packages: Mapping[str, str]) -> dict[str, Tool]:
    """The tools that the product finds from now on, by name, if packages name these places (``module:function``) as theirs."""
    entries = [EntryPoint(name, place, catalogue.GROUP) for name, place in packages.items()]
    monkeypatch.setattr(catalogue, "entry_points", lambda group: entries if group == catalogue.GROUP else [])
    monkeypatch.setattr(catalogue, "installed", cache(catalogue.installed.__wrapped__))
    return catalogue.installed()


def offer(monkeypatch: pytest.MonkeyPatch, *functions: Callable[..., Any] | str, **values: Any) -> None:
    """Offer these functions under their own names, and tools of the product by name. ``values``: other settings."""
    own = catalogue.installed()
    tools = {tool.name: tool for tool in (own[each] if isinstance(each, str) else made(each) for each in functions)}
    install(monkeypatch, *tools.values())
    # Any address: the demo backend would offer only its own tool.
    settings = {
        "backend_url": "http://127.0.0.1:9",
        "tools": dict.fromkeys(tools, ()),
        "tools_without_approval": list(tools),
        "tool_facts": dict.fromkeys(tools, ("neither",)),
        **values,
    }
    environment.change(monkeypatch, settings)
