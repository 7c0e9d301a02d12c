"""Prepares a person's folders for the sidebar and the folder pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from chatui.display.conversation_list import ShownList, shown_list
from chatui.models import Conversation, Folder, User
from chatui.permissions import access


@dataclass(frozen=True, slots=True)
class ShownFolder:
    """A folder in the sidebar. ``conversations``: a page of them if the folder is open; otherwise None, and a script or link fetches them.

    ``has_news``: an answer ended in one of its conversations that the person has not seen.
    """

    id: str
    name: str
    has_news: bool = False
    conversations: ShownList | None = None


@dataclass(frozen=True, slots=True)
class FolderText:
    """A folder's name and instructions, for the page on which a person changes them."""

    id: str
    name: str
    instructions: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Folders:
    """All of a person's folders by name, and the folder that the page is in, if any."""

    all: Sequence[ShownFolder]
    here: ShownFolder | None = None


def shown_folders(person: User, row: Conversation | None, asked: str = "", start: str = "") -> Folders:
    """The folders for the page of the conversation ``row``, or of a new one in the folder ``asked``. The page's folder is open, from the
    cursor ``start`` on.

    Raises:
        NotFoundError: the person has no such folder, or ``start`` is not a cursor.
    """
    here = row.folder_id if row else access.own_folder(person, asked).pk if asked else None
    found = [_shown(person, folder, here, row.pk if row else None, start) for folder in access.own_folders(person)]
    return Folders(found, next((folder for folder in found if folder.id == str(here)), None))


def _shown(person: User, folder: Folder, here: UUID | None, current: UUID | None, start: str) -> ShownFolder:
    inside = shown_list(person, current, start, folder.pk) if folder.pk == here else None
    return ShownFolder(str(folder.pk), folder.name, vars(folder)["has_news"], inside)


def names(person: User) -> list[ShownFolder]:
    """The person's folders by name."""
    return [ShownFolder(str(folder.pk), folder.name) for folder in access.own_folders(person)]


def folder_of(row: Conversation) -> str:
    """The id of the folder that a conversation is in; empty for none."""
    return str(row.folder_id or "")


def text_of(person: User, folder_id: object) -> FolderText:
    """A folder's name and instructions.

    Raises:
        NotFoundError: the person has no such folder.
    """
    row = access.own_folder(person, folder_id)
    return FolderText(str(row.pk), row.name, row.instructions)


def next_folder_id(row: Folder, person: User) -> str:
    """The id of the folder that follows this one in the list; empty at the end."""
    keys = [str(folder.pk) for folder in access.own_folders(person)]
    place = keys.index(str(row.pk)) if str(row.pk) in keys else len(keys)
    return next(iter(keys[place + 1 :]), "")
