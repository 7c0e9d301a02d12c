"""What a list of a person's own things says above it: that one was saved, deleted, with a way back, or restored, or why it was not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from chatui.permissions.access import NotFoundError
from chatui.web.guards import person_of


def done(request: HttpRequest, deleted: Callable[[Any, str], object], full: object) -> dict[str, Any]:
    """For the template ``sidebar/_done.html``. ``deleted``: finds what the person deleted; ``full``: why nothing can be restored."""
    found = None
    if asked := request.GET.get("deleted"):
        try:
            found = deleted(person_of(request), asked)
        except NotFoundError:
            found = None  # it was restored, or is erased
    return {
        "deleted": found,
        "is_saved": "saved" in request.GET,
        "is_restored": "restored" in request.GET,
        "problem": full if "full" in request.GET else "",
    }


def saved(page: str) -> HttpResponse:
    """Leads to the list with that name."""
    return redirect(f"{reverse(page)}?saved=1")


def after_deletion(page: str, key: object) -> HttpResponse:
    return redirect(f"{reverse(page)}?deleted={key}")


def after_restoring(page: str, key: object, *, is_back: bool) -> HttpResponse:
    """``is_back``: false if the person has as many as they may have, so that it stays deleted."""
    return redirect(f"{reverse(page)}?{'restored=1' if is_back else f'deleted={key}&full=1'}")
