"""The definition of a tool server in the operator's tools file: its address, its tools, and its credentials.

Credentials are read from the environment or a file when needed, and redacted from every response. Reading the TOML file yields the valid
definitions, and a message for each mistake, which never quotes a value.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from chatui.operator_files import FilePath, OperatorFile
from chatui.outbound.addresses import origin
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
        # One of another kind (``tools.stored_servers``) is in no file.
        if type(self) is CredentialSource and [bool(self.env), self.file is not None, bool(self.value)].count(True) != 1:
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


_token: ContextVar[str] = ContextVar("token", default="")
"""The access token of the call that the current task makes: of the person whose call it is, or of the server's own client."""


@contextmanager
def token(text: str) -> Iterator[None]:
    """A block whose requests carry this access token; with an empty one, none. Tasks that begin in the block carry it, others never."""
    before = _token.set(text)
    try:
        yield
    finally:
        _token.reset(before)


def headers(values: Mapping[str, CredentialSource]) -> dict[str, str]:
    """The operator's headers, with the access token of this call, if it has one. Raises as ``texts``."""
    found = _token.get()
    return texts(values) | ({"Authorization": f"Bearer {found}"} if found else {})


def secrets(*groups: Mapping[str, CredentialSource]) -> tuple[str, ...]:
    """The values to redact from responses, longest first, with the access token of this call. Raises as ``texts``."""
    bare = {each.bare() for group in groups for each in group.values() if not each.value} | ({_token.get()} - {""})
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


class OAuthSpec(BaseModel):
    """How calls of a server are authorized (OAuth 2.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    grant: Literal["person", "client_credentials"] = "person"
    """Each person signs in there as themselves, or the product does so for everybody (client credentials)."""
    issuer: Annotated[str, AfterValidator(lambda issuer: issuer and _issuer(issuer))] = ""
    """The only authorization server to use; by default, the one that the server names."""
    client_id: str = Field("", max_length=500)
    """The id of the client that was registered there for this installation; by default, it registers itself."""
    client_secret: CredentialSource | None = None
    """The secret of that client."""
    scopes: list[Annotated[str, Field(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,200}$")]] = Field(default_factory=list, max_length=50)
    """What to ask for; by default, what the server names."""
    client_document: bool = True
    """Whether an authorization server that reads documents about clients may be given the address of ours."""
    private_addresses: bool = False
    """Whether what the server's metadata names may be in private networks and without https."""

    @model_validator(mode="after")
    def _names_whom_it_trusts(self) -> OAuthSpec:
        if self.client_secret and not self.client_id:
            raise ValueError("client_secret needs client_id")
        if self.client_id and not self.issuer:
            # Otherwise a tool server could name any authorization server, and be sent the client's secret there.
            raise ValueError("client_id needs issuer, the authorization server that knows this client")
        if self.grant == "client_credentials" and not self.client_secret:
            raise ValueError("client_credentials need issuer, client_id and client_secret")
        return self


def _issuer(issuer: str) -> str:
    """An issuer is compared to the letter, so nothing of it is changed."""
    _address(issuer)
    return issuer


class ServerSpec(BaseModel):
    """The fields that both kinds of tool servers have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=f"^{SERVER_NAME.pattern}$")
    selected: SelectedNames
    """What is offered, by the server's names."""
    headers: Headers = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    """The lines that people read, by the server's names."""
    seconds: float = Field(30.0, gt=0, le=600, strict=True)
    """The time limit of one call."""
    oauth: OAuthSpec | None = None
    """How its calls are authorized, if not by ``headers`` alone."""
    _place: str = PrivateAttr("")

    @property
    def is_per_person(self) -> bool:
        """Whether each person signs in to the server as themselves."""
        return self.oauth is not None and self.oauth.grant == "person"

    @property
    def lists_for_each(self) -> bool:
        """Whether the server may offer each person other tools, so that nobody's list is another's. A document is the same for all."""
        return False

    @model_validator(mode="after")
    def _has_one_authorization(self) -> ServerSpec:
        if self.oauth and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("has both oauth and a header Authorization")
        return self

    @property
    def place(self) -> str:
        """Which server of Administration it is (``tools.rules``), whose address must be public; empty: the operator's file names it."""
        return self._place

    def at_place(self, place: str) -> Self:
        copy = self.model_copy()
        copy._place = place
        return copy


class OpenApiSpec(ServerSpec):
    """A tool server with an OpenAPI document, from an ``[[openapi]]`` table."""

    url: Address
    document: FilePath
    """The file."""
    selected: SelectedNames = Field(alias="operations")
    """The ids of the operations to offer."""
    query: dict[str, CredentialSource] = Field(default_factory=dict)
    """Credentials for the query of the URL."""
    header_parameters: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _sets_no_credential(self) -> OpenApiSpec:
        if any(NEVER_SET.fullmatch(name) for name in self.header_parameters):
            raise ValueError("header_parameters names a header that a model must not set")
        return self


class McpSpec(ServerSpec):
    """An MCP server, from an ``[[mcp]]`` table. It has either ``url`` or ``command``."""

    url: Annotated[str, AfterValidator(lambda url: url and _address(url))] = ""
    """Where it is reached (streamable HTTP)."""
    command: list[str] = Field(default_factory=list)
    """What starts it (stdio), with only the variables in ``environment``."""
    environment: dict[str, CredentialSource] = Field(default_factory=dict)
    directory: FilePath | None = None
    sessions: Literal["conversation", "person", "shared"] = "conversation"
    """Who has a session or program of their own."""
    programs: int = Field(20, ge=1, le=1000, strict=True)
    """The most programs at a time in one process of the product."""
    speaks_to_person: bool = False
    """Whether the server's words may reach the person whose turn it is."""
    resources: bool = False
    """Whether people who are offered one of its tools may attach its resources."""
    selected: SelectedNames = Field(alias="tools")

    @property
    def identity(self) -> str:
        """The server's name, and a digest of where it is: another server of the same name is another one."""
        return f"{self.name} {hashlib.sha256((self.url or json.dumps(self.command)).encode()).hexdigest()[:16]}"

    @property
    def lists_for_each(self) -> bool:
        return self.is_per_person

    @model_validator(mode="after")
    def _is_one(self) -> McpSpec:
        if bool(self.url) == bool(self.command):
            raise ValueError("must have either url or command")
        if self.url and (self.environment or self.directory):
            raise ValueError("environment and directory are for a command")
        if self.command and (self.headers or self.oauth):
            raise ValueError("headers and oauth are for a url")
        if self.is_per_person and self.sessions == "shared":
            raise ValueError("has sessions that all people share, but each signs in as themselves")
        return self


PRIVATE = "{session}"
"""In a command or a variable: a directory of one run of the program alone, which is deleted with it."""
_CODE = {".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".sh", ".jar", ".rb", ".toml", ".yaml", ".yml", ".ini", ".conf", ".pem", ".crt"}
_DATA = {".json", ".jsonl", ".ndjson", ".db", ".sqlite", ".sqlite3", ".duckdb", ".csv", ".txt", ".md", ".log", ".pkl"}
_KEEPS_BY_ITSELF = {"server-memory": "MEMORY_FILE_PATH"}
"""Published programs that keep everything in one file beside themselves unless this variable names another."""


def fixed_files(spec: McpSpec) -> list[str]:
    """What of a program's definition names one fixed file, which all of its runs share whatever ``sessions`` says: variables by name,
    arguments by number.

    As far as that can be known: a value is such a file if it is one that the product may write and that has no suffix of code or of
    settings, or if it has a suffix of data and its directory exists. Of published programs that use a file without being told, some are
    known by name. What a program does by itself is not seen.
    """
    if not spec.command or spec.sessions == "shared":
        return []
    given = {f"argument {number}": text.rpartition("=")[2] for number, text in enumerate(spec.command[1:], 1)}
    given |= {name: source.value for name, source in spec.environment.items()}
    found = [name for name, text in given.items() if PRIVATE not in text and _is_data_file(text, spec.directory)]
    for program, variable in _KEEPS_BY_ITSELF.items():
        if any(program in text for text in spec.command) and variable not in spec.environment:
            found.append(f"{variable}, which is not set")
    return found


def _is_data_file(text: str, directory: Path | None) -> bool:
    if "/" not in text or "://" in text or "\0" in text:
        return False
    path = (directory or Path()) / text
    suffix = path.suffix.lower()
    try:
        if path.is_file():
            return suffix not in _CODE and os.access(path, os.W_OK) and not os.access(path, os.X_OK)
        return suffix in _DATA and path.parent.is_dir()
    except OSError:
        return False


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
            if server and file.claim(place, name=server.name):
                servers.append(server)
    file.problems += [f"{server.name}: there are more than {MAX_SERVERS} servers" for server in servers[MAX_SERVERS:]]
    return ToolsFile(tuple(servers[:MAX_SERVERS]), tuple(file.problems))
