"""Offers tools to tests: for everybody, as if the operator had declared them harmless and without access to private data or the network."""

from collections.abc import Callable
from typing import Any

import pytest

from chatui.tools import catalogue
from chatui.tools.functions import tool_of
from tests.support import environment


def offer(monkeypatch: pytest.MonkeyPatch, *functions: Callable[..., Any], **values: Any) -> None:
    """Offer these functions under their own names. ``values``: other settings."""
    tools = {function.__name__: tool_of(function, function.__name__, "tests") for function in functions}
    monkeypatch.setattr(catalogue, "tools", lambda: tools)
    # Any address: the demo backend would offer only its own tool.
    settings = {
        "backend_url": "http://127.0.0.1:9",
        "tools": dict.fromkeys(tools, ()),
        "tools_without_approval": list(tools),
        "tool_facts": dict.fromkeys(tools, ("neither",)),
        **values,
    }
    environment.change(monkeypatch, settings)
