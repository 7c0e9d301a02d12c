"""What of an export does not become visible, by kind: a closed list, with the sentences in which a person reads how many there were."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum, auto


class Kind(StrEnum):
    """One kind of thing. It is counted; nothing of its content is ever reported."""

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
    TALK_UNREADABLE = auto()
    TALK_TOO_LARGE = auto()
    TALK_EMPTY = auto()
    TALK_HERE = auto()
    TALK_LEFT = auto()
    FILE_CUT = auto()

    def sentence(self, count: int) -> str:
        """The sentence for ``count`` of them, from 1."""
        one, several = _SENTENCES[self]
        return one if count == 1 else several.format(count=count)


Counts = Counter[Kind]


def sentences(counts: Counts) -> list[str]:
    """The sentences for all kinds that came, in the order of the list."""
    return [kind.sentence(counts[kind]) for kind in Kind if counts[kind]]


_SENTENCES: dict[Kind, tuple[str, str]] = {
    Kind.IMAGE: ("1 image was left out.", "{count} images were left out."),
    Kind.RECORDING: ("1 recording was left out.", "{count} recordings were left out."),
    Kind.FILE: ("1 attached file was left out.", "{count} attached files were left out."),
    Kind.REASONING: ("1 piece of reasoning is hidden.", "{count} pieces of reasoning are hidden."),
    Kind.TOOL_CALL: ("1 tool call is hidden.", "{count} tool calls are hidden."),
    Kind.TOOL_RESULT: ("1 tool result is hidden.", "{count} tool results are hidden."),
    Kind.INSTRUCTIONS: (
        "1 message with instructions for the model is hidden, and is not followed here.",
        "{count} messages with instructions for the model are hidden, and are not followed here.",
    ),
    Kind.HIDDEN: ("1 message that was hidden there is hidden here, too.", "{count} messages that were hidden there are hidden here, too."),
    Kind.FOLDED: ("1 folded section of an answer is hidden.", "{count} folded sections of answers are hidden."),
    Kind.WITHHELD: (
        "1 part of an answer is hidden, because it looked like private reasoning.",
        "{count} parts of answers are hidden, because they looked like private reasoning.",
    ),
    Kind.UNKNOWN_PART: ("1 part of an unknown kind was left out.", "{count} parts of unknown kinds were left out."),
    Kind.UNREADABLE: ("1 message could not be read.", "{count} messages could not be read."),
    Kind.TOO_LONG: (
        "1 answer is hidden, because it is too long to be checked.",
        "{count} answers are hidden, because they are too long to be checked.",
    ),
    Kind.UNPLACED: (
        "1 message was left out, because the file does not say where it belongs.",
        "{count} messages were left out, because the file does not say where they belong.",
    ),
    Kind.TALK_UNREADABLE: (
        "1 conversation was not imported, because it could not be read.",
        "{count} conversations were not imported, because they could not be read.",
    ),
    Kind.TALK_TOO_LARGE: (
        "1 conversation was not imported, because it is too large.",
        "{count} conversations were not imported, because they are too large.",
    ),
    Kind.TALK_EMPTY: (
        "1 conversation was not imported, because it holds no message that you may see.",
        "{count} conversations were not imported, because they hold no message that you may see.",
    ),
    Kind.TALK_HERE: (
        "1 conversation was imported before, and is not there twice.",
        "{count} conversations were imported before, and are not there twice.",
    ),
    Kind.TALK_LEFT: (
        "1 conversation is still waiting: upload the same file again to import it.",
        "{count} conversations are still waiting: upload the same file again to import more of them.",
    ),
    Kind.FILE_CUT: (
        "The end of the file is not read, because there is more in it than can be read at once.",
        "The ends of {count} files are not read, because there is more in them than can be read at once.",
    ),
}
