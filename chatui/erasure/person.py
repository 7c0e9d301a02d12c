"""Erases a person and all of their data. The erasure is recorded first, and its steps can be repeated after an interruption."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone

from chatui.accounts.sign_in_rules import account_managers
from chatui.audit_log import aggregation
from chatui.audit_log.record import Visitor, record
from chatui.erasure import traces
from chatui.erasure.contents import Contents, contents_of
from chatui.models import (
    AccountChange,
    ActiveLeaf,
    ApiKey,
    AttemptWarning,
    ClosedAccount,
    Conversation,
    DebugRequest,
    Folder,
    Invitation,
    PasswordLink,
    Rating,
    ShareLink,
    StoredFile,
    User,
)
from chatui.offboarding import access_removal
from chatui.permissions import administration, four_eyes
from chatui.permissions.access import NotFoundError
from chatui.store import erasure
from chatui.store.files import storage
from chatui.store.short_transactions import short_transaction
from chatui.tools.python import python_tool

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
        _lock_out(visitor, person)
    # If Redis is down and the message is lost, turns go on for some seconds: one whose conversation is deleted cannot write, and stops.
    access_removal.end_running_work(person)
    aggregation.close_all_of(person)
    conversations = Conversation.objects.filter(owner=person)
    recent = conversations.filter(active_at__gt=timezone.now() - _INTERPRETER_LIFETIME)
    python_tool.forget_and_wait(list(recent.values_list("pk", flat=True)))
    for key in list(conversations.values_list("pk", flat=True)):
        erasure.erase_conversation(key)
    storage.delete_files(person.pk, StoredFile.objects.filter(owner=person))
    with short_transaction():
        _erase_rows(person, name)
        person.delete()
    return Erased(name, contents, traces.wipe(vacuum=vacuum))


def _check_permission(visitor: Visitor, person: User) -> None:
    """Check permissions after locking both accounts. The operator has no account, and may always erase."""
    if visitor.user is None:
        return
    staff = account_managers.lock_for(visitor.user, [person.pk])
    if not administration.may_erase(staff, User.objects.get(pk=person.pk)):
        raise NotFoundError


def _lock_out(visitor: Visitor, person: User) -> None:
    """End all access, and keep the person from signing in."""
    person.is_active = False
    person.set_unusable_password()
    person.save(update_fields=["is_active", "password"])
    access_removal.end_access(person, visitor)


def _erase_rows(person: User, name: str) -> None:
    """Delete rows and names of the person outside their own conversations. Only the audit log keeps the name."""
    for rows in (
        ActiveLeaf.objects.filter(person=person),
        ShareLink.objects.filter(created_by=person),
        Rating.objects.filter(person=person),
    ):
        erasure.delete_rows(rows)
    erasure.delete_rows(Folder.objects.filter(owner=person))
    erasure.delete_rows(DebugRequest.objects.filter(person=person))
    AttemptWarning.objects.filter(person_name=name).delete()
    AttemptWarning.objects.filter(acknowledged_by=name).update(acknowledged_by="")
    for made in (PasswordLink, ApiKey):
        made.objects.filter(made_by_name=name).update(made_by_name="")
    ClosedAccount.objects.filter(by_name=name).update(by_name="")
    Invitation.objects.filter(used_by=person).update(note="")  # whom it was for
    # Which account changed which is kept for a while, by key: otherwise an account in between could defeat the four-eyes rule. The names in
    # it are deleted.
    AccountChange.objects.filter(changed_id=person.pk).update(what=ACTION)
    LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=str(person.pk)).delete()
