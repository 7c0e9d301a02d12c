"""One-time links for choosing a new password: created by staff, or e-mailed to people who have forgotten theirs.

Staff create a link and pass it on, but never learn the password.

E-mailed links exist where the operator has configured them. Neither the page nor its response time depends on whether the account exists:
all work happens in the background.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from chatui.accounts import api_keys, mail, secret_texts, sign_in_notices, sign_in_settings
from chatui.accounts.mail import BackgroundQueue
from chatui.audit_log.record import Visitor, record
from chatui.database import connections
from chatui.env import environment
from chatui.guesses import GuessLimit, Scope
from chatui.limits import Throttle
from chatui.models.sign_in import PasswordLink
from chatui.models.user import User
from chatui.permissions import four_eyes
from chatui.permissions.access import NotFoundError
from chatui.site.brand import brand

LIFETIME = timedelta(hours=24)


def create(visitor: Visitor, person: User, *, voids_password: bool) -> str:
    """Create a link and return its path; earlier links become invalid.

    ``voids_password``: the password, all sessions and all API keys stop working at once. Recorded.
    """
    with transaction.atomic():
        if voids_password:
            person.set_unusable_password()
            person.save(update_fields=["password"])
            api_keys.revoke_all(visitor, person)
        PasswordLink.objects.filter(user=person, used_at=None).update(expires_at=connections.now())
        detail = "the old password does not work any more" if voids_password else ""
        record("make password link", visitor, person.get_username(), detail=detail)
        four_eyes.record_change(visitor.user, [person.pk], "a link for a new password")
        name = visitor.user.get_username() if visitor.user else ""
        link = PasswordLink.objects.create(user=person, made_by_name=name, expires_at=connections.after(LIFETIME))
    return _path(link)


def person_for(link_id: UUID, token: str) -> User:
    """The person that a link is for. Raises NotFoundError if the link was never valid or is no longer valid."""
    return _find_valid(link_id, token).user


def use(visitor: Visitor, link_id: UUID, token: str, password: str) -> User:
    """Set the password that the person has chosen, and revoke the keys that were created with the old one. A link works once. Recorded.
    Raises NotFoundError as ``person_for``, and if the link was used in the meantime."""
    with transaction.atomic():
        link = _find_valid(link_id, token, locks=True)
        link.user.set_password(password)
        link.user.save(update_fields=["password"])
        PasswordLink.objects.filter(pk=link.pk).update(used_at=timezone.now(), used_from=visitor.address[:64], dismissed_at=None)
        record("use password link", visitor.as_nobody(), link.user.get_username(), detail=f"made by {link.made_by_name}")
        api_keys.revoke_all(visitor.as_nobody(), link.user)
        sign_in_notices.notify(link.user, "password-changed")
    return link.user


def notices(person: User) -> QuerySet[PasswordLink]:
    """The links for this person's account whose notice they have not dismissed yet, the latest first."""
    return PasswordLink.objects.filter(user=person, dismissed_at=None).order_by("-made_at")[:20]


def dismiss(person: User) -> None:
    """Dismiss the notices. A notice returns if its link is used later."""
    PasswordLink.objects.filter(user=person, dismissed_at=None).update(dismissed_at=timezone.now())


def _find_valid(link_id: UUID, token: str, *, locks: bool = False) -> PasswordLink:
    rows = PasswordLink.objects.filter(user__is_active=True).select_related("user")
    link = secret_texts.unused_link(rows.select_for_update() if locks else rows, link_id, token, _token)
    if not sign_in_settings.may_use(link.user):
        raise NotFoundError
    return link


def _path(link: PasswordLink) -> str:
    return reverse("password_link", args=[link.pk, _token(link)])


def _token(link: PasswordLink) -> str:
    # Derived from the password's hash: any other password change makes the link invalid.
    return secret_texts.link_token("password_link", link.pk, link.user_id, link.user.password)


RESET_LIFETIME = timedelta(hours=1)
MAX_ACCOUNTS = 3
"""The most accounts with the same e-mail address that get a mail."""

_request_limit = GuessLimit(
    "forgotten password", address=Scope(free=5, longest=600, window=3600), network=Scope(free=20, longest=600, window=3600)
)
_mail_throttle = Throttle("password-mail", attempts=3, seconds=3600)
_queue = BackgroundQueue("password-mail")
"""Finds the accounts: neither the page nor its response time says whether there are any."""


def is_on() -> bool:
    """Whether links can be mailed, and everybody may use a password."""
    return mail.can_send_links() and sign_in_settings.is_for_everybody()


def request_links(visitor: Visitor, name_or_address: str) -> None:
    """Send links in the background to the accounts with that user name or e-mail address. Raises MustWaitError if too many were requested
    from the visitor's network address."""
    _request_limit.miss(visitor.address)
    _queue.submit(_send_links, visitor.as_nobody(), name_or_address.strip()[:254])


def _send_links(visitor: Visitor, name_or_address: str) -> None:
    try:
        for person in _accounts(name_or_address):
            if not _mail_throttle.exceeded(str(person.pk)):
                _send(visitor, person)
    finally:
        connection.close()


def _accounts(name_or_address: str) -> list[User]:
    if not name_or_address:
        return []
    found = User.objects.filter(Q(username=name_or_address) | Q(email__iexact=name_or_address), is_active=True).exclude(email="")
    # Databases ignore case in different ways: two addresses that are equal only to the database are different.
    alike = [person for person in found[:50] if name_or_address == person.username or person.email.casefold() == name_or_address.casefold()]
    return [person for person in alike if person.has_usable_password()][:MAX_ACCOUNTS]


@transaction.atomic
def _send(visitor: Visitor, person: User) -> None:
    # Only links that were requested by mail: a stranger must not be able to invalidate a link that staff created.
    PasswordLink.objects.filter(user=person, used_at=None, made_by_name=PasswordLink.BY_MAIL).update(expires_at=connections.now())
    ends = connections.after(RESET_LIFETIME)
    link = PasswordLink.objects.create(user=person, made_by_name=PasswordLink.BY_MAIL, expires_at=ends, dismissed_at=timezone.now())
    record("mail password link", visitor, person.get_username())
    with translation.override(person.language or environment().language):
        # Never the host of the request, which the client can choose: the link opens somebody else's account.
        words = {"name": person.get_username(), "site": brand().name, "address": environment().origins[0] + _path(link)}
        body = _(
            "Somebody asked for a new password for the account %(name)s at %(site)s. If this was you, choose one here within an hour:\n\n"
            "%(address)s\n\nIf this was not you, do nothing: your password will not change."
        )
        mail.send_later(person.email, _("New password for %(site)s") % words, body % words)
