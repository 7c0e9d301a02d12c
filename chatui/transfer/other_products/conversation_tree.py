"""The data classes for a parsed export: an ExportedConversation is one conversation, a tree of Nodes with frames.

An import hides or drops some kinds of content, and messages report how many of each there were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Literal

from django.utils.translation import ngettext

from chatui.models.conversation import ImportSource
from renderer.frames import Frame
from renderer.strict_json import JsonValue


def ngettext_noop(one: str, many: str) -> tuple[str, str]:
    """Marks a sentence about a number for translation. ``ngettext_lazy`` would make a class of 34 KB for each."""
    return one, many


class DroppedKind(Enum):
    """A kind of dropped or hidden content, with what is said of it. Only the number is reported, never the content."""

    IMAGE = ngettext_noop("%(count)d image was left out.", "%(count)d images were left out.")
    RECORDING = ngettext_noop("%(count)d recording was left out.", "%(count)d recordings were left out.")
    FILE = ngettext_noop("%(count)d attached file was left out.", "%(count)d attached files were left out.")
    REASONING = ngettext_noop("%(count)d piece of reasoning is hidden.", "%(count)d pieces of reasoning are hidden.")
    TOOL_CALL = ngettext_noop("%(count)d tool call is hidden.", "%(count)d tool calls are hidden.")
    TOOL_RESULT = ngettext_noop("%(count)d tool result is hidden.", "%(count)d tool results are hidden.")
    INSTRUCTIONS = ngettext_noop(
        "%(count)d message with instructions for the model is hidden, and is not followed here.",
        "%(count)d messages with instructions for the model are hidden, and are not followed here.",
    )
    HIDDEN = ngettext_noop(
        "%(count)d message that was hidden there is hidden here, too.", "%(count)d messages that were hidden there are hidden here, too."
    )
    FOLDED = ngettext_noop("%(count)d folded section of an answer is hidden.", "%(count)d folded sections of answers are hidden.")
    WITHHELD = ngettext_noop(
        "%(count)d part of an answer is hidden, because it looked like private reasoning.",
        "%(count)d parts of answers are hidden, because they looked like private reasoning.",
    )
    CITATION = ngettext_noop(
        "%(count)d citation was left out, because the file has no address for it.",
        "%(count)d citations were left out, because the file has no addresses for them.",
    )
    DOCUMENT_CHANGE = ngettext_noop(
        "%(count)d change to a document that was written beside the conversation is hidden; the document is shown as it was before.",
        "%(count)d changes to documents that were written beside the conversation are hidden; the documents are shown as they were before.",
    )
    DOCUMENT_VERSION = ngettext_noop(
        "%(count)d earlier version of a document that was changed step by step is left out; the last one is shown.",
        "%(count)d earlier versions of documents that were changed step by step are left out; the last ones are shown.",
    )
    ERROR = ngettext_noop("%(count)d error message was left out.", "%(count)d error messages were left out.")
    TAG = ngettext_noop("%(count)d tag was left out: there are no tags here.", "%(count)d tags were left out: there are no tags here.")
    FOLDER = ngettext_noop(
        "%(count)d conversation was in a folder or project there, whose name is not in the file; it is in none here.",
        "%(count)d conversations were in folders or projects there, whose names are not in the file; they are in none here.",
    )
    UNKNOWN_PART = ngettext_noop("%(count)d part of an unknown kind was left out.", "%(count)d parts of unknown kinds were left out.")
    UNREADABLE = ngettext_noop("%(count)d message could not be read.", "%(count)d messages could not be read.")
    TOO_LONG = ngettext_noop(
        "%(count)d answer is hidden, because it is too long to be checked.",
        "%(count)d answers are hidden, because they are too long to be checked.",
    )
    UNPLACED = ngettext_noop(
        "%(count)d message was left out, because the file does not say where it belongs.",
        "%(count)d messages were left out, because the file does not say where they belong.",
    )
    CONVERSATION_UNREADABLE = ngettext_noop(
        "%(count)d conversation was not imported, because it could not be read.",
        "%(count)d conversations were not imported, because they could not be read.",
    )
    CONVERSATION_TOO_LARGE = ngettext_noop(
        "%(count)d conversation was not imported, because it is too large.",
        "%(count)d conversations were not imported, because they are too large.",
    )
    CONVERSATION_EMPTY = ngettext_noop(
        "%(count)d conversation was not imported, because it contains no message that you may see.",
        "%(count)d conversations were not imported, because they contain no message that you may see.",
    )
    CONVERSATION_EXISTS = ngettext_noop(
        "%(count)d conversation was skipped, because it was already imported.",
        "%(count)d conversations were skipped, because they were already imported.",
    )
    CONVERSATION_POSTPONED = ngettext_noop(
        "%(count)d conversation was not imported yet: upload the same file again to import it.",
        "%(count)d conversations were not imported yet: upload the same file again to import more of them.",
    )
    ASSISTANT_UNREADABLE = ngettext_noop(
        "%(count)d assistant is left out, because it cannot be read or is longer than allowed.",
        "%(count)d assistants are left out, because they cannot be read or are longer than allowed.",
    )
    ASSISTANT_EXISTS = ngettext_noop(
        "%(count)d assistant is left out, because you have it already.",
        "%(count)d assistants are left out, because you have them already.",
    )
    ASSISTANT_FULL = ngettext_noop(
        "%(count)d assistant is left out, because you have the maximum.",
        "%(count)d assistants are left out, because you have the maximum.",
    )
    ASSISTANT_SETTING = ngettext_noop(
        "%(count)d model, effort or tool of an assistant is left out, because it is not offered to you here.",
        "%(count)d models, efforts or tools of assistants are left out, because they are not offered to you here.",
    )
    ASSISTANT_PICTURE = ngettext_noop(
        "%(count)d picture of an assistant is left out, because it cannot be read.",
        "%(count)d pictures of assistants are left out, because they cannot be read.",
    )
    ASSISTANT_COLLECTION = ngettext_noop(
        "%(count)d collection of documents of an assistant is left out.",
        "%(count)d collections of documents of assistants are left out.",
    )
    PROMPT_UNREADABLE = ngettext_noop(
        "%(count)d prompt is left out, because it cannot be read or is longer than allowed.",
        "%(count)d prompts are left out, because they cannot be read or are longer than allowed.",
    )
    PROMPT_EXISTS = ngettext_noop(
        "%(count)d prompt is left out, because you have it already.", "%(count)d prompts are left out, because you have them already."
    )
    PROMPT_FULL = ngettext_noop(
        "%(count)d prompt is left out, because you have the maximum.", "%(count)d prompts are left out, because you have the maximum."
    )
    OTHER_FILE = ngettext_noop(
        "%(count)d other data file of the archive was not read.", "%(count)d other data files of the archive were not read."
    )
    FILE_CUT = ngettext_noop(
        "The end of the file was not read, because the file is too large.",
        "The ends of %(count)d files were not read, because the files are too large.",
    )

    def sentence(self, count: int) -> str:
        """The sentence for ``count`` items of this kind, at least 1."""
        one, many = self.value
        return ngettext(one, many, count) % {"count": count}


Counts = Counter[DroppedKind]


def sentences(counts: Counts) -> list[str]:
    """The sentences for all kinds that occurred, in the order of the list."""
    return [kind.sentence(counts[kind]) for kind in DroppedKind if counts[kind]]


@dataclass(frozen=True, slots=True)
class Node:
    """One message of an export."""

    key: str
    parent: str | None
    """The key of another node."""
    frames: tuple[Frame, ...] = ()
    """May be empty: then the node only connects others."""
    is_complete: bool = True
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExportedConversation:
    """One conversation of an export."""

    source: ImportSource | Literal[""]
    """Empty for an archive of this product."""
    nodes: Sequence[Node]
    current: str = ""
    """The key of the node that was open there."""
    title: str = field(default="", repr=False)
    """Unchanged from the file."""
    model: str = ""
    created_at: datetime | None = None
    active_at: datetime | None = None
    left_out: Counts = field(default_factory=Counts)
    is_archived: bool = False
    is_pinned: bool = False
    folder: str = field(default="", repr=False)
    """The name of its folder, unchanged from the file."""


Object = dict[str, JsonValue]


def is_set(value: JsonValue) -> bool:
    """Whether a mark such as "hidden" is set: anything except false and null, so that what is in doubt is hidden."""
    return value is not None and value is not False


def time_of(value: JsonValue) -> datetime | None:
    """A time in seconds or milliseconds since 1970, or as ISO 8601. None if it is not a time, before 2000 or in the future."""
    if not isinstance(value, str | int | float):
        return None
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value[:40])
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        else:
            found = datetime.fromtimestamp(value / 1000 if value > _LARGEST_SECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found if _FIRST <= found <= datetime.now(UTC) else None


_FIRST = datetime(2000, 1, 1, tzinfo=UTC)
_LARGEST_SECONDS = 100_000_000_000
