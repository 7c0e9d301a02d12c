"""What staff read and send on the pages of Administration, as a browser would send it back with some fields changed."""

from uuid import UUID

from django.http import HttpResponse
from django.test import Client

from chatui.models.user import User

PEOPLE = "/manage/people/"
DETAILS = ("username", "first_name", "last_name", "email")


def page_of(person: User, what: str = "") -> str:
    """The address of somebody's page, or of a part of it."""
    return f"{PEOPLE}{person.pk}/{what}/" if what else f"{PEOPLE}{person.pk}/"


def failure_number(turn: UUID) -> str:
    """The number of a failed answer, which a person reads on its page and gives to an admin."""
    digits = str(turn)[-8:].upper()
    return f"{digits[:4]}-{digits[4:]}"


def save_details(client: Client, person: User, **changes: str) -> HttpResponse:
    """Correct somebody's names or address."""
    return client.post(page_of(person, "details"), {name: getattr(person, name) for name in DETAILS} | changes)  # type: ignore[return-value]


def save_rights(client: Client, person: User, **changes: object) -> HttpResponse:
    """Change somebody's ``groups``, own ``permissions`` (keys of rows) or ``is_staff`` ("on" or empty)."""
    form: dict[str, object] = {
        "groups": [str(group.pk) for group in person.groups.all()],
        "permissions": [str(row.pk) for row in person.user_permissions.all()],
        "is_staff": "on" if person.is_staff else "",
    }
    sent = {name: value for name, value in (form | changes).items() if value}
    return client.post(page_of(person, "groups"), sent)  # type: ignore[return-value]
