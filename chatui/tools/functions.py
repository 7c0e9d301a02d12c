"""Makes tools of functions: of a package's Python functions, by their type hints and docstrings, and of those that a program sends.

A program's functions are offered to the model, but never executed here. A program may write anything in its instructions anyway, so its
texts are not restricted. It only matters that they are of limited length and cannot end a definition or a message, and that its schema can
be checked in bounded time.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import string
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from pydantic import PydanticUserError, TypeAdapter

from chatui import json_schemas
from chatui.json_schemas import UnusableError
from chatui.tools.remote.offers import cleaned
from chatui.tools.remote.originals import original
from chatui.tools.remote.schemas import reduced
from chatui.tools.tool import DESCRIPTION_CHARS, LABEL_CHARS, NAME, TRAINED_NAMES, Tool, one_line

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_LABEL = "Using a tool"
"""The label if the author sets none. It does not name the tool: the name is for the model, and may reveal more than people should know."""
_ABOUT = "__chatui_tool__"
_FACTS = ("reads_private_data", "sends_outside")


def tool(*, name: str | None = None, label: str = "", seconds: float | None = None, title: str = "", **facts: bool) -> Callable[[F], F]:
    """A decorator that adds details to a tool function; see ``Tool``. It is optional: a function without it can be a tool, too. ``facts``:
    ``reads_private_data`` and ``sends_outside``; both default to true.
    """
    if unknown := set(facts) - set(_FACTS):
        raise TypeError(f"unknown facts about a tool: {', '.join(sorted(unknown))}")

    def note(function: F) -> F:
        setattr(function, _ABOUT, {"name": name, "label": label, "seconds": seconds, "title": title, **facts})
        return function

    return note


def tool_of(function: Callable[..., Any], name: str, source: str = "", *, is_for_demo: bool = False) -> Tool:
    """The tool for a function. ``name``: the name of its entry point, which the decorator can replace.

    Raises:
        UnusableError: its name, arguments or texts cannot be shown to a model.
    """
    if not callable(function):
        raise UnusableError("it is not a function")
    about: Mapping[str, Any] = getattr(function, _ABOUT, {})
    own = about.get("name") or name
    if not NAME.fullmatch(own) or own in TRAINED_NAMES:
        raise UnusableError(f"{own!r} is not a tool name: at most 64 of a-z, 0-9 and _, and no name that the model was trained with")
    adapter, parameters = _arguments(function)
    label = about.get("label") or DEFAULT_LABEL
    check_label(label, parameters)
    return Tool(
        name=own,
        description=_description(function),
        parameters=parameters,
        run=lambda arguments: adapter.validate_python(dict(arguments)),
        is_async=inspect.iscoroutinefunction(function),
        label=label,
        source=source,
        seconds=about.get("seconds"),
        is_for_demo=is_for_demo,
        title=one_line(about.get("title") or "")[:LABEL_CHARS],
        reads_private_data=bool(about.get("reads_private_data", True)),
        sends_outside=bool(about.get("sends_outside", True)),
    )


def _description(function: Callable[..., Any]) -> str:
    first, *_ = inspect.cleandoc(inspect.getdoc(function) or "").split("\n\n")
    text = one_line(first)
    if not text:
        raise UnusableError("it has no docstring, so the model would not know what it is for")
    if len(text) > DESCRIPTION_CHARS:
        raise UnusableError(f"the first paragraph of its docstring is longer than {DESCRIPTION_CHARS} characters")
    return text


def _arguments(function: Callable[..., Any]) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """What converts the arguments and calls the function, and their schema."""
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        raise UnusableError("a tool's arguments must have names: no *args, no **kwargs, no /")
    try:
        adapter = TypeAdapter[Any](cast(Any, function))
        schema = adapter.json_schema()
    except (PydanticUserError, NameError) as error:
        raise UnusableError(f"no schema can be generated from its type hints ({type(error).__name__})") from None
    return adapter, {**reduced(schema, has_patterns=True, top="shown").schema, "additionalProperties": False}


def check_label(label: str, parameters: Mapping[str, Any]) -> None:
    """Check a tool's label.

    Raises:
        UnusableError: the label is not readable, or names an argument that does not exist.
    """
    if len(label) > LABEL_CHARS or (label != one_line(label.replace("{", "").replace("}", "")) and "{" not in label):
        raise UnusableError(f"its label is not one line of at most {LABEL_CHARS} characters")
    try:
        named = [field for _, field, form, conversion in string.Formatter().parse(label) if field is not None and not (form or conversion)]
        plain = [field for _, field, *_ in string.Formatter().parse(label) if field is not None]
    except ValueError:
        raise UnusableError("its label has a brace without a name") from None
    if named != plain or not set(named) <= set(parameters["properties"]):
        raise UnusableError("its label names an argument that it does not have")


MAX_FUNCTIONS = 128
"""The most functions in one request."""
PROGRAM_DESCRIPTION_CHARS = 2000
SOURCE = "program"
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
    if not json_schemas.NAME.fullmatch(name):
        raise UnusableError("its name must be 1 to 64 letters, digits, _ or -")
    shown, checked = _program_parameters(parameters, is_strict)
    return Tool(
        name=model_name(name),
        description=cleaned(description[: 2 * PROGRAM_DESCRIPTION_CHARS], PROGRAM_DESCRIPTION_CHARS),
        parameters=shown,
        source=SOURCE,
        is_run_by_caller=True,
        fault=None if checked is None else partial(json_schemas.fault, checked),
    )


def _program_parameters(schema: Mapping[str, Any] | None, is_strict: bool) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The parameters for the model, and the program's own schema for checking, if that says more."""
    if not schema:
        return {"type": "object", "properties": {}, "additionalProperties": True}, None
    kind = schema.get("type", "object")
    if "object" not in (kind if isinstance(kind, list) else [kind]):
        raise UnusableError("its parameters must be a JSON Schema of an object")
    try:
        found = reduced(schema, is_closed=is_strict, top="shown")
        return {"properties": {}, **found.schema}, original(schema, schema) if found.left_out else None
    except (RecursionError, OverflowError):
        raise UnusableError("its schema is nested too deeply") from None
