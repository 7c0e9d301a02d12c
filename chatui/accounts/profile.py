"""A person's own settings: their name, their preferences, and the time zones that they can choose.

Time zones have the IANA names that this machine knows.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django.db import transaction

from chatui.audit_log.record import Visitor, record
from chatui.models.provisioning import ProvisionedAccount
from chatui.models.user import User
from chatui.permissions.access import person_of

SHOWN_CHARS = 150


@dataclass(frozen=True, slots=True)
class PersonalSettings:
    """A person's own settings, which are columns of the account. An empty value means the default."""

    name: str = ""
    """What others see."""
    language: str = ""
    time_zone: str = ""
    theme: str = ""
    choice: str = ""
    effort: str = ""
    instructions: str = field(default="", repr=False)
    finds_documents: bool = False
    """Whether their search includes the documents that they sent."""


def settings_of(person: User) -> PersonalSettings:
    columns = {name: getattr(person, name) for name in _COLUMNS}
    return PersonalSettings(name=person.get_full_name(), **columns)


def is_name_managed(person: User) -> bool:
    """Whether a directory manages the person's name and would overwrite a change of their own."""
    return ProvisionedAccount.objects.filter(user=person, made_account=True, deleted_at=None).exists()


def shown_name(person: User) -> str:
    """The name that others see, of up to 150 characters. It ends with the account name, because people can call themselves anything."""
    account, name = person.get_username(), person.get_full_name()
    room = SHOWN_CHARS - len(f" ({account})")
    return account if name in ("", account) or room < 1 else f"{name[:room]} ({account})"


def save(visitor: Visitor, wanted: PersonalSettings) -> None:
    """Save the person's settings.

    A change of the name is recorded. Without one, the first and last name, which a directory may have set, stay as they are. If a directory
    manages the name, the person cannot change it.
    """
    person = person_of(visitor)
    columns = {name: value for name, value in asdict(wanted).items() if name in _COLUMNS}
    with transaction.atomic():
        if wanted.name != person.get_full_name() and not is_name_managed(person):
            columns |= {"first_name": wanted.name, "last_name": ""}
            record("account changed", visitor, person.get_username(), detail=f"has the name {wanted.name or '(none)'} now"[:200])
        for name, value in columns.items():
            setattr(person, name, value)
        person.save(update_fields=list(columns))


_COLUMNS = ("language", "time_zone", "theme", "choice", "effort", "instructions", "finds_documents")


_PLACES = ("Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")


@cache
def names() -> tuple[str, ...]:
    """The time zones named after places, in alphabetical order."""
    return tuple(sorted(name for name in available_timezones() if name.startswith(_PLACES)))


class Zone(ZoneInfo):
    """A zone whose times say how far it is from UTC, such as ``UTC+5:30``. Browsers can write that, but not "CET" for every language."""

    def tzname(self, when: datetime | None, /) -> str | None:
        offset = self.utcoffset(when)
        if offset is None:
            return None
        minutes = abs(offset) // timedelta(minutes=1)
        sign = "-" if offset < timedelta() else "+"
        return "UTC" + (f"{sign}{minutes // 60}" if minutes else "") + (f":{minutes % 60:02}" if minutes % 60 else "")


def zone_of(name: str) -> tzinfo:
    """The zone of that name; UTC for an empty name, and for one that this machine no longer knows."""
    try:
        return Zone(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
