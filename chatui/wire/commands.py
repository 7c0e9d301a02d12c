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
    """A file of a message: its id, and how the model gets it: ``whole``, the ``first`` part that fits, some ``places`` such as "1-12, 15",
    or by ``search``."""

    id: Reference
    use: str
    places: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command from a browser."""

    type: ClassVar[str]


@dataclass(frozen=True, slots=True)
class AskCommand(Command):
    """A command that starts a turn. A second command with the same ``client_id`` is the same question, and starts no new turn."""

    client_id: Reference


@dataclass(frozen=True, slots=True)
class Send(AskCommand):
    """A new message. Without a ``conversation`` it starts a new one, with these settings. ``folder``: where to put it. ``assistant``: with
    which it begins. ``collections``: the ids of those that it asks, and ``tools_off``: names of tools to turn off, separated by commas.
    ``temporary``: keep it out of all lists, and erase it soon. ``answer_format``: the JSON schema for its answers. ``files``: those that
    the person has uploaded for the message."""

    type = "send"
    conversation: Reference | None
    folder: Reference | None
    assistant: Reference | None
    collections: str | None
    text: str
    effort: str
    choice: str | None
    tools_off: str | None
    answer_format: str | None
    temporary: bool | None
    files: tuple[FileUse, ...] | None


@dataclass(frozen=True, slots=True)
class Edit(AskCommand):
    """A new version of a question. ``files``: all its files, old and newly uploaded; if absent, it keeps those of the old version."""

    type = "edit"
    conversation: Reference
    question: Reference
    text: str
    effort: str
    choice: str | None
    files: tuple[FileUse, ...] | None


@dataclass(frozen=True, slots=True)
class Regenerate(AskCommand):
    """Another answer to a question. ``stays_with``: the model of the message box, if this answer alone is to be of ``choice``."""

    type = "regenerate"
    conversation: Reference
    question: Reference
    effort: str
    choice: str | None
    stays_with: str | None


@dataclass(frozen=True, slots=True)
class Continue(AskCommand):
    """Continue the answer of ``turn``, which was cut off."""

    type = "continue"
    conversation: Reference
    turn: Reference


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
    No effect if it does not sample once more. ``is_wanted``: false takes it back, as does the end of the connection: a page says it again
    over the next one."""

    type = "make_way"
    conversation: Reference
    turn: Reference
    is_wanted: bool


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
    """The page has read everything up to the ping with this number."""

    type = "pong"
    number: int


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
    """The message is not a known command, or lacks a field. ``client_id`` is the command's, if it had one."""

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
