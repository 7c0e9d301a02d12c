"""Account managers' actions: set groups and staff status, end sessions, remove the second factor, invite people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from django.contrib.auth.models import Group
from django.db import transaction

from chatui.accounts import invitations, session_list
from chatui.accounts.people import changes
from chatui.accounts.second_factor import enrollment
from chatui.accounts.sign_in_rules import account_managers
from chatui.accounts.sign_in_rules.account_managers import LastAccountManagerError
from chatui.audit_log.record import Visitor, record
from chatui.models import Invitation, User
from chatui.permissions import administration, inviting
from chatui.permissions.access import NotFoundError, person_of

MAX_INVITED = 50
"""The most people that can be invited at once."""


def set_groups(visitor: Visitor, person_id: UUID, chosen: Collection[int], *, is_staff: bool) -> None:
    """Set somebody's groups, among those that the member of staff may assign, and their staff status. Other groups stay. Recorded.

    Raises:
        NotFoundError: as ``changeable``.
        LastAccountManagerError: no other account manager would be left; recorded, and nothing is changed.
    """
    with _changing(visitor, person_id) as person:
        _set_groups(visitor, person, chosen, is_staff=is_staff)


def set_member(visitor: Visitor, person_id: UUID, group: Group, *, is_in: bool) -> User:
    """Add somebody to a group, or remove them from it. Recorded.

    Raises:
        NotFoundError: as ``changeable``, and if the member of staff may not assign the group.
        LastAccountManagerError: as ``set_groups``.
    """
    with _changing(visitor, person_id) as person:
        if not administration.assignable_groups(User.objects.get(pk=person_of(visitor).pk)).filter(pk=group.pk).exists():
            raise NotFoundError
        before = changes.snapshot(person)
        (person.groups.add if is_in else person.groups.remove)(group)
        changes.record_changed(visitor, person, before)
    return person


@transaction.atomic
def end_sessions(visitor: Visitor, person_id: UUID) -> User:
    """End all sessions of somebody. Recorded. Raises NotFoundError as ``changeable``."""
    person = locked(visitor, person_id)
    session_list.end_all_of(visitor, person)
    return person


def remove_second_factor(visitor: Visitor, person_id: UUID) -> User:
    """Remove the second factor of a person who has lost it. Recorded.

    Raises as ``set_groups``: without a password, a passkey may be the last account manager's only sign-in method.
    """
    with _changing(visitor, person_id) as person:
        enrollment.remove(visitor, person)
    return person


def changeable(visitor: Visitor, person_id: UUID) -> User:
    """The account with that key, if the visitor may change it now.

    Permissions are read again, not taken from the request. Raises NotFoundError for all others.
    """
    person: User | None = User.objects.filter(pk=person_id).first()
    staff: User | None = User.objects.filter(pk=person_of(visitor).pk).first()
    if person is None or staff is None or not administration.may_change(staff, person):
        raise NotFoundError
    return person


def locked(visitor: Visitor, person_id: UUID) -> User:
    """As ``changeable``, after locking that account and the visitor's, so that neither's permissions change until the transaction ends."""
    account_managers.lock([person_id, person_of(visitor).pk])
    return changeable(visitor, person_id)


def invite(visitor: Visitor, notes: Sequence[str], group: Group | None, days: int) -> list[tuple[str, str]]:
    """Create an invitation for each note, or none at all. Each is recorded.

    Returns the notes with the paths of their links, which are not stored.

    Raises:
        NotFoundError: the visitor may not invite people, or not into that group.
        TooManyInvitedError: too many were invited within an hour.
    """
    if not inviting.may_invite(person_of(visitor), group):
        raise NotFoundError
    invitations.admit(person_of(visitor), len(notes))
    with transaction.atomic():
        if not inviting.may_invite(account_managers.lock_for(person_of(visitor)), group):
            raise NotFoundError
        return [(note, invitations.create(visitor, days=days, group=group, note=note)) for note in notes]


@transaction.atomic
def revoke_invitation(visitor: Visitor, invitation_id: UUID) -> None:
    """Revoke an invitation. Recorded. Raises NotFoundError if it does not exist, or the visitor could not have created it themselves."""
    row = Invitation.objects.filter(pk=invitation_id).select_related("made_by", "group").first()
    if row is None or not inviting.may_invite(account_managers.lock_for(person_of(visitor)), row.group):
        raise NotFoundError
    invitations.revoke(visitor, [row])


@contextmanager
def _changing(visitor: Visitor, person_id: UUID) -> Iterator[User]:
    """The account, locked while it is changed.

    The visitor's permission is checked after locking: meanwhile the account may have gained permissions, or the visitor may have lost
    theirs.
    """
    name = changeable(visitor, person_id).get_username()
    try:
        with account_managers.require_manager_left(name, [person_id]):
            yield changeable(visitor, person_id)
    except LastAccountManagerError as error:
        record("account not changed", visitor, error.name, detail=f"by staff: {error}")
        raise


def _set_groups(visitor: Visitor, person: User, chosen: Collection[int], *, is_staff: bool) -> None:
    before = changes.snapshot(person)
    given = set(administration.assignable_groups(User.objects.get(pk=person_of(visitor).pk)).values_list("pk", flat=True))
    others = set(person.groups.values_list("pk", flat=True)) - given
    person.groups.set(others | (given & set(chosen)))
    User.objects.filter(pk=person.pk).update(is_staff=is_staff)
    changes.record_changed(visitor, person, before)
