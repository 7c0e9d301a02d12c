"""Generates ``static/js/wire/wire.js`` and the lists in ``docs/socket.md`` from ``chatui.wire``, so that page, server and
implementers share one contract: ``make wire``.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import Field, fields
from itertools import pairwise
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from chatui import wire
from chatui.wire.base import Item
from renderer.gate import VisibleText
from renderer.markup.html import SafeHtml
from tests.support.places import ROOT

TARGET = ROOT / "static" / "js" / "wire" / "wire.js"
PAGE = ROOT / "docs" / "socket.md"
LISTS = "## Commands\n"
"""Where the lists of the page begin; what is before them is written by hand."""
PAGE_WIDTH = 140
HEAD = """\
// What the page and the server say to each other over the socket: types, and which fields an event must have.
// Made from chatui/wire by `make wire`. Do not change it by hand: a test compares the two.
"""
WIDTH = 120
GLUE = "\x00"
"""Represents a space at which lines must not be broken."""
TEXTS: tuple[object, ...] = (str, SafeHtml, VisibleText, wire.Reference)
NUMBERED = {"turn": "string", "sequence_number": "number"}


def source() -> str:
    """The content of the file."""
    events = [*wire.END_USER_EVENTS, *(event for event in wire.DEBUG_PAGE_EVENTS if event not in wire.END_USER_EVENTS)]
    steps = [event for event in events if issubclass(event, wire.TurnEvent)]
    asks = [command for command in wire.COMMANDS if issubclass(command, wire.AskCommand)]
    types = [
        f"@typedef {{{_literals(get_args(wire.PartKind))}}} PartKind",
        *(_typedef(item) for item in (wire.SummaryLine, wire.MessageSoFar, wire.FrameSoFar, wire.FileUse, wire.AnswerRow)),
        *(_typedef(command) for command in wire.COMMANDS),
        _union("Ask", asks),
        _union("Command", wire.COMMANDS),
        *(_typedef(event) for event in events),
        _union("TurnEvent", steps),
        _union("EndUserEvent", wire.END_USER_EVENTS),
        _union("DebugPageEvent", wire.DEBUG_PAGE_EVENTS),
        "@typedef {EndUserEvent | DebugPageEvent} ServerEvent",
    ]
    tables = [
        f"export const PROTOCOL = {wire.PROTOCOL};\n",
        _list("END_USER_TYPES", wire.END_USER_EVENTS),
        _list("DEBUG_PAGE_TYPES", wire.DEBUG_PAGE_EVENTS),
        _list("TURN_TYPES", steps),
        _required(events),
    ]
    return "\n".join([HEAD, "/**", *(line for text in types for line in _wrapped(text)), " */", "", *tables])


def page(written: str) -> str:
    """The page for implementers, with the text before its lists as it is ``written``."""
    steps = [event for event in wire.END_USER_EVENTS if issubclass(event, wire.TurnEvent)]
    others = [event for event in wire.END_USER_EVENTS if event not in steps]
    debug = [event for event in wire.DEBUG_PAGE_EVENTS if event not in wire.END_USER_EVENTS]
    parts = (
        (LISTS, wire.COMMANDS),
        ("## Events of a turn\n", steps),
        ("## Other events\n", others),
        ("## Events for the debug view\n", debug),
        ("## Values inside them\n", (wire.SummaryLine, wire.MessageSoFar, wire.FrameSoFar, wire.FileUse, wire.AnswerRow)),
    )
    lists = [line for title, kinds in parts for line in (title, *map(_described, kinds))]
    return written.partition(LISTS)[0] + "\n".join(lists)


def _described(kind: type[Item] | type[wire.Command]) -> str:
    """An event, a command or a value with its names, its text, and its fields with theirs."""
    names = kind.types if issubclass(kind, wire.Event) else (kind.type,) if issubclass(kind, wire.Command) else ()
    title = ": ".join(filter(None, (kind.__name__, ", ".join(f"`{name}`" for name in names))))
    texts = _texts_of_fields(kind)
    described = {f"`{name}`": (typed, texts.get(name)) for name, typed in _described_fields(kind).items()}
    lines = [_filled(f"- {name}: {'. '.join(filter(None, parts))}", "  ") for name, parts in described.items()]
    text = _filled(inspect.getdoc(kind) or "")
    return "\n".join([f"### {title}\n", text, "", *lines, ""] if lines else [f"### {title}\n", text, ""])


def _texts_of_fields(kind: type) -> dict[str, str]:
    """The string below each field that has one, by the field's name; also of fields that the class inherits."""
    texts: dict[str, str] = {}
    for base in kind.__mro__[:-1]:
        (defined,) = ast.parse(inspect.getsource(base)).body
        for pair in pairwise(ast.iter_child_nodes(defined)):
            match pair:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    texts.setdefault(name, text)
    return texts


def _filled(text: str, indent: str = "") -> str:
    """The text of a docstring as Markdown."""
    return textwrap.fill(" ".join(text.replace("``", "`").split()), PAGE_WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _described_fields(kind: type[Item] | type[wire.Command]) -> dict[str, str]:
    hints = get_type_hints(kind)
    found = {field.name: _type(hints[field.name]).replace("PartKind", _literals(get_args(wire.PartKind))) for field in _fields(kind)}
    if not issubclass(kind, wire.Command):
        found = {name: typed.replace(" | null", ", or absent") for name, typed in found.items()}
    return (NUMBERED if issubclass(kind, wire.TurnEvent) else {}) | found


def required(event: type[wire.Event]) -> dict[str, str]:
    """The fields that the event always has, with their types as in JavaScript's ``typeof``; "array" for a list."""
    hints = get_type_hints(event)
    always = {field.name: _kind(hints[field.name]) for field in _fields(event) if NoneType not in get_args(hints[field.name])}
    return (NUMBERED if issubclass(event, wire.TurnEvent) else {}) | always


def _typedef(kind: type[Item] | type[wire.Command]) -> str:
    hints = get_type_hints(kind)
    parts = [f"{field.name}{_optional(kind, hints[field.name])}: {_type(hints[field.name])}" for field in _fields(kind)]
    if issubclass(kind, wire.Event):
        parts = [f"{name}: {typed}" for name, typed in NUMBERED.items() if issubclass(kind, wire.TurnEvent)] + parts
        parts.insert(0, f"type: {_literals(kind.types)}")
    elif issubclass(kind, wire.Command):
        parts.insert(0, f'type: "{kind.type}"')
    inside = ", ".join(part.replace(" ", GLUE) for part in parts)
    return f"@typedef {{{{ {inside} }}}} {kind.__name__}"


def _fields(kind: type[Item] | type[wire.Command]) -> list[Field[Any]]:
    return [field for field in fields(kind) if field.name != "type"]


def _optional(kind: type, hint: object) -> str:
    """An event leaves out fields that are None; a command includes them."""
    return "?" if NoneType in get_args(hint) and not issubclass(kind, wire.Command) else ""


def _type(hint: Any) -> str:
    if hint == wire.PartKind:
        return "PartKind"
    if get_origin(hint) is Literal:
        return _literals(get_args(hint))
    if NoneType in get_args(hint):
        (inner,) = [part for part in get_args(hint) if part is not NoneType]
        return f"{_type(inner)} | null"
    if get_origin(hint) is tuple:
        return f"{_type(get_args(hint)[0])}[]"
    if hint == dict[str, str]:
        return "Record<string, string>"
    if isinstance(hint, type) and issubclass(hint, Item):
        return hint.__name__
    return _kind(hint)


def _kind(hint: Any) -> str:
    if hint is bool:
        return "boolean"
    if hint is int:
        return "number"
    if hint in TEXTS or get_origin(hint) is Literal:
        return "string"
    if get_origin(hint) is tuple:
        return "array"
    if hint == dict[str, str] or (isinstance(hint, type) and issubclass(hint, Item)):
        return "object"
    raise TypeError(f"JavaScript has no type for {hint}: teach it here")


def _literals(names: Iterable[str]) -> str:
    return " | ".join(f'"{name}"' for name in names)


def _union(name: str, kinds: Sequence[type]) -> str:
    return f"@typedef {{{' | '.join(kind.__name__ for kind in kinds)}}} {name}"


def _list(name: str, events: Sequence[type[wire.Event]]) -> str:
    types = dict.fromkeys(kind for event in events for kind in event.types)
    inside = _wrapped(", ".join(f'"{kind}"' for kind in types) + ",", "  ")
    return "\n".join([f"export const {name} = /** @type {{readonly string[]}} */ (Object.freeze([", *inside, "]));", ""])


def _required(events: Sequence[type[wire.Event]]) -> str:
    found: dict[str, list[str]] = {}
    for event in events:
        needed = ", ".join(f'{name}:{GLUE}"{kind}"' for name, kind in required(event).items())
        for name in event.types:
            found.setdefault(name, []).append(f"{{ {needed} }}")
    lines = [line for name, ways in found.items() for line in _wrapped(f'"{name}": [{", ".join(ways)}],', "  ")]
    kinds = "Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>"
    head = ["/**", " * What an event of each type must have: all fields of one of these, with what `typeof` says of them."]
    return "\n".join([*head, f" * @type {{{kinds}}}", " */", "export const FIELDS = {", *lines, "};", ""])


def _wrapped(text: str, indent: str = " * ") -> list[str]:
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(GLUE, " ") for line in lines]


if __name__ == "__main__":
    TARGET.write_text(source(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
