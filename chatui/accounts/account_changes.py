"""Records in the audit log what has changed in an account or a group: one line for each difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.contrib.auth.models import Group, Permission

from chatui.accounts import sign_in_notices
from chatui.audit_log.record import Visitor, record
from chatui.models.user import User
from chatui.permissions import administration, debug_requests, four_eyes


@dataclass(frozen=True, slots=True)
class AccountSnapshot:
    """A snapshot of an account or group: its name, and the names of its states, groups and permissions."""

    name: str
    full_name: str = ""
    states: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    password: str = field(default="", repr=False)
    address: str | None = field(default=None, repr=False)


def snapshot(row: User | Group) -> AccountSnapshot:
    """A snapshot of the row in the database, without the changes that a form has already made to ``row``."""
    if isinstance(row, Group):
        group = Group.objects.get(pk=row.pk)
        return AccountSnapshot(f"group {group.name}", permissions=_words(group.permissions.all()))
    user = User.objects.get(pk=row.pk)
    states = {"active": user.is_active, "staff": user.is_staff, "superuser": user.is_superuser}
    return AccountSnapshot(
        user.get_username(),
        user.get_full_name(),
        frozenset(name for name, is_so in states.items() if is_so),
        frozenset(user.groups.values_list("name", flat=True)),
        _words(user.user_permissions.all()),
        user.password,
        user.email,
    )


def record_created(visitor: Visitor, row: User | Group) -> None:
    """Record a new account or group, and each permission that it starts with."""
    now = snapshot(row)
    _record(visitor, row, "created", now, "")
    _record_changes(visitor, row, AccountSnapshot(now.name, now.full_name, frozenset({"active"}) & now.states), now)


def record_changed(visitor: Visitor, row: User | Group, before: AccountSnapshot) -> None:
    """Record one line for each difference. Call it in the transaction of the change."""
    now = snapshot(row)
    if isinstance(row, User) and before.password != now.password:
        sign_in_notices.notify(row, "password-changed")
    _record_changes(visitor, row, before, now)
    debug_requests.close_unpermitted()


def record_deleted(visitor: Visitor, row: User | Group) -> None:
    """Record a deletion, before it is carried out."""
    now = snapshot(row)
    members = f"members: {row.user_set.count()}" if isinstance(row, Group) else ""
    _record(visitor, row, "deleted", now, ", ".join(filter(None, [members, *sorted(now.states | now.permissions)])))


def _record_changes(visitor: Visitor, row: User | Group, before: AccountSnapshot, now: AccountSnapshot) -> None:
    if isinstance(row, User):
        four_eyes.record_joined(row, now.groups - before.groups)
    for words in _changes(before, now):
        _record(visitor, row, "changed", before, words)


def _record(visitor: Visitor, row: User | Group, what: str, about: AccountSnapshot, detail: str) -> None:
    kind = "group" if isinstance(row, Group) else "account"
    record(f"{kind} {what}", visitor, about.name, detail=detail)
    if isinstance(row, Group) and what != "deleted":
        four_eyes.record_group_change(visitor.user, row)
    # Changing a group changes what its members may do.
    changed = row.user_set.values_list("pk", flat=True) if isinstance(row, Group) else [row.pk]
    four_eyes.record_change(visitor.user, changed, f"{kind} {what}: {detail}" if detail else f"{kind} {what}")


def _changes(before: AccountSnapshot, now: AccountSnapshot) -> Iterator[str]:
    if before.name != now.name:
        yield f"is called {now.name} now"
    if before.full_name != now.full_name:
        yield f"has the name {now.full_name or '(none)'} now"[:200]
    if before.address is not None and before.address != now.address:
        yield "has another e-mail address now"
    if before.password and before.password != now.password:
        yield "has a new password, set by staff"
    yield from (f"is {state} now" for state in sorted(now.states - before.states))
    yield from (f"is not {state} any more" for state in sorted(before.states - now.states))
    yield from (f"joined group {name}" for name in sorted(now.groups - before.groups))
    yield from (f"left group {name}" for name in sorted(before.groups - now.groups))
    yield from (f"may now: {words}" for words in sorted(now.permissions - before.permissions))
    yield from (f"may not any more: {words}" for words in sorted(before.permissions - now.permissions))


def _words(permissions: object) -> frozenset[str]:
    rows = Permission.objects.filter(pk__in=permissions).values_list("content_type__app_label", "codename", "name")  # type: ignore[misc]
    return frozenset(administration.DESCRIPTIONS.get(f"{app}.{codename}", name) for app, codename, name in rows)
