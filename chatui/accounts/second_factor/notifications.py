"""Notifies people when their sign-in methods change: on their pages until dismissed, and by mail if it is configured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from chatui.accounts.mails import sending
from chatui.branding.brand import brand
from chatui.env import environment
from chatui.models import User

MAX_LINES = 10
"""The most notifications that are stored for one person; older ones are dropped."""
SENTENCES = {
    "passkey-added": noop("A passkey was added to your account."),
    "passkey-removed": noop("A passkey was removed from your account."),
    "codes-set-up": noop("One-time codes were set up for your account."),
    "codes-off": noop("One-time codes were switched off for your account."),
    "factor-removed": noop("The second factor of your account was removed."),
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
        body = _("%(what)s\n\nThe account is %(name)s at %(site)s. If this was not you, tell an administrator.") % words
    sending.send_later(locked.email, subject, body)


def notifications_of(person: User) -> list[SignInChange]:
    """The notifications that the person has not dismissed, the latest first. No statement: they are in a column of the account."""
    found = [line.split(" ") for line in person.sign_in_news.splitlines()]
    return [SignInChange(_(SENTENCES[what]), datetime.fromisoformat(at)) for what, at in reversed(found) if what in SENTENCES]


def dismiss(person: User) -> None:
    """Dismiss all notifications of the person."""
    User.objects.filter(pk=person.pk).update(sign_in_news="")
