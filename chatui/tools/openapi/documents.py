"""Reads an OpenAPI document (2.0, 3.0, 3.1, 3.2), and finds the operations that the operator names.

A document may be large: it is decoded whole, and all other limits apply to what is made of the named operations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from chatui.json_schemas import UnusableError, listed_in, mapping, target_of
from chatui.tools.openapi import swagger
from chatui.tools.remote.offers import ServerError

MAX_BYTES = 32_000_000
MAX_YAML_BYTES = 8_000_000
MAX_TOKENS = 2_000_000
METHODS = ("get", "post", "put", "patch", "delete")
MAX_DEPTH = 100
MAX_HOPS = 10


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its definition in the document, and its parameters, after those that all operations of its path share."""

    method: str
    path: str
    definition: Mapping[str, Any] = field(repr=False)
    parameters: tuple[Any, ...] = field(repr=False)


@dataclass(frozen=True)
class OpenApiDocument:
    """The whole document, decoded."""

    root: Mapping[str, Any] = field(repr=False)

    @property
    def is_swagger(self) -> bool:
        """Whether it is of version 2."""
        return "swagger" in self.root

    def operation(self, name: str) -> Operation:
        """The operation with that id, or with that method and path (``GET /pages/{id}``).

        Raises:
            UnusableError: no operation is called so, or several are.
        """
        found, elsewhere = self._operations
        matching = found.get(name, [])
        if len(matching) > 1:
            raise UnusableError("the document has that id several times")
        if not matching:
            others = f"; {elsewhere} of its operations or paths are in other files, which are not read" if elsewhere else ""
            raise UnusableError(f"the document has no operation with that id{others}")
        operation = matching[0]
        if self.is_swagger:
            parameters = tuple(map(self.resolved, operation.parameters))
            definition, parameters = swagger.rewritten(self.root, operation.definition, parameters)
            return replace(operation, definition=definition, parameters=parameters)
        return operation

    @cached_property
    def _operations(self) -> tuple[dict[str, list[Operation]], int]:
        """All operations by each of their names; and how many are not in this document."""
        by_name: dict[str, list[Operation]] = {}
        elsewhere = 0
        for path, written in mapping(self.root, "paths").items():
            try:
                item = self.resolved(written)
            except UnusableError:
                elsewhere += 1
                continue
            for method in METHODS:
                definition = item.get(method)
                if isinstance(definition, Mapping) and "$ref" in definition:
                    elsewhere += 1
                elif isinstance(definition, Mapping):
                    parameters = (*listed_in(item, "parameters"), *listed_in(definition, "parameters"))
                    operation = Operation(method.upper(), str(path), definition, parameters)
                    for name in {str(definition.get("operationId") or ""), f"{method.upper()} {path}"} - {""}:
                        by_name.setdefault(name, []).append(operation)
        return by_name, elsewhere

    def resolved(self, value: Any) -> Mapping[str, Any]:
        """The target of a reference within the document, or the value itself if it is another mapping, or else an empty mapping.

        Raises:
            UnusableError: the reference leads out of the document, has no target, or is circular.
        """
        for _ in range(MAX_HOPS):
            if not isinstance(value, Mapping):
                return {}
            if "$ref" not in value:
                return value
            value = target_of(self.root, str(value["$ref"]))
        raise UnusableError("a reference is circular")


def read_document(path: Path) -> OpenApiDocument:
    """The document in a file, JSON or YAML.

    Raises:
        ServerError: the file cannot be read, is too large, or is not an OpenAPI document.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ServerError(f"the document cannot be read ({type(error).__name__})") from None
    is_json = data.lstrip()[:1] == b"{"
    if len(data) > (MAX_BYTES if is_json else MAX_YAML_BYTES):
        raise ServerError("the document is too large")
    try:
        root = json.loads(data) if is_json else _yaml(data)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise ServerError(f"the document is neither JSON nor YAML ({type(error).__name__})") from None
    is_known = isinstance(root, Mapping) and (str(root.get("openapi", "")).startswith("3.") or str(root.get("swagger", "")) == "2.0")
    if not is_known:
        raise ServerError("the file is not an OpenAPI document of version 2 or 3")
    return OpenApiDocument(root)


def _yaml(data: bytes) -> Any:
    """Load YAML. Its size counts with all aliases expanded: a few lines of them can expand beyond all memory. It and the depth are checked
    before loading: a few thousand levels would crash the process without an exception.

    Raises:
        ValueError: the document is too large or nested too deeply, or refers to itself.
    """
    size, open_nodes, sizes = 0, list[tuple[str | None, int]](), dict[str, int]()
    for event in yaml.parse(data, Loader=_Loader):
        size += 1
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, size))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, began = open_nodes.pop()
            sizes |= {anchor: size - began} if anchor else {}
        elif isinstance(event, yaml.AliasEvent):
            size += sizes.get(event.anchor or "", MAX_TOKENS)
        elif isinstance(event, yaml.ScalarEvent) and event.anchor:
            sizes[event.anchor] = 1
        if size > MAX_TOKENS or len(open_nodes) > MAX_DEPTH:
            raise ValueError("too large or too deep")
    return yaml.load(data, Loader=_Loader)  # noqa: S506 - a safe loader


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
