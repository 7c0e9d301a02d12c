"""Keeps staff from changing accounts and groups so that nobody is left who could look after accounts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from chatui.accounts.sign_in_rules import caretakers
from chatui.audit_log.record import record
from chatui.web.visitors import visitor_of


class CaretakingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A change is undone whole where somebody would have to be let in by the operator afterwards. Recorded."""

    def changeform_view(self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None) -> Any:
        """One row, on its own page."""
        view = super().changeform_view
        return self._kept(request, object_id, lambda: view(request, object_id, form_url, extra_context))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """The same: what a group gives goes with it."""
        view = super().delete_view
        return self._kept(request, object_id, lambda: view(request, object_id, extra_context))

    def _kept(self, request: HttpRequest, object_id: str | None, answer: Callable[[], HttpResponse]) -> HttpResponse:
        row = self.get_object(request, object_id) if request.method == "POST" and object_id else None
        if row is None:
            return answer()
        try:
            with caretakers.somebody_left(str(row)):
                return answer()
        except caretakers.LastCaretakerError as error:
            record("account not changed", visitor_of(request, "admin"), error.name, detail=f"by staff: {error}")
            list(messages.get_messages(request))  # what was said of the change is not true any more
            messages.error(request, gettext("Nothing was changed: nobody else could look after accounts."))
            return redirect(request.path)
