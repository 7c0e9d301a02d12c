"""The admin page for failed answers: finds a failure by the number that a person was shown, and shows its cause.

It shows neither conversation text nor the owner's name.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.translation import gettext_lazy as _

from chatui.admin.read_only import ReadOnlyAdmin
from chatui.codes import code_of
from chatui.display.failures import cause_of, number
from chatui.languages.sentences import sentence_of
from chatui.models import FailedAnswer
from chatui.permissions import access


@admin.register(FailedAnswer)
class FailedAnswerAdmin(ReadOnlyAdmin):
    """The failed answers, read-only, for staff who may see back ends."""

    list_display = ("shown_number", "started_at", "error_code", "meaning", "cause")
    fields = readonly_fields = list_display
    search_fields = ("id",)
    search_help_text = _("The number shown to the user, such as 4F2A-91BC")
    list_filter = ("error_code",)
    ordering = ("-started_at",)
    date_hierarchy = "started_at"
    list_display_links = None
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[FailedAnswer]:
        """Finished answers with an error code, without their stored requests."""
        failed = FailedAnswer.objects.exclude(error_code="").defer("request", "error_detail")
        return failed.exclude(state="running")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Search by the end of the id, without the dash, which only makes the number readable."""
        digits = "".join(sign for sign in search_term.lower() if sign.isalnum())
        return (queryset.filter(id__endswith=digits) if digits else queryset), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the list's filters: filtering by another column would reveal it, letter by letter."""
        return lookup.partition("__")[0] in ("error_code", "started_at")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may see back ends."""
        return access.can_see_failures(access.as_person(request.user))

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Staff who may see back ends."""
        return self.has_view_permission(request)

    def get_urls(self) -> Any:
        """Add the address from which a chat page fetches the cause of a failure."""
        cause = path("<uuid:turn_id>/cause/", self.admin_site.admin_view(self.cause_view), name="chatui_failedanswer_cause")
        return [cause, *super().get_urls()]

    def cause_view(self, request: HttpRequest, turn_id: UUID) -> HttpResponse:
        """The cause of a failure as JSON, for the chat page of a member of staff."""
        turn = self.get_queryset(request).filter(pk=turn_id).first() if self.has_view_permission(request) else None
        if turn is None:
            raise Http404
        return JsonResponse({"cause": cause_of(turn)})

    @admin.display(description=_("Number"))
    def shown_number(self, turn: FailedAnswer) -> str:
        """The number as people see it."""
        return number(turn.pk)

    @admin.display(description=_("Message shown to the user"))
    def meaning(self, turn: FailedAnswer) -> str:
        """The sentence for the error code."""
        return sentence_of(code_of(turn.error_code))

    @admin.display(description=_("Cause"))
    def cause(self, turn: FailedAnswer) -> str:
        """The cause of the failure."""
        return cause_of(turn)
