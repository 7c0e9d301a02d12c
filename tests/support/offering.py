"""Offers tools to tests: for everybody, as if the operator had declared them harmless and without access to private data or the network."""

from collections.abc import Callable
from typing import Any

import pytest

from chatui.tools import catalogue
from chatui.tools.functions import tool_of
from chatui.tools.tool import Tool
from tests.support import environment


def install(monkeypatch: pytest.MonkeyPatch, *tools: Tool) -> None:
    """Have the product find these tools, and no others. Settings say to whom they are offered."""
    monkeypatch.setattr(catalogue, "tools", lambda: {tool.name: tool for tool in tools})


def offer(monkeypatch: pytest.MonkeyPatch, *functions: Callable[..., Any], **values: Any) -> None:
    """Offer these functions under their own names. ``values``: other settings."""
    tools = {function.__name__: tool_of(function, function.__name__, "tests") for function in functions}
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
