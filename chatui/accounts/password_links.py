"""One-time links for choosing a new password: created by staff, or e-mailed to people who have forgotten theirs.

Staff create a link and pass it on, but never learn the password.

E-mailed links exist where the operator has configured them. Neither the page nor its response time depends on whether the account exists:
all work happens in the background.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPException
from uuid import UUID

from django.core.mail import EmailMessage
from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from chatui.accounts import api_keys, second_factor, sign_in_settings
from chatui.accounts.mail import BackgroundQueue
from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.limits import GuessLimit, Scope, Throttle
from chatui.models.sign_in import PasswordLink
from chatui.models.user import User
from chatui.permissions import four_eyes
from chatui.permissions.access import NotFoundError
from chatui.site.brand import brand

LIFETIME = timedelta(hours=24)
BY_MAIL = "by mail"
"""The creator of a link that was sent for a forgotten password. No account can have this name, because it has a space."""


@dataclass(frozen=True, slots=True)
class LinkNotice:
    """A notice to a person about a link for their account. ``used_at`` None: the link is unused."""

    made_by: str
    made_at: datetime
    used_at: datetime | None
    used_from: str

    @property
    def is_by_mail(self) -> bool:
        """Whether the link was requested on the sign-in page."""
        return self.made_by == BY_MAIL


def create(visitor: Visitor, person: User, *, voids_password: bool) -> str:
    """Create a link and return its path; earlier links become invalid.

    ``voids_password``: the password, all sessions and all API keys stop working at once. Recorded.
    """
    with transaction.atomic():
        if voids_password:
            person.set_unusable_password()
            person.save(update_fields=["password"])
            api_keys.revoke_with_password(visitor, person)
        PasswordLink.objects.filter(user=person, used_at=None).update(expires_at=timezone.now())
        detail = "the old password does not work any more" if voids_password else ""
        record("make password link", visitor, person.get_username(), detail=detail)
        four_eyes.record_change(visitor.user, [person.pk], "a link for a new password")
        name = visitor.user.get_username() if visitor.user else ""
        link = PasswordLink.objects.create(user=person, made_by_name=name, expires_at=timezone.now() + LIFETIME)
    return reverse("password_link", args=[link.pk, _token(link)])


def person_for(link_id: UUID, token: str) -> User:
    """The person that a link is for. Raises NotFoundError if the link was never valid or is no longer valid."""
    return _find_valid(link_id, token).user


def use(visitor: Visitor, link_id: UUID, token: str, password: str) -> User:
    """Set the password that the person has chosen, and revoke the keys that were created with the old one. A link works once. Recorded.

    Raises:
        NotFoundError: as ``person_for``; also if the link was used in the meantime.
    """
    with transaction.atomic():
        link = _find_valid(link_id, token, locks=True)
        link.user.set_password(password)
        link.user.save(update_fields=["password"])
        PasswordLink.objects.filter(pk=link.pk).update(used_at=timezone.now(), used_from=visitor.address[:64], dismissed_at=None)
        record(
            "use password link",
            Visitor(None, visitor.address, visitor.way),
            link.user.get_username(),
            detail=f"made by {link.made_by_name}",
        )
        api_keys.revoke_with_password(Visitor(None, visitor.address, visitor.way), link.user)
        second_factor.notify(link.user, "password-changed")
    return link.user


def token_of(link: PasswordLink) -> str:
    """The token at the end of a link's address."""
    return _token(link)


def notices(person: User) -> list[LinkNotice]:
    """Notices of links for this person's account that they have not dismissed yet, the latest first."""
    rows = PasswordLink.objects.filter(user=person, dismissed_at=None).order_by("-made_at")[:20]
    return [LinkNotice(row.made_by_name, row.made_at, row.used_at, row.used_from) for row in rows]


def dismiss(person: User) -> None:
    """Dismiss the notices. A notice returns if its link is used later."""
    PasswordLink.objects.filter(user=person, dismissed_at=None).update(dismissed_at=timezone.now())


def _find_valid(link_id: UUID, token: str, *, locks: bool = False) -> PasswordLink:
    rows = PasswordLink.objects.filter(pk=link_id, used_at=None, expires_at__gt=timezone.now(), user__is_active=True)
    link = (rows.select_for_update() if locks else rows).select_related("user").first()
    if link is None or not constant_time_compare(_token(link), token) or not sign_in_settings.may_use(link.user):
        raise NotFoundError
    return link


def _token(link: PasswordLink) -> str:
    # Derived from the password's hash: any other password change makes the link invalid.
    return salted_hmac("chatui.password_link", f"{link.pk} {link.user_id} {link.user.password}", algorithm="sha256").hexdigest()[:48]


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
    return bool(environment().mail_url and environment().origins) and sign_in_settings.is_for_everybody()


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
        PasswordLink.objects.filter(user=person, used_at=None, made_by_name=BY_MAIL).update(expires_at=now)
        link = PasswordLink.objects.create(user=person, made_by_name=BY_MAIL, expires_at=now + RESET_LIFETIME, dismissed_at=now)
        record("mail password link", visitor, person.get_username())
    # Never the host of the request, which the client can choose: the link opens somebody else's account.
    address = environment().origins[0] + reverse("password_link", args=[link.pk, token_of(link)])
    with translation.override(person.language or environment().language):
        name = brand().name
        subject = _("New password for %(site)s") % {"site": name}
        words = _(
            "Somebody asked for a new password for the account %(name)s at %(site)s. If this was you, choose one here within an hour:\n\n"
            "%(address)s\n\nIf this was not you, do nothing: your password will not change."
        )
        body = words % {"name": person.get_username(), "site": name, "address": address}
        EmailMessage(subject, body, environment().mail_from or None, [person.email]).send()
