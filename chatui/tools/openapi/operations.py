"""Converts an operation into an offer: its parameters and body become arguments, except those that carry credentials."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from chatui.tools.openapi.document import Document, Operation
from chatui.tools.remote.cleaned_text import cleaned
from chatui.tools.remote.names import argument_name
from chatui.tools.remote.offer import Offer, Place
from chatui.tools.remote.schemas import reduced
from chatui.tools.remote.server_definition import NEVER_SET, OpenApiSpec
from chatui.tools.tool import DESCRIPTION_CHARS, ToolUnusableError

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
BODY = "body"
MAX_PARAMETERS = 50
_TEMPLATE = re.compile(r"\{([^{}/]*)\}")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/{}-]*")


def offered(document: Document, spec: OpenApiSpec, operation_id: str, name: str) -> Offer:
    """The operation as a tool with that name.

    Raises:
        ToolUnusableError: the operation needs something that cannot be provided, or cannot be described to a model.
    """
    operation = document.operation(operation_id)
    description = cleaned(_words(operation.definition), DESCRIPTION_CHARS)
    if not any(map(str.isalnum, description)):
        raise ToolUnusableError("it has neither summary nor description, so the model would not know what it is for")
    gathered = _Arguments(document, _taken_by_operator(document, spec), {each.lower() for each in spec.header_parameters})
    gathered.parameters(operation)
    content_type = gathered.body(operation.definition)
    if not _PLAIN_PATH.fullmatch(operation.path) or set(_TEMPLATE.findall(operation.path)) != gathered.in_path:
        raise ToolUnusableError("its path and its path parameters do not match")
    if any(part in (".", "..") for part in operation.path.split("/")) or operation.path.startswith("//"):
        raise ToolUnusableError("its path has dots or slashes that could change the address")
    return Offer(
        name=name,
        server=spec.name,
        remote=operation_id,
        description=description,
        parameters=gathered.schema(),
        places=gathered.places,
        method=operation.method,
        path=operation.path,
        content_type=content_type,
    )


class _Arguments:
    """Collects the arguments that a model may set, under our own names, and their positions in the request."""

    def __init__(self, document: Document, taken: Collection[tuple[str, str]], headers: Collection[str]) -> None:
        self.places: dict[str, Place] = {}
        self.in_path: set[str] = set()
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._document = document
        self._taken = taken
        self._headers = headers

    def schema(self) -> dict[str, Any]:
        """The schema of all arguments together, reduced like any other."""
        whole = {"type": "object", "properties": self._properties, "additionalProperties": False, "required": self._required}
        return reduced(whole if self._required else {name: value for name, value in whole.items() if name != "required"})

    def parameters(self, operation: Operation) -> None:
        """Add an operation's parameters. They take precedence over those of the path with the same name and location."""
        if len(operation.shared) + len(operation.definition.get("parameters") or ()) > MAX_PARAMETERS:
            raise ToolUnusableError("it has too many parameters")
        own = operation.definition.get("parameters")
        found = [self._document.resolved(each) for each in (*operation.shared, *(own if isinstance(own, list) else ()))]
        for each in {(str(definition.get("in")), str(definition.get("name"))): definition for definition in found}.items():
            self._parameter(*each)

    def _parameter(self, key: tuple[str, str], definition: Mapping[str, Any]) -> None:
        part, wire = key
        is_needed = definition.get("required") is True or part == "path"
        if (part, wire.lower()) in self._taken:
            return
        if not self._may_be_set(part, wire):
            if is_needed:
                raise ToolUnusableError(f"it needs a parameter in {cleaned(part, 10)!r} that a model must not set")
            return
        name = argument_name(wire, self._properties)
        if name is None:
            raise ToolUnusableError("it has a parameter whose name cannot be shown to a model")
        schema = definition.get("schema")
        if schema is None:
            raise ToolUnusableError("it has a parameter without a schema")
        if part == "path":
            self.in_path.add(wire)
        style = definition.get("style") or ("form" if part == "query" else "simple")
        explode = definition.get("explode", style in ("form", "deepObject"))
        if style not in ("form", "deepObject", "spaceDelimited", "pipeDelimited", "simple"):
            raise ToolUnusableError("it has a parameter with an unsupported style")
        place = Place.model_validate({"part": part, "name": wire, "style": style, "explode": explode is True})
        self._add(name, {"description": definition.get("description"), **reduced(schema, self._document.root)}, place, is_needed=is_needed)

    def _may_be_set(self, part: str, wire: str) -> bool:
        if part == "header":
            return wire.lower() in self._headers and not NEVER_SET.fullmatch(wire)
        return part in ("path", "query")

    def body(self, definition: Mapping[str, Any]) -> str:
        """Add the argument ``body``. Returns its content type; empty if there is no body."""
        body = self._document.resolved(definition.get("requestBody"))
        content = body.get("content")
        if not isinstance(content, Mapping) or not content:
            return ""
        kind = next((each for each in (JSON, FORM) if each in content), None)
        if kind is None:
            if body.get("required") is True:
                raise ToolUnusableError("it needs a body of an unsupported type")
            return ""
        schema = reduced(self._document.resolved(content[kind]).get("schema", True), self._document.root)
        name = BODY if BODY not in self._properties else "request_body"
        self._add(name, schema, Place(part="body", name=""), is_needed=body.get("required") is True)
        return kind

    def _add(self, name: str, schema: dict[str, Any], place: Place, *, is_needed: bool) -> None:
        self._properties[name] = {key: value for key, value in schema.items() if value is not None}
        self.places[name] = place
        if is_needed:
            self._required.append(name)


def _words(definition: Mapping[str, Any]) -> str:
    parts = [definition.get("summary"), definition.get("description")]
    sentences = [each.strip() for each in parts if isinstance(each, str) and each.strip()]
    return " ".join(each if each.endswith((".", "!", "?")) else f"{each}." for each in sentences)


def _taken_by_operator(document: Document, spec: OpenApiSpec) -> set[tuple[str, str]]:
    """The parameters that carry credentials: those that the operator sets, and those that the document declares."""
    own = {("header", name.lower()) for name in spec.headers} | {("query", name.lower()) for name in spec.query}
    return own | set(_schemes(document))


def _schemes(document: Document) -> Iterator[tuple[str, str]]:
    components = document.root.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    for scheme in schemes.values() if isinstance(schemes, Mapping) else ():
        definition = document.resolved(scheme)
        if definition.get("type") == "apiKey":
            yield str(definition.get("in")), str(definition.get("name")).lower()
