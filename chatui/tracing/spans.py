"""Spans of the product's work, with ids, codes, counts and seconds only. They are discarded unless tracing is on.

Imports nothing of OpenTelemetry: where traces are off, a span costs one look at a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol, TypedDict, Unpack
from uuid import UUID

Kind = Literal["server", "client", "internal"]


class SpanAttributes(TypedDict, total=False):
    """The attributes that a span may have. None is written by a person, a model or a model server, and none is an address with a link's
    id."""

    turn: UUID
    conversation: UUID
    backend: str
    """The operator's name for it."""
    state: str
    code: str
    status: str
    """Of HTTP, as a model server answered; empty where it did not."""
    first_token_seconds: float
    input_tokens: int | None
    output_tokens: int | None
    tool: str
    method: str
    route: str
    """The pattern of an address, such as c/<uuid:conversation_id>/, and never the address."""
    answered: int
    """The status that we answered with."""


NAMES: Mapping[str, str] = {
    "turn": "chatui.turn.id",
    "conversation": "chatui.conversation.id",
    "backend": "chatui.backend",
    "state": "chatui.turn.state",
    "code": "chatui.code",
    "status": "chatui.model_server.status",
    "first_token_seconds": "chatui.first_token_seconds",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "tool": "gen_ai.tool.name",
    "method": "http.request.method",
    "route": "http.route",
    "answered": "http.response.status_code",
}
"""What each is called where it is collected: by OpenTelemetry's conventions, where there is one."""


class Span:
    """A piece of work that is measured; this one, by nobody."""

    def note(self, **said: Unpack[SpanAttributes]) -> None:
        """Say more of it."""


class Tracer(Protocol):
    """Measures spans, and has them sent."""

    def span(self, name: str, kind: Kind, said: SpanAttributes) -> AbstractContextManager[Span]:
        """A span that lasts as long as the block, inside the one that is open."""
        ...

    def current(self) -> Span:
        """The span that is open."""
        ...

    def headers(self) -> Mapping[str, str]:
        """What tells a model server to which span its request belongs."""
        ...


_NOBODY = Span()
_tracer: Tracer | None = None


def use(tracer: Tracer | None) -> None:
    """Measure with this tracer from now on; with None, not at all."""
    global _tracer
    _tracer = tracer


def are_on() -> bool:
    """Whether anybody collects them."""
    return _tracer is not None


def span(name: str, kind: Kind = "internal", **said: Unpack[SpanAttributes]) -> AbstractContextManager[Span]:
    """Measure the block. What raises in it is noted by the name of its class, and passed on."""
    return nullcontext(_NOBODY) if _tracer is None else _tracer.span(name, kind, said)


def current() -> Span:
    """The span that is open, to say more of it."""
    return _NOBODY if _tracer is None else _tracer.current()


def headers() -> Mapping[str, str]:
    """For a request to a model server; empty unless the operator wants it to know."""
    return {} if _tracer is None else _tracer.headers()
