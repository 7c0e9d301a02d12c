"""Spans of the product's work, with ids, codes, counts and seconds only. They are discarded unless tracing is on.

This module does not import OpenTelemetry: if tracing is off, a span costs one global lookup.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol, TypedDict, Unpack
from uuid import UUID

Kind = Literal["server", "client", "internal"]


class SpanAttributes(TypedDict, total=False):
    """The attributes that a span may have. None is written by a person, a model or a model server, and none is a URL with the id of a
    link.
    """

    turn: UUID
    conversation: UUID
    backend: str
    """The operator's name for the model server."""
    state: str
    code: str
    status: str
    """The HTTP status of a model server's response; empty if there was none."""
    first_token_seconds: float
    input_tokens: int | None
    output_tokens: int | None
    tool: str
    method: str
    route: str
    """The URL pattern, such as c/<uuid:conversation_id>/, never the URL itself."""
    response_status: int
    """The HTTP status of our own response."""


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
    "response_status": "http.response.status_code",
}
"""The attribute names for the collector: those of OpenTelemetry's conventions, if there are any."""


class Span:
    """A measured piece of work. This base class discards everything."""

    def set_attributes(self, **attributes: Unpack[SpanAttributes]) -> None:
        """Add attributes."""


class Tracer(Protocol):
    """Measures spans and sends them."""

    def span(self, name: str, kind: Kind, attributes: SpanAttributes) -> AbstractContextManager[Span]:
        """A span that lasts as long as the ``with`` block, inside the current one."""
        ...

    def current(self) -> Span:
        """The current span."""
        ...

    def headers(self) -> Mapping[str, str]:
        """Headers that tell a model server to which span a request belongs."""
        ...


_DISCARDED = Span()
_tracer: Tracer | None = None


def set_tracer(tracer: Tracer | None) -> None:
    """Use this tracer from now on; with None, tracing is off."""
    global _tracer
    _tracer = tracer


def is_on() -> bool:
    """Whether tracing is on."""
    return _tracer is not None


def span(name: str, kind: Kind = "internal", **attributes: Unpack[SpanAttributes]) -> AbstractContextManager[Span]:
    """Measure the ``with`` block. An exception in it is recorded by the name of its class, and propagates."""
    return nullcontext(_DISCARDED) if _tracer is None else _tracer.span(name, kind, attributes)


def current() -> Span:
    """The current span, to add attributes to it."""
    return _DISCARDED if _tracer is None else _tracer.current()


def headers() -> Mapping[str, str]:
    """Trace headers for a request to a model server; empty unless CHATUI_TRACES_TO_MODEL_SERVERS is on."""
    return {} if _tracer is None else _tracer.headers()
