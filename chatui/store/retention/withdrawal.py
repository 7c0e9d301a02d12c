"""Hides a cut answer whose continuation shows that it was reasoning.

Some servers leave out the tag that opens the reasoning. Its beginning then looks like an answer, and if it is cut there, it is stored as
one. The closing tag comes only in the continuation.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction

from chatui.codes import ProductCode
from chatui.models import Message
from chatui.store import continuation, search_index, transcripts
from chatui.store.retention import hidden_text
from renderer.frame_kinds import BROKEN
from renderer.frames import Frame


def hide_cut_of(frames: Iterable[Frame], key: UUID | None, cut: Frame | None) -> bool:
    """Hide the cut answer ``key`` if one of these frames was shown as its continuation, and then withdrawn. Returns whether one was."""
    if key is None or cut is None or not cut.body:
        return False
    is_withdrawn = any(frame.header == BROKEN and frame.body.startswith(cut.body) for frame in frames)
    if is_withdrawn:
        hide_cut(key)
    return is_withdrawn


def hide_cut(key: UUID) -> None:
    """Hide a cut answer, and those that it continued itself, in storage, search, copies and share links. An answer that follows withdrawn
    text of its own turn stays: the sign had come before it."""
    with transaction.atomic():
        found = Message.objects.select_related("turn__continued_message__turn")
        message = found.filter(pk=key).first()
        while message is not None and continuation.is_answer(message) and not _follows_sign(message):
            transcripts.replace_frames([(message, Frame(BROKEN, transcripts.frame_of(message).body))])
            Message.objects.filter(pk=message.pk).update(error_code=ProductCode.WITHHELD)
            search_index.remove([message.pk])
            turn = message.turn
            if turn is not None:
                hidden_text.forget_reasoning(turn.pk)
            message = found.filter(pk=turn.continued_message_id).first() if turn and turn.continued_message_id else None


def _follows_sign(message: Message) -> bool:
    before = Message.objects.filter(turn=message.turn_id, position__lt=message.position, error_code=ProductCode.WITHHELD)
    return message.turn_id is not None and before.exists()
