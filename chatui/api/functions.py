"""The functions that a program offers to the model, and its choice among them, in all API formats.

Of the tools of a request only functions are used; other kinds are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from chatui.accounts.key_admission import LiveKey
from chatui.api.errors import invalid, unsupported
from chatui.api.request_parts import ProgramRequest
from chatui.json_schemas import UnusableError
from chatui.tools import catalogue
from chatui.tools.functions import MAX_FUNCTIONS, function_of
from chatui.tools.tool import Tool
from chatui.turns.asks import FunctionOffer

_MODES = ("none", "auto", "required")


def parse_tools(asked: ProgramRequest, key: LiveKey) -> tuple[FunctionOffer, dict[str, Any]]:
    """The functions and the choice, checked, and the fields about them that the response repeats. ``key``: names the product's tools that
    may run besides.

    Raises:
        ApiError: a function, or the choice, cannot be served.
    """
    found = [(place, tool) for place, tool in enumerate(asked.functions_and_others) if _is_function(tool, place)]
    if len(found) > MAX_FUNCTIONS:
        raise invalid(f"A request may bring {MAX_FUNCTIONS} functions.", param="tools")
    read = [_function(tool, f"tools[{place}]", asked) for place, tool in found]
    functions = {tool.name: (name, tool) for name, tool in read}
    if len(functions) != len(read):
        raise invalid("Two functions have names that the model could not tell apart.", param="tools")
    choice = _chosen(asked, [name for name, _ in read])
    allowed = {model: tool for model, (name, tool) in functions.items() if name in choice.names}
    own = frozenset(key.tools if choice.mode != "none" and not choice.is_limited else ())
    hosted = catalogue.labels_of(own) if own else {}
    if both := sorted({recipient.partition(".")[0] for recipient in hosted} & {name for name, _ in read}):
        raise invalid(
            f"The function {both[0]} has the name of a tool of this server that the key offers, and a model could not tell them apart."
            " Give it another name, or use a key without that tool.",
            param="tools",
        )
    if choice.mode == "required" and not (allowed or own):
        raise invalid("No call can be required where there is nothing to call.", param="tool_choice")
    offer = FunctionOffer(
        functions=allowed,
        names={model: name for model, (name, _) in functions.items()},
        own_tools=own,
        hosted=hosted,
        must_call=choice.mode == "required",
        is_parallel=asked.is_parallel,
        max_calls=asked.max_calls,
    )
    return offer, _echoed_fields(asked, offer, choice, [_shown(name, tool) for name, tool in read])


def _echoed_fields(asked: ProgramRequest, offer: FunctionOffer, choice: _Choice, shown: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields that the response repeats. ``functions`` and ``hosted``: what may be called, to recognize the calls."""
    return {
        "tools": shown,
        "tool_choice": choice.shown,
        "parallel_tool_calls": offer.is_parallel,
        "max_tool_calls": asked.max_calls,
        "functions": [offer.names[name] for name in offer.functions],
        "hosted": dict(offer.hosted),
        "must_call": offer.must_call,
    }


def _is_function(tool: Any, place: int) -> bool:
    """Whether it is a function.

    Libraries add other kinds of tools by default, such as server-side search: those are left out, and the response lists the remaining
    ones. One with a prefix (``acme:search``) was asked for by name, from another implementation. Raises ApiError.
    """
    if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
        raise invalid("A tool has to be an object with a type.", param=f"tools[{place}]")
    if ":" in tool["type"]:
        raise unsupported(f"tools[{place}].type", "A tool whose type has a prefix belongs to another implementation, and is not here.")
    return bool(tool["type"] == "function")


def _function(tool: Mapping[str, Any], where: str, asked: ProgramRequest) -> tuple[str, Tool]:
    function = tool.get("function") if asked.nests_functions else tool
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise invalid("A function has to have a name.", param=where)
    name, description, parameters = function["name"], function.get("description") or "", function.get("parameters")
    if not isinstance(description, str) or not (parameters is None or isinstance(parameters, Mapping)):
        raise invalid("The description has to be text, and the parameters a JSON Schema.", param=where)
    try:
        return name, function_of(name, description, parameters, is_strict=function.get("strict") is True)
    except UnusableError as error:
        raise invalid(f"This function cannot be offered: {error}.", param=where) from None


def _shown(name: str, tool: Tool) -> dict[str, Any]:
    """A function, as repeated in the response: the model's version, which is limited in size, and can be stored and sent."""
    parameters = dict(tool.parameters)
    return {"type": "function", "name": name, "description": tool.description or None, "parameters": parameters, "strict": False}


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which functions may be called, and whether one must be."""

    mode: str
    names: Iterable[str]
    """The names of those that may be called."""
    shown: str | dict[str, Any]
    """The choice, as repeated in the response."""
    is_limited: bool = False
    """Whether the program listed them."""


def _chosen(asked: ProgramRequest, offered: list[str]) -> _Choice:
    choice = asked.choice_of_functions
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
        return _listed(choice.get("allowed_tools") if asked.nests_functions else choice, offered, asked)
    raise unsupported("tool_choice", "Only functions can be chosen here.")


def _listed(listed: Any, offered: list[str], asked: ProgramRequest) -> _Choice:
    tools = listed.get("tools") if isinstance(listed, Mapping) else None
    mode = listed.get("mode", "auto") if isinstance(listed, Mapping) else None
    if not isinstance(tools, list) or not tools or mode not in ("auto", "required"):
        raise invalid("A list of functions needs its functions, and a mode: auto or required.", param="tool_choice")
    names = _offered(tools, offered, asked)
    shown = {"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": name} for name in names]}
    return _Choice(mode, names, shown, is_limited=True)


def _offered(tools: Iterable[Any], offered: list[str], asked: ProgramRequest) -> list[str]:
    """The names of these functions, each once. Raises ApiError if the request does not define one of them."""
    names = []
    for tool in tools:
        function = tool.get("function") if asked.nests_functions and isinstance(tool, Mapping) else tool
        name = function.get("name") if isinstance(function, Mapping) else None
        if name not in offered or tool.get("type", "function") != "function":
            raise invalid("There is no such function among the tools of the request.", param="tool_choice")
        names.append(name)
    return list(dict.fromkeys(names))
