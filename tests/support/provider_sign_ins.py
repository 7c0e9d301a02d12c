"""Sign-ins with a provider, from what it says of a person on: the account that they open, and accounts that people connect with it."""

from typing import Any

from chatui.accounts.provider_claims import PersonClaims
from chatui.accounts.sign_in_settings import Provider
from chatui.audit_log.record import Visitor
from chatui.lifecycle import scim_people
from chatui.models.user import User

ADDRESS = "192.0.2.1"


def sign_in(table: dict[str, Any], subject: str, name: str = "ada", **said: Any) -> User:
    """Whom the provider of this table lets in, who is called ``subject`` and ``name`` there. ``said``: ``groups``, None if it says none,
    ``directory_id``, and what else is in ``PersonClaims``. Raises SingleSignOnError."""
    return scim_people.find_or_create_account(
        Visitor(None, ADDRESS, "page"), Provider.model_validate(table), _claims(subject, name, **said)
    )


def connect(person: User, table: dict[str, Any], subject: str, name: str = "ada", **said: Any) -> None:
    """This person connects their account with whom the provider says that they are. Raises SingleSignOnError."""
    scim_people.connect(Visitor(person, ADDRESS, "page"), Provider.model_validate(table), _claims(subject, name, **said))


def _claims(subject: str, name: str, groups: frozenset[str] | None = frozenset(), **more: Any) -> PersonClaims:
    return PersonClaims(subject, name, "", groups, **more)
