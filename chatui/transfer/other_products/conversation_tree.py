"""The data classes for a parsed export: an ExportedConversation is one conversation, a tree of Nodes with frames.

An import hides or drops some kinds of content, and messages report how many of each there were. Values of other products' JSON are read
without relying on their types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum, auto

from django.utils.translation import ngettext

from chatui.models.conversation import ImportSource
from renderer.frames import Frame
from renderer.strict_json import JsonValue


class DroppedKind(StrEnum):
    """A kind of dropped or hidden content. Only the number is reported, never the content."""

    IMAGE = auto()
    RECORDING = auto()
    FILE = auto()
    REASONING = auto()
    TOOL_CALL = auto()
    TOOL_RESULT = auto()
    INSTRUCTIONS = auto()
    HIDDEN = auto()
    FOLDED = auto()
    WITHHELD = auto()
    UNKNOWN_PART = auto()
    UNREADABLE = auto()
    TOO_LONG = auto()
    UNPLACED = auto()
    CONVERSATION_UNREADABLE = auto()
    CONVERSATION_TOO_LARGE = auto()
    CONVERSATION_EMPTY = auto()
    CONVERSATION_EXISTS = auto()
    CONVERSATION_POSTPONED = auto()
    FILE_CUT = auto()

    def sentence(self, count: int) -> str:
        """The sentence for ``count`` items of this kind, at least 1."""
        return _SENTENCES[self](count) % {"count": count}


Counts = Counter[DroppedKind]


def sentences(counts: Counts) -> list[str]:
    """The sentences for all kinds that occurred, in the order of the list."""
    return [kind.sentence(counts[kind]) for kind in DroppedKind if counts[kind]]


# Not with ``ngettext_lazy``, which makes a class of 34 KB for each.
_SENTENCES: dict[DroppedKind, Callable[[int], str]] = {
    DroppedKind.IMAGE: lambda count: ngettext("%(count)d image was left out.", "%(count)d images were left out.", count),
    DroppedKind.RECORDING: lambda count: ngettext("%(count)d recording was left out.", "%(count)d recordings were left out.", count),
    DroppedKind.FILE: lambda count: ngettext("%(count)d attached file was left out.", "%(count)d attached files were left out.", count),
    DroppedKind.REASONING: lambda count: ngettext(
        "%(count)d piece of reasoning is hidden.", "%(count)d pieces of reasoning are hidden.", count
    ),
    DroppedKind.TOOL_CALL: lambda count: ngettext("%(count)d tool call is hidden.", "%(count)d tool calls are hidden.", count),
    DroppedKind.TOOL_RESULT: lambda count: ngettext("%(count)d tool result is hidden.", "%(count)d tool results are hidden.", count),
    DroppedKind.INSTRUCTIONS: lambda count: ngettext(
        "%(count)d message with instructions for the model is hidden, and is not followed here.",
        "%(count)d messages with instructions for the model are hidden, and are not followed here.",
        count,
    ),
    DroppedKind.HIDDEN: lambda count: ngettext(
        "%(count)d message that was hidden there is hidden here, too.",
        "%(count)d messages that were hidden there are hidden here, too.",
        count,
    ),
    DroppedKind.FOLDED: lambda count: ngettext(
        "%(count)d folded section of an answer is hidden.", "%(count)d folded sections of answers are hidden.", count
    ),
    DroppedKind.WITHHELD: lambda count: ngettext(
        "%(count)d part of an answer is hidden, because it looked like private reasoning.",
        "%(count)d parts of answers are hidden, because they looked like private reasoning.",
        count,
    ),
    DroppedKind.UNKNOWN_PART: lambda count: ngettext(
        "%(count)d part of an unknown kind was left out.", "%(count)d parts of unknown kinds were left out.", count
    ),
    DroppedKind.UNREADABLE: lambda count: ngettext("%(count)d message could not be read.", "%(count)d messages could not be read.", count),
    DroppedKind.TOO_LONG: lambda count: ngettext(
        "%(count)d answer is hidden, because it is too long to be checked.",
        "%(count)d answers are hidden, because they are too long to be checked.",
        count,
    ),
    DroppedKind.UNPLACED: lambda count: ngettext(
        "%(count)d message was left out, because the file does not say where it belongs.",
        "%(count)d messages were left out, because the file does not say where they belong.",
        count,
    ),
    DroppedKind.CONVERSATION_UNREADABLE: lambda count: ngettext(
        "%(count)d conversation was not imported, because it could not be read.",
        "%(count)d conversations were not imported, because they could not be read.",
        count,
    ),
    DroppedKind.CONVERSATION_TOO_LARGE: lambda count: ngettext(
        "%(count)d conversation was not imported, because it is too large.",
        "%(count)d conversations were not imported, because they are too large.",
        count,
    ),
    DroppedKind.CONVERSATION_EMPTY: lambda count: ngettext(
        "%(count)d conversation was not imported, because it contains no message that you may see.",
        "%(count)d conversations were not imported, because they contain no message that you may see.",
        count,
    ),
    DroppedKind.CONVERSATION_EXISTS: lambda count: ngettext(
        "%(count)d conversation was skipped, because it was already imported.",
        "%(count)d conversations were skipped, because they were already imported.",
        count,
    ),
    DroppedKind.CONVERSATION_POSTPONED: lambda count: ngettext(
        "%(count)d conversation was not imported yet: upload the same file again to import it.",
        "%(count)d conversations were not imported yet: upload the same file again to import more of them.",
        count,
    ),
    DroppedKind.FILE_CUT: lambda count: ngettext(
        "The end of the file was not read, because the file is too large.",
        "The ends of %(count)d files were not read, because the files are too large.",
        count,
    ),
}


@dataclass(frozen=True, slots=True)
class Node:
    """One message of an export. ``frames`` may be empty: then the node only connects others. ``parent``: the key of another node."""

    key: str
    parent: str | None
    frames: tuple[Frame, ...] = ()
    is_complete: bool = True
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExportedConversation:
    """One conversation of an export. ``current``: the key of the node that was open there. ``title`` is unchanged from the file."""

    source: ImportSource
    nodes: Sequence[Node]
    current: str = ""
    title: str = field(default="", repr=False)
    model: str = ""
    created_at: datetime | None = None
    active_at: datetime | None = None
    left_out: Counts = field(default_factory=Counts)


Object = dict[str, JsonValue]


def object_of(value: JsonValue) -> Object:
    """The value, if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: JsonValue) -> list[JsonValue]:
    """The value, if it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: JsonValue) -> str:
    """The value, if it is text; else empty text."""
    return value if isinstance(value, str) else ""


def is_set(value: JsonValue) -> bool:
    """Whether a mark such as "hidden" is set: anything except false and null, so that what is in doubt is hidden."""
    return value is not None and value is not False


def time_of(value: JsonValue) -> datetime | None:
    """A time in seconds or milliseconds since 1970, or as ISO 8601. None if it is not a time, before 2000 or in the future."""
    try:
        found = _from_iso(value) if isinstance(value, str) else _from_number(value)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found and _FIRST <= found <= datetime.now(UTC) else None


def _from_iso(text: str) -> datetime:
    found = datetime.fromisoformat(text[:40])
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _from_number(value: JsonValue) -> datetime | None:
    if not isinstance(value, int | float):
        return None
    return datetime.fromtimestamp(value / 1000 if value > _LARGEST_SECONDS else value, UTC)


_FIRST = datetime(2000, 1, 1, tzinfo=UTC)
_LARGEST_SECONDS = 100_000_000_000
