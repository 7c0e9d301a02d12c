"""A server that an OpenAPI document describes: lists the operations that the operator named, and calls them.

The document (3.0, 3.1, 3.2) is read from its file; its server addresses are ignored. An operation becomes an offer: its parameters and body
become arguments, except those that carry credentials. No argument can direct the request of a call anywhere but the operation's path on the
operator's address.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

import yaml

from chatui.json_schemas import UnusableError, check_schema, listed_in, mapping, target_of
from chatui.tools.file_access import EndedSession
from chatui.tools.remote import definition as credentials
from chatui.tools.remote.definition import NEVER_SET, OpenApiSpec
from chatui.tools.remote.exchange import FORBIDDEN, Connections, HttpRequest, StatusError, kind_of, whole
from chatui.tools.remote.exchange import MAX_BYTES as MAX_ANSWER_BYTES
from chatui.tools.remote.offers import (
    MAX_ARGUMENTS,
    ArgumentPlace,
    Listing,
    Moment,
    OfferedArguments,
    ServerError,
    ToolOffer,
    cleaned,
    description_of,
    listing,
)
from chatui.tools.remote.originals import original
from chatui.tools.remote.schemas import reduced
from chatui.tools.replies import in_middle
from chatui.tools.tool import CallingTurn, ToolError

MAX_BYTES = 4_000_000
MAX_TOKENS = 400_000
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


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """The whole document, decoded."""

    root: Mapping[str, Any] = field(repr=False)

    def operation(self, operation_id: str) -> Operation:
        """The operation with that id.

        Raises:
            UnusableError: no operation has that id, or several have it.
        """
        items = [(str(path), self.resolved(item)) for path, item in mapping(self.root, "paths").items()]
        found = [
            Operation(method.upper(), path, definition, (*listed_in(item, "parameters"), *listed_in(definition, "parameters")))
            for path, item in items
            for method in METHODS
            if (definition := mapping(item, method)).get("operationId") == operation_id
        ]
        if len(found) != 1:
            raise UnusableError("the document has no operation with that id" if not found else "the document has that id several times")
        return found[0]

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
    if len(data) > MAX_BYTES:
        raise ServerError("the document is too large")
    try:
        root = json.loads(data) if data.lstrip()[:1] == b"{" else _yaml(data)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise ServerError(f"the document is neither JSON nor YAML ({type(error).__name__})") from None
    if not isinstance(root, Mapping) or not str(root.get("openapi", "")).startswith("3."):
        raise ServerError("the file is not an OpenAPI document of version 3")
    return OpenApiDocument(root)


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


JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
_ANY = ("application/*", "*/*")
MAX_NAMED = 5
_TEMPLATE = re.compile(r"\{([^{}/]*)\}")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/{}-]*")


def offered(document: OpenApiDocument, spec: OpenApiSpec, operation_id: str, name: str) -> ToolOffer:
    """The operation as a tool with that name.

    Raises:
        UnusableError: the operation needs something that cannot be provided, or cannot be described to a model.
    """
    operation = document.operation(operation_id)
    gathered = _Arguments(document, spec)
    gathered.add_parameters(operation)
    content_type = gathered.add_body(operation.definition)
    in_path = {place.name for place in gathered.places.values() if place.part == "path"}
    if not _PLAIN_PATH.fullmatch(operation.path) or set(_TEMPLATE.findall(operation.path)) != in_path:
        raise UnusableError("its path and its path parameters do not match")
    if any(part in (".", "..") for part in operation.path.split("/")) or operation.path.startswith("//"):
        raise UnusableError("its path has dots or slashes that could change the address")
    return ToolOffer(
        name=name,
        server=spec.name,
        remote=operation_id,
        description=description_of(_words(operation.definition)),
        parameters=gathered.schema(),
        places=gathered.places,
        method=operation.method,
        path=operation.path,
        content_type=content_type,
        left_out=tuple(gathered.left_out),
        original=gathered.original(),
    )


class _Arguments(OfferedArguments):
    """The arguments that a model may set. ``_taken``: parameters that carry credentials: those that the operator sets, and those that the
    document declares."""

    def __init__(self, document: OpenApiDocument, spec: OpenApiSpec) -> None:
        super().__init__()
        self.originals: dict[str, Any] = {}
        self._document = document
        self._headers = {each.lower() for each in spec.header_parameters}
        schemes = map(document.resolved, mapping(mapping(document.root, "components"), "securitySchemes").values())
        declared = {(str(each.get("in")), str(each.get("name")).lower()) for each in schemes if each.get("type") == "apiKey"}
        self._taken = declared | {("header", name.lower()) for name in spec.headers} | {("query", name.lower()) for name in spec.query}

    def add_parameters(self, operation: Operation) -> None:
        """Add an operation's parameters. They take precedence over those of the path with the same name and location."""
        if len(operation.parameters) > MAX_ARGUMENTS:
            raise UnusableError("it has too many parameters")
        found = map(self._document.resolved, operation.parameters)
        for (part, wire), definition in {(str(each.get("in")), str(each.get("name"))): each for each in found}.items():
            if (part, wire.lower()) in self._taken:
                continue
            is_free_header = part == "header" and wire.lower() in self._headers and not NEVER_SET.fullmatch(wire)
            if is_free_header or part in ("path", "query"):
                self._add_parameter(part, wire, definition)
            elif definition.get("required") is True:
                raise UnusableError(f"it needs a parameter in {cleaned(part, 10)!r} that a model must not set")

    def _add_parameter(self, part: str, wire: str, definition: Mapping[str, Any]) -> None:
        if (schema := definition.get("schema")) is None:
            raise UnusableError("it has a parameter without a schema")
        style = definition.get("style") or ("form" if part == "query" else "simple")
        if style not in ("form", "deepObject", "spaceDelimited", "pipeDelimited", "simple"):
            raise UnusableError("it has a parameter with an unsupported style")
        explode = definition.get("explode", style in ("form", "deepObject")) is True
        place = ArgumentPlace.model_validate({"part": part, "name": wire, "style": style, "explode": explode})
        words = {"description": definition["description"]} if isinstance(definition.get("description"), str) else {}
        described = {**words, **schema} if isinstance(schema, Mapping) else schema
        self._add(wire, place, described, is_needed=definition.get("required") is True or part == "path")

    def _add(self, wire: str, place: ArgumentPlace, schema: Any, *, is_needed: bool) -> None:
        shown = reduced(schema, self._document.root)
        name = self.add(wire, place, shown.schema, is_needed=is_needed)
        self.left_out += [f"{name}: {each}" for each in shown.left_out]
        if shown.left_out and (whole := original(schema, self._document.root)) is not None:
            self.originals[name] = whole

    def original(self) -> dict[str, Any] | None:
        """The document's own schemas of those arguments of which the model is shown less, as far as they can be checked."""
        found = {"type": "object", "properties": self.originals}
        try:
            check_schema(found)
        except UnusableError:
            return None
        return found if self.originals else None

    def add_body(self, definition: Mapping[str, Any]) -> str:
        """Add the argument ``body``. Returns its content type; empty if there is no body.

        An operation that has a body which cannot be sent is unusable, even if the document does not require the body: the server may take a
        request without it for another one, and report a success.
        """
        body = self._document.resolved(definition.get("requestBody"))
        content = {str(kind).partition(";")[0].strip().lower(): each for kind, each in mapping(body, "content").items()}
        if not content and body.get("required") is not True:
            return ""
        written = next((each for each in (JSON, FORM, *_ANY) if each in content), None)
        if written is None:
            kinds = ", ".join(cleaned(each, 60) for each in list(content)[:MAX_NAMED]) or "the document names none"
            raise UnusableError(f"it has a body whose media type cannot be sent ({kinds})")
        schema = self._document.resolved(content[written]).get("schema", True)
        name = "request_body" if "body" in self.places else "body"
        self._add(name, ArgumentPlace(part="body", name=""), schema, is_needed=body.get("required") is True)
        return JSON if written in _ANY else written


def _words(definition: Mapping[str, Any]) -> str:
    parts = [definition.get("summary"), definition.get("description")]
    sentences = [each.strip() for each in parts if isinstance(each, str) and each.strip()]
    return " ".join(each if each.endswith((".", "!", "?")) else f"{each}." for each in sentences)


MAX_ADDRESS = 8000
MAX_HEADER = 1000
_DELIMITERS = {"form": ",", "simple": ",", "spaceDelimited": " ", "pipeDelimited": "|"}
_TIMES_DECODED = 3


def written(url: str, offer: ToolOffer, arguments: Mapping[str, Any], headers: Mapping[str, str], query: Mapping[str, str]) -> HttpRequest:
    """The HTTP request of a call. ``headers`` and ``query``: the operator's, which no argument can replace.

    Raises:
        ToolError: an argument cannot be sent. The message is for the model.
    """
    path, body = offer.path, b""
    query_pairs: list[tuple[str, str]] = []
    set_by_model: dict[str, str] = {}
    for name, value in arguments.items():
        place = offer.places.get(name)
        if place is None or (value is None and place.part != "path"):
            continue
        if place.part == "path":
            path = path.replace(f"{{{place.name}}}", _segment(name, value))
        elif place.part == "query":
            query_pairs += _pairs(place, value)
        elif place.part == "header":
            set_by_model[place.name] = _header(name, value)
        elif place.part == "body":
            body = _body(offer.content_type, value)
    query_string = "&".join(filter(None, (urlencode(query_pairs, quote_via=quote), urlencode(query, quote_via=quote))))
    address = f"{url.rstrip('/')}{path}" + (f"?{query_string}" if query_string else "")
    if len(address) > MAX_ADDRESS:
        raise ToolError("The arguments are too long.")
    content = {"Content-Type": offer.content_type} if body else {}
    fixed = {"Accept": f"{JSON}, text/plain;q=0.5", **content, **headers}
    names = {name.lower() for name in fixed}
    free = {name: value for name, value in set_by_model.items() if name.lower() not in names}
    return HttpRequest(offer.method, address, {**free, **fixed}, body)


def _segment(name: str, value: Any) -> str:
    """One segment of the path. Servers and proxies may decode it more than once, so anything that could be decoded to dots is refused."""
    text = ",".join(map(_text, value)) if isinstance(value, list) else "" if value is None else _text(value)
    decoded = text
    for _ in range(_TIMES_DECODED):
        decoded = unquote(decoded)
        parts = decoded.replace("\\", "/").split("/")
        # A semicolon begins parameters of a segment, which some servers drop before they check for dots.
        if not decoded.isprintable() or any(part.partition(";")[0].strip() in ("", ".", "..") for part in parts):
            raise ToolError(f"The argument {name} cannot be a part of an address.")
    return quote(text, safe=",")


def _pairs(place: ArgumentPlace, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if place.style == "deepObject":
            yield from ((f"{place.name}[{key}]", _text(each)) for key, each in value.items())
        else:
            # If it were exploded, the keys would become parameter names, and a model could set any of them.
            yield place.name, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        if place.explode:
            yield from ((place.name, _text(each)) for each in value)
        else:
            yield place.name, _DELIMITERS.get(place.style, ",").join(map(_text, value))
    else:
        yield place.name, _text(value)


def _header(name: str, value: Any) -> str:
    text = ",".join(map(_text, value)) if isinstance(value, list) else _text(value)
    if len(text) > MAX_HEADER or not text.isascii() or not text.isprintable():
        raise ToolError(f"The argument {name} cannot be sent as a header.")
    return text


def _body(kind: str, value: Any) -> bytes:
    if kind == FORM:
        if not isinstance(value, dict):
            raise ToolError("The body must be an object.")
        pairs = [(name, _text(each)) for name, many in value.items() for each in (many if isinstance(many, list) else [many])]
        return urlencode(pairs).encode()
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return json.dumps(value, ensure_ascii=False)


log = logging.getLogger(__name__)

ERROR_CHARS = 800
_TEXT = ("text/plain", "text/csv", "text/markdown", "text/xml", "application/xml", "application/yaml", "text/yaml")


class OpenApiServer:
    """A server that an OpenAPI document describes, as ``McpServer``."""

    def __init__(self, spec: OpenApiSpec) -> None:
        self._spec = spec
        self._connections = Connections()

    async def listed(self) -> Listing:
        return await asyncio.to_thread(listed, self._spec)  # the document may be large

    async def call(self, offer: ToolOffer, arguments: dict[str, Any], turn: CallingTurn) -> Any:
        """There are no sessions: neither cookies nor anything else of one call is there in the next."""
        spec = self._spec
        secret = credentials.secrets(spec.headers, spec.query)
        ask = written(spec.url, offer, arguments, credentials.texts(spec.headers), credentials.texts(spec.query))
        async with self._connections.opened(ask) as response:
            status = response.status_code
            body, is_cut = await whole(response, MAX_ANSWER_BYTES)
            found = _read(status, kind_of(response), body, is_cut)
        if status >= 500:
            raise StatusError(status)
        if status in FORBIDDEN:
            log.warning("tool server %s: the server answered with status %s", spec.name, status)
        found = credentials.without(found, secret)
        if status >= 400:
            quoted = in_middle(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False), ERROR_CHARS)
            raise ToolError(f"The server answered with status {status}: {quoted}" if quoted else f"Status {status}.")
        return found

    async def ping(self, turn: CallingTurn) -> None:
        """It is asked for nothing, and without credentials, so that a refusal is an answer, too."""
        try:
            async with self._connections.opened(HttpRequest("HEAD", self._spec.url, {})) as response:
                if response.status_code >= 500:
                    raise StatusError(response.status_code)
        except ServerError as error:
            if error.moment is not Moment.ANSWERED:
                raise

    async def end(self, ended: Sequence[EndedSession]) -> None:
        """There are none."""

    async def close(self) -> None:
        await self._connections.close()


def listed(spec: OpenApiSpec) -> Listing:
    """The operations that the operator named. Raises as ``read_document``."""
    document = read_document(spec.document)
    return listing(spec.name, spec.selected, lambda operation_id, name: offered(document, spec, operation_id, name))


def _read(status: int, kind: str, body: bytes, is_cut: bool) -> Any:
    """The server's response, as JSON. HTML pages are refused: a model cannot use them, and they may be sign-in pages."""
    text = body.decode("utf-8", "replace")
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return json.loads(text) if text.strip() and not is_cut else text
        except (ValueError, RecursionError):
            return text
    if kind in _TEXT or not text:
        return text
    if status >= 400:
        return ""
    raise ServerError("the server's answer is neither JSON nor text")
