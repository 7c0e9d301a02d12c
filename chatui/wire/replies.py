"""What one browser is told that is no step of a turn: answers to its commands, a new title, and why the socket closes."""

from __future__ import annotations

from dataclasses import dataclass

from chatui.wire.base import Event


@dataclass(frozen=True, slots=True)
class Accepted(Event):
    """The question of the command ``client_id`` is stored, and a turn answers it. ``url`` is the path of the conversation's page."""

    types = ("chatui:accepted",)
    client_id: str
    conversation: str
    turn: str
    question: str
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """A command was refused; ``message`` is the sentence that belongs to ``code``. ``client_id`` is absent where the command had none."""

    types = ("chatui:refused",)
    client_id: str | None
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Idle(Event):
    """No turn runs in the conversation that is followed. ``turn`` is the last one and ``state`` how it ended, if there was one."""

    types = ("chatui:idle",)
    conversation: str
    turn: str | None
    state: str | None


@dataclass(frozen=True, slots=True)
class TitleChanged(Event):
    """A conversation of this person has another title, maybe given in another tab."""

    types = ("chatui:title",)
    conversation: str
    title: str


@dataclass(frozen=True, slots=True)
class Farewell(Event):
    """The server closes the socket; ``message`` is the sentence that belongs to ``code``."""

    types = ("chatui:bye",)
    code: str
    message: str
