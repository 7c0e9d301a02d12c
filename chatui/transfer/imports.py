"""Imports an uploaded transcript as a conversation of the uploader, completely or not at all.

The gate decides visibility, as everywhere: system, developer, analysis and tool frames are hidden from the uploader, too. The conversation
remains marked as imported, even if it is renamed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from chatui.codes import ProductCode, counted
from chatui.models import Conversation, User
from chatui.models.conversation import Effort
from chatui.store import document_headers, transcripts, unfinished_imports
from chatui.store.bulk_append import Placed
from chatui.store.transcripts import FrameMetadata
from chatui.transfer import import_storage, upload
from chatui.transfer.upload import ImportRefusedError, refuse
from renderer.errors import OpenChatMLError
from renderer.gate import Audience, VisibleText, may_see, show
from renderer.ocml.document_header import DocumentHeader

__all__ = ["ImportRefusedError", "Imported", "import_transcript"]

log = logging.getLogger(__name__)

TITLE_CHARS = 60
UNTITLED = noop("Imported conversation")


@dataclass(frozen=True, slots=True)
class Imported:
    """The new conversation, how many frames were stored, and how many problems were ignored."""

    conversation: Conversation
    frames: int
    problems: int


def import_transcript(person: User, data: bytes) -> Imported:
    """Store an uploaded transcript as a conversation.

    Raises:
        ImportRefusedError: it is too large, not a transcript, has nothing that its owner may see, or another import of this person is
        running.
    """
    import_storage.check_no_other_import(person)
    read = upload.read(data)
    frames = [replace(item, frame=import_storage.as_imported(item.frame)) for item in read.finished]
    first = next((item.frame for item in frames if may_see(item.frame.header, Audience.END_USER)), None)
    if first is None:
        refuse(ProductCode.EMPTY, _("the transcript contains no message that you may see"))
    conversation = _conversation(person, read.header, show(first, Audience.END_USER))
    unfinished_imports.begin(conversation)
    chain = [
        Placed(item.frame, number - 1 if number else None, FrameMetadata(is_complete=item.complete, error_code=item.error or ""))
        for number, item in enumerate(frames)
    ]
    import_storage.store_frames(conversation, chain, len(chain) - 1)
    if read.codes:
        log.info("conversation %s was imported with problems: %s", conversation.pk, counted(read.codes.elements()))
    return Imported(conversation, len(frames), read.problems)


def _conversation(person: User, header: DocumentHeader, first: VisibleText) -> Conversation:
    """The conversation's row, not saved yet.

    The title is taken from text that its owner may see, never from the file's header, which could contain anything.
    """
    effort = str(header.settings.get("reasoning_effort", ""))
    try:
        text = document_headers.text_of(header)
    except OpenChatMLError as error:
        raise ImportRefusedError(error.problem) from None
    return Conversation(
        owner=person,
        title=transcripts.title_of(first, TITLE_CHARS) or gettext(UNTITLED),
        model=transcripts.header_text(header.model or ""),
        effort=effort if effort in Effort.values else Effort.MEDIUM,
        document_header=text,
    )
