"""The operator's confirmations of other servers' tools. They are in the database, so that every process on every machine offers the same.

Each decision is a line of the audit log. Until 0.1.0 they were in a file in the data directory: ``take_over`` stores what is in one that is
still there.
"""

from __future__ import annotations

import getpass
import hashlib
import logging
import os
import platform
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chatui.audit_log.record import PRODUCT, SHELL, Visitor, lock, record
from chatui.json_schemas import UnusableError
from chatui.models.audit import AuditEvent
from chatui.models.tools import ToolConfirmation
from chatui.tools.remote.offers import ToolOffer

log = logging.getLogger(__name__)

FILE = "confirmed_tools.json"
_MAX_BYTES = 10_000_000
_DIGEST_CHARS = 16


class Confirmation(BaseModel):
    """An offer as the operator confirmed it, the time, and the operator's login, if it is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    offer: ToolOffer
    digest: str
    confirmed_at: datetime
    confirmed_by: str = ""
    place: str = ""


Confirmations = Mapping[str, Confirmation]
"""By our names of the tools."""


def stamp() -> frozenset[tuple[str, str, str]]:
    """What is confirmed, by names, digests and places, in one small query."""
    return frozenset(ToolConfirmation.objects.exclude(digest="").values_list("name", "digest", "place"))


def is_current(name: str, digest: str, place: str) -> bool:
    """Whether this is confirmed now: for calls of an answer that began before."""
    return ToolConfirmation.objects.filter(name=name, digest=digest, place=place).exclude(digest="").exists()


def stored() -> Confirmations:
    """The confirmations. Rows that do not match their digest are left out."""
    found = {}
    for row in ToolConfirmation.objects.exclude(digest=""):
        try:
            offer = ToolOffer.model_validate_json(row.offer)
        except ValidationError:
            continue
        if (offer.name, offer.digest()) == (row.name, row.digest):
            confirmed = Confirmation(offer=offer, digest=row.digest, confirmed_at=row.decided_at, confirmed_by=row.decided_by)
            found[row.name] = confirmed.model_copy(update={"place": row.place})
    return found


def confirm(offer: ToolOffer, visitor: Visitor = SHELL, place: str = "") -> None:
    """Confirm an offer of the server at that place as it is. It replaces any of the same name."""
    with transaction.atomic():
        who = _name_of(visitor)
        _decide(offer.name, offer, timezone.now(), who, place)
        _record("tool confirmed", visitor, offer.name, f"{offer.digest()[:_DIGEST_CHARS]}, by {who or 'somebody'}")


def withdraw(name: str, visitor: Visitor = SHELL) -> bool:
    """Withdraw the confirmation of a tool. False if there is none: then only an older one, in a file, will not be taken over."""
    with transaction.atomic():
        was_confirmed = ToolConfirmation.objects.filter(name=name).exclude(digest="").exists()
        _decide(name, None, timezone.now(), _name_of(visitor))
        if was_confirmed:
            _record("tool confirmation withdrawn", visitor, name, f"by {_name_of(visitor) or 'somebody'}")
        return was_confirmed


def _decide(name: str, offer: ToolOffer | None, at: datetime, login: str, place: str = "") -> None:
    values = {"offer": offer.model_dump_json() if offer else "", "digest": offer.digest() if offer else ""}
    ToolConfirmation.objects.update_or_create(name=name, defaults={**values, "decided_at": at, "decided_by": login, "place": place})


def _record(action: str, visitor: Visitor, name: str, words: str) -> None:
    record(action, visitor, detail=f"{name}: {words}")


def _name_of(visitor: Visitor) -> str:
    return visitor.user.get_username() if visitor.user else _login()


def _login() -> str:
    """Who uses the shell, as far as the system knows."""
    try:
        return (os.environ.get("SUDO_USER") or getpass.getuser())[:150]
    except (OSError, KeyError):  # a number without a name, as in containers
        return ""


class _File(BaseModel):
    """The content of the file. ``tools``: by our names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(1, ge=1, le=1)
    tools: dict[str, Confirmation] = Field(default_factory=dict)


def take_over(data_dir: Path) -> int:
    """Store the confirmations of a file in the data directory, once, except for those of tools about which there is a later decision.
    Returns how many were stored.

    The file stays where it is: processes of the release before may still read it. What does not match its digest was never confirmed.

    Raises:
        UnusableError: the file is damaged. Nothing was stored.
    """
    try:
        with (data_dir / FILE).open("rb") as file:
            content = file.read(_MAX_BYTES)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise UnusableError(f"{FILE} in the data directory cannot be read ({error.strerror})") from None
    try:
        confirmed_file = _File.model_validate_json(content)
    except ValidationError as error:
        raise UnusableError(f"{FILE} in the data directory is damaged ({error.error_count()} mistakes)") from None
    with transaction.atomic():
        lock()  # several processes may start with one directory
        done = f"{FILE} {hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS]}"
        if AuditEvent.objects.filter(action=_TAKEN, detail__startswith=done).exists():
            return 0
        later = dict(ToolConfirmation.objects.values_list("name", "decided_at"))
        taken = [
            (name, each)
            for name, each in sorted(confirmed_file.tools.items())
            if each.offer.name == name and each.offer.digest() == each.digest and not (name in later and later[name] >= each.confirmed_at)
        ]
        for name, each in taken:
            _decide(name, each.offer, each.confirmed_at, each.confirmed_by)
            _record("tool confirmed", PRODUCT, name, f"{each.digest[:_DIGEST_CHARS]}, in {FILE} on {each.confirmed_at:%Y-%m-%d}")
        record(_TAKEN, PRODUCT, detail=f"{done} of {platform.node()}: {len(taken)} of {len(confirmed_file.tools)}")
    return len(taken)


_TAKEN = "confirmed tools taken over"
