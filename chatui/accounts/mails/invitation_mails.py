"""E-mails invitation links to people who were invited by an e-mail address."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.accounts.mails import sending
from chatui.branding.brand import brand
from chatui.env import environment
from chatui.models import User


def is_on() -> bool:
    """Whether mail can be sent, and the address for links is configured."""
    return sending.is_on() and bool(environment().origins)


def send(maker: User, links: Sequence[tuple[str, str]], days: int) -> set[str]:
    """Send each link whose note is an e-mail address.

    ``links``: notes and paths. Returns the notes of the links sent; none if mail is off.
    """
    if not is_on():
        return set()
    mailed = {note for note, _path in links if _is_address(note)}
    for note, path in links:
        if note in mailed:
            _send(maker, note, path, days)
    return mailed


def _send(maker: User, address: str, path: str, days: int) -> None:
    with translation.override(environment().language):
        # Never the host of the request, which the client can choose.
        words = {"who": maker.get_username(), "site": brand().name, "link": environment().origins[0] + path, "days": days}
        subject = _("Invitation to %(site)s") % words
        body = ngettext(
            "%(who)s invites you to %(site)s. Create your account here within %(days)s day; the link works once:\n\n%(link)s",
            "%(who)s invites you to %(site)s. Create your account here within %(days)s days; the link works once:\n\n%(link)s",
            days,
        )
        sending.send_later(address, subject, body % words)


def _is_address(note: str) -> bool:
    try:
        validate_email(note)
    except ValidationError:
        return False
    return True
