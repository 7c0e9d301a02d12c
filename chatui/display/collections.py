"""Collections of documents: prepares them for pages, and creates, changes, offers, fills, deletes and restores them for their owner.

What is done with one that is offered to groups is recorded, by its name and not by the names of its documents.
"""

from __future__ import annotations

from collections.abc import Collection as Several
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from chatui.audit_log.record import Visitor, record
from chatui.models.collections import Collection
from chatui.models.conversation import Conversation
from chatui.models.files import StoredFile
from chatui.models.user import User
from chatui.permissions import access, assistants, offers
from chatui.permissions import collections as permissions
from chatui.permissions.access import existing, key_in, key_of, person_of
from chatui.permissions.collections import MAX_ASKED
from chatui.permissions.offers import OFFER_COLLECTIONS
from chatui.store import collections as store
from renderer.characters import is_seen, one_line

NAME_CHARS, DESCRIPTION_CHARS = 60, 300
MAX_COLLECTIONS = 100
"""The most collections of one person, without deleted ones and the files of folders."""


@dataclass(frozen=True, slots=True)
class CollectionText:
    """A collection for its owner's form."""

    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ShownCollection:
    """A collection as everybody sees it who may ask it."""

    id: str
    name: str
    description: str = ""
    documents: int = 0
    """How many it has."""
    maker: str = ""
    """Whose it is, if that is somebody else."""
    groups: Sequence[str] = ()
    """To which its owner offers it, for the owner's list."""
    folder: str = ""
    """The id of the one whose files these are."""


@dataclass(frozen=True, slots=True)
class AskedHere:
    """What a conversation asks."""

    names: Sequence[str]
    """The names of the collections that its owner may ask now, sorted; those without documents are left out."""
    is_less: bool = False
    """Whether a chosen one is not there any more, or may not be asked."""
    lent: Sequence[str] = ()
    """Those of ``names`` that its assistant lends."""
    lends_less: bool = False
    """Whether its assistant has some that the owner may not ask."""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document in the list of its collection."""

    id: str
    name: str = field(repr=False)
    size: int
    """In bytes."""
    added_at: datetime
    earlier: int = 0
    """How many versions were replaced."""


def listed(person: User) -> list[ShownCollection]:
    """The collections that the person may ask in any conversation, by name. Two statements."""
    through = Collection.groups.through.objects.filter(collection__owner=person).order_by("group__name")
    groups: dict[str, list[str]] = {}
    for key, name in through.values_list("collection", "group__name"):
        groups.setdefault(str(key), []).append(name)
    shown = (replace(_shown(row, person), groups=groups.get(str(row.pk), ())) for row in _counted(permissions.usable(person)))
    return sorted(shown, key=lambda each: (each.name.casefold(), each.id))


def shown(person: User, collection_id: object) -> ShownCollection:
    """A collection that the person may ask, or the files of their folder. Raises NotFoundError."""
    return _shown(existing(_counted(permissions.readable(person)).filter(pk=key_of(collection_id)).first()), person)


def of_folder(person: User, folder_id: object) -> ShownCollection:
    """The files of the person's folder, also before it has any: then without an id. Raises NotFoundError."""
    folder = access.own_folder(person, folder_id)
    row = permissions.of_folder(person, folder_id)
    return shown(person, row.pk) if row else ShownCollection("", folder.name, folder=str(folder.pk))


def to_begin_with(person: User, keys: Iterable[str]) -> list[ShownCollection]:
    """The collections with these keys that the person may ask, sorted by name, for a new conversation; at most MAX_ASKED."""
    wanted = [key for each in keys if (key := key_in(each))][:MAX_ASKED]
    rows = permissions.usable(person).filter(pk__in=wanted) if wanted else ()
    return sorted((_shown(row, person) for row in rows), key=lambda each: (each.name.casefold(), each.id))


def here(conversation: Conversation) -> AskedHere | None:
    """What a conversation asks; None if it asks nothing. No statement for most, otherwise at most five."""
    if not access.asks_collections(conversation):
        return None
    person = conversation.owner
    names = [name for name, _ in permissions.described_in(person, conversation.pk)]
    is_less = conversation.has_collections and len(chosen(conversation)) < conversation.collections.count()
    is_with = conversation.assistant_version_id is not None
    lent, lends_less = permissions.lent(person, assistants.lent_in(person, conversation.pk)) if is_with else ([], False)
    return AskedHere(names, is_less, lent, lends_less) if names or is_less or lends_less else None


def of_assistant(person: User, assistant_id: str) -> AskedHere:
    """What a new conversation with this assistant asks because of it. At most two statements."""
    lent, lends_less = permissions.lent(person, assistants.lent_by(person, assistant_id))
    return AskedHere(lent, lent=lent, lends_less=lends_less)


def to_lend(person: User, chosen: Several[str]) -> list[tuple[str, str]]:
    """The ids and names of the collections that the person may put into an assistant, by name: their own, also deleted ones that are chosen
    already."""
    rows = permissions.lendable(person).filter(Q(deleted_at=None) | Q(pk__in=chosen))
    named = [(str(row.pk), gettext("%(name)s (deleted)") % {"name": row.name} if row.deleted_at else row.name) for row in rows]
    return sorted(named, key=lambda each: (each[1].casefold(), each[0]))


def not_offered(person: User, keys: Several[str], groups: Several[int]) -> list[str]:
    """Of the person's own collections with these ids, the names of those that at least one of the groups (by key) may not ask, by name,
    without deleted ones. Empty if the person offers nothing to groups. One statement besides those for the permissions; none without
    groups or without collections."""
    if not (keys and groups and offers.may_offer(person)):
        return []
    rows = permissions.lendable(person).filter(pk__in=keys, deleted_at=None)
    if permissions.may_offer(person):
        rows = rows.annotate(reached=Count("groups", filter=Q(groups__in=groups))).filter(reached__lt=len(groups))
    return sorted(rows.values_list("name", flat=True), key=str.casefold)


def chosen(conversation: Conversation) -> list[str]:
    """The ids of the collections that were chosen in a conversation, and may be asked."""
    rows = permissions.usable(conversation.owner).filter(conversations=conversation)
    return [str(key) for key in rows.values_list("pk", flat=True)]


def choose(conversation: Conversation, keys: Iterable[str]) -> None:
    """Ask these collections in a conversation from now on, and no others. Those that its owner may not ask are left out."""
    rows = to_begin_with(conversation.owner, keys)
    with transaction.atomic():
        conversation.collections.set(Collection.objects.filter(pk__in=[each.id for each in rows]))
        conversation.has_collections = bool(rows)
        conversation.save(update_fields=["has_collections"])


def documents(person: User, collection_id: object) -> list[ListedDocument]:
    """The documents of a collection, by name. Empty if the person may not ask it. One statement."""
    rows = permissions.documents(person).filter(collection=key_of(collection_id)).order_by("created_at", "pk")
    found: dict[str, ListedDocument] = {}
    earlier: dict[str, int] = {}
    for key, name, size, added_at, replaced_at in rows.values_list("pk", "name", "content__size", "created_at", "replaced_at"):
        if replaced_at is None:
            found[name] = ListedDocument(str(key), name, size, added_at)
        else:
            earlier[name] = earlier.get(name, 0) + 1
    shown = (replace(each, earlier=earlier.get(name, 0)) for name, each in found.items())
    return sorted(shown, key=lambda each: (each.name.casefold(), each.id))


def groups_to_offer(person: User) -> list[tuple[int, str]]:
    """The keys and names of the groups to which the person may offer collections of theirs: all or none."""
    return list(offers.groups_to_offer(person, OFFER_COLLECTIONS).values_list("pk", "name"))


def offered_to(person: User, collection_id: object) -> list[int]:
    """The keys of the groups to which the person's own collection is offered. Raises NotFoundError."""
    return list(permissions.own(person, collection_id).groups.values_list("pk", flat=True))


def text_of(person: User, collection_id: object) -> CollectionText:
    """Raises NotFoundError if it is not the person's own, or has the files of a folder."""
    row = _of_no_folder(permissions.own(person, collection_id))
    return CollectionText(row.name, row.description)


def deleted(person: User, collection_id: object) -> ShownCollection:
    """A collection that the person deleted, and may restore. Raises NotFoundError."""
    return _shown(permissions.own_deleted(person, collection_id), person)


def create(visitor: Visitor, text: CollectionText, groups: Several[int] = ()) -> str | None:
    """Create a collection from a clean text, and offer it to groups if the visitor may; returns its id, or None if the visitor has
    MAX_COLLECTIONS already."""
    person = person_of(visitor)
    with transaction.atomic():
        if _is_full(person):
            return None
        row = Collection.objects.create(owner=person, name=text.name, description=text.description)
        _offer(visitor, row, groups)
    return str(row.pk)


def change(visitor: Visitor, collection_id: object, text: CollectionText, groups: Several[int] | None = None) -> None:
    """Change a collection. ``groups``: to which it is offered from now on, if the visitor may offer it; None: as before."""
    with transaction.atomic():
        row = _of_no_folder(permissions.own(person_of(visitor), collection_id))
        is_other = (row.name, row.description) != (text.name, text.description)
        row.name, row.description = text.name, text.description
        row.save(update_fields=["name", "description"])
        if is_other:
            _record_change(visitor, row)
        if groups is not None:
            _offer(visitor, row, groups)


def open_folder(person: User, folder_id: object) -> str:
    """The id of the files of the person's folder, which has some from now on. Raises NotFoundError."""
    with transaction.atomic():
        folder = access.own_folder(person, folder_id, locked=True)
        return str(Collection.objects.get_or_create(folder=folder, defaults={"owner": person})[0].pk)


def note_added(visitor: Visitor, row: Collection) -> None:
    """Record that a collection has other documents."""
    _record_change(visitor, row)


def remove_document(visitor: Visitor, collection_id: object, file_id: object) -> str:
    """Delete a document of the visitor's own collection for good; returns its name. Raises NotFoundError."""
    row = permissions.own(person_of(visitor), collection_id)
    document = existing(StoredFile.objects.filter(collection=row, replaced_at=None, pk=key_of(file_id)).first())
    _record_change(visitor, row)
    store.remove(document)
    return document.name


def forget_versions(visitor: Visitor, collection_id: object) -> None:
    """Delete the replaced versions in the visitor's own collection for good. Raises NotFoundError."""
    store.forget_versions(permissions.own(person_of(visitor), collection_id))


def delete(visitor: Visitor, collection_id: object) -> ShownCollection:
    """Delete a collection, so that nobody may ask it. It can be restored until it is erased. One that was deleted before stays so."""
    person = person_of(visitor)
    row = _of_no_folder(permissions.own_or_deleted(person, collection_id))
    with transaction.atomic():
        is_gone = Collection.objects.filter(pk=row.pk, deleted_at=None).update(deleted_at=timezone.now())
        if is_gone and row.groups.exists():
            record("collection not offered any more", visitor, detail=f"collection {row.name}")
    return _shown(row, person)


def restore(visitor: Visitor, collection_id: object) -> bool:
    """Undo the deletion, if it was not undone before. Returns False, and changes nothing, if the person has MAX_COLLECTIONS."""
    person = person_of(visitor)
    row = permissions.own_or_deleted(person, collection_id)
    if row.deleted_at is None:
        return True
    with transaction.atomic():
        if _is_full(person):
            return False
        is_back = Collection.objects.filter(pk=row.pk, deleted_at__isnull=False).update(deleted_at=None)
        if is_back and row.groups.exists():
            _record_offer(visitor, row)
    return True


def clean(text: CollectionText) -> CollectionText:
    """The texts as they are stored: each one visible line; empty if nothing in it can be seen."""
    name, description = one_line(text.name)[:NAME_CHARS].strip(), one_line(text.description)[:DESCRIPTION_CHARS].strip()
    return CollectionText(name if is_seen(name) else "", description if is_seen(description) else "")


def _of_no_folder(row: Collection) -> Collection:
    return existing(row if row.folder_id is None else None)


def _is_full(person: User) -> bool:
    """Locked, because two simultaneous requests could otherwise both make the last one."""
    User.objects.select_for_update(no_key=True).get(pk=person.pk)
    return permissions.own_all(person).filter(folder=None).count() >= MAX_COLLECTIONS


def _offer(visitor: Visitor, row: Collection, groups: Several[int]) -> None:
    before = set(row.groups.values_list("pk", flat=True))
    if before == set(groups) or not permissions.may_offer(visitor.user):
        return
    row.groups.set(Group.objects.filter(pk__in=groups))
    _record_offer(visitor, row)


def _record_offer(visitor: Visitor, row: Collection) -> None:
    if names := sorted(row.groups.values_list("name", flat=True)):
        record("collection offered", visitor, detail=f"collection {row.name}; groups is now {', '.join(names)}")
    else:
        record("collection not offered any more", visitor, detail=f"collection {row.name}")


def _record_change(visitor: Visitor, row: Collection) -> None:
    if row.groups.exists():
        record("offered collection changed", visitor, detail=f"collection {row.name}")


def _counted(rows: QuerySet[Collection]) -> QuerySet[Collection]:
    """With ``count``: of documents, and ``maker``: the name of the owner, of whose row no more is read."""
    return rows.select_related("folder").annotate(
        count=Count("documents", filter=Q(documents__replaced_at=None, documents__id__isnull=False)), maker=F("owner__username")
    )


def _shown(row: Collection, person: User) -> ShownCollection:
    counted = vars(row)
    maker = "" if row.owner_id == person.pk else counted.get("maker", "")
    name = row.folder.name if row.folder else row.name
    return ShownCollection(str(row.pk), name, row.description, counted.get("count", 0), maker, folder=str(row.folder_id or ""))
