"""Reads and writes the values of a document header as YAML 1.2.2 (core schema).

Reading is safe and bounded. PyYAML scans YAML 1.1; ``_Scanner`` closes the difference. Writing quotes everything that some YAML parser
could misread.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from typing import Any

import yaml

from renderer.errors import Location, ParseHeaderError
from renderer.ocml.plain_values import DEPTH_LIMIT, Value
from renderer.tokens import TOKEN_RUN


def load(text: str, original: str) -> tuple[dict[str, Value], dict[str, str]]:
    """The mapping, and the literal characters of ``version`` and ``model``."""
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise ParseHeaderError("the document header is not a mapping", Location(0, 1, 1))
        digits = {key.value: value.value for key, value in node.value if _is_name(key) and isinstance(value, yaml.ScalarNode)}
        values = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise ParseHeaderError("the document header is not supported YAML", _location(original, error.problem_mark)) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ParseHeaderError("the document header is not supported YAML", Location(0, 1, 1)) from None
    finally:
        if loader is not None:
            loader.dispose()
    # A null stays a null: an empty "model:" names no model.
    return values, {key: value for key, value in digits.items() if values.get(key) is not None}


def dump(values: Mapping[str, Value]) -> str:
    """The YAML lines of a mapping; empty text for an empty mapping."""
    # ASCII with escapes, and no folded lines: YAML parsers disagree about some Unicode line breaks.
    text = yaml.dump(values, Dumper=_Dumper, sort_keys=False, width=math.inf) if values else ""
    # Text that contains a control token is written in double quotes (see _Dumper), where characters can be escaped.
    return TOKEN_RUN.sub(lambda match: match[0].replace("<", "\\x3C"), text)


def _is_name(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value in ("version", "model")


def _location(text: str, mark: yaml.Mark | None) -> Location:
    if mark is None:
        return Location(0, 1, 1)
    return Location(len(text[: mark.index].encode("utf-8")), mark.line + 1, mark.column + 1)


_STRING_TAG = "tag:yaml.org,2002:str"
_TYPES: dict[str, tuple[str, str]] = {
    "null": (r"~|null|Null|NULL|", "~nN"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
}
"""How YAML 1.2 (core schema) types an unquoted scalar: for each type, its pattern and the characters that it can begin with."""


_NO_BREAKS = "\x85\u2028\u2029"
"""Line breaks in YAML 1.1 and ordinary characters in YAML 1.2."""


class _Scanner(yaml.SafeLoader):
    """Scans as YAML 1.2 does: a tab separates words but never indents, and every continued line is indented more than its mapping."""

    def __init__(self, text: str) -> None:
        unused = (chr(number) for number in range(0x10FFFD, 0, -1) if chr(number) not in text)
        stand_ins = "".join(next(unused) for _ in _NO_BREAKS)
        self._originals = str.maketrans(stand_ins, _NO_BREAKS)
        self._checked_line = -1
        super().__init__(text.translate(str.maketrans(_NO_BREAKS, stand_ins)))

    def prefix(self, length: int = 1) -> str:
        return str(super().prefix(length)).translate(self._originals)

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.peek() == "\t":
            # No mapping or list may begin behind a tab: its indentation would depend on the width of the tab.
            self.allow_simple_key = self.allow_simple_key and bool(self.flow_level)
            self.forward()
            super().scan_to_next_token()
        self._check_indentation()

    def scan_plain_spaces(self, indent: int, start_mark: yaml.Mark) -> list[str]:
        length = 0
        while self.peek(length) in " \t":
            length += 1
        spaces = self.prefix(length)
        self.forward(length)
        if spaces and self.peek() not in "\r\n":
            return [spaces]
        return super().scan_plain_spaces(indent, start_mark) or []

    def scan_flow_scalar_breaks(self, double: bool, start_mark: yaml.Mark) -> list[str]:
        found: list[str] = super().scan_flow_scalar_breaks(double, start_mark)
        self._check_indentation(is_quoted=True)
        return found

    def fetch_block_scalar(self, style: str) -> None:
        # The mark of a block scalar in a line of its own is indented like any other value of its mapping.
        if self.column <= self.indent:
            raise _refused("a line is not indented with spaces as far as it must be", self.get_mark())
        super().fetch_block_scalar(style)

    def _check_indentation(self, *, is_quoted: bool = False) -> None:
        """Refuse the first token of a line if its indentation is too small, or has tabs. Each line is checked once."""
        if self.line == self._checked_line or self.peek() == "\0":
            return
        self._checked_line = self.line
        before = self.buffer[self.pointer - self.column : self.pointer]
        if before.strip(" \t"):
            return
        spaces = len(before) - len(before.lstrip(" "))
        is_inside = is_quoted or self.flow_level
        if (is_inside and spaces <= self.indent) or (not is_inside and "\t" in before):
            raise _refused("a line is not indented with spaces as far as it must be", self.get_mark())


class _Loader(_Scanner):
    """A safe loader of JSON values: no anchors (they let a short header grow without bound), tags or duplicate keys; limited depth."""

    yaml_implicit_resolvers = {}
    depth = 0

    def compose_node(self, parent: object, index: object) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _refused("anchors and aliases are not supported", event.start_mark)
        if event.tag is not None:
            raise _refused("tags are not supported", event.start_mark)
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise _refused("the nesting is too deep", event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)  # type: ignore[arg-type]
        self.depth -= 1
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """``<<`` is an ordinary key: nothing is merged."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in mapping:
                raise _refused("a key that is not text, or a duplicate key", key_node.start_mark)
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping


def _refused(reason: str, mark: yaml.Mark) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, reason, mark)


class _Dumper(yaml.SafeDumper):
    """Quotes text wherever a parser of YAML 1.1 or 1.2 would read it as another type."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    digits = node.value
    return int(digits, 0) if digits[:2] in ("0o", "0x") else int(digits)


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    value = float(node.value) if node.value.lstrip("+-")[:2].lower() not in (".i", ".n") else math.inf
    if not math.isfinite(value) or (value == 0 and _NOT_ZERO.match(node.value)):
        raise _refused("a number that cannot be represented exactly", node.start_mark)
    return value


_NOT_ZERO = re.compile(r"[-+0.]*[1-9]")


def _write_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(_STRING_TAG, text, style='"' if TOKEN_RUN.search(text) or not text.isascii() else None)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Dumper.add_representer(str, _write_text)
for _name, (_pattern, _first) in _TYPES.items():
    _tag, _whole = f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z")
    _Loader.add_implicit_resolver(_tag, _whole, [*_first, ""])
    _Dumper.add_implicit_resolver(_tag, _whole, [*_first, ""])
