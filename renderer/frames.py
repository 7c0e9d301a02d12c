"""The data types of a transcript: Role, Channel, Intent, Terminator, Header, Frame, Transcript.

All are immutable, and a body never appears in a repr.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from renderer.tokens import Token


class Role(StrEnum):
    """Who speaks in a frame (specification section 4). A legacy ``functions.x`` role is read as TOOL with that name."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Channel(StrEnum):
    """The channel of an assistant's message, which says whom it is for (specification section 5)."""

    ANALYSIS = "analysis"
    COMMENTARY = "commentary"
    FINAL = "final"


class Intent(StrEnum):
    """What a frame is for (specification section 6); only ``preamble`` is for people."""

    PREAMBLE = "preamble"
    STATUS = "status"
    DEBUG = "debug"


class Terminator(StrEnum):
    """How a frame ends; the values are the control tokens themselves."""

    END = Token.END.value
    CALL = Token.CALL.value
    RETURN = Token.RETURN.value


HEADER_VALUE = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
"""A header value that we write must match this in full (ruling on specification section 11)."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a frame. Values are plain strings: an unknown role or channel is preserved, but hidden."""

    role: str
    channel: str | None = None
    recipient: str | None = None
    call_id: str | None = None
    name: str | None = None
    intent: str | None = None
    content_type: str | None = None
    constrain: str | None = None

    def as_written(self) -> dict[str, str]:
        """The fields that are set, under their names in a transcript."""
        values = {
            "role": self.role,
            "channel": self.channel,
            "to": self.recipient,
            "call_id": self.call_id,
            "name": self.name,
            "intent": self.intent,
            "content_type": self.content_type,
            "constrain": self.constrain,
        }
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Frame:
    """One complete ``<|start|>…<|end|>``: the header, the body with escapes resolved, and the terminator."""

    header: Header
    body: str = field(repr=False)
    terminator: Terminator = Terminator.END


@dataclass(frozen=True, slots=True)
class Transcript:
    """A document header (specification section 2) and frames."""

    frames: tuple[Frame, ...]
    version: str = "2.2"
    model: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    """``generation_settings``."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Other header keys."""
