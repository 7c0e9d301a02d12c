"""The offer of a server's tool: its definition for the model, and how a call is sent. The operator confirms its digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from chatui.tools.tool import DESCRIPTION_CHARS, NAME


class Place(BaseModel):
    """Where an argument is sent: the part of the request, and the server's name for the argument."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    part: Literal["path", "query", "header", "body", "arguments"]
    name: str
    style: Literal["form", "deepObject", "spaceDelimited", "pipeDelimited", "simple"] = "form"
    explode: bool = True


class Offer(BaseModel):
    """A server's tool, as it can be offered. ``name``: our name. ``remote``: the server's name. ``method`` and ``path``: of an OpenAPI
    operation; otherwise empty.

    ``parameters``: a JSON Schema of an object, see ``schemas.reduced``. ``places``: by argument name.
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
        """The offer as text lines, for people and for comparisons."""
        return json.dumps(self.model_dump(exclude_defaults=True), indent=1, sort_keys=True, ensure_ascii=True).splitlines()


class Listing(BaseModel):
    """The offers for the tools that the operator named, and a sentence for each tool that cannot be offered; both by the server's names."""

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
            ServerError: the server is unreachable.
        """
        ...

    async def call(self, offer: Offer, arguments: dict[str, Any]) -> Any:
        """The result of a call, as JSON.

        Raises:
            ServerError: the call failed.
            ToolError: the server reports an error. The text is for the model.
        """
        ...

    async def close(self) -> None:
        """Close its connections and processes."""
        ...
