"""Stores which pages were opened in a conversation, and finds those that a text cites."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from django.db.models import QuerySet

from chatui.models.message import OpenedPage
from renderer.markup.citations import CitableSource, may_cite


def of_conversation(conversation_id: UUID) -> dict[int, CitableSource]:
    """Every page that was opened in this conversation, by cursor. One statement."""
    return _by_cursor(OpenedPage.objects.filter(turn__conversation=conversation_id))


def cited_by(conversation_id: UUID, texts: Iterable[str]) -> dict[int, CitableSource]:
    """As ``of_conversation``, if one of the texts may cite a page; otherwise empty, without a query."""
    return of_conversation(conversation_id) if any(map(may_cite, texts)) else {}


def of_turns(turns: Collection[UUID], texts: Iterable[str]) -> dict[int, CitableSource]:
    """The pages that these turns opened, by cursor, if one of the texts may cite a page.

    For readers who see only some turns: a text can name any cursor, even that of a page opened elsewhere or later.
    """
    if not turns or not any(map(may_cite, texts)):
        return {}
    found = _by_cursor(OpenedPage.objects.filter(turn__in=turns))
    # Only its owner may know a document's name, and could open it.
    return {cursor: CitableSource("", "") if page.is_document else page for cursor, page in found.items()}


def _by_cursor(rows: QuerySet[OpenedPage]) -> dict[int, CitableSource]:
    found = rows.order_by("pk").values_list("cursor", "url", "title")
    return {cursor: CitableSource(url, title) for cursor, url, title in found}


def forget_document(file_id: UUID) -> None:
    """Remove a deleted document: citations of it lead nowhere, and its name is not stored anywhere."""
    OpenedPage.objects.filter(url__startswith=f"/documents/{file_id}/").update(url="", title="")


def save(turn_id: UUID, pages: Mapping[int, CitableSource]) -> None:
    """Store pages that a turn opened. Idempotent."""
    rows = [OpenedPage(turn_id=turn_id, cursor=cursor, url=page.url, title=page.title) for cursor, page in pages.items()]
    OpenedPage.objects.bulk_create(rows, ignore_conflicts=True)
