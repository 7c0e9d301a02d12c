"""Lists a person's identities at sign-in services, and removes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from chatui.accounts import account_linking, second_factor, sessions, sign_in_settings
from chatui.accounts.sign_in_settings import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import User
from chatui.permissions.access import NotFoundError, person_of


@dataclass(frozen=True, slots=True)
class ShownIdentity:
    """An identity as the page shows it.

    ``service``: the provider's name. ``name``: the provider's name for the person. ``is_removable``: another sign-in method would remain.
    """

    id: UUID
    service: str
    name: str
    made_at: datetime
    last_used_at: datetime | None
    is_removable: bool


def identities_of(person: User) -> list[ShownIdentity]:
    """The person's identities, the oldest first."""
    rows = OutsideIdentity.objects.filter(user=person).order_by("made_at")
    names = {provider.issuer: provider.name for provider in sign_in_file().providers}
    return [
        ShownIdentity(row.pk, names.get(row.issuer, row.provider), row.name, row.made_at, row.last_used_at, may_remove(person, row.pk))
        for row in rows
    ]


def connectable(person: User) -> Sequence[tuple[str, str]]:
    """Providers with which the person has no identity yet: key and name."""
    if person.is_heir or person.is_superuser or sign_in_settings.is_emergency(person.get_username()):
        return []
    taken = set(OutsideIdentity.objects.filter(user=person).values_list("issuer", flat=True))
    return [(provider.key, provider.name) for provider in sign_in_file().providers if provider.issuer not in taken]


def confirmable(person: User) -> Sequence[tuple[str, str]]:
    """The providers that can confirm that this is the person: key and name."""
    issuers = set(OutsideIdentity.objects.filter(user=person).values_list("issuer", flat=True))
    return [(provider.key, provider.name) for provider in sign_in_file().providers if provider.issuer in issuers]


def may_remove(person: User, identity_id: UUID) -> bool:
    """Whether another sign-in method would remain without this identity.

    An identity of a provider that is no longer configured does not count.
    """
    if sign_in_settings.has_own_way(person):
        return True
    issuers = [provider.issuer for provider in sign_in_file().providers]
    return OutsideIdentity.objects.filter(user=person, issuer__in=issuers).exclude(pk=identity_id).exists()


def remove(visitor: Visitor, identity_id: UUID, current_key: str | None) -> None:
    """Remove one of the visitor's own identities, with the sessions and groups that its provider gave them. Recorded, and told.

    The current session goes on: they have just confirmed in it who they are.
    Raises NotFoundError if it is not theirs, or is their last sign-in method.
    """
    person = person_of(visitor)
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=person.pk)  # the second of two simultaneous removals must see the first
        row = OutsideIdentity.objects.filter(pk=identity_id, user=person).first()
        if row is None or not may_remove(person, row.pk):
            raise NotFoundError
        record("identity removed", visitor, person.get_username(), detail=f"of {row.provider}")
        second_factor.notify(person, "identity-removed")
        sessions.end_provider_sessions(row.issuer, row.provider, person, "", current_key)
        account_linking.take_back_groups(visitor, row)
        row.delete()
