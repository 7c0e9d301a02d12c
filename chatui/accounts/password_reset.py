"""Password reset: e-mails a one-time link to a person who has forgotten their password, where the operator has configured that.

Neither the page nor its response time depends on whether the account exists: all work happens in the background.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from chatui.accounts import password_links
from chatui.accounts.mails.background_queue import BackgroundQueue
from chatui.accounts.sign_in_rules import password_use
from chatui.audit_log.record import Visitor, record
from chatui.branding.brand import brand
from chatui.env import environment
from chatui.guess_limits import GuessLimit, Scope
from chatui.models import PasswordLink, User
from chatui.throttle import Throttle

log = logging.getLogger(__name__)

RESET_LIFETIME = timedelta(hours=1)
MAX_ACCOUNTS = 3
"""The most accounts with the same e-mail address that get a mail."""

_request_limit = GuessLimit(
    "forgotten password", address=Scope(free=5, longest=600, window=3600), network=Scope(free=20, longest=600, window=3600)
)
_mail_throttle = Throttle("password-mail", attempts=3, seconds=3600)
_queue = BackgroundQueue("password-mail")


def is_on() -> bool:
    """Whether mail can be sent, the address for links is configured, and everybody may use a password."""
    return bool(environment().mail_url and environment().origins) and password_use.is_for_everybody()


def request_links(visitor: Visitor, name_or_address: str) -> None:
    """Send links in the background to the accounts with that user name or e-mail address.

    Raises:
        MustWaitError: too many were requested from the visitor's network address.
    """
    _request_limit.admit(visitor.address)
    _queue.submit(_send_links, visitor.as_nobody(), name_or_address.strip()[:254])


def _send_links(visitor: Visitor, name_or_address: str) -> None:
    try:
        for person in _accounts(name_or_address):
            _send(visitor, person)
    except (DatabaseError, OSError, SMTPException) as error:
        # Only the type: the messages of these errors quote addresses.
        log.error("a password reset mail could not be sent (%s)", type(error).__name__)
    finally:
        connection.close()


def _accounts(name_or_address: str) -> list[User]:
    if not name_or_address:
        return []
    found = User.objects.filter(Q(username=name_or_address) | Q(email__iexact=name_or_address), is_active=True).exclude(email="")
    # Databases ignore case in different ways: two addresses that are equal only to the database are different.
    alike = [person for person in found[:50] if name_or_address == person.username or person.email.casefold() == name_or_address.casefold()]
    return [person for person in alike if person.has_usable_password()][:MAX_ACCOUNTS]


def _send(visitor: Visitor, person: User) -> None:
    if _mail_throttle.exceeded(str(person.pk)):
        return
    with transaction.atomic():
        now = timezone.now()
        # Only links that were requested by mail: a stranger must not be able to invalidate a link that staff created.
        PasswordLink.objects.filter(user=person, used_at=None, made_by_name=password_links.BY_MAIL).update(expires_at=now)
        link = PasswordLink.objects.create(
            user=person, made_by_name=password_links.BY_MAIL, expires_at=now + RESET_LIFETIME, dismissed_at=now
        )
        record("mail password link", visitor, person.get_username())
    # Never the host of the request, which the client can choose: the link opens somebody else's account.
    address = environment().origins[0] + reverse("password_link", args=[link.pk, password_links.token_of(link)])
    with translation.override(person.language or environment().language):
        name = brand().name
        subject = _("New password for %(site)s") % {"site": name}
        words = _(
            "Somebody asked for a new password for the account %(name)s at %(site)s. If this was you, choose one here within an hour:\n\n"
            "%(address)s\n\nIf this was not you, do nothing: your password will not change."
        )
        body = words % {"name": person.get_username(), "site": name, "address": address}
        EmailMessage(subject, body, environment().mail_from or None, [person.email]).send()
