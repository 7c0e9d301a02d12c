"""Transfers a person's conversations to another person, one per transaction, into a new folder, with everything that belongs to them, and
the assistants and collections that they offered to groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import connection
from django.db.models import Model, QuerySet
from django.utils import timezone

from chatui.database.connections import short_transaction
from chatui.models.assistants import Assistant
from chatui.models.collections import Collection
from chatui.models.conversation import ActiveLeaf, Conversation, Folder
from chatui.models.files import DocumentPart, DocumentPassage, DocumentText, FileContent, FilePiece, StoredFile
from chatui.models.message import SearchEntry
from chatui.models.shares import ShareLink
from chatui.models.tools import ToolRule
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import hidden_text, passages, search_index, temporary, titles, transcripts

_FOLDER_CHARS = 60
_CHANGED = ("owner", "folder", "import_key", "is_pinned", "handed_over_at")


def transfer(person: User, heir: User, *, with_summaries: bool) -> int:
    """Transfer all conversations in the person's list, folders and archive to the heir; returns their number.

    Can be repeated. ``with_summaries``: whether the heir gets reasoning summaries. Otherwise existing summaries are hidden, and only staff
    with the permission can see them. Deleted and temporary conversations are not transferred, and will be erased. Folder instructions are
    personal, and are not transferred. Share links are revoked: the person responsible for them has left. The cards of tools below answers
    were for the person alone, and are emptied.

    Assistants and collections that are offered to groups become the heir's, so that whoever uses them keeps them. The others are personal,
    and will be erased: the transferred conversations that began with such an assistant go on without it, and say so.
    """
    Assistant.objects.filter(owner=person, deleted_at=None, pk__in=Assistant.groups.through.objects.values("assistant")).update(owner=heir)
    for row in Collection.objects.filter(owner=person, deleted_at=None, pk__in=Collection.groups.through.objects.values("collection")):
        _transfer_collection(row, heir)
    keys = list(_theirs(person).values_list("pk", flat=True))
    if not keys:
        return 0
    folder = Folder.objects.create(owner=heir, name=_free_name(heir, person.get_username()))
    return sum(_transfer(key, person, folder, with_summaries=with_summaries) for key in keys)


def _transfer_collection(row: Collection, heir: User) -> None:
    with short_transaction():
        # A document that is being added takes the same lock, and finds that the collection is no longer its owner's.
        Collection.objects.select_for_update(no_key=True).get(pk=row.pk)
        to_index = _transfer_files(StoredFile.objects.filter(collection=row), heir)
        Collection.objects.filter(pk=row.pk).update(owner=heir)
    for content in to_index:
        passages.index(content)


def _free_name(heir: User, wanted: str) -> str:
    """Never the name of an existing folder of the heir: its instructions would apply to the transferred conversations."""
    taken = set(Folder.objects.filter(owner=heir).values_list("name", flat=True))
    name, number = wanted[:_FOLDER_CHARS], 1
    while name in taken:
        number += 1
        name = f"{wanted[: _FOLDER_CHARS - len(f' {number}')]} {number}"
    return name


def _theirs(person: User) -> QuerySet[Conversation]:
    return Conversation.objects.filter(owner=person, deleted_at=None, temporary_until=None)


def _transfer(key: UUID, person: User, folder: Folder, *, with_summaries: bool) -> bool:
    """Hand over one conversation with its files, in a short transaction. Returns whether it was still the person's."""
    with short_transaction():
        row = _theirs(person).select_for_update(no_key=True).filter(pk=key).first()
        if row is None:
            return False
        ShareLink.objects.filter(conversation=row).delete()
        # The heir has never allowed tools to run without approval. Tools that are switched off stay off.
        ToolRule.objects.filter(conversation=row, is_allowed=True).delete()
        # What a tool's server said to the person alone, and what they filled in or decided about, was for nobody else.
        hidden_text.empty_cards(Turn.objects.filter(conversation=row))
        ActiveLeaf.objects.filter(conversation=row, person=person).update(person=folder.owner)
        Turn.objects.filter(conversation=row, asked_by=person).update(asked_by=folder.owner)
        to_index = _transfer_files(StoredFile.objects.filter(conversation=row, owner=person), folder.owner)
        row.owner, row.folder, row.import_key, row.is_pinned, row.handed_over_at = folder.owner, folder, "", False, timezone.now()
        row.save(update_fields=[*_CHANGED])
        # For tools, none of the text counts as the heir's: it may contain addresses that the heir has never seen.
        transcripts.mark_as_former_owners(row)
        if not with_summaries:
            transcripts.hide_summaries(row)
        _index_again(row)
    for content in to_index:
        passages.index(content)
    return True


def _transfer_files(rows: QuerySet[StoredFile], heir: User) -> list[int]:
    """Each content is stored once per person: the heir may have the same one, and the person keeps theirs while another file uses it.

    The number of statements does not depend on the number of files. Returns the keys of contents whose passages must be indexed again.
    """
    files = list(rows.select_related("content"))
    if not files:
        return []
    contents = {file.content_id: file.content for file in files}
    others = StoredFile.objects.filter(content__in=contents).exclude(pk__in=[file.pk for file in files])
    needed = set(others.values_list("content", flat=True))
    owned = dict(FileContent.objects.filter(owner=heir, sha256__in={each.sha256 for each in contents.values()}).values_list("sha256", "pk"))
    FileContent.objects.filter(pk__in=[key for key, each in contents.items() if each.sha256 not in owned and key not in needed]).update(
        owner=heir
    )
    owned |= _copied([each for key, each in contents.items() if each.sha256 not in owned and key in needed], heir)
    instead = {key: owned[each.sha256] for key, each in contents.items() if each.sha256 in owned}
    _copy_texts(instead, heir)
    for file in files:
        file.content_id = instead.get(file.content_id, file.content_id)
    StoredFile.objects.filter(pk__in=[file.pk for file in files]).update(owner=heir)
    StoredFile.objects.bulk_update([file for file in files if file.content_id not in contents], ["content"])
    indexed = DocumentPassage.objects.filter(content__in=instead).values_list("content", flat=True)
    return sorted(instead[key] for key in indexed.distinct())


def _copied(contents: Sequence[FileContent], heir: User) -> dict[str, int]:
    """Copy these contents for the heir; returns their keys by digest."""
    alike = ("sha256", "size", "media_type", "width", "height", "is_encrypted")
    rows = (FileContent(owner=heir, **{name: getattr(content, name) for name in alike}) for content in contents)
    made = FileContent.objects.bulk_create(rows)
    _copy_rows(FilePiece, [content.pk for content in contents], heir)
    return {content.sha256: content.pk for content in made}


def _copy_texts(instead: Mapping[int, int], heir: User) -> None:
    """Copy the extracted text to the heir's contents, unless they have it already."""
    have = set(DocumentText.objects.filter(content__in=instead.values()).values_list("content", flat=True))
    sources = [source for source, target in instead.items() if target not in have]
    for model in (DocumentText, DocumentPart):
        _copy_rows(model, sources, heir)


def _copy_rows(model: type[Model], contents: Sequence[int], heir: User) -> None:
    """Copy rows to the heir's contents with the same bytes, inside the database, because they may be large."""
    if not contents:
        return
    quote = connection.ops.quote_name
    table, blobs = quote(model._meta.db_table), quote(FileContent._meta.db_table)
    columns = [quote(str(each.column)) for each in model._meta.concrete_fields if not each.primary_key and each.name != "content"]
    alike = f"JOIN {blobs} was ON was.id = old.content_id JOIN {blobs} theirs ON theirs.sha256 = was.sha256 AND theirs.owner_id = %s"
    only = f"WHERE was.id IN ({', '.join(['%s'] * len(contents))})"
    copied = f"SELECT theirs.id, {', '.join(f'old.{column}' for column in columns)} FROM {table} old {alike} {only}"  # noqa: S608 - our names
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (content_id, {', '.join(columns)}) {copied}",
            [User._meta.pk.get_db_prep_value(heir.pk, connection), *contents],
        )


def _index_again(row: Conversation) -> None:
    """Index a conversation again: words are stored with a prefix of their owner, so that nobody finds another person's text."""
    entries = SearchEntry.objects.filter(conversation=row)
    has_title = entries.filter(message=None).exists()
    entries.delete()
    temporary.index_all(row)
    if has_title:
        search_index.put_title(row, titles.title_text(row))
