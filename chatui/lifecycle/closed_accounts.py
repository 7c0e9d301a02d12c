"""Applies the operator's retention settings to closed accounts: transfers their conversations, and erases them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.lifecycle.erasure import erase
from chatui.models.user import ClosedAccount, User
from chatui.permissions import shares
from chatui.store import ownership_transfer

HANDED_OVER = "conversations handed over"


class NoHeirError(Exception):
    """The operator wants conversations to be transferred, but the account that would receive them is not open. Nothing is erased."""


@dataclass(frozen=True, slots=True)
class ErasedAccount:
    """The result for one account. ``warning``: as in ``Erased``."""

    name: str
    handed_over: int
    warning: str


def apply_retention(visitor: Visitor) -> Iterator[ErasedAccount]:
    """Transfer the conversations of the accounts that are due, and erase them, one by one. Recorded.

    Raises:
        NoHeirError: before anything is changed.
    """
    people = due()
    heir = _heir() if people and environment().closed_accounts == "hand-over" else None
    for person in people:
        if person.pk == getattr(heir, "pk", None) or not _claim(person):
            continue
        count = _transfer(visitor, person, heir) if heir else 0
        erased = erase(visitor, person)
        yield ErasedAccount(erased.name, count, erased.warning)


def due() -> list[User]:
    """The accounts to erase now, those closed first at the beginning; none if closed accounts are kept forever."""
    return [row.user for row in _due().select_related("user").order_by("closed_at")]


def _claim(person: User) -> bool:
    """Claim the account, so that it cannot be reopened. False if it is no longer due, because it was reopened while others were erased."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        return bool(_due().filter(user=person).update(is_going=True))


def _due() -> QuerySet[ClosedAccount]:
    if environment().closed_accounts == "keep":
        return ClosedAccount.objects.none()
    before = timezone.now() - timedelta(days=environment().closed_account_days)
    return ClosedAccount.objects.filter(closed_at__lt=before, user__is_active=False)


def _heir() -> User:
    heir: User | None = User.objects.filter(username=environment().closed_account_heir, is_active=True).first()
    if heir is None:
        raise NoHeirError
    return heir


def _transfer(visitor: Visitor, person: User, heir: User) -> int:
    record(HANDED_OVER, visitor, person.get_username(), detail=f"to {heir.get_username()}")
    return ownership_transfer.transfer(person, heir, with_summaries=shares.may_have_summaries(heir))
