"""Reads an OpenAPI document (3.0, 3.1, 3.2) from its file, and finds its operations. Its server addresses are ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from chatui.tools.remote.offer import ServerError
from chatui.tools.tool import ToolUnusableError

MAX_BYTES = 4_000_000
MAX_TOKENS = 400_000
METHODS = ("get", "post", "put", "patch", "delete")
MAX_DEPTH = 100
MAX_HOPS = 10


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its definition in the document, and the parameters that all operations of its path share."""

    method: str
    path: str
    definition: Mapping[str, Any] = field(repr=False)
    shared: tuple[Any, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """The whole document, decoded."""

    root: Mapping[str, Any] = field(repr=False)

    def operation(self, operation_id: str) -> Operation:
        """The operation with that id.

        Raises:
            ToolUnusableError: no operation has that id, or several have it.
        """
        items = [(str(path), self.resolved(item)) for path, item in _mapping(self.root, "paths").items()]
        found = [
            Operation(method.upper(), path, definition, tuple(_list(item, "parameters")))
            for path, item in items
            for method in METHODS
            if (definition := _mapping(item, method)).get("operationId") == operation_id
        ]
        if len(found) != 1:
            raise ToolUnusableError("the document has no operation with that id" if not found else "the document has that id several times")
        return found[0]

    def resolved(self, value: Any) -> Mapping[str, Any]:
        """The target of a reference within the document, or the value itself if it is another mapping, or else an empty mapping.

        Raises:
            ToolUnusableError: the reference leads out of the document, has no target, or is circular.
        """
        for _ in range(MAX_HOPS):
            if not isinstance(value, Mapping):
                return {}
            if "$ref" not in value:
                return value
            value = self._found(str(value["$ref"]))
        raise ToolUnusableError("a reference is circular")

    def _found(self, target: str) -> Any:
        place: Any = self.root
        for part in target.split("/")[1:] if target.startswith("#/") else ("",):
            place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
        if place is None:
            raise ToolUnusableError("a reference has no target")
        return place


def read_document(path: Path) -> Document:
    """The document in a file, JSON or YAML.

    Raises:
        ServerError: the file cannot be read, is too large, or is not an OpenAPI document.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ServerError(f"the document cannot be read ({type(error).__name__})") from None
    if len(data) > MAX_BYTES:
        raise ServerError("the document is too large")
    try:
        root = json.loads(data) if data.lstrip()[:1] == b"{" else _yaml(data)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise ServerError(f"the document is neither JSON nor YAML ({type(error).__name__})") from None
    if not isinstance(root, Mapping) or not str(root.get("openapi", "")).startswith("3."):
        raise ServerError("the file is not an OpenAPI document of version 3")
    return Document(root)


def _yaml(data: bytes) -> Any:
    """Load YAML. Aliases are refused: a few lines of them can expand beyond all memory, and documents use references instead. The depth is
    checked before loading: a few thousand levels would crash the process without an exception.

    Raises:
        ValueError: the document has aliases, or is too large or nested too deeply.
    """
    depth = 0
    for number, event in enumerate(yaml.parse(data, Loader=_Loader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or number > MAX_TOKENS or depth > MAX_DEPTH:
            raise ValueError("aliases, or too large or too deep")
    return yaml.load(data, Loader=_Loader)  # noqa: S506 - a safe loader


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    found = value.get(name)
    return found if isinstance(found, list) else []
