"""An owner's actions on folders: create, change and delete one, and move a conversation into one or out of it."""

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
MOST_FOLDERS = 200
"""Of one person."""

_EMPTIED_TOGETHER = 500


class TooManyFoldersError(Exception):
    """The person has as many folders as there may be."""


class NoNameError(Exception):
    """The folder's name is empty after cleaning."""


@dataclass(frozen=True, slots=True)
class FolderFields:
    """A folder's validated fields: a name of one visible line, and instructions without control characters."""

    name: str
    instructions: str = field(default="", repr=False)

    @classmethod
    def of(cls, name: str, instructions: str) -> FolderFields:
        """From what was written. Raises NoNameError."""
        found = one_line(name)[:NAME_CHARS].strip()
        if not is_seen(found):
            raise NoNameError
        return cls(found, clean_instructions(instructions))


def clean_instructions(text: str) -> str:
    """A text for models as it is stored: within bounds, and without control characters."""
    return "\n".join(_written(line).rstrip() for line in text.splitlines()).strip()[:INSTRUCTION_CHARS]


def _written(text: str) -> str:
    """Without what nobody sees and no model needs."""
    return "".join(char for char in transcripts.storable(text) if char == "\t" or unicodedata.category(char) != "Cc")


def create(person: User, wanted: FolderFields) -> Folder:
    """A new folder. Raises TooManyFoldersError."""
    with transaction.atomic():
        # Two requests at once could both find room for the last one.
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if is_full(person):
            raise TooManyFoldersError
        return Folder.objects.create(owner=person, name=wanted.name, instructions=wanted.instructions)


def is_full(person: User) -> bool:
    """Whether the person may have no further folder."""
    return Folder.objects.filter(owner=person).count() >= MOST_FOLDERS


def change(person: User, folder_id: object, wanted: FolderFields) -> Folder:
    """Give a folder another name and other instructions, which count from the next question on."""
    with transaction.atomic():
        row = access.own_folder(person, folder_id, held=True)
        row.name, row.instructions = wanted.name, wanted.instructions
        row.save(update_fields=["name", "instructions"])
    return row


def move(person: User, conversation_id: object, folder_id: str) -> Conversation:
    """Put a conversation into a folder, or into the list where that is empty. It is then neither pinned nor archived."""
    with transaction.atomic():
        row = temporary.own_kept(person, conversation_id)
        # Nobody deletes the folder until the conversation is in it.
        row.folder = access.own_folder(person, folder_id, held=True) if folder_id else None
        row.is_pinned, row.archived_at = False, None
        row.save(update_fields=["folder", "is_pinned", "archived_at"])
    return row


def delete(person: User, folder_id: object) -> Folder:
    """Delete a folder with its instructions. Its conversations go back to the list, those in the archive and the bin stay there.

    In short steps, so that others write meanwhile; what was cut off can simply be done again.
    """
    row = access.own_folder(person, folder_id)
    while keys := list(row.conversations.values_list("pk", flat=True)[:_EMPTIED_TOGETHER]):
        with short_transaction():
            row.conversations.filter(pk__in=keys).update(folder=None)
    with transaction.atomic():
        # What was put into it meanwhile goes back to the list as well, once that is stored.
        Folder.objects.select_for_update().filter(pk=row.pk).first()
        Folder.objects.filter(pk=row.pk).delete()
    return row
