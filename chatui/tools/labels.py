"""Formats the line that people see while a tool runs: its label, with only those arguments that the tool's author made visible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chatui.tools.tool import Tool

VALUE_CHARS = 60
_NOT_PLAIN = re.compile(r"[^\w .,'°%+-]|_")
"""Characters that an argument must not add to the line: the model wrote it, and the line is rendered as Markdown."""


def line_of(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """The line for a call. The arguments have been checked against the tool's schema."""
    return tool.label.format_map(_Shown(arguments))


class _Shown(dict[str, str]):
    """The arguments as plain text. A missing one is an ellipsis."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__({name: _plain(value) for name, value in arguments.items()})

    def __missing__(self, name: str) -> str:
        return "…"


def _plain(value: object) -> str:
    text = " ".join(_NOT_PLAIN.sub(" ", str(value)).split())
    return text if len(text) <= VALUE_CHARS else text[: VALUE_CHARS - 1] + "…"
