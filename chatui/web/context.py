"""What every page gets: who is looking, the operator's announcement, and whether answers come from the demo."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from chatui import __version__, access, attempts, conf, looks, openings, sharing
from chatui.operator_pages import announcement

SIDEBAR_LENGTH = 200


def page(request: HttpRequest) -> dict[str, Any]:
    """The context processor."""
    person = access.as_person(getattr(request, "user", None))
    return {
        "announcement": announcement(),
        "is_demo": conf.is_demo(),
        "can_see_hidden": access.can_see_hidden(person),
        "can_read_audit": access.can_read_audit(person),
        "audit_warnings": len(attempts.unacknowledged()) if access.can_read_audit(person) else 0,
        "owners_are_told": looks.are_told(),
        "requests_to_decide": openings.to_decide(person),
        "can_use_office": person is not None and person.is_staff,
        "can_share": sharing.is_on(),
        "version": __version__,
    }
