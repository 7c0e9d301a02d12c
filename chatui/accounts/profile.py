"""A person's own settings: their name, and how they want the product to behave."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from django.db import transaction

from chatui.audit_log.record import Visitor, record
from chatui.models import ProvisionedAccount, User
from chatui.permissions.access import person_of

SHOWN_CHARS = 150


@dataclass(frozen=True, slots=True)
class Personal:
    """A person's own settings: columns of the account, in which an empty value means the default. ``name``: as others read it.
    ``finds_documents``: their search covers the documents that they sent."""

    name: str = ""
    language: str = ""
    time_zone: str = ""
    theme: str = ""
    choice: str = ""
    effort: str = ""
    instructions: str = field(default="", repr=False)
    finds_documents: bool = False


def of(person: User) -> Personal:
    """As they are now."""
    columns = {name: getattr(person, name) for name in _COLUMNS}
    return Personal(name=person.get_full_name(), **columns)


def is_named_elsewhere(person: User) -> bool:
    """Whether a directory says what the person is called, so that their own word for it would not last."""
    return ProvisionedAccount.objects.filter(user=person, made_account=True, deleted_at=None).exists()


def shown_name(person: User) -> str:
    """As others read it, in up to 150 characters, with the account's name behind: what people call themselves proves nothing."""
    account, name = person.get_username(), person.get_full_name()
    room = SHOWN_CHARS - len(f" ({account})")
    return account if name in ("", account) or room < 1 else f"{name[:room]} ({account})"


def save(visitor: Visitor, wanted: Personal) -> None:
    """Keep what the person wants. Another name is recorded; one that did not change stays in the two parts in which a directory may have
    said it. Where one does say it, it is not the person's to change."""
    person = person_of(visitor)
    columns = {name: value for name, value in asdict(wanted).items() if name in _COLUMNS}
    with transaction.atomic():
        if wanted.name != person.get_full_name() and not is_named_elsewhere(person):
            columns |= {"first_name": wanted.name, "last_name": ""}
            record("account changed", visitor, person.get_username(), detail=f"has the name {wanted.name or '(none)'} now"[:200])
        for name, value in columns.items():
            setattr(person, name, value)
        person.save(update_fields=list(columns))


_COLUMNS = ("language", "time_zone", "theme", "choice", "effort", "instructions", "finds_documents")
