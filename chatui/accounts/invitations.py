"""Invitations: one-time links with which people create their own accounts and choose their own passwords, sent by e-mail on request."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import resolve, reverse
from django.utils import timezone, translation
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.accounts import account_managers, mail, secret_texts
from chatui.audit_log.record import Visitor, record
from chatui.database import connections
from chatui.env import environment
from chatui.limits import CACHE_ERRORS, Throttle
from chatui.models.invitations import Invitation
from chatui.models.user import User
from chatui.permissions import administration, four_eyes
from chatui.permissions.access import NotFoundError, existing, person_of
from chatui.site.brand import brand

log = logging.getLogger(__name__)

MAX_DAYS = 30
MAX_PER_HOUR = 200
"""Invitations that one member of staff may create, mailed or not: each can be an unsolicited mail."""

MAX_INVITED = 50
"""The most people that can be invited at once."""

_throttle = Throttle("invitations", attempts=MAX_PER_HOUR, seconds=3600)


class TooManyInvitedError(Exception):
    """No more invitations can be created now. ``minutes``: how long to wait."""

    def __init__(self, minutes: int) -> None:
        super().__init__(minutes)
        self.minutes = minutes

    @property
    def sentence(self) -> str:
        words = ngettext(
            "You cannot invite that many people within an hour. Nobody was invited. Try again in %(count)d minute, or with fewer people.",
            "You cannot invite that many people within an hour. Nobody was invited. Try again in %(count)d minutes, or with fewer people.",
            self.minutes,
        )
        return words % {"count": self.minutes}


def _admit(inviter: User, count: int) -> None:
    """Count ``count`` invitations before they are created. Raises TooManyInvitedError if there are too many for now, or they cannot be
    counted: then none may be created."""
    try:
        seconds = _throttle.take(count, str(inviter.pk))
    except CACHE_ERRORS as error:
        log.warning("invitations cannot be counted, and are refused (%s)", type(error).__name__)
        raise TooManyInvitedError(1) from None
    if seconds:
        raise TooManyInvitedError(math.ceil(seconds / 60))


@transaction.atomic
def create(visitor: Visitor, *, days: int, group: Group | None, note: str) -> str:
    """Create an invitation and return the path of its link, which is not stored. Recorded."""
    inviter = person_of(visitor)
    ends = connections.after(timedelta(days=min(days, MAX_DAYS)))
    row = Invitation.objects.create(made_by=inviter, group=group, note=note, expires_at=ends)
    record("make invitation", visitor, detail=f"for {days} days, {_group_text(group)}")
    return reverse("invitation", args=[row.pk, _token(row)])


def invite(visitor: Visitor, notes: Sequence[str], group: Group | None, days: int) -> list[tuple[str, str]]:
    """Create an invitation for each note, or none at all. Each is recorded.

    Returns the notes with the paths of their links, which are not stored.

    Raises:
        NotFoundError: the visitor may not invite people, or not into that group.
        TooManyInvitedError: too many were invited within an hour.
    """
    if not administration.may_invite(person_of(visitor), group):
        raise NotFoundError
    _admit(person_of(visitor), len(notes))
    with transaction.atomic():
        if not administration.may_invite(account_managers.lock_for(person_of(visitor)), group):
            raise NotFoundError
        return [(note, create(visitor, days=days, group=group, note=note)) for note in notes]


def of_account(person: User) -> Invitation | None:
    """The invitation that the account was created with."""
    return Invitation.objects.filter(used_by=person).select_related("made_by").first()


def address_of(row: Invitation | None) -> str:
    """The e-mail address that somebody was invited by; empty if it is a name. It proves nothing about who used the link."""
    return row.note if row and mail.is_address(row.note) else ""


@transaction.atomic
def revoke(visitor: Visitor, invitation_id: UUID) -> None:
    """Revoke an invitation, if it is still valid. Recorded. Raises NotFoundError if it does not exist, or the visitor could not have
    created it themselves."""
    row = existing(Invitation.objects.filter(pk=invitation_id).select_related("made_by", "group").first())
    if not administration.may_invite(account_managers.lock_for(person_of(visitor)), row.group):
        raise NotFoundError
    if Invitation.objects.filter(pk=row.pk, used_at=None, revoked_at=None).update(revoked_at=timezone.now()):
        record("revoke invitation", visitor, detail=f"made by {row.made_by.get_username()}, {_group_text(row.group)}")


def find_valid(invitation_id: UUID | str, token: str) -> Invitation:
    """The invitation of a link. Raises NotFoundError if the link was never valid or is no longer valid."""
    return _find_valid(Invitation.objects.all(), invitation_id, token)


def was_used(invitation_id: UUID | str, token: str) -> bool:
    """Whether this is the whole link of an invitation that was used: only whoever was sent it can ask, and learns no name."""
    row = Invitation.objects.filter(pk=invitation_id, used_at__isnull=False).first()
    return row is not None and constant_time_compare(_token_like(token, row), token)


def accept(visitor: Visitor, invitation_id: UUID | str, token: str, person: User) -> None:
    """Use an invitation for an account that has just been created. Call it in the transaction that creates the account. Recorded.
    Raises NotFoundError as ``find_valid``, and if somebody else has just used it."""
    row = _find_valid(Invitation.objects.select_for_update(of=("self",)), invitation_id, token)
    row.used_at, row.used_by = timezone.now(), person
    row.save(update_fields=["used_at", "used_by"])
    record(
        "use invitation",
        visitor.as_nobody(),
        person.get_username(),
        detail=f"made by {row.made_by.get_username()}, {_group_text(row.group)}",
    )
    if row.group is not None:
        person.groups.add(row.group)
        four_eyes.record_joined(person, [row.group.name])
    four_eyes.record_change(row.made_by, [person.pk], "account made with their invitation")


def create_account(visitor: Visitor, invitation_id: UUID, token: str, name: str, password: str) -> User:
    """Create the account of an invited person, with the name and password that they chose, and with the address that a mailed link was sent
    to. Raises NotFoundError as ``accept``."""
    with transaction.atomic():
        row = find_valid(invitation_id, token)
        address = address_of(row) if constant_time_compare(_mailed_token(row), token) else ""
        person: User = User.objects.create_user(name, email=address, password=password)
        accept(visitor, invitation_id, token, person)
    return person


def pending() -> QuerySet[Invitation]:
    """Invitations that can still be used, the newest first."""
    rows = Invitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=connections.now(), made_by__is_active=True)
    return rows.select_related("made_by", "group").order_by("-made_at")


def ended() -> QuerySet[Invitation]:
    """Invitations that were used or revoked, or have expired, the newest first."""
    is_over = Q(revoked_at__isnull=False) | Q(used_at__isnull=False) | Q(expires_at__lte=connections.now()) | Q(made_by__is_active=False)
    return Invitation.objects.filter(is_over).select_related("made_by", "group", "used_by").order_by("-made_at")


def _find_valid(rows: QuerySet[Invitation], invitation_id: UUID | str, token: str) -> Invitation:
    open_rows = rows.filter(revoked_at=None, made_by__is_active=True).select_related("made_by", "group")
    row = secret_texts.unused_link(open_rows, invitation_id, token, partial(_token_like, token))
    # Checked again: the creator may have lost the permission since, or the group may have been given more than the creator holds.
    if not administration.may_invite(row.made_by, row.group):
        raise NotFoundError
    return row


def _group_text(group: Group | None) -> str:
    return f"to group {group.name}" if group else "to no group"


def _token(row: Invitation) -> str:
    # The token covers the group: a link is valid only for the group that it was created for.
    return secret_texts.link_token("invitation", row.pk, row.group_id)


def _mailed_token(row: Invitation) -> str:
    """Only the mail to the invited address has this one, so whoever uses it reads mail there."""
    return secret_texts.link_token("invitation by mail", row.pk, row.group_id, row.note)


def _token_like(token: str, row: Invitation) -> str:
    mailed = _mailed_token(row)
    return mailed if constant_time_compare(mailed, token) else _token(row)


def send(maker: User, links: Sequence[tuple[str, str]], days: int) -> set[str]:
    """Send each invitation whose note is an e-mail address, with a link of its own that proves this address.

    ``links``: notes and paths. Returns the notes of the links sent; none if mail is off.
    """
    if not mail.can_send_links():
        return set()
    mailed = {resolve(path).kwargs["invitation_id"]: note for note, path in links if mail.is_address(note)}
    for row in Invitation.objects.filter(pk__in=mailed):
        _send(maker, row.note, reverse("invitation", args=[row.pk, _mailed_token(row)]), days)
    return set(mailed.values())


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
        mail.send_later(address, subject, body % words)
