"""Writes the definition of a function tool as Chat Completions and Responses requests have it, and the arguments of a call."""

from __future__ import annotations

import json

from renderer.harmony.system_messages import FunctionTool

_NO_PARAMETERS = {"type": "object", "properties": {}}


def as_json(tool: FunctionTool) -> dict[str, object]:
    """Name, description and parameters. A function without parameters says so, because some servers demand the field."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters or _NO_PARAMETERS)}


def arguments(body: str) -> str:
    """The arguments of a call that is sent back. Servers read them as JSON, and many fail for ever on what is no object: then they are
    empty, and the reply says what was wrong."""
    try:
        return body if isinstance(json.loads(body), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"
