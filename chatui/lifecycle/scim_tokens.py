"""What a directory may do: its SCIM token, and the accounts that it may change.

Each of a directory's requests runs in one transaction. There is one token for each provider, stored as a digest, valid only for the SCIM
endpoints.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.accounts import sign_in_settings
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.accounts.secret_texts import digest_of, note_use
from chatui.accounts.sign_in_settings import Provider, provider_of, sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.audit_log.repeated_action import RepeatedAction
from chatui.guesses import GuessLimit
from chatui.lifecycle import closing
from chatui.lifecycle.closing import CannotCloseError
from chatui.lifecycle.scim_resources import ForbiddenAccountError, ResourceExistsError
from chatui.limits import Throttle
from chatui.models.provisioning import ProvisionedAccount, ProvisioningToken
from chatui.models.user import User


def changeable_accounts(provider: Provider) -> QuerySet[ProvisionedAccount]:
    """The accounts that this directory has provisioned and may change: no superusers, no emergency accounts, and not the heir."""
    rows = ProvisionedAccount.objects.filter(issuer=provider.issuer, deleted_at=None, user__is_superuser=False, user__is_heir=False)
    return rows.exclude(user__username__in=sign_in_file().emergency_accounts).select_related("user").order_by("id")


def may_change(user: User) -> bool:
    return not user.is_heir and sign_in_settings.may_use_provider(user)


@contextmanager
def all_or_nothing(visitor: Visitor, provider: Provider) -> Iterator[None]:
    """A transaction for all changes of one request. A refusal is recorded after the rollback, which would otherwise undo the record.

    Raises:
        ResourceExistsError: another resource has the name or id.
        ForbiddenAccountError: the account must not be changed.
    """
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise ResourceExistsError from None
    except CannotCloseError as error:
        record(closing.REFUSED, visitor, error.name, detail=error.detail)
        raise ForbiddenAccountError from None
    except LastAccountManagerError as error:
        record("account not changed", visitor, error.name, detail=f"says the directory of {provider.key}: {error}")
        raise ForbiddenAccountError from None


MADE, REVOKED, REFUSED = "make directory token", "revoke directory token", "directory token refused"
PER_MINUTE = 1200

_PATTERN = re.compile(r"scim_[A-Za-z0-9_-]{43}")
_wrong_tokens = GuessLimit("directory token")
_refusals = RepeatedAction(REFUSED, per_key=5, total=200)
_request_limit = Throttle("scim", attempts=PER_MINUTE, seconds=60)


class TokenRefusedError(Exception):
    """The token is unknown, or its provider is no longer configured."""


def create(visitor: Visitor, provider: Provider) -> str:
    """Create a token, of which only a digest is stored. The provider's earlier token is no longer valid. Recorded."""
    text = f"scim_{secrets.token_urlsafe(32)}"
    record(MADE, visitor, detail=f"for {provider.key}")
    defaults = {"digest": digest_of(text), "made_at": timezone.now(), "last_used_on": None}
    ProvisioningToken.objects.update_or_create(provider=provider.key, defaults=defaults)
    return text


def revoke(visitor: Visitor, key: str) -> bool:
    """Revoke a provider's token. Recorded. Returns whether one existed."""
    if not ProvisioningToken.objects.filter(provider=key).delete()[0]:
        return False
    record(REVOKED, visitor, detail=f"of {key}")
    return True


def authenticate(visitor: Visitor, text: str) -> Provider:
    """The provider whose token this is. The request counts towards the provider's limit.

    Raises:
        TokenRefusedError: the token is invalid. The first refusals are recorded.
        MustWaitError: too many invalid tokens came from this address.
        ThrottledError: the token is valid, but there were too many requests within a minute.
    """
    row = ProvisioningToken.objects.filter(digest=digest_of(text)).first() if _PATTERN.fullmatch(text) else None
    provider = provider_of(row.provider) if row else None
    if row is None or provider is None:
        if _PATTERN.fullmatch(text):
            _refusals.record(visitor, visitor.address, None, f"of {row.provider}, which is not configured" if row else "no such token")
        _wrong_tokens.miss(visitor.address)
        raise TokenRefusedError
    _request_limit.check(provider.key)
    note_use(row)
    return provider
