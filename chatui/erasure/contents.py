"""Counts the data in the database about a person, which an erasure deletes."""

from __future__ import annotations

from dataclasses import dataclass, fields

from django.utils.translation import ngettext, pgettext

from chatui.models import Conversation, DebugRequest, Folder, Message, ShareLink, StoredFile, Turn, User


@dataclass(frozen=True, slots=True)
class Contents:
    """The number of rows of each kind, including conversations in the bin."""

    conversations: int
    folders: int
    messages: int
    turns: int
    files: int
    share_links: int
    debug_requests: int

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, field.name)} {field.name.replace('_', ' ')}" for field in fields(self))

    def in_words(self) -> str:
        """The counts for a page, in the reader's language."""
        words = (
            ngettext("%(count)d conversation", "%(count)d conversations", self.conversations) % {"count": self.conversations},
            ngettext("%(count)d folder", "%(count)d folders", self.folders) % {"count": self.folders},
            ngettext("%(count)d message", "%(count)d messages", self.messages) % {"count": self.messages},
            ngettext("%(count)d turn", "%(count)d turns", self.turns) % {"count": self.turns},
            ngettext("%(count)d file", "%(count)d files", self.files) % {"count": self.files},
            ngettext("%(count)d share link", "%(count)d share links", self.share_links) % {"count": self.share_links},
            ngettext("%(count)d debug request", "%(count)d debug requests", self.debug_requests) % {"count": self.debug_requests},
        )
        return pgettext("between the things of a list", ", ").join(words)


def contents_of(person: User) -> Contents:
    """Count a person's rows. Counts debug requests by them and about their conversations."""
    own = Conversation.objects.filter(owner=person)
    asked = DebugRequest.objects.filter(person=person)
    return Contents(
        conversations=own.count(),
        folders=Folder.objects.filter(owner=person).count(),
        messages=Message.objects.filter(conversation__owner=person).count(),
        turns=Turn.objects.filter(conversation__owner=person).count(),
        files=StoredFile.objects.filter(owner=person).count(),
        share_links=ShareLink.objects.filter(created_by=person).count(),
        debug_requests=asked.count() + DebugRequest.objects.filter(conversation__owner=person).exclude(person=person).count(),
    )
