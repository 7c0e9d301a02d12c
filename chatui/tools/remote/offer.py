"""Offer: the definition of a server's tool for the model, and how a call is sent. The operator confirms its digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from chatui.tools.tool import DESCRIPTION_CHARS, NAME


class Place(BaseModel):
    """Where an argument goes: the part of the request, and the server's name for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    part: Literal["path", "query", "header", "body", "arguments"]
    name: str
    style: Literal["form", "deepObject", "spaceDelimited", "pipeDelimited", "simple"] = "form"
    explode: bool = True


class Offer(BaseModel):
    """A server's tool, as it can be offered. ``name``: ours. ``remote``: the server's. ``method`` and ``path``: of an operation of an
    OpenAPI document, else empty.

    ``parameters``: a JSON Schema of an object, see ``schemas.reduced``. ``places``: by the names of the arguments.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=f"^{NAME.pattern}$")
    server: str
    remote: str
    description: str = Field(max_length=DESCRIPTION_CHARS)
    parameters: dict[str, Any]
    places: dict[str, Place] = Field(default_factory=dict)
    method: str = ""
    path: str = ""
    content_type: str = ""

    def digest(self) -> str:
        """A digest over everything that the model is shown and everything that affects requests."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()

    def lines(self) -> list[str]:
        """The offer for people, in lines that can be compared."""
        return json.dumps(self.model_dump(exclude_defaults=True), indent=1, sort_keys=True, ensure_ascii=True).splitlines()


class Listing(BaseModel):
    """The offers for the tools that the operator named, by the server's names; and a sentence for each tool that cannot be offered."""

    model_config = ConfigDict(frozen=True)

    offers: dict[str, Offer] = Field(default_factory=dict)
    problems: dict[str, str] = Field(default_factory=dict)


class ServerError(Exception):
    """The server is unreachable, or its response is invalid. The text contains no address, no key and nothing from the response."""


class Server(Protocol):
    """A server whose tools are offered. Its methods run on the event loop of the tools."""

    async def listed(self) -> Listing:
        """The current offers.

        Raises:
            ServerError: it is unreachable.
        """
        ...

    async def call(self, offer: Offer, arguments: dict[str, Any]) -> Any:
        """The result of a call, as JSON.

        Raises:
            ServerError: it failed.
            ToolError: the server reports an error, in words for the model.
        """
        ...

    async def close(self) -> None:
        """Close its connections and processes."""
        ...
