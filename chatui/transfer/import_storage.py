"""Stores the frames of an import in short transactions. The conversation is visible only when all of them are stored."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from django.db import DatabaseError
from django.utils.translation import gettext as _

from chatui.codes import ProductCode
from chatui.models import Conversation, User
from chatui.models.message import Author
from chatui.store import bulk_append, erasure, transcripts, unfinished_imports
from chatui.store.bulk_append import Placed
from chatui.store.unfinished_imports import ImportLostError
from chatui.transfer.upload import refuse
from renderer.frame_kinds import DOCUMENT_NAME, PRODUCT_NAMES
from renderer.frames import Frame

_RESERVED = PRODUCT_NAMES | {DOCUMENT_NAME}


def check_no_other_import(person: User) -> None:
    """Erase unfinished imports of dead processes.

    Raises:
        ImportRefusedError: another import of this person is running.
    """
    erasure.sweep()
    if unfinished_imports.is_in_progress(person):
        refuse(ProductCode.RATE, _("another of your imports is still running"))


def as_imported(frame: Frame) -> Frame:
    """Remove names that are reserved for the product's own frames, so that they cannot be forged, and characters that PostgreSQL cannot
    store. A document becomes an ordinary message: a document without its file is invisible, and an import must not give a model text that
    its owner cannot see.
    """
    header = replace(frame.header, name=None) if frame.header.name in _RESERVED else frame.header
    return replace(frame, header=header, body=transcripts.storable(frame.body))


def store_frames(conversation: Conversation, frames: Sequence[Placed], leaf: int) -> None:
    """Store the frames (at least one) of a new conversation, and make it visible to its owner, open at the frame with index ``leaf``.

    Raises:
        ImportRefusedError: it was erased meanwhile, or took too long.
        ImportedMeanwhileError: another upload imported the same conversation first; this one is erased.
    """
    try:
        keys = bulk_append.append_tree(conversation, frames, Author.IMPORT, lambda: unfinished_imports.renew(conversation))
        unfinished_imports.complete(conversation, keys[leaf])
    except ImportLostError:
        refuse(ProductCode.NOT_FOUND, _("the import was removed while it was being written"))
    except BaseException:
        with suppress(DatabaseError):  # then its lease expires, and the next sweep erases it
            unfinished_imports.abandon(conversation)
        raise
