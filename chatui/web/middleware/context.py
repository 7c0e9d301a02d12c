"""The template context of every page: the visitor, the operator's brand and announcement, and whether the demo is on."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from chatui import __version__
from chatui.accounts import password_links
from chatui.accounts.second_factor import notifications
from chatui.branding.brand import brand
from chatui.display.operator_pages import announcement
from chatui.env import BASE_DIR, environment
from chatui.languages.available import LANGUAGES, page_language
from chatui.model_servers import connected
from chatui.permissions import access, access_notices, administration, attempts, debug_requests, ratings, usage_reading
from chatui.permissions.by_group import sharing

_CATALOGUES = "js/language/catalogues"
_SPOKEN = frozenset(path.stem for path in (BASE_DIR / "static" / _CATALOGUES).glob("*.js"))
"""The languages of the page's scripts besides English, their source language."""


def page(request: HttpRequest) -> dict[str, Any]:
    """The context processor."""
    person = access.as_person(getattr(request, "user", None))
    return {
        "announcement": announcement(),
        "brand": brand(),
        "page_language": page_language(),
        "page_catalogue": catalogue_of(page_language().code),
        "languages": LANGUAGES,
        "language_chosen": person.language if person else request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        "theme": person.theme if person else "",
        "is_demo": connected.is_demo(),
        "can_see_hidden": access.can_see_hidden(person),
        "can_see_failures": access.can_see_failures(person),
        "can_read_audit": access.can_read_audit(person),
        "can_export_ratings": ratings.can_export(person),
        "audit_warnings": len(attempts.unacknowledged()) if access.can_read_audit(person) else 0,
        "owners_are_notified": access_notices.are_enabled(),
        "can_read_usage": usage_reading.can_read_usage(person),
        # Evaluated only if a template uses it: pages that show a conversation have their own notice.
        "access_news": partial(access_notices.news, person) if person else None,
        "requests_to_decide": debug_requests.count_to_decide(person),
        "password_links": password_links.notices(person) if person else [],
        "sign_in_news": notifications.notifications_of(person) if person else [],
        "can_manage": bool(administration.parts_of(person)),
        "can_use_admin": person is not None and person.is_staff,
        "can_share": sharing.may_share(person),
        "has_worker": environment().service_worker,
        "version": __version__,
    }


def catalogue_of(language: str) -> str:
    """The static path of the module with the scripts' messages in that language; empty if there is none to load."""
    return f"{_CATALOGUES}/{language}.js" if language in _SPOKEN else ""
