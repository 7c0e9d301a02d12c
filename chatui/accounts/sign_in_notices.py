"""Tells people that their sign-in methods have changed: on their pages until dismissed, and by mail if it is configured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from chatui.accounts import mail
from chatui.env import environment
from chatui.models.user import User
from chatui.site.brand import brand

MAX_LINES = 10
"""The most notifications that are stored for one person; older ones are dropped."""
SENTENCES = {
    "address-changed": noop("The e-mail address of your account was changed."),
    "passkey-added": noop("A passkey was added to your account."),
    "passkey-removed": noop("A passkey was removed from your account."),
    "codes-set-up": noop("One-time codes were set up for your account."),
    "codes-off": noop("One-time codes were switched off for your account."),
    "factor-removed": noop("The second factor of your account was removed."),
    "identity-connected": noop("An account at a sign-in service was connected to your account."),
    "identity-removed": noop("An account at a sign-in service was disconnected from your account."),
    "key-made": noop("An API key was created for your account."),
    "key-revoked": noop("An API key of your account was revoked."),
    "password-changed": noop("The password of your account was changed."),
    "recovery-codes": noop("New recovery codes were created for your account and replace all earlier ones."),
}


@dataclass(frozen=True, slots=True)
class SignInChange:
    """A change that the person is notified of. ``sentence`` is in the language of the page."""

    sentence: str
    at: datetime


def notify(person: User, what: str) -> None:
    """Notify the person once the transaction is committed. Call it in the transaction of the change. ``what`` is a key of SENTENCES."""
    locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    lines = [*locked.sign_in_news.splitlines(), f"{what} {timezone.now().isoformat()}"]
    User.objects.filter(pk=person.pk).update(sign_in_news="\n".join(lines[-MAX_LINES:]))
    with translation.override(locked.language or environment().language):
        words = {"site": brand().name, "name": locked.get_username(), "what": _(SENTENCES[what])}
        subject = _("Signing in to %(site)s") % words
        if locked.is_staff:
            body = _("%(what)s\n\nThe account is %(name)s at %(site)s. If this was not you, change your password and sign out everywhere.")
        else:
            body = _("%(what)s\n\nThe account is %(name)s at %(site)s. If this was not you, tell an administrator.")
    mail.send_later(locked.email, subject, body % words)


def notifications_of(person: User) -> list[SignInChange]:
    """The notifications that the person has not dismissed, the latest first. No statement: they are in a column of the account."""
    found = [line.split(" ") for line in person.sign_in_news.splitlines()]
    return [SignInChange(_(SENTENCES[what]), datetime.fromisoformat(at)) for what, at in reversed(found) if what in SENTENCES]


def dismiss(person: User) -> None:
    User.objects.filter(pk=person.pk).update(sign_in_news="")
