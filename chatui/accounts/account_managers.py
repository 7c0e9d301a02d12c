"""Protects the last account manager: somebody must always be able to sign in and manage accounts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from chatui.accounts import sign_in_settings
from chatui.models.provisioning import ProvisionedAccount
from chatui.models.user import User
from chatui.permissions.access import existing

REASON = "nobody else could look after accounts"


class LastAccountManagerError(Exception):
    """The change would leave no account manager. ``name``: the affected account."""

    def __init__(self, name: str) -> None:
        super().__init__(REASON)
        self.name = name


def lock(others: Collection[UUID] = ()) -> None:
    """Lock the rows of all account managers and of ``others``, in a fixed order, so that two changes cannot rely on each other's account.

    Call it in a transaction. Check conditions again afterwards: data read before the lock may be out of date.
    """
    list(User.objects.select_for_update(no_key=True).filter(Q(pk__in=_managers()) | Q(pk__in=others)).order_by("pk").values_list("pk"))


def lock_for(staff: User, others: Collection[UUID] = ()) -> User:
    """As ``lock``, for the acting member of staff as well. Returns them as read after locking.

    They may have lost permissions since their request began. Raises NotFoundError if their account is gone or closed.
    """
    lock([staff.pk, *others])
    now: User = existing(User.objects.filter(pk=staff.pk, is_active=True).first())
    return now


def is_last(person: User) -> bool:
    """Whether this person is an account manager, and the only one who could sign in. Call it in a transaction that holds the locks."""
    lock([person.pk])
    return _managers_who_can_sign_in() == [person.pk]


def is_manager(person: User) -> bool:
    """Whether they may manage accounts, whether or not they can sign in. One statement."""
    return _managers().filter(pk=person.pk).exists()


@contextmanager
def require_manager_left(name: str, others: Collection[UUID] = ()) -> Iterator[None]:
    """A context manager around a change to the account or group called ``name``, which is rolled back if it leaves no account manager.

    ``others``: as for ``lock``. Raises LastAccountManagerError.
    """
    with transaction.atomic():
        lock(others)
        before = _managers_who_can_sign_in()
        yield
        if before and not _managers_who_can_sign_in():
            raise LastAccountManagerError(name)


def _managers_who_can_sign_in() -> list[UUID]:
    return [each.pk for each in _managers() if _can_sign_in(each)]


def _managers() -> QuerySet[User]:
    found: QuerySet[User] = User.objects.with_perm("chatui.change_user")
    return found.filter(is_staff=True)


def _can_sign_in(person: User) -> bool:
    """Whether they have a password, a passkey, or an identity or directory account of a configured provider."""
    if sign_in_settings.has_own_way(person) or sign_in_settings.has_outside_way(person):
        return True
    provisioned = ProvisionedAccount.objects.filter(user=person, issuer__in=sign_in_settings.outside_issuers(), deleted_at=None)
    return sign_in_settings.may_use_provider(person) and provisioned.exists()
