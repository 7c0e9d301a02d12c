"""Erases a person and all of their data, and repeats the erasures in a restored backup.

What an erasure will delete from the database is counted first. Deleted rows leave data in the database's files, which is removed as well.
The erasure is recorded before its steps, which can be repeated after an interruption.

The list of erasures consists of JSON lines of ids and names, and is stored outside backups.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop as noop
from django.utils.translation import ngettext_lazy, pgettext

from chatui.accounts import account_managers
from chatui.audit_log import aggregation
from chatui.audit_log.lines import LineFilters, rows
from chatui.audit_log.record import Visitor, record
from chatui.database.connections import short_transaction
from chatui.lifecycle import closing
from chatui.models.assistants import Assistant
from chatui.models.audit import AttemptWarning
from chatui.models.collections import Collection
from chatui.models.conversation import ActiveLeaf, Conversation, Folder
from chatui.models.debug_requests import DebugRequest
from chatui.models.files import StoredFile
from chatui.models.invitations import Invitation
from chatui.models.message import Message
from chatui.models.programs import ApiKey
from chatui.models.ratings import Rating
from chatui.models.saved_prompts import SavedPrompt
from chatui.models.shares import ShareLink
from chatui.models.sign_in import PasswordLink
from chatui.models.tools import ToolConfirmation
from chatui.models.turn import Turn
from chatui.models.user import AccountChange, ClosedAccount, User
from chatui.permissions import administration, four_eyes
from chatui.permissions.access import NotFoundError
from chatui.store import erasure, files, search_index
from chatui.turns.calls import file_access

_COUNTED = {
    "conversations": ngettext_lazy("%(count)d conversation", "%(count)d conversations", "count"),
    "folders": ngettext_lazy("%(count)d folder", "%(count)d folders", "count"),
    "assistants": ngettext_lazy("%(count)d assistant", "%(count)d assistants", "count"),
    "collections": ngettext_lazy("%(count)d collection", "%(count)d collections", "count"),
    "saved prompts": ngettext_lazy("%(count)d saved prompt", "%(count)d saved prompts", "count"),
    "messages": ngettext_lazy("%(count)d message", "%(count)d messages", "count"),
    "turns": ngettext_lazy("%(count)d turn", "%(count)d turns", "count"),
    "files": ngettext_lazy("%(count)d file", "%(count)d files", "count"),
    "share links": ngettext_lazy("%(count)d share link", "%(count)d share links", "count"),
    "debug requests": ngettext_lazy("%(count)d debug request", "%(count)d debug requests", "count"),
}


@dataclass(frozen=True, slots=True)
class Contents:
    """The number of rows of each kind, including conversations in the bin. English in text, for the audit log and commands."""

    counts: Mapping[str, int]

    def __str__(self) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in self.counts.items())

    def in_words(self) -> str:
        """The counts for a page, in the reader's language."""
        words = (_COUNTED[kind] % {"count": count} for kind, count in self.counts.items())
        return pgettext("between the things of a list", ", ").join(words)


def contents_of(person: User) -> Contents:
    """Count a person's rows. Counts debug requests by them and about their conversations."""
    rows: dict[str, QuerySet[Any]] = {
        "conversations": Conversation.objects.filter(owner=person),
        "folders": Folder.objects.filter(owner=person),
        "assistants": Assistant.objects.filter(owner=person),
        "collections": Collection.objects.filter(owner=person),
        "saved prompts": SavedPrompt.objects.filter(owner=person),
        "messages": Message.objects.filter(conversation__owner=person),
        "turns": Turn.objects.filter(conversation__owner=person),
        "files": StoredFile.objects.filter(owner=person),
        "share links": ShareLink.objects.filter(created_by=person),
        "debug requests": DebugRequest.objects.filter(Q(person=person) | Q(conversation__owner=person)),
    }
    return Contents({kind: found.count() for kind, found in rows.items()})


_TRIES = 3

BUSY = noop(
    "The write-ahead log could not be emptied, because a reader still uses an earlier state of the database, so it still contains "
    "erased text. The next purge tries again."
)
POSTGRESQL = noop(
    "PostgreSQL keeps deleted rows in its files until VACUUM has run and their space is reused; VACUUM FULL rewrites the files."
)


def wipe(*, vacuum: bool = False) -> str:
    """Remove deleted data from the database's files. Returns a sentence for the operator if that failed; else an empty text.

    SQLite overwrites deleted data with zeros (``secure_delete`` in the settings). What remains are words in the search index, until it is
    merged, and pages in the write-ahead log. ``vacuum`` also rewrites the whole file: that frees space and removes data that was deleted
    before the setting existed, but blocks all writes meanwhile.
    """
    if connection.vendor != "sqlite":
        return POSTGRESQL
    search_index.tidy()
    if connection.in_atomic_block:
        return BUSY
    with connection.cursor() as cursor:
        if vacuum:
            cursor.execute("VACUUM")
        # Waits for readers as long as the setting "timeout", and returns 1 if they did not finish.
        is_empty = any(cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0 for _ in range(_TRIES))
    return "" if is_empty else BUSY


ACTION = "account erased"
"""The action in the audit log. Its detail begins with the person's id, and the line has the name."""


_INTERPRETER_LIFETIME = timedelta(days=1)
"""A Python interpreter that was idle for longer has ended by itself, even with the longest timeout."""


@dataclass(frozen=True, slots=True)
class Erased:
    """The result: the name of the account, and the counts. ``warning``: what the operator still has to do; empty if nothing."""

    name: str
    contents: Contents
    warning: str


def erase(visitor: Visitor, person: User, *, vacuum: bool = False) -> Erased:
    """Erase a person and all of their data. This may take a while; others can write to the database meanwhile.

    Raises:
        NotFoundError: the visitor may not erase this account.
        DatabaseError: the audit line cannot be written; nothing is deleted.
    """
    name, contents = person.get_username(), contents_of(person)
    with short_transaction():
        _check_permission(visitor, person)
        record(ACTION, visitor, name, detail=f"id {person.pk}: {contents}")
        four_eyes.record_change(visitor.user, [person.pk], ACTION)
        # End all access, and keep the person from signing in.
        person.is_active = False
        person.set_unusable_password()
        person.save(update_fields=["is_active", "password"])
        closing.end_access(person, visitor)
    # If Redis is down and the message is lost, turns go on for some seconds: one whose conversation is deleted cannot write, and stops.
    closing.end_running_work(person)
    aggregation.close_all_of(person)
    conversations = Conversation.objects.filter(owner=person)
    recent = conversations.filter(active_at__gt=timezone.now() - _INTERPRETER_LIFETIME)
    file_access.forget_person_and_wait(person.pk, list(recent.values_list("pk", flat=True)))
    for key in list(conversations.values_list("pk", flat=True)):
        erasure.erase_conversation(key)
    files.delete_files(person.pk, StoredFile.objects.filter(owner=person))
    with short_transaction():
        _erase_rows(person, name)
        person.delete()
    return Erased(name, contents, wipe(vacuum=vacuum))


def _check_permission(visitor: Visitor, person: User) -> None:
    """Check permissions after locking both accounts. The operator has no account, and may always erase."""
    if visitor.user is None:
        return
    staff = account_managers.lock_for(visitor.user, [person.pk])
    if not administration.may_erase(staff, User.objects.get(pk=person.pk)):
        raise NotFoundError


def _erase_rows(person: User, name: str) -> None:
    """Delete rows and names of the person outside their own conversations. Only the audit log keeps the name."""
    for theirs in (
        ActiveLeaf.objects.filter(person=person),
        ShareLink.objects.filter(created_by=person),
        Rating.objects.filter(person=person),
    ):
        files.delete_rows(theirs)
    Collection.objects.filter(owner=person).delete()  # their documents are gone already
    files.delete_rows(Folder.objects.filter(owner=person))
    Assistant.objects.filter(owner=person).delete()  # conversations of others go on without it, and say so
    files.delete_rows(SavedPrompt.objects.filter(owner=person))
    files.delete_rows(DebugRequest.objects.filter(person=person))
    AttemptWarning.objects.filter(person_name=name).delete()
    AttemptWarning.objects.filter(acknowledged_by=name).update(acknowledged_by="")
    for made in (PasswordLink, ApiKey):
        made.objects.filter(made_by_name=name).update(made_by_name="")
    ClosedAccount.objects.filter(by_name=name).update(by_name="")
    ToolConfirmation.objects.filter(decided_by=name).update(decided_by="")
    Invitation.objects.filter(used_by=person).update(note="")  # whom it was for
    # Which account changed which is kept for a while, by key: otherwise an account in between could defeat the four-eyes rule. The names in
    # it are deleted.
    AccountChange.objects.filter(changed_id=person.pk).update(what=ACTION)
    LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=str(person.pk)).delete()


_ID = re.compile(r"id ([0-9a-f-]{36}):")


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erased person: the id and the last name of the account, and the time of the erasure (ISO 8601, UTC)."""

    id: str
    name: str
    at: str

    def line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


def recorded() -> Iterator[Erasure]:
    """The erasures in the audit log, oldest first, one for each person."""
    found = rows(LineFilters(action=ACTION)).order_by("number").values_list("detail", "owner_name", "at")
    return erasures_of((detail, name, at.isoformat()) for detail, name, at in found.iterator())


def erasures_of(lines: Iterable[tuple[str, str, str]]) -> Iterator[Erasure]:
    """The erasures from audit lines about them: the detail, name and time of each."""
    seen: set[str] = set()
    for detail, name, at in lines:
        if (match := _ID.match(detail)) and match[1] not in seen:
            seen.add(match[1])
            yield Erasure(match[1], name, at)


def read(lines: Iterable[str]) -> list[Erasure]:
    """Parse the lines of a file. Raises ValueError with the number of the line that is no erasure, from 1."""
    return [_erasure(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def restored(erasures: Iterable[Erasure]) -> list[User]:
    """The erased people whose accounts exist again. Found by id alone: somebody else may have the name by now."""
    return list(User.objects.filter(pk__in=[erasure.id for erasure in erasures]).order_by("date_joined"))


def _erasure(number: int, line: str) -> Erasure:
    try:
        values = json.loads(line)
        return Erasure(str(UUID(values["id"])), str(values["name"]), str(values["at"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(f"line {number} is not an erasure") from None
