"""Decides which accounts a directory may change, and runs each of its requests in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from chatui.accounts.sign_in_rules import password_use
from chatui.accounts.sign_in_rules.account_managers import LastAccountManagerError
from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.sign_in_rules.sign_in_file import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.models import ProvisionedAccount, User
from chatui.offboarding import closing
from chatui.offboarding.closing import CannotCloseError
from chatui.provisioning.errors import ForbiddenAccountError, TakenError


def changeable_accounts(provider: Provider) -> QuerySet[ProvisionedAccount]:
    """The accounts that this directory has provisioned and may change: no superusers, and no emergency accounts."""
    rows = ProvisionedAccount.objects.filter(issuer=provider.issuer, deleted_at=None, user__is_superuser=False)
    return rows.exclude(user__username__in=sign_in_file().emergency_accounts).select_related("user").order_by("id")


def may_change(user: User) -> bool:
    """Whether a directory may change this account."""
    return not user.is_superuser and not password_use.is_emergency(user.get_username())


@contextmanager
def all_or_nothing(visitor: Visitor, provider: Provider) -> Iterator[None]:
    """A transaction for all changes of one request. A refusal is recorded after the rollback, which would otherwise undo the record.

    Raises:
        TakenError: another resource has the name or id.
        ForbiddenAccountError: the account must not be changed.
    """
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise TakenError from None
    except CannotCloseError as error:
        record(closing.REFUSED, visitor, error.name, detail=error.detail)
        raise ForbiddenAccountError from None
    except LastAccountManagerError as error:
        record("account not changed", visitor, error.name, detail=f"says the directory of {provider.key}: {error}")
        raise ForbiddenAccountError from None
