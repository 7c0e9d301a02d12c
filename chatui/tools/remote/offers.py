"""The offer of a server's tool: its definition for the model, and how a call is sent. The operator confirms its digest.

Our name for it is ``server_tool``, which is mapped back by a table, never parsed. Untrusted text is cleaned: one line, of bounded length,
without invisible characters and prompt markers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeGuard

from pydantic import BaseModel, ConfigDict, Field

from chatui import json_schemas
from chatui.json_schemas import UnusableError
from chatui.tools.tool import NAME, TRAINED_NAMES, one_line

DESCRIPTION_CHARS = 1000
"""The most characters of a tool's description. What a caller must heed (“call X first”) is often said at the end."""
ARGUMENT_CHARS = 500
MAX_ARGUMENTS = 50
MAX_SCHEMA_CHARS = 16_000


class ArgumentPlace(BaseModel):
    """Where an argument is sent: the part of the request, and the server's name for the argument."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    part: Literal["path", "query", "header", "body", "arguments"]
    name: str
    style: Literal["form", "deepObject", "spaceDelimited", "pipeDelimited", "simple", "json"] = "form"
    explode: bool = True


class ToolOffer(BaseModel):
    """A server's tool, as it can be offered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=f"^{NAME.pattern}$")
    """The tool's name here."""
    server: str
    remote: str
    """The server's name for it."""
    description: str = Field(max_length=DESCRIPTION_CHARS)
    parameters: dict[str, Any]
    """A JSON Schema of an object, see ``schemas.reduced``."""
    places: dict[str, ArgumentPlace] = Field(default_factory=dict)
    """Where each argument goes in the request, by its name."""
    method: str = ""
    """The method of an OpenAPI operation; otherwise empty."""
    path: str = ""
    """The path of an OpenAPI operation; otherwise empty."""
    content_type: str = ""
    left_out: tuple[str, ...] = ()
    """What of the server's schema the model is not shown."""
    original: dict[str, Any] | None = Field(None, repr=False)
    """The server's schema of the arguments, as far as it can be checked; None if ``parameters`` says all. That of an MCP server has its own
    names, that of an OpenAPI operation the model's, since places can share names."""
    encoding: dict[str, Literal["json", "deepObject", "form", "spaceDelimited", "pipeDelimited", "file"]] = Field(default_factory=dict)
    """How fields of a form are written, if not as text."""

    def digest(self) -> str:
        """A digest over everything that the model is shown and everything that affects requests."""
        given = self.model_dump(mode="json")
        # An offer that needs none of them has the digest that it had before they existed.
        digested = {name: value for name, value in given.items() if value or name not in ("left_out", "original", "encoding")}
        return hashlib.sha256(json.dumps(digested, sort_keys=True).encode()).hexdigest()

    def named(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under the server's names, as an MCP server gets them. Unnamed ones, which few schemas allow, keep theirs."""
        unnamed = {name: value for name, value in arguments.items() if name not in self.places}
        return {**unnamed, **{self.places[name].name: value for name, value in arguments.items() if name in self.places}}

    def fault(self, arguments: Mapping[str, Any]) -> str | None:
        """What in the arguments the server's own schema does not allow, as ``json_schemas.fault``. They have been checked against
        ``parameters``."""
        if self.original is None:
            return None
        return json_schemas.fault(self.original, arguments if self.method else self.named(arguments))

    def lines(self) -> list[str]:
        """The offer as text lines, for people and for comparisons."""
        return json.dumps(self.model_dump(exclude_defaults=True), indent=1, sort_keys=True, ensure_ascii=True).splitlines()


@dataclass(frozen=True, slots=True)
class Listing:
    """The offers for the tools that the operator named, and a sentence for each tool that cannot be offered; both by the server's names."""

    offers: dict[str, ToolOffer]
    problems: dict[str, str]


def listing(server: str, selected: Iterable[str], offered: Callable[[str, str], ToolOffer]) -> Listing:
    """What ``server`` offers of the tools that the operator named (``selected``). ``offered``: the offer of one, by the server's name and
    ours; it raises UnusableError."""
    offers: dict[str, ToolOffer] = {}
    problems: dict[str, str] = {}
    for remote in selected:
        try:
            offers[remote] = offered(remote, tool_name(server, remote, {offer.name for offer in offers.values()}))
        except UnusableError as error:
            problems[remote] = str(error)
        except RecursionError:
            problems[remote] = "its schema is nested too deeply"
    return Listing(offers, problems)


class Moment(Enum):
    """When a request to a server failed. Everything else follows from it: whether a call may have had an effect, and what it says about
    the server.
    """

    NOT_RUN = "not run"  # it was not sent, for a reason of our own, or the server refused it
    UNREAD = "unread"  # it was not sent, because the server does not read what it is sent
    DOWN = "down"  # the server failed at something in which nothing of a person is
    LOST = "lost"  # it was sent, and no answer came
    ANSWERED = "answered"  # it was sent, and the answer cannot be used


class ServerError(Exception):
    """The server is unreachable, or its response is invalid. The text contains no address, no key and nothing from the response."""

    def __init__(self, text: str, moment: Moment | None = None, server_words: str = "") -> None:
        """``moment``: by default, that of the block in which it is raised, see ``sent`` and ``without_arguments``. ``server_words``: what
        the server said, without credentials, for the model alone."""
        super().__init__(text)
        self.moment = moment
        self.server_words = server_words


class ResponseTooLongError(ServerError):
    """The response is longer than may be read."""


@contextmanager
def sent() -> Iterator[None]:
    """A block after a request was sent: the request may have had an effect, whatever fails there."""
    try:
        yield
    except ServerError as error:
        error.moment = error.moment or Moment.ANSWERED
        raise


@contextmanager
def without_arguments() -> Iterator[None]:
    """A block that sends nothing of a person: connecting, introducing ourselves, listing tools, a ping. Only what fails there says that
    the server is down. One person's arguments may make any call fail, so no call decides about the calls of others.
    """
    try:
        yield
    except ServerError as error:
        if error.moment is not Moment.NOT_RUN:
            error.moment = Moment.DOWN
        raise


SERVER_NAME = re.compile(r"[a-z][a-z0-9]{0,19}")
"""The name of a server, which is the prefix of its tools' names."""
_MAX_NAME_CHARS = 64
_HASH = 6
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def tool_name(server: str, remote: str, taken: Collection[str]) -> str:
    """The model's name for the tool ``remote`` of ``server``. A name that is too long, or ``taken``, ends in a hash."""
    own = re.sub(r"[^a-z0-9]+", "_", _HUMP.sub("_", remote).lower()).strip("_")
    name = f"{server}_{own}"
    if not own or len(name) > _MAX_NAME_CHARS or name in taken or name in TRAINED_NAMES:
        suffix = hashlib.sha256(remote.encode("utf-8", "replace")).hexdigest()[:_HASH]
        name = f"{name[: _MAX_NAME_CHARS - _HASH - 1].rstrip('_')}_{suffix}"
    return name


def argument_name(wire: str, taken: Collection[str]) -> str:
    """An argument's name for the model. A name of which nothing is left, or that is ``taken``, ends in a hash."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", wire).strip("_")[:_MAX_NAME_CHARS]
    name = f"n{name}"[:_MAX_NAME_CHARS] if name[:1].isdigit() else name
    if not name or name in taken:
        suffix = hashlib.sha256(wire.encode("utf-8", "replace")).hexdigest()[:_HASH]
        name = f"{name[: _MAX_NAME_CHARS - _HASH - 1] or 'argument'}_{suffix}"
    return name


class OfferedArguments:
    """The arguments of a tool of another server, under our own names: the place of each in a request, and one schema of all.
    ``left_out``: see ``ToolOffer``."""

    def __init__(self) -> None:
        self.places: dict[str, ArgumentPlace] = {}
        self.left_out: list[str] = []
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []

    def add(self, wire: str, place: ArgumentPlace, schema: Mapping[str, Any], *, is_needed: bool) -> str:
        """Add an argument by the server's name for it, with its reduced schema. Returns our name.

        Raises:
            UnusableError: there are too many.
        """
        name = argument_name(wire, self.places)
        if name in self.places or len(self.places) == MAX_ARGUMENTS:
            raise UnusableError("it has too many arguments")
        self.places[name], self._properties[name] = place, dict(schema)
        if is_needed:
            self._required.append(name)
        return name

    def schema(self) -> dict[str, Any]:
        """The schema of all. Raises UnusableError if it is too large."""
        required = {"required": self._required} if self._required else {}
        found = {"type": "object", "properties": self._properties, "additionalProperties": False, **required}
        if len(json.dumps(found, ensure_ascii=False)) > MAX_SCHEMA_CHARS:
            raise UnusableError("its schema is too large")
        return found


def cleaned(text: str, max_chars: int) -> str:
    """The text on one line of at most ``max_chars`` characters, without anything that could end a definition or a message, and without
    invisible characters.
    """
    line = one_line(text[: max_chars * 4])
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"


NAME_CHARS = 200
"""The most characters of a server's name for a tool."""


def is_name(found: object) -> TypeGuard[str]:
    """Whether it can be a server's name for a tool on a page and in the audit log: one line of characters that cannot be taken for
    others."""
    return isinstance(found, str) and 0 < len(found) <= NAME_CHARS and cleaned(found, NAME_CHARS) == found


def description_of(words: str) -> str:
    """A tool's description, as a model may be shown it.

    Raises:
        UnusableError: it says nothing.
    """
    description = cleaned(words, DESCRIPTION_CHARS)
    if not any(map(str.isalnum, description)):
        raise UnusableError("it has no description, so the model would not know what it is for")
    return description


def is_clean(text: str, max_chars: int) -> bool:
    """Whether the text can be used unchanged in a definition. It is quoted there, so it must not contain quotes."""
    return cleaned(text, max_chars) == text and not set('"\\`') & set(text)
