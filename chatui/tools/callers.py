"""Converts the functions that a program sends with its request into tools. They are offered to the model, but never executed here.

A program may write anything in its instructions anyway, so its texts are not restricted. It only matters that they are of limited length
and cannot end a definition or a message, and that its schema can be checked in bounded time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from chatui.json_schemas import UnusableError
from chatui.tools.remote.offers import cleaned
from chatui.tools.remote.schemas import reduced
from chatui.tools.tool import TRAINED_NAMES, Tool

MAX_FUNCTIONS = 128
"""The most functions in one request."""
DESCRIPTION_CHARS = 2000
SOURCE = "program"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The function names that the API's specification allows."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,53}")
"""The names that a model can use: with the prefix ``functions.``, they must fit into the header of a call."""
_MAX_NAME_CHARS = 54
_HASH = 8


def model_name(name: str) -> str:
    """The name of a function for the model: its own name if that is possible. The result depends only on the name."""
    if _PLAIN.fullmatch(name) and name not in TRAINED_NAMES:
        return name
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_HASH]
    return f"f_{plain}"[: _MAX_NAME_CHARS - _HASH - 1] + f"_{digest}"


def function_of(name: str, description: str, parameters: Mapping[str, Any] | None, *, is_strict: bool = False) -> Tool:
    """A program's function as a tool. ``is_strict``: its calls may only have arguments that the schema names, even if the schema allows
    others.

    Raises:
        UnusableError: its name or schema cannot be shown to a model, or the schema cannot be checked. The message quotes neither.
    """
    if not NAME.fullmatch(name):
        raise UnusableError("its name must be 1 to 64 letters, digits, _ or -")
    return Tool(
        name=model_name(name),
        description=cleaned(description[: 2 * DESCRIPTION_CHARS], DESCRIPTION_CHARS),
        parameters=_parameters(parameters, is_strict),
        source=SOURCE,
        is_run_by_caller=True,
    )


def _parameters(schema: Mapping[str, Any] | None, is_strict: bool) -> dict[str, Any]:
    if not schema:
        return {"type": "object", "properties": {}, "additionalProperties": True}
    try:
        found = reduced({"type": "object", **schema} if "type" not in schema else schema, schema, is_closed=is_strict)
    except (RecursionError, OverflowError):
        raise UnusableError("its schema is nested too deeply") from None
    if found.get("type") != "object":
        raise UnusableError("its parameters must be a JSON Schema of an object")
    return {"properties": {}, **found}
