"""Sets a person's managed groups and staff flag from the operator's tables, and takes back what a provider gave and gives no longer.

Each change is recorded.
"""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import transaction

from chatui.accounts import (
    account_managers,
)
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.accounts.sign_in_settings import Provider, sign_in_file
from chatui.audit_log.record import SHELL, Visitor, record
from chatui.models.provisioning import GivenGroups
from chatui.models.user import User
from chatui.permissions import debug_requests, four_eyes


def set_groups(visitor: Visitor, person: User, provider: Provider, said: frozenset[str] | None, *, is_admitted: bool | None = None) -> bool:
    """Set the person's groups and staff flag from the operator's table. Groups and a flag that this provider gave earlier and no longer
    reports are removed. Call it in a transaction. Recorded. Returns whether anything changed.

    ``said`` None: as it said last; the table may have changed since. Groups that staff gave stay, and so does what another provider gives.
    ``is_admitted``: whether the person may enter with this provider, None for what its last sign-in showed. Whoever may not is given
    nothing by it, however else they sign in, but what was said is kept. Raises LastAccountManagerError, with nothing changed, if no account
    manager would be left.
    """
    was_staff, name = person.is_staff, person.get_username()
    # Whoever manages no accounts cannot be the last one who does.
    is_manager = account_managers.is_manager(person)
    try:
        with account_managers.require_manager_left(name, [person.pk]) if is_manager else transaction.atomic():
            given = _given_groups(person, provider)
            given.said = sorted(given.said if said is None else said)
            is_admitted = given.table != GivenGroups.TURNED_AWAY if is_admitted is None else is_admitted
            values = frozenset(given.said) if is_admitted else frozenset()
            changes = [*_synced_groups(person, provider, given, values), *_staff(person, provider, given, values)]
            given.table = provider.table_digest if is_admitted else GivenGroups.TURNED_AWAY
            given.save()
    except LastAccountManagerError:
        person.is_staff = was_staff
        raise
    for words in changes:
        record("account changed", visitor, name, detail=f"{words}, says {provider.key}")
    if changes:
        debug_requests.close_unpermitted()
    return bool(changes)


def apply_tables() -> int:
    """Apply the operator's tables to everybody whose groups were set with another one. Returns how many people that changed.

    Called at the start of a server. A provider that is no longer configured gives nothing. A file with mistakes changes nothing.
    """
    file = sign_in_file()
    if file.problems:
        return 0
    known = {provider.issuer: provider for provider in file.providers}
    issuers = GivenGroups.objects.order_by("issuer").values_list("issuer", flat=True).distinct()
    return sum(_apply_table(known.get(issuer) or _gone(issuer)) for issuer in list(issuers))


def _gone(issuer: str) -> Provider:
    return Provider.model_construct(key="the sign-in file", name="", issuer=issuer, client_id="", who_may_enter="everybody")


def _apply_table(provider: Provider) -> int:
    changed = 0
    rows = GivenGroups.objects.filter(issuer=provider.issuer).exclude(table__in=(provider.table_digest, GivenGroups.TURNED_AWAY))
    for given in rows.select_related("user").prefetch_related("groups"):
        gives = provider.groups_for(frozenset(given.said)) == {group.name for group in given.groups.all()}
        if gives and not provider.staff and not given.gave_staff:
            GivenGroups.objects.filter(pk=given.pk).update(table=provider.table_digest)
            continue
        with transaction.atomic():
            changed += try_to_set_groups(SHELL, given.user, provider, None)
    return changed


def remember_giver(person: User, provider: Provider) -> None:
    """Note that this provider has given the person nothing yet: the groups that they are in were given by staff."""
    GivenGroups.objects.get_or_create(user=person, issuer=provider.issuer)


def _given_groups(person: User, provider: Provider) -> GivenGroups:
    """What this provider gave the person so far."""
    given, is_new = GivenGroups.objects.select_for_update().get_or_create(user=person, issuer=provider.issuer)
    if is_new:
        # An account from before this was noted: then the provider alone decided about the groups in its table.
        given.groups.set(person.groups.filter(name__in=provider.managed_groups))
        given.gave_staff = person.is_staff and bool(provider.staff)
    return given


def _synced_groups(person: User, provider: Provider, given: GivenGroups, values: frozenset[str]) -> list[str]:
    wanted, ours = set(Group.objects.filter(name__in=provider.groups_for(values))), set(given.groups.all())
    of_others = set(
        Group.objects.filter(
            pk__in=GivenGroups.groups.through.objects.filter(givengroups__user=person).exclude(givengroups=given).values("group")
        )
    )
    current = set(person.groups.all())
    wanted -= current - ours - of_others  # what staff gave remains theirs
    joined, left = wanted - current, (ours - wanted - of_others) & current
    given.groups.set(wanted)
    person.groups.add(*joined)
    four_eyes.record_joined(person, [group.name for group in joined])
    person.groups.remove(*left)
    changes = [*(f"joined group {group.name}" for group in joined), *(f"left group {group.name}" for group in left)]
    return sorted(changes)


def _staff(person: User, provider: Provider, given: GivenGroups, values: frozenset[str]) -> list[str]:
    """With ``staff``, the provider alone decides. Without it any more, it takes back what it gave."""
    is_staff = bool(values & set(provider.staff)) if provider.staff else person.is_staff and not given.gave_staff
    given.gave_staff = bool(provider.staff) and is_staff and (given.gave_staff or not person.is_staff)
    if is_staff == person.is_staff:
        return []
    person.is_staff = is_staff
    person.save(update_fields=["is_staff"])
    return ["is staff now" if is_staff else "is not staff any more"]


def try_to_set_groups(
    visitor: Visitor, person: User, provider: Provider, said: frozenset[str] | None, *, is_admitted: bool | None = None
) -> bool:
    try:
        return set_groups(visitor, person, provider, said, is_admitted=is_admitted)
    except LastAccountManagerError as error:
        # The last account manager keeps their permissions: otherwise nobody could grant them any more.
        record("account not changed", visitor, person.get_username(), detail=f"says {provider.key}: {error}")
        return False


def withdraw_groups(visitor: Visitor, person: User, provider: Provider) -> bool:
    """Take back the groups that the provider gave somebody who may not enter now. Returns whether that changed anything. Recorded."""
    return try_to_set_groups(visitor, person, provider, None, is_admitted=False)
