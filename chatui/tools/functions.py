"""Creates tools from Python functions. The schema comes from the type hints, the description from the docstring."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from pydantic import PydanticUserError, TypeAdapter

from chatui.json_schemas import UnusableError
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
    adapter = _adapter(function)
    parameters = _parameters(adapter)
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


def _adapter(function: Callable[..., Any]) -> TypeAdapter[Any]:
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        raise UnusableError("a tool's arguments must have names: no *args, no **kwargs, no /")
    try:
        return TypeAdapter(cast(Any, function))
    except (PydanticUserError, NameError) as error:
        raise UnusableError(f"no schema can be generated from its type hints ({type(error).__name__})") from None


def _parameters(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    try:
        schema = adapter.json_schema()
    except PydanticUserError as error:
        raise UnusableError(f"no schema can be generated from its type hints ({type(error).__name__})") from None
    return {**reduced(schema, has_patterns=True), "additionalProperties": False}


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
