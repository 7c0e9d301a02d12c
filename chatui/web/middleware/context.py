"""The template context of every page: the visitor, the operator's brand and announcement, whether the demo answers."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from chatui import __version__
from chatui.accounts import password_links
from chatui.branding.brand import brand
from chatui.display.operator_pages import announcement
from chatui.model_servers import connected
from chatui.permissions import access, access_notices, attempts, debug_requests
from chatui.transfer import share_links


def page(request: HttpRequest) -> dict[str, Any]:
    """The context processor."""
    person = access.as_person(getattr(request, "user", None))
    return {
        "announcement": announcement(),
        "brand": brand(),
        "is_demo": connected.is_demo(),
        "can_see_hidden": access.can_see_hidden(person),
        "can_see_failures": access.can_see_failures(person),
        "can_read_audit": access.can_read_audit(person),
        "audit_warnings": len(attempts.unacknowledged()) if access.can_read_audit(person) else 0,
        "owners_are_notified": access_notices.are_enabled(),
        "requests_to_decide": debug_requests.to_decide(person),
        "password_links": password_links.notices(person) if person else [],
        "can_use_admin": person is not None and person.is_staff,
        "can_share": share_links.is_on(),
        "version": __version__,
    }
