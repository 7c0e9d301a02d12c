"""The operator's pages and files (help, terms of use, mark, colours), and the list of keyboard shortcuts."""

from __future__ import annotations

from csp.decorators import csp
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chatui.branding import brand
from chatui.display import operator_pages
from chatui.permissions.access import NotFoundError
from chatui.web.guards import guarded

# A picture that is opened directly is a document: it may run nothing and load nothing, and has an opaque origin.
_NOTHING = {"default-src": ["'none'"], "base-uri": ["'none'"], "form-action": ["'none'"], "frame-ancestors": ["'none'"], "sandbox": True}


@require_GET
@guarded
def page(request: HttpRequest, name: str) -> HttpResponse:
    """A page of the operator's: help or terms of use."""
    body = operator_pages.page(name)
    if body is None:
        raise NotFoundError
    return render(request, "site/page.html", {"title": operator_pages.PAGES[name], "body": body, "name": name})


@require_GET
@login_required
@guarded
def shortcuts(request: HttpRequest) -> HttpResponse:
    """The fragment that lists the keyboard shortcuts of the chat page."""
    return render(request, "shortcuts/_sheet.html")


@require_GET
@guarded
@csp(_NOTHING)  # type: ignore[arg-type]
def brand_file(request: HttpRequest, digest: str, file: str) -> HttpResponse:
    """The operator's mark, or a style sheet with their colour. Its address changes with its content, so browsers may keep it for ever."""
    found = brand.file(digest, file)
    if found is None:
        raise NotFoundError
    response = HttpResponse(found.data, content_type=found.content_type)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response
