"""Imports another chat product's export: each conversation in it becomes a conversation of the uploader.

One upload has limits. Conversations that were imported before are skipped, so uploading the same file again imports the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from django.utils import timezone

from chatui.models import Conversation, User
from chatui.permissions import access
from chatui.store import transcripts, unfinished_imports
from chatui.store.bulk_append import Placed
from chatui.transfer import import_storage
from chatui.transfer.other_products import frames, reading, trees
from chatui.transfer.other_products.conversation_tree import ExportedConversation
from chatui.transfer.other_products.left_out import Counts, Kind
from chatui.transfer.other_products.reading import RawConversation
from renderer.gate import Audience, VisibleText, may_see, show

OWN_TITLE_CHARS = 100
MAX_CONVERSATIONS = 500
MAX_MESSAGES = 20_000
MAX_SECONDS = 20.0
"""The longest time of one import. The conversation at which a limit is reached is still imported completely."""
MAX_CONVERSATION_FRAMES = 5_000
MAX_CONVERSATION_CHARS = 3_000_000


@dataclass(slots=True)
class ImportedExport:
    """The result: the new conversations, and how many items of each kind were hidden or left out."""

    conversations: list[Conversation] = field(default_factory=list)
    left_out: Counts = field(default_factory=Counts)


def import_export(person: User, data: bytes) -> ImportedExport:
    """Store the conversations of an export.

    Raises:
        ImportRefusedError: it cannot be read at all, or another import of this person is running.
    """
    import_storage.check_no_other_import(person)
    result, limit = ImportedExport(), _Limit()
    known = access.own_import_keys(person)
    for found in reading.conversations(data):
        if isinstance(found, Kind):
            result.left_out[found] += 1
        elif found.key in known:
            result.left_out[Kind.CONVERSATION_EXISTS] += 1
        elif limit.is_reached:
            result.left_out[Kind.CONVERSATION_POSTPONED] += 1
        else:
            known.add(found.key)
            _import(person, found, result, limit)
    return result


class _Limit:
    """Counts the messages and the time of one upload."""

    def __init__(self) -> None:
        self._end = time.monotonic() + MAX_SECONDS
        self._conversations = self._messages = 0

    def count(self, messages: int) -> None:
        self._conversations += 1
        self._messages += messages

    @property
    def is_reached(self) -> bool:
        return self._conversations >= MAX_CONVERSATIONS or self._messages >= MAX_MESSAGES or time.monotonic() > self._end


def _import(person: User, found: RawConversation, result: ImportedExport, limit: _Limit) -> None:
    exported = found.read()
    kind = exported if isinstance(exported, Kind) else _store(person, found.key, exported, result, limit)
    if kind is not None:
        result.left_out[kind] += 1


def _store(person: User, key: str, exported: ExportedConversation, result: ImportedExport, limit: _Limit) -> Kind | None:
    """Store one conversation. Returns the reason if it is not stored."""
    tree = trees.tree_of(exported)
    if len(tree.placed) > MAX_CONVERSATION_FRAMES or sum(len(item.frame.body) for item in tree.placed) > MAX_CONVERSATION_CHARS:
        return Kind.CONVERSATION_TOO_LARGE
    placed = [replace(item, frame=import_storage.as_imported(item.frame)) for item in tree.placed]
    first = _first_visible(placed)
    if first is None:
        return Kind.CONVERSATION_EMPTY
    conversation = Conversation(
        owner=person,
        title=_title(exported, first),
        model=transcripts.header_text(exported.model),
        imported_from=exported.source,
        import_key=key,
    )
    unfinished_imports.begin(conversation)
    conversation.active_at = exported.active_at or exported.created_at or timezone.now()
    conversation.created_at = min(exported.created_at or conversation.active_at, conversation.active_at)
    try:
        import_storage.store_frames(conversation, placed, tree.leaf)
    except unfinished_imports.ImportedMeanwhileError:
        return Kind.CONVERSATION_EXISTS
    limit.count(len(placed))
    result.conversations.append(conversation)
    result.left_out.update(exported.left_out)
    return None


def _first_visible(placed: Iterable[Placed]) -> VisibleText | None:
    frame = next((item.frame for item in placed if may_see(item.frame.header, Audience.END_USER)), None)
    return show(frame, Audience.END_USER) if frame else None


def _title(exported: ExportedConversation, first: VisibleText) -> str:
    """The title in the export, if it is safe to show; otherwise the beginning of the first visible text."""
    own = transcripts.own_words(transcripts.storable(frames.title(exported.title)))
    return transcripts.title_of(own, OWN_TITLE_CHARS) or transcripts.title_of(first, OWN_TITLE_CHARS) or "Imported conversation"
