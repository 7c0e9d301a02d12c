"""The functions that a program offers to the model, and its tool choice, in both formats. Other kinds of tools are skipped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chatui.accounts.api_keys.checking import LiveKey
from chatui.api.errors import invalid, unsupported
from chatui.tools import callers
from chatui.tools.tool import Tool, ToolUnusableError
from chatui.turns.requests.offered_tools import Offer

_MODES = ("none", "auto", "required")


@dataclass(frozen=True, slots=True)
class ToolFields:
    """The tool fields of a request. ``is_nested``: functions are described in a nested ``function`` object (Chat Completions)."""

    tools: list[Any] | None
    choice: Any
    is_parallel: bool | None
    max_calls: int | None = None
    is_nested: bool = False


@dataclass(frozen=True, slots=True)
class ParsedTools:
    """The parsed tools: the ``offer``, and the fields that the response repeats."""

    offer: Offer = field(default_factory=Offer, repr=False)
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)


def parse_tools(asked: ToolFields, key: LiveKey) -> ParsedTools:
    """The functions and the choice, checked. ``key``: names the product's tools that may run besides.

    Raises:
        ApiError: a function, or the choice, cannot be served.
    """
    found = [(place, tool) for place, tool in enumerate(asked.tools or ()) if _is_function(tool, place)]
    if len(found) > callers.MAX_FUNCTIONS:
        raise invalid(f"A request may bring {callers.MAX_FUNCTIONS} functions.", param="tools")
    read = [_function(tool, f"tools[{place}]", asked) for place, tool in found]
    functions = {tool.name: (name, tool) for name, tool in read}
    if len(functions) != len(read):
        raise invalid("Two functions have names that the model could not tell apart.", param="tools")
    choice = _chosen(asked, [name for name, _ in read])
    allowed = {model: tool for model, (name, tool) in functions.items() if name in choice.names}
    own = key.tools if choice.mode != "none" and not choice.is_limited else frozenset()
    if choice.mode == "required" and not (allowed or own):
        raise invalid("No call can be required where there is nothing to call.", param="tool_choice")
    offer = Offer(
        functions=allowed,
        names={model: name for model, (name, _) in functions.items()},
        own_tools=own,
        must_call=choice.mode == "required",
        is_parallel=asked.is_parallel is not False,
        max_calls=asked.max_calls,
    )
    return ParsedTools(offer, _given(asked, offer, choice, [_shown(name, tool) for name, tool in read]))


def _given(asked: ToolFields, offer: Offer, choice: _Choice, shown: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields that the response repeats. ``functions``: those that may be called, to recognize their calls."""
    return {
        "tools": shown,
        "tool_choice": choice.shown,
        "parallel_tool_calls": offer.is_parallel,
        "max_tool_calls": asked.max_calls,
        "functions": [offer.names[name] for name in offer.functions],
        "must_call": offer.must_call,
    }


def _is_function(tool: Any, place: int) -> bool:
    """Whether it is a function.

    Libraries add other kinds of tools by default, such as server-side search: those are left out, and the response lists the remaining
    ones.
    """
    if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
        raise invalid("A tool has to be an object with a type.", param=f"tools[{place}]")
    return bool(tool["type"] == "function")


def _function(tool: Mapping[str, Any], where: str, asked: ToolFields) -> tuple[str, Tool]:
    """The name, and the tool for the model."""
    function = tool.get("function") if asked.is_nested else tool
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise invalid("A function has to have a name.", param=where)
    name, description, parameters = function["name"], function.get("description") or "", function.get("parameters")
    if not isinstance(description, str) or not (parameters is None or isinstance(parameters, Mapping)):
        raise invalid("The description has to be text, and the parameters a JSON Schema.", param=where)
    try:
        return name, callers.function_of(name, description, parameters, is_strict=function.get("strict") is True)
    except ToolUnusableError as error:
        raise invalid(f"This function cannot be offered: {error}.", param=where) from None


def _shown(name: str, tool: Tool) -> dict[str, Any]:
    """A function, as repeated in the response: the model's version, which is limited in size, and can be stored and sent."""
    parameters = dict(tool.parameters)
    return {"type": "function", "name": name, "description": tool.description or None, "parameters": parameters, "strict": False}


@dataclass(frozen=True, slots=True)
class _Choice:
    """``names``: of the functions that may be called.

    ``is_limited``: the program listed them. ``shown``: the choice, as repeated in the response.
    """

    mode: str
    names: Iterable[str]
    shown: str | dict[str, Any]
    is_limited: bool = False


def _chosen(asked: ToolFields, offered: list[str]) -> _Choice:
    choice = asked.choice
    if choice is None or isinstance(choice, str):
        mode = choice or "auto"
        if mode not in _MODES:
            raise invalid("The choice has to be none, auto, required, a function, or a list of functions.", param="tool_choice")
        return _Choice(mode, () if mode == "none" else offered, mode)
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind == "function":
        names = _offered([choice], offered, asked)
        return _Choice("required", names, {"type": "function", "name": names[0]}, is_limited=True)
    if kind == "allowed_tools":
        return _listed(choice.get("allowed_tools") if asked.is_nested else choice, offered, asked)
    raise unsupported("tool_choice", "Only functions can be chosen here.")


def _listed(listed: Any, offered: list[str], asked: ToolFields) -> _Choice:
    tools = listed.get("tools") if isinstance(listed, Mapping) else None
    mode = listed.get("mode", "auto") if isinstance(listed, Mapping) else None
    if not isinstance(tools, list) or not tools or mode not in ("auto", "required"):
        raise invalid("A list of functions needs its functions, and a mode: auto or required.", param="tool_choice")
    names = _offered(tools, offered, asked)
    shown = {"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": name} for name in names]}
    return _Choice(mode, names, shown, is_limited=True)


def _offered(tools: Iterable[Any], offered: list[str], asked: ToolFields) -> list[str]:
    """The names of these functions, each once. Raises ApiError if the request does not define one of them."""
    names = []
    for tool in tools:
        function = tool.get("function") if asked.is_nested and isinstance(tool, Mapping) else tool
        name = function.get("name") if isinstance(function, Mapping) else None
        if name not in offered or tool.get("type", "function") != "function":
            raise invalid("There is no such function among the tools of the request.", param="tool_choice")
        names.append(name)
    return list(dict.fromkeys(names))
