"""A person's folders: prepares them for the sidebar and the folder pages, and creates, changes and deletes them for their owner.

``own_data`` moves conversations into and out of them. A folder's name is one line, with at least one visible character.

``turns.opening`` reads a folder's instructions with each turn, and ``chatui.prompts`` formats them, so that no line can pass for the
operator's. They are not stored in transcripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from chatui.database.connections import short_transaction
from chatui.display.conversation_list import ShownLines, shown_list
from chatui.models.collections import Collection
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import collections
from renderer.characters import CONTROLS, is_seen, one_line


@dataclass(frozen=True, slots=True)
class ShownFolder:
    """A folder in the sidebar, and on the page on which a person changes it."""

    id: str
    name: str
    has_news: bool = False
    """Whether an answer ended in one of its conversations that the person has not seen."""
    conversations: ShownLines | None = None
    """A page of them if the folder is open; otherwise None, and a script or link fetches them."""
    instructions: str = field(default="", repr=False)
    """Only on the page on which the folder is changed."""


BLANK_FOLDER = ShownFolder(str(UUID(int=0)), "")
"""A folder that is created while the page is open: scripts put its key there (``static/js/page/dom.js``)."""


def shown_folders(
    person: User, row: Conversation | None, asked: str = "", start: str = ""
) -> tuple[Sequence[ShownFolder], ShownFolder | None]:
    """All of a person's folders by name, for the page of the conversation ``row``, or of a new one in the folder ``asked``; and the folder
    that the page is in, if any. That is open, from the cursor ``start`` on."""
    here = row.folder_id if row else access.own_folder(person, asked).pk if asked else None
    found = [_shown(person, folder, here, row.pk if row else None, start) for folder in access.own_folders(person)]
    return found, next((folder for folder in found if folder.id == str(here)), None)


def _shown(person: User, folder: Folder, here: UUID | None, current: UUID | None, start: str) -> ShownFolder:
    # Open, too, if one waits in it: what the person has to decide is seen, and the page's scripts know which one it is.
    is_open = folder.pk == here or folder.waits
    inside = shown_list(person, current, start if folder.pk == here else "", folder.pk) if is_open else None
    return ShownFolder(str(folder.pk), folder.name, folder.has_news, inside)


def folders_of(person: User, conversations: Iterable[str]) -> dict[str, str]:
    """The folders of those of these conversations that are the person's, and are listed in one; both by id."""
    keys = [key for each in conversations if (key := access.key_in(each))]
    there = access.own_chosen(person, keys).filter(archived_at=None).exclude(folder=None)
    return {str(key): str(folder) for key, folder in there.values_list("pk", "folder_id")}


def names(person: User) -> list[ShownFolder]:
    return [ShownFolder(str(folder.pk), folder.name) for folder in access.own_folders(person)]


def text_of(person: User, folder_id: object) -> ShownFolder:
    row = access.own_folder(person, folder_id)
    return ShownFolder(str(row.pk), row.name, instructions=row.instructions)


def next_folder_id(row: Folder, person: User) -> str:
    """The id of the folder that follows this one in the list; empty at the end."""
    keys = [str(folder.pk) for folder in access.own_folders(person)]
    place = keys.index(str(row.pk)) if str(row.pk) in keys else len(keys)
    return next(iter(keys[place + 1 :]), "")


NAME_CHARS, INSTRUCTION_CHARS = 60, 4_000
MAX_FOLDERS = 200
"""The most folders of one person."""

BATCH_SIZE = 500
"""Conversations in one transaction."""


def clean_name(text: str) -> str:
    """A folder's name as it is stored: one visible line; empty if nothing in it can be seen."""
    found = one_line(text)[:NAME_CHARS].strip()
    return found if is_seen(found) else ""


def clean_instructions(text: str, most: int = INSTRUCTION_CHARS) -> str:
    """A text for models as it is stored: at most that many characters, without control characters."""
    return "\n".join(CONTROLS.sub("", line).rstrip() for line in text.splitlines()).strip()[:most]


def create(person: User, name: str, instructions: str) -> Folder | None:
    """Create a folder with clean texts; None if the person has MAX_FOLDERS already."""
    with transaction.atomic():
        # Locked, because two simultaneous requests could otherwise both create the last folder.
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if Folder.objects.filter(owner=person).count() >= MAX_FOLDERS:
            return None
        return Folder.objects.create(owner=person, name=name, instructions=instructions)


def change(person: User, folder_id: object, name: str, instructions: str) -> Folder:
    """Change a folder's name and instructions. The instructions apply from the next question on."""
    with transaction.atomic():
        row = access.own_folder(person, folder_id, locked=True)
        row.name, row.instructions = name, instructions
        row.save(update_fields=["name", "instructions"])
    return row


def delete(person: User, folder_id: object) -> None:
    """Delete a folder with its instructions and files. Its conversations go back to the list; those in the archive and the bin stay there.

    This runs in short transactions, so that others can write in between. If it is interrupted, it can simply be repeated.
    """
    row = access.own_folder(person, folder_id)
    while keys := list(row.conversations.values_list("pk", flat=True)[:BATCH_SIZE]):
        with short_transaction():
            row.conversations.filter(pk__in=keys).update(folder=None)
    if files := Collection.objects.filter(folder=row).first():
        collections.empty(files)
    with transaction.atomic():
        # The lock waits for moves into the folder; those conversations then go back to the list too.
        Folder.objects.select_for_update().filter(pk=row.pk).first()
        Folder.objects.filter(pk=row.pk).delete()
