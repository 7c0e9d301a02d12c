"""Turns an operation into an offer: its parameters and body become arguments, except those that carry credentials.

What an operation can do without is left out if it cannot be carried, and listed for the operator; what it needs refuses it, with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chatui.json_schemas import UnusableError, check_schema, mapping
from chatui.tools.openapi.documents import OpenApiDocument, Operation
from chatui.tools.openapi.swagger import FORM, MULTIPART
from chatui.tools.remote.definition import NEVER_SET, OpenApiSpec
from chatui.tools.remote.offers import (
    MAX_ARGUMENTS,
    MAX_SCHEMA_CHARS,
    ArgumentPlace,
    OfferedArguments,
    ToolOffer,
    cleaned,
    description_of,
)
from chatui.tools.remote.originals import original
from chatui.tools.remote.schemas import reduced

JSON = "application/json"
_ANY = ("application/*", "*/*")
_IN_TEXT = ("application/xml", "application/octet-stream", "application/yaml", "application/sql", "application/x-ndjson")
MAX_NAMED = 5
MAX_PARAMETERS = 200
_TEMPLATE = re.compile(r"\{([^{}/]*)\}")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/{}-]*(\?[A-Za-z0-9._~=&-]*)?")
_STYLES = {"path": ("simple",), "query": ("form", "deepObject", "spaceDelimited", "pipeDelimited"), "header": ("simple",)}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def offered(document: OpenApiDocument, spec: OpenApiSpec, operation_id: str, name: str) -> ToolOffer:
    """The operation as a tool with that name.

    Raises:
        UnusableError: the operation needs something that cannot be provided, or cannot be described to a model.
    """
    operation = document.operation(operation_id)
    path = operation.path.partition("#")[0]  # what is behind it is never sent, and only tells operations of one address apart
    if not _PLAIN_PATH.fullmatch(path):
        raise UnusableError("its path has characters that could change the address")
    if any(part in (".", "..") for part in path.split("/")) or path.startswith("//"):
        raise UnusableError("its path has dots or slashes that could change the address")
    gathered = _Arguments(document, spec)
    gathered.add_parameters(operation, set(_TEMPLATE.findall(path)))
    content_type = gathered.add_body(operation.definition)
    return ToolOffer(
        name=name,
        server=spec.name,
        remote=operation_id,
        description=description_of(_words(operation)),
        parameters=gathered.fitted(),
        places=gathered.places,
        method=operation.method,
        path=path,
        content_type=content_type,
        left_out=tuple(gathered.left_out),
        original=gathered.original(),
        encoding=gathered.encoding,
    )


class _Arguments(OfferedArguments):
    """The arguments that a model may set. ``_taken``: parameters that carry credentials: those that the operator sets, and those that the
    document declares."""

    def __init__(self, document: OpenApiDocument, spec: OpenApiSpec) -> None:
        super().__init__()
        self.originals: dict[str, Any] = {}
        self.encoding: dict[str, Any] = {}
        self._document = document
        self._headers = {each.lower() for each in spec.header_parameters}
        root = document.root
        named = {**mapping(mapping(root, "components"), "securitySchemes"), **mapping(root, "securityDefinitions")}
        schemes = map(document.resolved, named.values())
        declared = {(str(each.get("in")), str(each.get("name")).lower()) for each in schemes if each.get("type") == "apiKey"}
        self._taken = declared | {("header", name.lower()) for name in spec.headers} | {("query", name.lower()) for name in spec.query}

    def add_parameters(self, operation: Operation, in_path: set[str]) -> None:
        """Add an operation's parameters. They take precedence over those of the path with the same name and location. ``in_path``: the
        names for which its path has places."""
        if len(operation.parameters) > MAX_PARAMETERS:
            raise UnusableError("it has too many parameters")
        resolved = map(self._document.resolved, operation.parameters)
        found = {(str(each.get("in")), str(each.get("name"))): each for each in resolved}
        found |= {("path", name): {"required": True, "schema": {"type": "string"}} for name in in_path if ("path", name) not in found}
        # The needed ones first, so that the limit leaves out others.
        for (part, wire), definition in sorted(found.items(), key=lambda each: not _is_needed(each[0][0], each[1])):
            if (part, wire.lower()) in self._taken or (part == "path" and wire not in in_path):
                continue
            is_free_header = part == "header" and wire.lower() in self._headers and not NEVER_SET.fullmatch(wire)
            try:
                if not is_free_header and part not in ("path", "query"):
                    raise UnusableError(f"it needs a parameter in {cleaned(part, 10)!r} that a model must not set")
                self._add_parameter(part, wire, definition)
            except UnusableError as error:
                if _is_needed(part, definition):
                    raise
                self.left_out.append(f"{cleaned(wire, 100)} ({cleaned(part, 10)}): optional, and left out: {error}")

    def _add_parameter(self, part: str, wire: str, definition: Mapping[str, Any]) -> None:
        content = mapping(definition, "content")
        style = definition.get("style") or _STYLES[part][0]
        if content:
            schema: Any = mapping(content, next(iter(content))).get("schema", True)
            style = "json"
        elif style not in _STYLES[part]:
            raise UnusableError("it has a parameter with an unsupported style")
        else:
            schema = definition.get("schema", True)
        explode = definition.get("explode", style in ("form", "deepObject")) is True
        place = ArgumentPlace.model_validate({"part": part, "name": wire, "style": style, "explode": explode})
        words = {"description": definition["description"]} if isinstance(definition.get("description"), str) else {}
        described = {**words, **schema} if isinstance(schema, Mapping) else words or schema
        self._add(wire, place, described, is_needed=_is_needed(part, definition))

    def _add(self, wire: str, place: ArgumentPlace, schema: Any, *, is_needed: bool) -> None:
        shown = reduced(schema, self._document.root)
        if len(self.places) == MAX_ARGUMENTS:
            raise UnusableError("it has too many arguments")
        name = self.add(wire, place, shown.schema, is_needed=is_needed)
        self.left_out += [f"{name}: {each}" for each in shown.left_out]
        if shown.left_out and (whole := original(schema, self._document.root)) is not None:
            self.originals[name] = whole

    def original(self) -> dict[str, Any] | None:
        """The document's own schemas of those arguments of which the model is shown less, as far as they can be checked."""
        found = {"type": "object", "properties": {name: each for name, each in self.originals.items() if name in self.places}}
        try:
            check_schema(found)
        except UnusableError:
            return None
        return found if found["properties"] else None

    def fitted(self) -> dict[str, Any]:
        """The schema of all arguments, without as many optional parameters at the end as make it too large."""
        optional = [name for name, place in self.places.items() if name not in self._required and place.part != "body"]
        while True:
            try:
                return self.schema()
            except UnusableError:
                if not optional:
                    raise
                name = optional.pop()
                del self.places[name], self._properties[name]
                self.left_out.append(f"{name}: optional, and left out: all schemas together exceed {MAX_SCHEMA_CHARS} characters")

    def add_body(self, definition: Mapping[str, Any]) -> str:
        """Add the argument ``body``. Returns its content type; empty if there is no body.

        An operation that has a body which cannot be sent is unusable, even if the document does not require the body: the server may take a
        request without it for another one, and report a success.
        """
        body = self._document.resolved(definition.get("requestBody"))
        content = {str(kind).partition(";")[0].strip().lower(): each for kind, each in mapping(body, "content").items()}
        if not content and body.get("required") is not True:
            return ""
        kind = _kind_to_send(content)
        media = self._document.resolved(content[kind])
        schema = media.get("schema", True)
        if kind in (FORM, MULTIPART):
            self._encode(media, schema)
        elif not is_json(kind) and kind not in _ANY:
            schema = {"type": "string", "description": f"the whole text of the body, as {kind}"}
        about = body.get("description")
        if isinstance(about, str) and isinstance(schema, Mapping) and "description" not in schema:
            schema = {"description": about, **schema}
        name = "request_body" if "body" in self.places else "body"
        self._add(name, ArgumentPlace(part="body", name=""), schema, is_needed=body.get("required") is True)
        return JSON if kind in _ANY else kind

    def _encode(self, media: Mapping[str, Any], schema: Any) -> None:
        """Note how the fields of a form are written (OpenAPI 3, encoding object)."""
        for name, each in mapping(media, "encoding").items():
            if not isinstance(each, Mapping):
                continue
            style = str(each.get("style") or "form")
            if is_json(str(each.get("contentType", "")).partition(";")[0].strip().lower()):
                self.encoding[str(name)] = "json"
            elif style == "deepObject" or (each.get("explode") is False and style in _STYLES["query"]):
                self.encoding[str(name)] = style
        properties = mapping(self._document.resolved(schema), "properties")
        for name, each in properties.items():
            if self._document.resolved(each).get("format") == "binary":
                self.encoding[str(name)] = "file"


def is_json(kind: str) -> bool:
    return kind == JSON or kind.endswith("+json") or kind == "text/json"


def _kind_to_send(content: Mapping[str, Any]) -> str:
    """The media type in which a body is sent. Raises UnusableError if there is none."""
    of_json = [kind for kind in content if is_json(kind)]
    in_text = [kind for kind in content if kind.startswith("text/") or kind in _IN_TEXT or kind.endswith("+xml")]
    known = [each for each in (JSON, *of_json, FORM, *_ANY, MULTIPART, *in_text) if each in content]
    if not known:
        kinds = ", ".join(cleaned(each, 60) for each in list(content)[:MAX_NAMED]) or "the document names none"
        raise UnusableError(f"it has a body whose media type cannot be sent ({kinds})")
    return known[0]


def _is_needed(part: str, definition: Mapping[str, Any]) -> bool:
    return definition.get("required") is True or part == "path"


def _words(operation: Operation) -> str:
    """What the document says about an operation; or its id in words, with its method and path."""
    definition = operation.definition
    parts = [definition.get("summary"), definition.get("description")]
    sentences = [each.strip() for each in parts if isinstance(each, str) and any(map(str.isalnum, each))]
    if not sentences:
        words = _HUMP.sub(" ", str(definition.get("operationId") or "")).strip().lower().capitalize()
        path = _TEMPLATE.sub(r":\1", operation.path)  # a description has no braces
        address = f"{operation.method} {path}"
        sentences = [f"{words} ({address})" if words else address]
    return " ".join(each if each.endswith((".", "!", "?")) else f"{each}." for each in sentences)
