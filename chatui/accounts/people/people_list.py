"""The list of people for account managers: names, groups and states, but no content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from django.contrib.auth.models import Group, Permission
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.utils import timezone

from chatui.accounts.sign_in_rules import password_use
from chatui.accounts.sign_in_rules.sign_in_file import sign_in_file
from chatui.env import environment
from chatui.models import Invitation, Passkey, RequiredFactor, SecondFactor, UsageEntry, User

PAGE = 50
FILTERS = ("", "active", "closed", "staff", "debug")
"""The filters of the list: everybody, people whose account is open or closed, staff, and staff who may see hidden channels."""


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """A person in the list.

    ``last_seen_on``: the last day (UTC) on which they signed in or asked a question; None for never. ``ways``: the names of the sign-in
    services that they use. ``has_password``: they can sign in with a password. ``may_debug``: they are staff and may see hidden channels.
    """

    id: UUID
    name: str
    full_name: str
    groups: tuple[str, ...]
    ways: tuple[str, ...]
    has_password: bool
    has_second_factor: bool
    needs_second_factor: bool
    last_seen_on: date | None
    is_active: bool
    is_staff: bool
    is_superuser: bool
    may_debug: bool


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the list. ``found``: how many people match in total. ``number`` and ``last`` count pages from 1."""

    people: tuple[ListedPerson, ...]
    found: int
    number: int
    last: int

    @property
    def previous(self) -> int:
        """The number of the page before."""
        return self.number - 1

    @property
    def next(self) -> int:
        """The number of the page after."""
        return self.number + 1


def page(words: str = "", show: str = "", number: int = 1, group: Group | None = None) -> Page:
    """A page of 50 people by name, filtered by ``show``, by words in names or e-mail addresses, and by group. Four statements."""
    rows = _filtered(_matching(words), show)
    rows = rows.filter(groups=group) if group else rows
    found = rows.count()
    last = max(1, -(-found // PAGE))
    number = min(max(1, number), last)
    taken = _annotated(rows).order_by("username")[(number - 1) * PAGE : number * PAGE]
    return Page(tuple(_listed(row) for row in taken), found, number, last)


def find_person(person_id: UUID) -> tuple[User, ListedPerson] | None:
    """The account with that key, and its entry in the list."""
    row = _annotated(User.objects.all()).filter(pk=person_id).first()
    return (row, _listed(row)) if row else None


def pending_invitations() -> QuerySet[Invitation]:
    """Invitations that can still be used, the newest first."""
    pending = Invitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now(), made_by__is_active=True)
    return pending.select_related("made_by", "group").order_by("-made_at")


def counts() -> dict[str, int]:
    """The numbers of open accounts, closed accounts and pending invitations."""
    active, total = User.objects.filter(is_active=True).count(), User.objects.count()
    return {"active": active, "closed": total - active, "invited": pending_invitations().count()}


def debug_groups() -> QuerySet[Group]:
    """The groups whose members may see hidden channels, if they are staff."""
    return Group.objects.filter(permissions__in=_debug()).order_by("name")


def _matching(words: str) -> QuerySet[User]:
    found: QuerySet[User] = User.objects.all()
    for word in words.replace("\0", "").split()[:8]:
        found = found.filter(
            Q(username__icontains=word) | Q(first_name__icontains=word) | Q(last_name__icontains=word) | Q(email__icontains=word)
        )
    return found


def _filtered(rows: QuerySet[User], show: str) -> QuerySet[User]:
    if show in ("active", "closed"):
        return rows.filter(is_active=show == "active")
    if show == "staff":
        return rows.filter(is_staff=True)
    if show == "debug":
        return rows.filter(_may_debug(), is_staff=True, is_active=True)
    return rows


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
        row.has_usable_password() and password_use.may_use(row),
        row.has_app or row.has_passkey,  # type: ignore[attr-defined]
        row.needs_factor or bool(set(environment().second_factor_groups) & set(groups)),  # type: ignore[attr-defined]
        max((day for day in (signed_in, used) if day), default=None),
        row.is_active,
        row.is_staff,
        row.is_superuser,
        row.is_staff and row.is_active and row.holds_debug,  # type: ignore[attr-defined]
    )
