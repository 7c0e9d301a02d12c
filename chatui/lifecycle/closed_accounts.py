"""Applies the operator's retention settings to closed accounts: transfers their conversations, and erases them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.accounts import people
from chatui.audit_log.record import Visitor, record
from chatui.database.faults import Refused
from chatui.env import environment
from chatui.lifecycle.erasure import erase
from chatui.models.user import ClosedAccount, User
from chatui.permissions import shares
from chatui.store import ownership_transfer

HANDED_OVER, CHOSEN, UNCHOSEN = "conversations handed over", "heir chosen", "heir not chosen any more"


class NoHeirError(Exception):
    """The operator wants conversations to be transferred, but no open account is the heir. Nothing is erased."""


@transaction.atomic
def choose_heir(visitor: Visitor, name: str) -> None:
    """Make the account with that name the heir of closed accounts, in place of any other; nobody, if it is empty. Recorded.

    From then on the account is the heir, whatever it is called, and nobody but the operator can change it. Raises NoHeirError if there is
    no such account, or it is closed.
    """
    heir = User.objects.select_for_update(no_key=True).filter(username=name, is_active=True).first() if name else None
    if name and heir is None:
        raise NoHeirError
    for earlier in User.objects.filter(is_heir=True).exclude(pk=heir and heir.pk):
        record(UNCHOSEN, visitor, earlier.get_username())
        User.objects.filter(pk=earlier.pk).update(is_heir=False)
    if heir is not None and not heir.is_heir:
        record(CHOSEN, visitor, heir.get_username())
        User.objects.filter(pk=heir.pk).update(is_heir=True)


def apply_retention(visitor: Visitor, refused: Refused) -> Iterator[int]:
    """Transfer the conversations of the accounts that are due, and erase them, one by one. Recorded. Yields how many each transferred. One
    that cannot be erased does not stop the others.

    Raises:
        NoHeirError: before anything is changed.
    """
    closed, hands_over = due(), environment().closed_accounts == "hand-over"
    heir = people.heir() if closed and hands_over else None
    if closed and hands_over and heir is None:
        raise NoHeirError
    for person in closed:
        count: int | None = None
        with refused.one(f"account {person.pk}"):
            count = _retire(visitor, person, heir)
        if count is not None:
            yield count


def _retire(visitor: Visitor, person: User, heir: User | None) -> int | None:
    """Returns how many conversations went to the heir; None if the account stays, because it was opened again."""
    if not _claim(person):
        return None
    count = 0
    if heir is not None:
        record(HANDED_OVER, visitor, person.get_username(), detail=f"to {heir.get_username()}")
        count = ownership_transfer.transfer(person, heir, with_summaries=shares.may_have_summaries(heir))
    erase(visitor, person)
    return count


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
