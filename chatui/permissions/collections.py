"""Decides which collections of documents a person may ask and change, and which of their documents a person may open.

Members of the groups to which one is offered may ask it, as long as its owner may offer it (``permissions.offers``), also one whose account
is closed, until the heir has it. The files of a folder are for its owner alone. What may not be asked looks like what does not exist.
Every search and every page asks here again, so that a right that ends does so at once.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from chatui.models.collections import Collection
from chatui.models.conversation import Folder
from chatui.models.files import StoredFile
from chatui.models.user import User
from chatui.permissions import access, assistants, offers
from chatui.permissions.access import existing, key_of
from chatui.permissions.offers import OFFER_COLLECTIONS

MAX_ASKED = 5
"""The most collections that one conversation asks, besides the files of its folder and of its assistant, which has at most as many."""


def may_offer(person: User | None) -> bool:
    """Whether this person may offer collections of theirs to groups."""
    return offers.may_offer(person, OFFER_COLLECTIONS)


def readable(person: User) -> QuerySet[Collection]:
    """The collections whose documents this person may open now: their own, with the files of their folders, and those offered to them."""
    offered = offers.offered_to(person.pk, "chatui_collection", "chatui_collection_groups", "collection_id", OFFER_COLLECTIONS)
    return Collection.objects.filter(Q(owner=person) | Q(pk__in=offered, folder=None), deleted_at=None)


def usable(person: User) -> QuerySet[Collection]:
    """The collections that the person may ask in any conversation: without the files of folders."""
    return readable(person).filter(folder=None)


def to_use(person: User, collection_id: object) -> Collection:
    """Raises NotFoundError if the person may not ask it."""
    return existing(usable(person).filter(pk=key_of(collection_id)).first())


def own(person: User, collection_id: object, *, locked: bool = False) -> Collection:
    """The person's own collection with that id, or the files of a folder of theirs. ``locked``: lock it until the transaction ends. Raises
    NotFoundError if there is none, also if they deleted it."""
    mine = own_all(person).select_related("folder")
    if locked:
        mine = mine.select_for_update(no_key=True, of=("self",))
    return existing(mine.filter(pk=key_of(collection_id)).first())


def own_deleted(person: User, collection_id: object) -> Collection:
    """As ``own``, of those that they deleted."""
    return existing(_with_deleted(person).filter(deleted_at__isnull=False, pk=key_of(collection_id)).first())


def own_or_deleted(person: User, collection_id: object) -> Collection:
    """As ``own``, whether they deleted it or not."""
    return existing(_with_deleted(person).filter(pk=key_of(collection_id)).first())


def _with_deleted(person: User) -> QuerySet[Collection]:
    return Collection.objects.filter(owner=person).select_related("folder")


def of_folder(person: User, folder_id: object) -> Collection | None:
    """The files of the person's own folder; None if it never had any. Raises NotFoundError if there is no such folder."""
    return Collection.objects.filter(owner=person, folder=access.own_folder(person, folder_id)).first()


def own_all(person: User) -> QuerySet[Collection]:
    """The person's own collections, with the files of their folders."""
    return Collection.objects.filter(owner=person, deleted_at=None)


def lendable(person: User) -> QuerySet[Collection]:
    """The collections that the person may put into an assistant: their own, without the files of folders. Also deleted ones, which may come
    back."""
    return Collection.objects.filter(owner=person, folder=None)


def asked_in(person: User, conversation_id: UUID) -> QuerySet[Collection]:
    """The collections that the person may ask now in their conversation: those that they chose there, the files of its folder, and those of
    its assistant, which lends none that the person may not ask anyway."""
    chosen = Collection.conversations.through.objects.filter(conversation=conversation_id).values("collection")
    folder = Folder.objects.filter(conversations=conversation_id).values("pk")
    lent = assistants.lent_in(person, conversation_id)
    return readable(person).filter(Q(pk__in=chosen, folder=None) | Q(pk__in=lent, folder=None) | Q(folder__in=folder))


def described_in(person: User, conversation_id: UUID) -> list[tuple[str, str]]:
    """The names and descriptions of ``asked_in``, by name. The files of a folder have the folder's name."""
    rows = asked_in(person, conversation_id).filter(documents__replaced_at=None, documents__isnull=False).distinct()
    return sorted((folder or name, about) for folder, name, about in rows.values_list("folder__name", "name", "description"))


def lent(person: User, keys: QuerySet[Any, UUID]) -> tuple[list[str], bool]:
    """Of the collections of an assistant (``assistants.lent_in``, ``lent_by``), the names of those that the person may ask and that have
    documents, by name, and whether there are some that they may not ask. Two statements; one if there are none."""
    if not (every := set(keys)):
        return [], False
    may = list(
        usable(person)
        .filter(pk__in=every)
        .values_list("name", Exists(StoredFile.objects.filter(collection=OuterRef("pk"), replaced_at=None)))
    )
    return sorted(name for name, has_documents in may if has_documents), len(may) < len(every)


def documents_asked(person: User, conversation_id: UUID) -> list[tuple[int, UUID, str]]:
    """The documents that a search in this conversation covers now, in their newest versions: content, file and name of each."""
    rows = StoredFile.objects.filter(collection__in=asked_in(person, conversation_id), replaced_at=None)
    return list(rows.order_by("pk").values_list("content", "pk", "name"))


def documents(person: User) -> QuerySet[StoredFile]:
    """The documents that this person may open now, with versions that were replaced."""
    return StoredFile.objects.filter(collection__in=readable(person))
