"""The commands that a browser may send, and the function that parses them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NewType, get_args, get_type_hints

from chatui.wire.base import Item
from renderer.strict_json import JsonError, loads_bounded

MAX_FILES = 10
"""The most files in one message."""

MAX_MARKS = 1000
"""The most strings, commas and opening brackets of a command, several times as many as any has. It is read on the event loop, and a person
may have many pages."""

Reference = NewType("Reference", str)
"""An unchecked id from the browser. A value that is not a string is read as the empty string, which is never an id, so that "does not
exist" and "not yours" look the same for every value."""


@dataclass(frozen=True, slots=True)
class FileUse(Item):
    """A file of a message."""

    id: Reference
    use: str
    """How the model gets it: ``whole``, the ``first`` part that fits, only some ``places``, or by ``search``."""
    places: str
    """The pages or parts, such as "1-12, 15", if that is its use; else empty."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command from a browser."""

    type: ClassVar[str]


@dataclass(frozen=True, slots=True)
class AskCommand(Command):
    """A command that starts a turn."""

    client_id: Reference
    """Chosen by the page. A second command with the same one is the same question, and starts no new turn."""


@dataclass(frozen=True, slots=True)
class Send(AskCommand):
    """A new message, in a conversation or as the beginning of one. ``folder``, ``assistant``, ``collections``, ``tools_off``,
    ``answer_format`` and ``temporary`` are settings of a new conversation."""

    type = "send"
    conversation: Reference | None
    """Null: the message begins a new one."""
    folder: Reference | None
    """Where to put the conversation."""
    assistant: Reference | None
    """The assistant with which it begins."""
    collections: str | None
    """The ids of the collections that it asks, separated by commas."""
    text: str
    effort: str
    """The reasoning effort."""
    choice: str | None
    """The model."""
    tools_off: str | None
    """The names of tools to turn off, separated by commas."""
    answer_format: str | None
    """The JSON schema for its answers."""
    temporary: bool | None
    """Keep it out of all lists, and erase it soon."""
    files: tuple[FileUse, ...] | None
    """Those that the person has uploaded for the message."""


@dataclass(frozen=True, slots=True)
class Edit(AskCommand):
    """A new version of a question."""

    type = "edit"
    conversation: Reference
    question: Reference
    """The old version."""
    text: str
    effort: str
    choice: str | None
    files: tuple[FileUse, ...] | None
    """All its files, old and newly uploaded. Null: those of the old version."""


@dataclass(frozen=True, slots=True)
class Regenerate(AskCommand):
    """Another answer to a question."""

    type = "regenerate"
    conversation: Reference
    question: Reference
    effort: str
    choice: str | None
    stays_with: str | None
    """The model of the message box, if this answer alone is to be of ``choice``."""


@dataclass(frozen=True, slots=True)
class Continue(AskCommand):
    """Continue an answer that was cut off."""

    type = "continue"
    conversation: Reference
    turn: Reference
    """The turn of that answer."""


@dataclass(frozen=True, slots=True)
class Stop(Command):
    """End a turn now."""

    type = "stop"
    conversation: Reference
    turn: Reference


@dataclass(frozen=True, slots=True)
class AnswerNow(Command):
    """End the thinking of a turn, so that the answer begins. No effect if the answer has begun, or the command was sent before."""

    type = "answer_now"
    conversation: Reference
    turn: Reference


@dataclass(frozen=True, slots=True)
class MakeWay(Command):
    """A message waits, and is to be added to a turn: the turn ends before it samples the model once more, and the message goes on with it.
    No effect if it does not sample once more. The end of the connection takes the command back: a page sends it again over the next one."""

    type = "make_way"
    conversation: Reference
    turn: Reference
    is_wanted: bool
    """False takes the command back."""


@dataclass(frozen=True, slots=True)
class Subscribe(Command):
    """Follow a conversation of the person's own."""

    type = "subscribe"
    conversation: Reference


@dataclass(frozen=True, slots=True)
class See(Command):
    """The page shows the conversation to its person. If it had news, all of their pages get ``chatui:seen``."""

    type = "see"
    conversation: Reference


@dataclass(frozen=True, slots=True)
class Watch(Command):
    """Follow the hidden channels of a conversation."""

    type = "watch"
    conversation: Reference


@dataclass(frozen=True, slots=True)
class Pong(Command):
    """The page has read everything up to a ping."""

    type = "pong"
    number: int
    """That of the ping."""


@dataclass(frozen=True, slots=True)
class Probe(Command):
    """The page has received nothing for a while, and checks the connection. The reply is ``chatui:alive``."""

    type = "probe"


COMMANDS: tuple[type[Command], ...] = (Send, Edit, Regenerate, Continue, Stop, AnswerNow, MakeWay, Subscribe, See, Watch, Pong, Probe)
"""All commands."""

_BY_TYPE = {kind.type: kind for kind in COMMANDS}
_HINTS = {kind: get_type_hints(kind) for kind in (*COMMANDS, FileUse)}
_FIELDS: dict[type, dict[str, tuple[Any, ...]]] = {
    kind: {each.name: get_args(_HINTS[kind][each.name]) or (_HINTS[kind][each.name],) for each in fields(kind)} for kind in _HINTS
}
"""The types that each field may have, computed once: this takes longer than parsing a command."""


_LIST = tuple[FileUse, ...]


class UnreadableCommandError(Exception):
    """The message is not a known command, or lacks a field. ``client_id``: that of the command, if it had one."""

    def __init__(self, client_id: str | None = None) -> None:
        super().__init__()
        self.client_id = client_id


def read_command(text: str | None) -> Command:
    """Parse the command in one socket frame.

    Raises:
        UnreadableCommandError: it is not a known command, or lacks a field.
    """
    values = _object(text)
    client_id = values.get("client_id")
    name = values.get("type")
    kind = _BY_TYPE.get(name) if isinstance(name, str) else None
    try:
        if kind is None:
            raise UnreadableCommandError
        return kind(**{name: _field(values.get(name), wanted) for name, wanted in _FIELDS[kind].items()})
    except UnreadableCommandError:
        raise UnreadableCommandError(client_id if isinstance(client_id, str) else None) from None


def _object(text: str | None) -> dict[str, Any]:
    try:
        values = loads_bounded((text or "").encode("utf-8", "surrogatepass"), MAX_MARKS)
    except JsonError:
        return {}
    return values if isinstance(values, dict) else {}


def _field(value: object, wanted: tuple[Any, ...]) -> object:
    """The value of a field, if it has one of the ``wanted`` types; else the command is unreadable. A reference that is no text, or is
    missing, refers to nothing, and is answered as one to what does not exist."""
    if value is None and type(None) in wanted:
        return None
    if _LIST in wanted:
        return _files(value)
    if strict := {bool, int}.intersection(wanted):
        if type(value) in strict:
            return value
    elif isinstance(value, str):
        return value
    elif Reference in wanted:
        return Reference("")
    raise UnreadableCommandError


def _files(value: object) -> tuple[FileUse, ...]:
    if not isinstance(value, list) or len(value) > MAX_FILES or not all(isinstance(each, dict) for each in value):
        raise UnreadableCommandError
    known = _FIELDS[FileUse].items()
    return tuple(FileUse(**{name: _field(each.get(name), wanted) for name, wanted in known}) for each in value)  # type: ignore[arg-type]
