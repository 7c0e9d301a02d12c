"""The kinds of content that an import hides or drops, with the messages that report how many of each there were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum, auto

from django.utils.translation import ngettext


class Kind(StrEnum):
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


Counts = Counter[Kind]


def sentences(counts: Counts) -> list[str]:
    """The sentences for all kinds that occurred, in the order of the list."""
    return [kind.sentence(counts[kind]) for kind in Kind if counts[kind]]


# Not with ``ngettext_lazy``, which makes a class of 34 KB for each.
_SENTENCES: dict[Kind, Callable[[int], str]] = {
    Kind.IMAGE: lambda count: ngettext("%(count)d image was left out.", "%(count)d images were left out.", count),
    Kind.RECORDING: lambda count: ngettext("%(count)d recording was left out.", "%(count)d recordings were left out.", count),
    Kind.FILE: lambda count: ngettext("%(count)d attached file was left out.", "%(count)d attached files were left out.", count),
    Kind.REASONING: lambda count: ngettext("%(count)d piece of reasoning is hidden.", "%(count)d pieces of reasoning are hidden.", count),
    Kind.TOOL_CALL: lambda count: ngettext("%(count)d tool call is hidden.", "%(count)d tool calls are hidden.", count),
    Kind.TOOL_RESULT: lambda count: ngettext("%(count)d tool result is hidden.", "%(count)d tool results are hidden.", count),
    Kind.INSTRUCTIONS: lambda count: ngettext(
        "%(count)d message with instructions for the model is hidden, and is not followed here.",
        "%(count)d messages with instructions for the model are hidden, and are not followed here.",
        count,
    ),
    Kind.HIDDEN: lambda count: ngettext(
        "%(count)d message that was hidden there is hidden here, too.",
        "%(count)d messages that were hidden there are hidden here, too.",
        count,
    ),
    Kind.FOLDED: lambda count: ngettext(
        "%(count)d folded section of an answer is hidden.", "%(count)d folded sections of answers are hidden.", count
    ),
    Kind.WITHHELD: lambda count: ngettext(
        "%(count)d part of an answer is hidden, because it looked like private reasoning.",
        "%(count)d parts of answers are hidden, because they looked like private reasoning.",
        count,
    ),
    Kind.UNKNOWN_PART: lambda count: ngettext(
        "%(count)d part of an unknown kind was left out.", "%(count)d parts of unknown kinds were left out.", count
    ),
    Kind.UNREADABLE: lambda count: ngettext("%(count)d message could not be read.", "%(count)d messages could not be read.", count),
    Kind.TOO_LONG: lambda count: ngettext(
        "%(count)d answer is hidden, because it is too long to be checked.",
        "%(count)d answers are hidden, because they are too long to be checked.",
        count,
    ),
    Kind.UNPLACED: lambda count: ngettext(
        "%(count)d message was left out, because the file does not say where it belongs.",
        "%(count)d messages were left out, because the file does not say where they belong.",
        count,
    ),
    Kind.CONVERSATION_UNREADABLE: lambda count: ngettext(
        "%(count)d conversation was not imported, because it could not be read.",
        "%(count)d conversations were not imported, because they could not be read.",
        count,
    ),
    Kind.CONVERSATION_TOO_LARGE: lambda count: ngettext(
        "%(count)d conversation was not imported, because it is too large.",
        "%(count)d conversations were not imported, because they are too large.",
        count,
    ),
    Kind.CONVERSATION_EMPTY: lambda count: ngettext(
        "%(count)d conversation was not imported, because it contains no message that you may see.",
        "%(count)d conversations were not imported, because they contain no message that you may see.",
        count,
    ),
    Kind.CONVERSATION_EXISTS: lambda count: ngettext(
        "%(count)d conversation was skipped, because it was already imported.",
        "%(count)d conversations were skipped, because they were already imported.",
        count,
    ),
    Kind.CONVERSATION_POSTPONED: lambda count: ngettext(
        "%(count)d conversation was not imported yet: upload the same file again to import it.",
        "%(count)d conversations were not imported yet: upload the same file again to import more of them.",
        count,
    ),
    Kind.FILE_CUT: lambda count: ngettext(
        "The end of the file was not read, because the file is too large.",
        "The ends of %(count)d files were not read, because the files are too large.",
        count,
    ),
}
