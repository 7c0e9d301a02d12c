"""The definition of a tool server in the operator's tools file: its address, its tools, and its credentials.

Credentials are read from the environment or a file when needed, and redacted from every response. Reading the TOML file yields the valid
definitions, and a message for each mistake, which never quotes a value.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from chatui.backends.route import origin
from chatui.operator_files import FilePath, OperatorFile
from chatui.tools.remote.offers import SERVER_NAME, Moment, ServerError

_MAX_CHARS = 16_384
_MIN_CHARS = 4
"""Shorter values are not redacted: they protect nothing, and may be ordinary words."""
_INSTEAD = "(hidden)"
_MAX_DEPTH = 60


class CredentialSource(BaseModel):
    """Where a credential comes from: an environment variable, a file, or the operator's file itself if it is not secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str = ""
    file: FilePath | None = None
    value: str = Field("", repr=False)
    prefix: str = ""

    @model_validator(mode="after")
    def _is_one(self) -> CredentialSource:
        if [bool(self.env), self.file is not None, bool(self.value)].count(True) != 1:
            raise ValueError("must have one of env, file and value")
        return self

    def bare(self) -> str:
        """The value without ``prefix`` and surrounding white space.

        Raises:
            ServerError: the value is missing, or has characters that cannot be sent.
        """
        if self.file is not None:
            try:
                with self.file.open(encoding="utf-8") as file:
                    found = file.read(_MAX_CHARS).strip()
            except (OSError, UnicodeDecodeError):
                raise ServerError("a file with a credential cannot be read", Moment.NOT_RUN) from None
        else:
            found = (os.environ.get(self.env, "") if self.env else self.value).strip()
        if not found:
            raise ServerError("a credential is not set", Moment.NOT_RUN)
        if not found.isprintable() or not found.isascii():
            raise ServerError("a credential has characters that cannot be sent", Moment.NOT_RUN)
        return found


def texts(values: Mapping[str, CredentialSource]) -> dict[str, str]:
    """The texts to send, by name. Raises ServerError if one is missing."""
    return {name: value.prefix + value.bare() for name, value in values.items()}


def secrets(*groups: Mapping[str, CredentialSource]) -> tuple[str, ...]:
    """The values to redact from responses, longest first. Raises as ``texts``."""
    bare = {each.bare() for group in groups for each in group.values() if not each.value}
    # A server may quote the second word of "Basic dXNlcjpwYXNz" alone.
    words = {word for text in bare for word in (text, *text.split()) if len(word) >= _MIN_CHARS}
    return tuple(sorted({*words, *(quote(word, safe="") for word in words)}, key=len, reverse=True))


def without(found: Any, hidden: tuple[str, ...], depth: int = 0) -> Any:
    """A JSON value without any of ``hidden``, lone surrogates, or invalid numbers."""
    if isinstance(found, str):
        for each in hidden:
            found = found.replace(each, _INSTEAD)
        return found.encode("utf-8", "replace").decode()
    if isinstance(found, float) and not math.isfinite(found):
        return None
    if depth > _MAX_DEPTH:
        return None
    if isinstance(found, dict):
        return {without(name, hidden): without(value, hidden, depth + 1) for name, value in found.items()}
    return [without(each, hidden, depth + 1) for each in found] if isinstance(found, list) else found


MAX_TOOLS = 20
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_|~-]{1,100}")
NEVER_SET = re.compile(
    r"(?i)host|cookie2?|authorization|connection|te|trailer|upgrade|expect|forwarded|via|origin|referer|user-agent|date|range|"
    r"x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-.*|x-http-method.*|x-method-override|proxy-.*|sec-.*|content-.*|accept.*|"
    r"transfer-encoding|keep-alive|mcp-.*|x-api-key|api-key|x-auth-.*|cf-.*|true-client-ip|x-client-ip"
)
"""Headers that a model never sets, whatever a document declares: they carry credentials or identify the client."""


def _address(url: str) -> str:
    try:
        origin(url)
    except ValueError:
        raise ValueError("must be an http or https address") from None
    if any(char in url for char in "@?#\\ ") or "/../" in f"{url}/":
        raise ValueError("must have no user name, no query and no .. in its path")
    return url.rstrip("/") if url.count("/") > 2 else url


def _header_names(headers: dict[str, CredentialSource]) -> dict[str, CredentialSource]:
    if not all(map(_HEADER.fullmatch, headers)):
        raise ValueError("has an invalid header name")
    return headers


Address = Annotated[str, AfterValidator(_address)]
Headers = Annotated[dict[str, CredentialSource], AfterValidator(_header_names)]
SelectedNames = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(min_length=1, max_length=MAX_TOOLS)]


class ServerSpec(BaseModel):
    """The fields that both kinds of tool servers have.

    ``selected``: what is offered, by the server's names. ``labels``: the lines that people read, by the same. ``seconds``: the time limit
    of one call.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=f"^{SERVER_NAME.pattern}$")
    selected: SelectedNames
    headers: Headers = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    seconds: float = Field(30.0, gt=0, le=600, strict=True)


class OpenApiSpec(ServerSpec):
    """A tool server with an OpenAPI document, from an ``[[openapi]]`` table. ``document``: the file. ``selected``: the ids of the
    operations to offer. ``query``: credentials for the query of the URL.
    """

    url: Address
    document: FilePath
    selected: SelectedNames = Field(alias="operations")
    query: dict[str, CredentialSource] = Field(default_factory=dict)
    header_parameters: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _sets_no_credential(self) -> OpenApiSpec:
        if any(NEVER_SET.fullmatch(name) for name in self.header_parameters):
            raise ValueError("header_parameters names a header that a model must not set")
        return self


class McpSpec(ServerSpec):
    """An MCP server, from an ``[[mcp]]`` table. It has either ``url`` (streamable HTTP) or ``command`` (stdio), which is started with only
    the variables in ``environment``. ``sessions``: who has a session or program of their own. ``programs``: the most programs at a time in
    one process of the product. ``speaks_to_person``: whether the server's words may reach the person whose turn it is."""

    url: Annotated[str, AfterValidator(lambda url: url and _address(url))] = ""
    command: list[str] = Field(default_factory=list)
    environment: dict[str, CredentialSource] = Field(default_factory=dict)
    directory: FilePath | None = None
    sessions: Literal["conversation", "person", "shared"] = "conversation"
    programs: int = Field(20, ge=1, le=1000, strict=True)
    speaks_to_person: bool = False
    selected: SelectedNames = Field(alias="tools")

    @model_validator(mode="after")
    def _is_one(self) -> McpSpec:
        if bool(self.url) == bool(self.command):
            raise ValueError("must have either url or command")
        if self.url and (self.environment or self.directory):
            raise ValueError("environment and directory are for a command")
        if self.command and self.headers:
            raise ValueError("headers are for a url")
        return self


KINDS: Mapping[str, type[OpenApiSpec | McpSpec]] = {"openapi": OpenApiSpec, "mcp": McpSpec}
MAX_SERVERS = 20


@dataclass(frozen=True, slots=True)
class ToolsFile:
    """The content of the file: the valid servers, in order, and a sentence for each mistake."""

    servers: tuple[OpenApiSpec | McpSpec, ...] = ()
    problems: tuple[str, ...] = ()


def read_file(path: Path) -> ToolsFile:
    """The ``[[openapi]]`` and ``[[mcp]]`` tables, with absolute paths. Never raises for the content of a file."""
    file = OperatorFile(path, list(KINDS))
    servers: list[OpenApiSpec | McpSpec] = []
    for kind, model in KINDS.items():
        for place, table in file.tables(kind):
            server = file.checked(place, model, table)
            if server and file.is_first(place, name=server.name):
                servers.append(server)
    file.problems += [f"{server.name}: there are more than {MAX_SERVERS} servers" for server in servers[MAX_SERVERS:]]
    return ToolsFile(tuple(servers[:MAX_SERVERS]), tuple(file.problems))
