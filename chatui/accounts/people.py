"""What account managers do: list people, change their accounts, and invite them, with each change recorded in the audit log.

Their actions set groups and staff status, end sessions and remove the second factor. The list has names, groups and states, but no content.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, Permission
from django.core.paginator import Page, Paginator
from django.db import transaction
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery

from chatui.accounts import (
    account_managers,
    api_keys,
    invitations,
    password_links,
    second_factor,
    sessions,
    sign_in_notices,
    sign_in_settings,
)
from chatui.accounts.account_changes import record_changed, record_created, snapshot
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.accounts.api_keys import CreatedKey, NewKeyOptions
from chatui.accounts.sign_in_settings import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.models.passkeys import Passkey
from chatui.models.sign_in import RequiredFactor, SecondFactor
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.permissions import administration, four_eyes
from chatui.permissions.access import NotFoundError, existing, person_of


def set_rights(
    visitor: Visitor, person_id: UUID, groups: Collection[int], permissions: Collection[int] | None = None, *, is_staff: bool
) -> None:
    """Set somebody's groups and own permissions, among those that the member of staff may give, and their staff status. Others stay.
    Recorded. ``permissions`` None: they stay, too.

    Raises:
        NotFoundError: as ``changeable``.
        LastAccountManagerError: no other account manager would be left; recorded, and nothing is changed.
    """
    with _changing(visitor, person_id) as person:
        before, staff = snapshot(person), User.objects.get(pk=person_of(visitor).pk)
        set_offered(person.groups, administration.assignable_groups(staff), groups)
        if permissions is not None:
            set_offered(person.user_permissions, administration.group_permissions(staff), permissions)
        User.objects.filter(pk=person.pk).update(is_staff=is_staff)
        record_changed(visitor, person, before)


@dataclass(frozen=True, slots=True)
class ShownRole:
    """A role that a member of staff may give to an account, in English as in the catalogue."""

    key: str
    name: str
    sentence: str
    is_own: bool
    """Whether the account has all of it by itself."""
    is_held: bool
    """Whether it has all of it with what its groups give."""


def roles_of(staff: User, person: User) -> list[ShownRole]:
    """The roles that this member of staff may give, and which of them the account has."""
    own = set(map(administration.name_of, person.user_permissions.select_related("content_type")))
    held = own.union(map(administration.name_of, Permission.objects.filter(group__user=person).select_related("content_type")))
    return [
        ShownRole(each.key, each.name, each.sentence, *(person.is_staff and each.permissions <= names for names in (own, held)))
        for each in administration.roles_for(staff)
    ]


def set_role(visitor: Visitor, person_id: UUID, key: str, *, is_given: bool) -> User:
    """Give a role to somebody, who becomes staff, or take it from them. Recorded.

    Raises:
        NotFoundError: as ``changeable``, and if the member of staff may not give the role.
        LastAccountManagerError: as ``set_rights``.
    """
    with _changing(visitor, person_id) as person:
        before, staff = snapshot(person), User.objects.get(pk=person_of(visitor).pk)
        role = existing(next((each for each in administration.roles_for(staff) if each.key == key), None))
        permissions = administration.named(role.permissions)
        if is_given:
            person.user_permissions.add(*permissions)
            User.objects.filter(pk=person.pk).update(is_staff=True)
        else:
            person.user_permissions.remove(*permissions)
        record_changed(visitor, person, before)
    return person


def end_superuser(visitor: Visitor, person_id: UUID) -> User:
    """Make somebody no superuser any more, who keeps their groups and own permissions. Recorded.

    Raises:
        NotFoundError: as ``changeable``: only a superuser may change a superuser.
        LastAccountManagerError: as ``set_rights``.
    """
    with _changing(visitor, person_id) as person:
        before = snapshot(person)
        User.objects.filter(pk=person.pk).update(is_superuser=False)
        record_changed(visitor, person, before)
    return person


def correct(visitor: Visitor, person_id: UUID, details: Mapping[str, str]) -> User:
    """Change somebody's user name, display name and e-mail address (columns and checked values). Recorded. If the address changes,
    the person is told so at the old one.

    Raises:
        NotFoundError: as ``changeable``.
        IntegrityError: somebody else has just taken the name.
    """
    with _changing(visitor, person_id) as person:
        before = snapshot(person)
        if details.get("email", person.email) != person.email:
            # To the old address, and on their pages: links for a new password go to the new one.
            sign_in_notices.notify(person, "address-changed")
            person.refresh_from_db(fields=["sign_in_news"])
        for name, value in details.items():
            setattr(person, name, value)
        person.save()  # with the columns that are derived from the name
        record_changed(visitor, person, before)
    return person


@transaction.atomic
def create_account(visitor: Visitor, details: Mapping[str, str]) -> User:
    """Create an account that nobody can sign in to until it gets a password link. Recorded.

    Raises NotFoundError if the visitor may not add accounts, and as ``correct``.
    """
    if not administration.may_invite(account_managers.lock_for(person_of(visitor)), None):
        raise NotFoundError
    person = User(**details)
    person.set_unusable_password()
    person.save()
    record_created(visitor, person)
    return person


@transaction.atomic
def link_for_password(visitor: Visitor, person_id: UUID, *, voids_password: bool) -> tuple[User, str]:
    """Somebody, and the path of a link with which they choose a new password. Recorded. Raises NotFoundError as ``changeable``."""
    person = locked(visitor, person_id)
    return person, password_links.create(visitor, person, voids_password=voids_password)


@transaction.atomic
def create_key(visitor: Visitor, person_id: UUID, wanted: NewKeyOptions) -> CreatedKey:
    """Create an API key for an account that nobody can sign in to. Recorded. Raises as ``changeable``, and as ``create_for_account``."""
    made = api_keys.create_for_account(visitor, locked(visitor, person_id), wanted)
    four_eyes.record_change(visitor.user, [person_id], "an API key")
    return made


def set_member(visitor: Visitor, person_id: UUID, group: Group, *, is_in: bool) -> User:
    """Add somebody to a group, or remove them from it. Recorded.

    Raises:
        NotFoundError: as ``changeable``, and if the member of staff may not assign the group.
        LastAccountManagerError: as ``set_rights``.
    """
    with _changing(visitor, person_id) as person:
        if not administration.assignable_groups(User.objects.get(pk=person_of(visitor).pk)).filter(pk=group.pk).exists():
            raise NotFoundError
        before = snapshot(person)
        (person.groups.add if is_in else person.groups.remove)(group)
        record_changed(visitor, person, before)
    return person


@transaction.atomic
def end_sessions(visitor: Visitor, person_id: UUID) -> User:
    """End all sessions of somebody. Recorded. Raises NotFoundError as ``changeable``."""
    person = locked(visitor, person_id)
    sessions.end_all_of(visitor, person)
    return person


def remove_second_factor(visitor: Visitor, person_id: UUID) -> User:
    """Remove the second factor of a person who has lost it. Recorded.

    Raises as ``set_rights``: without a password, a passkey may be the last account manager's only sign-in method.
    """
    with _changing(visitor, person_id) as person:
        second_factor.remove(visitor, person)
    return person


def changeable(visitor: Visitor, person_id: UUID) -> User:
    """The account with that key, if the visitor may change it now.

    Permissions are read again, not taken from the request. Raises NotFoundError for all others.
    """
    person: User = existing(User.objects.filter(pk=person_id).first())
    staff: User = existing(User.objects.filter(pk=person_of(visitor).pk).first())
    if not administration.may_change(staff, person):
        raise NotFoundError
    return person


def locked(visitor: Visitor, person_id: UUID) -> User:
    """As ``changeable``, after locking that account and the visitor's, so that neither's permissions change until the transaction ends."""
    account_managers.lock([person_id, person_of(visitor).pk])
    return changeable(visitor, person_id)


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


def set_offered(held: Any, offered: QuerySet[Any], chosen: Collection[int]) -> None:
    """Give what was chosen, and take away what was offered and not chosen. What was not offered stays as it is."""
    held.set([*held.exclude(pk__in=offered), *offered.filter(pk__in=chosen)])


def heir() -> User | None:
    """The open account that the operator chose to receive the conversations of closed ones."""
    found: User | None = User.objects.filter(is_heir=True, is_active=True).first()
    return found


PAGE = 50


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """A person in the list."""

    id: UUID
    name: str
    full_name: str
    groups: tuple[str, ...]
    ways: tuple[str, ...]
    """The names of the sign-in services that they use."""
    has_password: bool
    """Whether they can sign in with a password."""
    has_second_factor: bool
    needs_second_factor: bool
    last_seen_on: date | None
    """The last day (UTC) on which they signed in or asked a question; None for never."""
    is_active: bool
    is_staff: bool
    is_superuser: bool
    may_debug: bool
    """Whether they are staff and may see hidden channels."""


def page(words: str = "", show: str = "", number: int = 1, group: Group | None = None) -> Page[Any]:
    """A page of 50 people by name, filtered by ``show``, by words in names or e-mail addresses, and by group. Four statements.

    ``show``: ``active``, ``closed``, ``staff``, or ``debug`` for staff who may see hidden channels; anything else selects everybody.
    Its ``object_list`` has a ListedPerson for each.
    """
    shown = {
        "active": Q(is_active=True),
        "closed": Q(is_active=False),
        "staff": Q(is_staff=True),
        "debug": _may_debug() & Q(is_staff=True, is_active=True),
    }
    rows = User.objects.filter(shown.get(show, Q()))
    for word in words.replace("\0", "").split()[:8]:
        rows = rows.filter(
            Q(username__icontains=word) | Q(first_name__icontains=word) | Q(last_name__icontains=word) | Q(email__icontains=word)
        )
    rows = rows.filter(groups=group) if group else rows
    found: Page[Any] = Paginator(_annotated(rows).order_by("username"), PAGE).get_page(number)
    found.object_list = [_listed(row) for row in found.object_list]
    return found


def find_person(person_id: UUID) -> tuple[User, ListedPerson] | None:
    """The account with that key, and its entry in the list."""
    row = _annotated(User.objects.all()).filter(pk=person_id).first()
    return (row, _listed(row)) if row else None


def is_alone(person: User) -> bool:
    """Whether nobody else has an account or an invitation."""
    return not User.objects.exclude(pk=person.pk).exists() and not invitations.pending().exists()


def counts() -> dict[str, int]:
    """The numbers of open accounts, closed accounts and pending invitations."""
    active, total = User.objects.filter(is_active=True).count(), User.objects.count()
    return {"active": active, "closed": total - active, "invited": invitations.pending().count()}


def debug_groups() -> QuerySet[Group]:
    """The groups whose members may see hidden channels, if they are staff."""
    return Group.objects.filter(permissions__in=_debug()).order_by("name")


def _annotated(rows: QuerySet[User]) -> QuerySet[User]:
    used = UsageEntry.objects.filter(person=OuterRef("pk")).order_by("-day").values("day")[:1]
    return rows.annotate(
        used_on=Subquery(used),
        has_app=Exists(SecondFactor.objects.filter(user=OuterRef("pk")).exclude(confirmed_at=None)),
        has_passkey=Exists(Passkey.objects.filter(user=OuterRef("pk"))),
        needs_factor=Exists(RequiredFactor.objects.filter(group__user=OuterRef("pk"))),
        holds_debug=Exists(User.objects.filter(_may_debug(), pk=OuterRef("pk"))),
    ).prefetch_related(Prefetch("groups", Group.objects.order_by("name")), "outside_identities")


def _debug() -> QuerySet[Permission]:
    return Permission.objects.filter(content_type__app_label="chatui", codename="view_hidden_channels")


def _may_debug() -> Q:
    in_groups = Group.user_set.through.objects.filter(group__permissions__in=_debug(), user=OuterRef("pk"))
    alone = User.user_permissions.through.objects.filter(permission__in=_debug(), user=OuterRef("pk"))
    return Q(is_superuser=True) | Q(Exists(in_groups)) | Q(Exists(alone))


def _listed(row: User) -> ListedPerson:
    names = {provider.key: provider.name for provider in sign_in_file().providers}
    groups = tuple(group.name for group in row.groups.all())
    signed_in = row.last_login.date() if row.last_login else None
    used: date | None = row.used_on  # type: ignore[attr-defined]
    return ListedPerson(
        row.pk,
        row.get_username(),
        row.get_full_name(),
        groups,
        tuple(names.get(each.provider, each.provider) for each in row.outside_identities.all()),
        row.has_usable_password() and sign_in_settings.may_use(row),
        row.has_app or row.has_passkey,  # type: ignore[attr-defined]
        row.needs_factor or bool(set(environment().second_factor_groups) & set(groups)),  # type: ignore[attr-defined]
        max((day for day in (signed_in, used) if day), default=None),
        row.is_active,
        row.is_staff,
        row.is_superuser,
        row.is_staff and row.is_active and row.holds_debug,  # type: ignore[attr-defined]
    )
