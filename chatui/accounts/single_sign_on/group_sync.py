"""Updates a person's managed groups and staff status from their provider's claims. Each change is recorded."""

from __future__ import annotations

import logging

from django.contrib.auth.models import Group

from chatui.accounts.sign_in_rules import account_managers
from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.single_sign_on.claims import PersonClaims
from chatui.audit_log.record import Visitor, record
from chatui.models import User

log = logging.getLogger(__name__)


def sync_groups(visitor: Visitor, person: User, provider: Provider, person_claims: PersonClaims) -> bool:
    """Add the person to and remove them from groups that the provider manages, and no others. Call it in a transaction.

    Returns whether anything changed. Without the claim nothing changes: a provider omits it for people in very many groups. An empty claim
    removes them from all managed groups.

    Raises:
        LastAccountManagerError: no account manager would be left. Nothing was changed.
    """
    if person_claims.groups is None:
        if provider.managed_groups or provider.staff:
            # The person's id, not the name: names are often e-mail addresses, which only the audit log may contain.
            log.warning("the provider %r sent no groups of a person, so they stay", provider.key, extra={"person": str(person.pk)})
            record("groups not said", visitor, person.get_username(), detail=f"by {provider.key}; they stay")
        return False
    was_staff = person.is_staff
    try:
        with account_managers.keep_last_manager(person):
            changes = [
                *_synced_groups(person, provider, provider.groups_for(person_claims.groups)),
                *_staff(person, provider, person_claims.groups),
            ]
    except account_managers.LastAccountManagerError:
        person.is_staff = was_staff
        raise
    for words in changes:
        record("account changed", visitor, person.get_username(), detail=f"{words}, says {provider.key}")
    return bool(changes)


def _synced_groups(person: User, provider: Provider, wanted: frozenset[str]) -> list[str]:
    ours = {group.name: group for group in Group.objects.filter(name__in=provider.managed_groups)}
    current = set(person.groups.filter(name__in=provider.managed_groups).values_list("name", flat=True))
    joined, left = sorted((wanted & set(ours)) - current), sorted(current - wanted)
    person.groups.add(*(ours[name] for name in joined))
    person.groups.remove(*(ours[name] for name in left))
    return [*(f"joined group {name}" for name in joined), *(f"left group {name}" for name in left)]


def _staff(person: User, provider: Provider, values: frozenset[str]) -> list[str]:
    is_staff = bool(values & set(provider.staff))
    if not provider.staff or is_staff == person.is_staff:
        return []
    person.is_staff = is_staff
    person.save(update_fields=["is_staff"])
    return ["is staff now" if is_staff else "is not staff any more"]
