"""The lifetime of a temporary conversation: an hour after its last message, or a minute after its person has left the page.

``Conversation.temporary_until`` holds the moment; NULL: it is not temporary. Whoever moves it does so in one statement that looks at the
row as it is by then, because its person may keep the conversation at the same moment. The minute is one of the database's clock: two
machines may differ by more.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Case, DateTimeField, F, Q, QuerySet, When
from django.utils import timezone

from chatui.database import clock
from chatui.database.compiled_statements import Parameter
from chatui.models import Conversation, User

LASTS = timedelta(hours=1)
"""After the last message."""

LEFT_LASTS = timedelta(minutes=1)
"""After its page was left, unless somebody comes back: a page cannot know whether it is reloaded or closed."""


def end() -> datetime:
    """When a conversation ends in which a message was written just now."""
    return timezone.now() + LASTS


def after_answer() -> Case:
    """The column after an answer has ended, with ``moments_after_answer`` as parameters. Where the page was left meanwhile, the answer
    changes nothing."""
    still = When(temporary_until__gt=Parameter("if_left", DateTimeField()), then=Parameter("if_open", DateTimeField()))
    return Case(still, default=F("temporary_until"), output_field=DateTimeField())


def moments_after_answer(now: datetime) -> dict[str, datetime]:
    """Until when a conversation lasts at most that was left, and one that is open, after an answer that has ended ``now``."""
    return {"if_left": now + LEFT_LASTS, "if_open": now + LASTS}


def is_over() -> Q:
    """Selects those that are to go: their time has passed, or their process died while it erased them."""
    now = clock.now()
    return Q(temporary_until__lt=now) | Q(temporary_until__isnull=False, unfinished_until__lt=now)


def ask(row: Conversation) -> None:
    """Somebody has asked something in it. Nothing where it is not temporary."""
    if row.temporary_until is not None:
        _still_temporary(row.pk).update(temporary_until=end())


def leave(row: Conversation) -> None:
    """Its page was left."""
    soon = clock.after(LEFT_LASTS)
    _still_temporary(row.pk).filter(temporary_until__gt=soon).update(temporary_until=soon)


def leave_all(owner: User) -> None:
    """Their person has signed out. What another session of theirs shows says that it stays."""
    soon = clock.after(LEFT_LASTS)
    Conversation.objects.filter(owner=owner, temporary_until__gt=soon, deleted_at=None).update(temporary_until=soon)


def end_all() -> None:
    """After a backup was restored: most of what it has of them was deleted for good since. The first look of a server erases them."""
    Conversation.objects.exclude(temporary_until=None).update(temporary_until=clock.now())


def stay(row: Conversation) -> None:
    """Its page is there, again or still. Nothing where it is not temporary."""
    if row.temporary_until is not None:
        _still_temporary(row.pk).update(temporary_until=row.active_at + LASTS)


def _still_temporary(key: UUID) -> QuerySet[Conversation]:
    return Conversation.objects.filter(pk=key, temporary_until__isnull=False, deleted_at=None)
