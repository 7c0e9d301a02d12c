"""Hands a person's conversations over to somebody else, one in a transaction: in a folder of its own, with what hangs on them."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from chatui.models import (
    ActiveLeaf,
    Conversation,
    DocumentPassage,
    FileContent,
    FilePiece,
    Folder,
    SearchEntry,
    ShareLink,
    StoredFile,
    ToolRule,
    Turn,
    User,
)
from chatui.store import search_index, transcripts
from chatui.store.documents import passages, texts
from chatui.store.short_transactions import short_transaction
from chatui.store.temporary import searching

_FOLDER_CHARS = 60


def hand_over(person: User, heir: User) -> int:
    """Make all that is in the person's list, folders and archive the heir's; how many conversations. May be called again.

    What is in the bin or temporary stays, to be erased. Instructions of folders are the person's own, and are not handed over. Share links
    end: the person who vouched for them has gone.
    """
    keys = list(_theirs(person).values_list("pk", flat=True))
    if not keys:
        return 0
    folder = Folder.objects.create(owner=heir, name=_free_name(heir, person.get_username()))
    return sum(_hand_over(key, person, folder) for key in keys)


def _free_name(heir: User, wanted: str) -> str:
    """Never that of a folder of the heir's own: its instructions would count in what is handed over."""
    taken = set(Folder.objects.filter(owner=heir).values_list("name", flat=True))
    name, number = wanted[:_FOLDER_CHARS], 1
    while name in taken:
        number += 1
        name = f"{wanted[: _FOLDER_CHARS - len(f' {number}')]} {number}"
    return name


def _theirs(person: User) -> QuerySet[Conversation]:
    return Conversation.objects.filter(owner=person, deleted_at=None, temporary_until=None)


def _hand_over(key: UUID, person: User, folder: Folder) -> bool:
    with short_transaction():
        row = _theirs(person).select_for_update(no_key=True).filter(pk=key).first()
        if row is None:
            return False
        ShareLink.objects.filter(conversation=row).delete()
        # The heir was never asked whether a tool may run unasked. What is switched off stays so.
        ToolRule.objects.filter(conversation=row, is_allowed=True).delete()
        ActiveLeaf.objects.filter(conversation=row, person=person).update(person=folder.owner)
        Turn.objects.filter(conversation=row, asked_by=person).update(asked_by=folder.owner)
        files = StoredFile.objects.filter(conversation=row, owner=person).select_related("content")
        to_index = [held for file in files if (held := _hand_over_file(file, folder.owner)) is not None]
        row.owner, row.folder, row.import_key, row.is_pinned, row.handed_over_at = folder.owner, folder, "", False, timezone.now()
        row.save(update_fields=["owner", "folder", "import_key", "is_pinned", "handed_over_at"])
        # To tools, the heir has written none of it: somebody may have pasted an address there that the heir has never seen.
        transcripts.disown(row)
        _index_again(row)
    for content in to_index:
        passages.index(content)
    return True


def _hand_over_file(file: StoredFile, heir: User) -> int | None:
    """A content is kept once for each person: the heir may have the same one, and the person needs theirs as long as another file does.

    Returns the key of a content whose passages are still to be indexed, for searches in it.
    """
    content = file.content
    held = FileContent.objects.filter(owner=heir, sha256=content.sha256).first()
    if held is None and StoredFile.objects.filter(content=content).exclude(pk=file.pk).exists():
        pieces = list(content.pieces.all())
        held = FileContent.objects.create(
            owner=heir,
            sha256=content.sha256,
            size=content.size,
            media_type=content.media_type,
            width=content.width,
            height=content.height,
            is_encrypted=content.is_encrypted,
        )
        FilePiece.objects.bulk_create(FilePiece(content=held, number=piece.number, data=piece.data) for piece in pieces)
    if held is not None:
        texts.copy(content, held)
    else:
        FileContent.objects.filter(pk=content.pk).update(owner=heir)
    StoredFile.objects.filter(pk=file.pk).update(owner=heir, content=held or content)
    return held.pk if held is not None and DocumentPassage.objects.filter(content=content).exists() else None


def _index_again(row: Conversation) -> None:
    """Words are stored with a prefix of the owner's, so that nobody finds what is another's."""
    entries = SearchEntry.objects.filter(conversation=row)
    has_title = entries.filter(message=None).exists()
    entries.delete()
    searching.index_all(row)
    if has_title:
        search_index.put_title(row, transcripts.title_text(row))
