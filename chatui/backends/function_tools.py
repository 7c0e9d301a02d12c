"""Writes function tools for Chat Completions and Responses requests, and reads the arguments of a call."""

from __future__ import annotations

import json

from renderer.frames import Frame
from renderer.harmony.prompt import FunctionTool

FUNCTIONS = "functions."
PYTHON = "python"
PYTHON_FUNCTION = "run_python"
"""The name of the built-in ``python`` as a function: gpt-oss sends raw code to any function called ``python``."""
CODE = "code"
"""The argument of that function."""
_NO_PARAMETERS = {"type": "object", "properties": {}}


def as_json(tool: FunctionTool) -> dict[str, object]:
    """Name, description and parameters, which are sent even if empty, because some servers require them."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters or _NO_PARAMETERS)}


def function_call(call: Frame) -> tuple[str, str]:
    """Name and arguments of a call in these formats: ``browser.search`` becomes ``browser_search``, and ``python`` becomes ``run_python``
    with its code as an argument.
    """
    recipient = call.header.recipient or ""
    if recipient.startswith(FUNCTIONS):
        return recipient.removeprefix(FUNCTIONS), arguments(call.body)
    if recipient != PYTHON:
        return recipient.replace(".", "_"), arguments(call.body)
    is_code = (call.header.constrain or "").lower() != "json"
    return PYTHON_FUNCTION, json.dumps({CODE: call.body}, ensure_ascii=False) if is_code else arguments(call.body)


def arguments(body: str) -> str:
    """The arguments of a call that is sent back.

    Servers parse them as JSON, and many fail on every later request if they are not an object: then they are empty, and the reply explains
    the error.
    """
    try:
        return body if isinstance(json.loads(body), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"
