"""An owner's actions on folders: create, change and delete a folder, and move a conversation into or out of it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

from django.db import transaction

from chatui.display.folders.names import is_seen, one_line
from chatui.models import Conversation, Folder, User
from chatui.permissions import access, temporary
from chatui.store import transcripts
from chatui.store.short_transactions import short_transaction

NAME_CHARS, INSTRUCTION_CHARS = 60, 4_000
MAX_FOLDERS = 200
"""The most folders of one person."""

_BATCH_SIZE = 500


class TooManyFoldersError(Exception):
    """The person already has the most folders that are allowed."""


class NoNameError(Exception):
    """The folder's name is empty after cleaning."""


@dataclass(frozen=True, slots=True)
class FolderFields:
    """A folder's validated fields: a name, which is one visible line, and instructions without control characters."""

    name: str
    instructions: str = field(default="", repr=False)

    @classmethod
    def of(cls, name: str, instructions: str) -> FolderFields:
        """Clean the submitted fields.

        Raises:
            NoNameError: the name is empty after cleaning.
        """
        found = one_line(name)[:NAME_CHARS].strip()
        if not is_seen(found):
            raise NoNameError
        return cls(found, clean_instructions(instructions))


def clean_instructions(text: str) -> str:
    """A text for models as it is stored: at most INSTRUCTION_CHARS, without control characters."""
    return "\n".join(_written(line).rstrip() for line in text.splitlines()).strip()[:INSTRUCTION_CHARS]


def _written(text: str) -> str:
    """The text without control characters, which nobody sees and no model needs. Tabs stay."""
    return "".join(char for char in transcripts.storable(text) if char == "\t" or unicodedata.category(char) != "Cc")


def create(person: User, wanted: FolderFields) -> Folder:
    """Create a folder.

    Raises:
        TooManyFoldersError: the person has MAX_FOLDERS already.
    """
    with transaction.atomic():
        # Locked, because two simultaneous requests could otherwise both create the last folder.
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if is_full(person):
            raise TooManyFoldersError
        return Folder.objects.create(owner=person, name=wanted.name, instructions=wanted.instructions)


def is_full(person: User) -> bool:
    """Whether the person may not create another folder."""
    return Folder.objects.filter(owner=person).count() >= MAX_FOLDERS


def change(person: User, folder_id: object, wanted: FolderFields) -> Folder:
    """Change a folder's name and instructions. The instructions apply from the next question on."""
    with transaction.atomic():
        row = access.own_folder(person, folder_id, locked=True)
        row.name, row.instructions = wanted.name, wanted.instructions
        row.save(update_fields=["name", "instructions"])
    return row


def move(person: User, conversation_id: object, folder_id: str) -> Conversation:
    """Put a conversation into a folder, or into the list if ``folder_id`` is empty. It is then neither pinned nor archived."""
    with transaction.atomic():
        row = temporary.own_permanent(person, conversation_id)
        # Locked, so that nobody deletes the folder before the conversation is in it.
        row.folder = access.own_folder(person, folder_id, locked=True) if folder_id else None
        row.is_pinned, row.archived_at = False, None
        row.save(update_fields=["folder", "is_pinned", "archived_at"])
    return row


def delete(person: User, folder_id: object) -> Folder:
    """Delete a folder with its instructions. Its conversations go back to the list; those in the archive and the bin stay there.

    This runs in short transactions, so that others can write in between. If it is interrupted, it can simply be repeated.
    """
    row = access.own_folder(person, folder_id)
    while keys := list(row.conversations.values_list("pk", flat=True)[:_BATCH_SIZE]):
        with short_transaction():
            row.conversations.filter(pk__in=keys).update(folder=None)
    with transaction.atomic():
        # The lock waits for moves into the folder; those conversations then go back to the list too.
        Folder.objects.select_for_update().filter(pk=row.pk).first()
        Folder.objects.filter(pk=row.pk).delete()
    return row
