"""The definition of a tool server in the operator's tools file: its address, its tools, and its credentials."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from chatui.backends.addresses import origin
from chatui.tools.remote.credentials import CredentialSource
from chatui.tools.remote.names import SERVER_NAME

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

    ``labels``: the lines that people read, by the server's tool names. ``seconds``: the time limit of one call.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=f"^{SERVER_NAME.pattern}$")
    headers: Headers = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    seconds: float = Field(30.0, gt=0, le=600)


class OpenApiSpec(ServerSpec):
    """A tool server with an OpenAPI document, from an ``[[openapi]]`` table. ``document``: the file. ``operations``: the ids of the
    operations to offer. ``query``: credentials for the query of the URL.
    """

    url: Address
    document: Path
    operations: SelectedNames
    query: dict[str, CredentialSource] = Field(default_factory=dict)
    header_parameters: list[str] = Field(default_factory=list)

    @property
    def selected(self) -> list[str]:
        """What is offered, by the server's names."""
        return self.operations

    @model_validator(mode="after")
    def _sets_no_credential(self) -> OpenApiSpec:
        if any(NEVER_SET.fullmatch(name) for name in self.header_parameters):
            raise ValueError("header_parameters names a header that a model must not set")
        return self


class McpSpec(ServerSpec):
    """An MCP server, from an ``[[mcp]]`` table. It has either ``url`` (streamable HTTP) or ``command`` (stdio), which is started with only
    the variables in ``environment``."""

    url: Annotated[str, AfterValidator(lambda url: url and _address(url))] = ""
    command: list[str] = Field(default_factory=list)
    environment: dict[str, CredentialSource] = Field(default_factory=dict)
    directory: Path | None = None
    tools: SelectedNames

    @property
    def selected(self) -> list[str]:
        """What is offered, by the server's names."""
        return self.tools

    @model_validator(mode="after")
    def _is_one(self) -> McpSpec:
        if bool(self.url) == bool(self.command):
            raise ValueError("must have either url or command")
        if self.url and (self.environment or self.directory):
            raise ValueError("environment and directory are for a command")
        if self.command and self.headers:
            raise ValueError("headers are for a url")
        return self
