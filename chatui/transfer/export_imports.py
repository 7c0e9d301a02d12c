"""Imports another chat product's export, or an archive of this one: each of its conversations becomes one of the uploader's, and so do
the assistants and saved prompts of an archive.

One upload has limits. Conversations that were imported before are skipped, so uploading the same file again imports the rest.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from django.utils import timezone

from chatui.display import folders
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import bulk_append, titles, transcripts
from chatui.store.titles import own_words
from chatui.transfer import assistants, imports, saved_prompts
from chatui.transfer.other_products import frames, reading
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind, ExportedConversation
from renderer import characters
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
    """The result: the new conversations, how many assistants and prompts are new, and how many items of each kind were hidden or left
    out."""

    conversations: list[Conversation] = field(default_factory=list)
    assistants: int = 0
    prompts: int = 0
    left_out: Counts = field(default_factory=Counts)


def import_export(person: User, data: bytes) -> ImportedExport:
    """Store the conversations of an export. Raises ImportRefusedError if it cannot be read at all, and as ``check_no_other_import``."""
    imports.check_no_other_import(person)
    result, limit = ImportedExport(), _Limit()
    known = access.own_import_keys(person)
    for found in reading.conversations(data):
        if isinstance(found, DroppedKind):
            result.left_out[found] += 1
        elif found.key in known:
            result.left_out[DroppedKind.CONVERSATION_EXISTS] += 1
        elif limit.is_reached:
            result.left_out[DroppedKind.CONVERSATION_POSTPONED] += 1
        else:
            known.add(found.key)
            exported = found.read()
            kind = exported if isinstance(exported, DroppedKind) else _store(person, found.key, exported, result, limit)
            result.left_out.update([kind] if kind else [])
    files = reading.OwnFiles(data)
    result.assistants = assistants.import_archived(person, files, result.left_out)
    result.prompts = saved_prompts.import_archived(person, files, result.left_out)
    return result


def look_at_export(person: User, data: bytes) -> ImportedExport:
    """The same without storing anything, and without conversations and what is left out of them, for which the export would be read
    whole."""
    result, files = ImportedExport(), reading.OwnFiles(data)
    result.assistants = len(assistants.fresh_in(person, files, result.left_out))
    result.prompts = len(saved_prompts.fresh_in(person, files, result.left_out))
    return result


def _restore_list_state(conversation: Conversation, exported: ExportedConversation) -> None:
    """Archive it, pin it and put it into a folder as it was there. A folder is found by its name, or made."""
    conversation.archived_at = conversation.active_at if exported.is_archived else None
    conversation.is_pinned = exported.is_pinned and not exported.is_archived
    if not (name := folders.clean_name(characters.storable(exported.folder))):
        return
    own = {folder.name: folder for folder in access.own_folders(conversation.owner)}
    conversation.folder = own.get(name) or folders.create(conversation.owner, name, "")
    if conversation.folder is None:
        exported.left_out[DroppedKind.FOLDER] += 1


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


def _store(person: User, key: str, exported: ExportedConversation, result: ImportedExport, limit: _Limit) -> DroppedKind | None:
    """Store one conversation. Returns the reason if it is not stored."""
    tree, leaf = imports.tree_of(exported)
    if len(tree) > MAX_CONVERSATION_FRAMES or sum(len(item.frame.body) for item in tree) > MAX_CONVERSATION_CHARS:
        return DroppedKind.CONVERSATION_TOO_LARGE
    placed = imports.with_summaries([replace(item, frame=imports.as_imported(item.frame)) for item in tree])
    first = next((item.frame for item in placed if may_see(item.frame.header, Audience.END_USER)), None)
    if first is None:
        return DroppedKind.CONVERSATION_EMPTY
    conversation = Conversation(
        owner=person,
        title=_title(exported, show(first, Audience.END_USER)),
        model=transcripts.header_text(exported.model),
        imported_from=exported.source,
        import_key=key,
    )
    bulk_append.begin(conversation)
    conversation.active_at = exported.active_at or exported.created_at or timezone.now()
    conversation.created_at = min(exported.created_at or conversation.active_at, conversation.active_at)
    _restore_list_state(conversation, exported)
    try:
        imports.store_frames(conversation, placed, leaf)
    except bulk_append.ImportedMeanwhileError:
        return DroppedKind.CONVERSATION_EXISTS
    limit.count(len(placed))
    result.conversations.append(conversation)
    result.left_out.update(exported.left_out)
    return None


def _title(exported: ExportedConversation, first: VisibleText) -> str:
    """The title in the export, if it is safe to show; otherwise the beginning of the first visible text."""
    own = own_words(characters.storable(frames.title(exported.title)))
    return titles.title_of(own, OWN_TITLE_CHARS) or titles.title_of(first, OWN_TITLE_CHARS) or "Imported conversation"
