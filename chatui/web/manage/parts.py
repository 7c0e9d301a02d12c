"""Access checks and the shared layout of the administration pages: each part checks by itself who may see it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from chatui.permissions import administration
from chatui.permissions.administration import AdminPart
from chatui.web.guards import View, signed_in
from chatui.web.sign_in.pages import person_of

NAMES = {
    AdminPart.PEOPLE: _("People"),
    AdminPart.SERVERS: _("Model servers"),
    AdminPart.FAILURES: _("Failed answers"),
    AdminPart.CONVERSATIONS: _("Conversations"),
    AdminPart.REQUESTS: _("Debug requests"),
    AdminPart.DEBUG_VIEWS: _("Debug views"),
    AdminPart.AUDIT: _("Audit log"),
    AdminPart.RATINGS: _("Ratings"),
    AdminPart.USAGE: _("Everybody’s usage"),
    AdminPart.LIMITS: _("Limits and prices"),
    AdminPart.SETTINGS: _("Current settings"),
    AdminPart.SYSTEM: _("Updates and storage"),
}
"""In the menu, and as the heading of the page."""
ADDRESSES = {
    AdminPart.PEOPLE: "manage_people",
    AdminPart.SERVERS: "manage_servers",
    AdminPart.FAILURES: "manage_failures",
    AdminPart.CONVERSATIONS: "manage_conversations",
    AdminPart.REQUESTS: "debug_requests",
    AdminPart.DEBUG_VIEWS: "manage_looks",
    AdminPart.AUDIT: "audit",
    AdminPart.RATINGS: "ratings",
    AdminPart.USAGE: "usage_everybody",
    AdminPart.LIMITS: "manage_limits",
    AdminPart.SETTINGS: "manage_settings",
    AdminPart.SYSTEM: "manage_system",
}


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Some of the offered rows. A key that no column could hold is no row of them, instead of an error of the database."""

    def clean(self, value: Any) -> Any:
        try:
            return super().clean(value)
        except OverflowError:
            raise ValidationError(self.error_messages["invalid_pk_value"], code="invalid_pk_value", params={"pk": "…"}) from None


def for_part(part: AdminPart | None, *methods: str) -> Callable[[View], View]:
    """Guards a view of that part: 404 for people who may not see it. Without a part: for people who may see none."""

    def decorate(view: View) -> View:
        @signed_in(*(methods or ("GET",)))
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            administration.require_part(person_of(request), part)
            return view(request, *args, **kwargs)

        return answer

    return decorate


def page(request: HttpRequest, part: AdminPart | None, template: str, context: dict[str, object], status: int = 200) -> HttpResponse:
    """A page with the menu of the parts that this person may see."""
    parts = [(NAMES[each], ADDRESSES[each], each is part) for each in administration.parts_of(person_of(request))]
    here = NAMES[part] if part else _("Administration")
    return render(request, template, {"parts": parts, "here": here, **context}, status=status)
