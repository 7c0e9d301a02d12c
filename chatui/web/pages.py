"""The operator's pages (help, terms of use) and the health check."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chatui.display import operator_pages
from chatui.permissions.access import NotFoundError
from chatui.web.guards import guarded


@require_GET
@guarded
def page(request: HttpRequest, name: str) -> HttpResponse:
    """A page of the operator's: help or terms of use."""
    body = operator_pages.page(name)
    if body is None:
        raise NotFoundError
    return render(request, "site/page.html", {"title": operator_pages.PAGES[name], "body": body, "name": name})


@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """The health check: 200 while the process and its database answer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok\n", content_type="text/plain")
