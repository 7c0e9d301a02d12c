"""Reads and writes a transcript in any of four formats: OpenChatML text, JSON, Harmony text and Harmony token ids.

The two Harmony formats hold an assistant's completion, whose prompt ended in ``<|start|>assistant``. A side record holds what Harmony
cannot represent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from renderer.errors import Location, ParseHeaderError
from renderer.frames import Transcript
from renderer.harmony import hip1
from renderer.harmony.hip1 import SideRecord
from renderer.harmony.vocabulary import Vocabulary
from renderer.ocml import document as ocml
from renderer.ocml import interchange
from renderer.ocml.document import Reading
from renderer.ocml.document_header import keys_of
from renderer.ocml.scanning import location_after


class Format(StrEnum):
    """The format of a transcript."""

    OPENCHATML = "openchatml"
    JSON = "json"
    HARMONY = "harmony"
    HARMONY_TOKENS = "harmony-tokens"


@dataclass(frozen=True, slots=True)
class Source:
    """What is read."""

    format: Format
    data: bytes = field(repr=False)
    record: SideRecord | None = None
    """The side record of Harmony data."""
    conversation: bool = False
    """Whether Harmony data is a whole conversation that the caller trusts."""
    fragment: bool = False
    """Whether the data is OpenChatML frames without a document header."""


VocabularySource = Callable[[], Vocabulary]
"""Loads the vocabulary when it is needed, which is only for token ids. May raise VocabularyError."""


def read(source: Source, vocabulary: VocabularySource, *, lenient: bool = False) -> Reading:
    """Read a transcript. ``lenient`` recovers as much as possible from OpenChatML text or JSON; it has no effect on Harmony.

    Raises:
        OpenChatMLError: the first rule that was broken, and where.
        VocabularyError: token ids were given without a vocabulary.
    """
    match source.format:
        case Format.OPENCHATML:
            return (ocml.read_leniently if lenient else ocml.read_strictly)(source.data, fragment=source.fragment)
        case Format.JSON:
            return (interchange.read_leniently if lenient else interchange.read_strictly)(source.data)
        case Format.HARMONY:
            return hip1.from_text(_text(source.data), record=source.record, conversation=source.conversation)
        case Format.HARMONY_TOKENS:
            ids = hip1.ids_from_json(_text(source.data))
            return hip1.from_tokens(ids, vocabulary(), record=source.record, conversation=source.conversation)


def write(
    transcript: Transcript, target: Format, vocabulary: VocabularySource, *, fold_thinking: bool = False
) -> tuple[str, SideRecord | None]:
    """The transcript in the format ``target``, and the side record if that is Harmony. ``fold_thinking`` concerns JSON only.

    Raises:
        OpenChatMLError: it cannot be written in that format.
        VocabularyError: token ids were requested without a vocabulary.
    """
    match target:
        case Format.OPENCHATML:
            return ocml.dump(transcript), None
        case Format.JSON:
            return interchange.dump_json(transcript, fold_thinking=fold_thinking), None
        case Format.HARMONY:
            return hip1.to_text(transcript.frames, document=keys_of(transcript))
        case Format.HARMONY_TOKENS:
            ids, record = hip1.to_tokens(transcript.frames, vocabulary(), document=keys_of(transcript))
            return json.dumps(ids) + "\n", record


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = location_after(Location(0, 1, 1), data[: error.start].decode("utf-8"))
        raise ParseHeaderError("the text is not valid UTF-8", where) from None
