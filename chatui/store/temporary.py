"""The lifetime of a temporary conversation: an hour after its last message, or a minute after its person has left the page.

``Conversation.temporary_until`` is the time of its end; NULL: it is not temporary. It is only changed in a single statement that checks the
current row, because its person may keep the conversation at the same moment. It is of the database's clock: those of two
machines may differ by more than an hour.

A temporary conversation is indexed once its person keeps it. Before that, the search index has none of its words.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui.database import connections
from chatui.models.conversation import Conversation
from chatui.models.message import Message, SearchEntry
from chatui.models.user import User
from chatui.store import search_index, transcripts
from renderer.frame_kinds import PRODUCT_NAMES
from renderer.gate import Audience, show

LASTS = timedelta(hours=1)
"""After the last message."""

LEFT_LASTS = timedelta(minutes=1)
"""After its page was left, unless it is opened again: a page cannot know whether it is reloaded or closed."""


def note_answer(key: UUID) -> None:
    """An answer has ended now. If the page was left meanwhile, nothing changes."""
    still_open = Conversation.objects.filter(pk=key, temporary_until__gt=connections.after(LEFT_LASTS))
    still_open.update(temporary_until=connections.after(LASTS))


def is_over() -> Q:
    """Selects conversations to erase: their time has passed, or their process died while erasing them."""
    now = connections.now()
    return Q(temporary_until__lt=now) | Q(temporary_until__isnull=False, unfinished_until__lte=now)


def ask(row: Conversation) -> None:
    """Extend its life, because its person has sent a message: to an hour from now."""
    _still_temporary(row.pk).update(temporary_until=connections.after(LASTS))


def leave(row: Conversation) -> None:
    """Shorten its life, because its page was left: to a minute from now."""
    soon = connections.after(LEFT_LASTS)
    _still_temporary(row.pk).filter(temporary_until__gt=soon).update(temporary_until=soon)


def leave_all(owner: User) -> None:
    """Shorten the life of all that a person has, because they have signed out. Pages in their other sessions extend it again."""
    soon = connections.after(LEFT_LASTS)
    Conversation.objects.filter(owner=owner, temporary_until__gt=soon, deleted_at=None).update(temporary_until=soon)


def end_all() -> None:
    """End them all after a backup was restored: most were erased since. The next sweep of a server erases them."""
    Conversation.objects.exclude(temporary_until=None).update(temporary_until=connections.now())


def stay(row: Conversation) -> None:
    """Extend its life, because its page is open: to an hour after its last message. Does nothing if it is not temporary."""
    if row.temporary_until is not None:
        # The two times may be of two machines, whose clocks differ: they neither shorten what is left nor make it more than an hour.
        until = connections.after(min(row.active_at + LASTS - timezone.now(), LASTS))
        _still_temporary(row.pk).filter(temporary_until__lt=until).update(temporary_until=until)


def _still_temporary(key: UUID) -> QuerySet[Conversation]:
    return Conversation.objects.filter(pk=key, temporary_until__isnull=False, deleted_at=None)


def index_all(row: Conversation) -> None:
    """Index every message that a search may find, in the caller's transaction."""
    found = Message.objects.filter(conversation=row, is_visible=True).exclude(name__in=PRODUCT_NAMES).select_related("conversation")
    found = found.exclude(pk__in=SearchEntry.objects.filter(conversation=row, message__isnull=False).values("message"))
    search_index.add((message, show(transcripts.frame_of(message), Audience.END_USER)) for message in found.order_by("position"))
