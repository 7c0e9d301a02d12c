"""The context of every page: the visitor, the operator's brand and announcement, and whether the demo is on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest

from chatui import program
from chatui.accounts import passkey_ceremonies, password_links, sign_in_notices
from chatui.display import operator_pages
from chatui.env import ASSETS_DIR, environment
from chatui.model_servers import connected
from chatui.permissions import access, access_notices, administration, attempts, debug_requests, shares
from chatui.site.brand import brand
from chatui.site.languages import LANGUAGES, page_language
from chatui.tools import rules

if TYPE_CHECKING:
    from chatui.models.user import User


_CATALOGUES = "js/language/catalogues"
_SPOKEN = frozenset(path.stem for path in (ASSETS_DIR / "static" / _CATALOGUES).glob("*.js"))
"""The languages of the page's scripts besides English, their source language."""


def page(request: HttpRequest) -> dict[str, Any]:
    """The context processor."""
    person = access.as_person(getattr(request, "user", None))
    warnings = len(attempts.unacknowledged()) if access.can_read_audit(person) else 0
    return {
        "announcement": operator_pages.read("announcement"),
        "brand": brand(),
        "page_language": page_language(),
        "page_catalogue": catalogue_of(page_language().code),
        "languages": LANGUAGES,
        "language_chosen": person.language if person else request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        "theme": person.theme if person else "",
        "origin_for_passkeys": lambda: passkey_ceremonies.named_origin(str(request.scheme), request.get_host()),
        "is_demo": connected.is_demo,  # asks the database, so only where it is shown: not on an error page while that is away
        "can_see_hidden": access.can_see_hidden(person),
        "can_see_failures": access.can_see_failures(person),
        "can_read_audit": access.can_read_audit(person),
        "audit_warnings": warnings,
        "tasks_of_staff": warnings + (debug_requests.count_to_decide(person) or 0),
        "owners_are_notified": access_notices.are_enabled(),
        # Evaluated only if a template uses it: pages that show a conversation have their own notice.
        "access_news": partial(access_notices.news, person) if person else None,
        "password_links": password_links.notices(person) if person else [],
        "sign_in_news": sign_in_notices.notifications_of(person) if person else [],
        "can_manage": bool(administration.parts_of(person)),
        "may_add_servers": partial(administration.may_add_servers, person),
        "has_tool_accounts": partial(_has_tool_accounts, person),
        "can_share": shares.may_share(person),
        "worker_cache": worker_cache if environment().service_worker else "",
        "version": program.version(),
    }


def worker_cache() -> str:
    """The name of the service worker's cache, which says of which version a worker, or a page, is: it changes with any static file, the
    operator's brand and the release."""
    return "-".join(["chatui", program.version(), getattr(staticfiles_storage, "manifest_hash", ""), brand().digest])


def _has_tool_accounts(person: User | None) -> bool:
    if person is None or not rules.has_servers():
        return False
    from chatui.display import tool_sign_in  # takes 2 MB, and most installations have no tool servers

    return tool_sign_in.has_accounts(person)


def catalogue_of(language: str) -> str:
    """The static path of the module with the scripts' messages in that language; empty if there is none to load."""
    return f"{_CATALOGUES}/{language}.js" if language in _SPOKEN else ""
