"""The administration pages about the system: failed answers, debug views, settings, updates and storage."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chatui.accounts import groups
from chatui.audit_log import lines
from chatui.audit_log.lines import LineFilters
from chatui.display import debug_search
from chatui.display import failures as display_failures
from chatui.display import system as display_system
from chatui.display.debug_search import DebugSearch
from chatui.display.failures import FailureFilter
from chatui.env import environment
from chatui.permissions import administration
from chatui.permissions.administration import AdminPart
from chatui.web import lists
from chatui.web.guards import visitor_of
from chatui.web.manage.parts import for_part, page
from chatui.web.sign_in.pages import person_of

LOOKED_DAYS = 7
SPANS = ((1, _("Last hour")), (24, _("Last 24 hours")), (24 * 7, _("Last 7 days")))


class AccessesForm(forms.Form):
    """Filters accesses by staff member, by owner and by days."""

    who = forms.CharField(label=_("Who"), max_length=150, required=False)
    whose = forms.CharField(label=_("Whose"), max_length=150, required=False)
    days = forms.ChoiceField(label=_("Since"), required=False, choices=[("7", _("7 days")), ("31", _("31 days")), ("366", _("one year"))])


@for_part(AdminPart.FAILURES)
def failures(request: HttpRequest) -> HttpResponse:
    """Failed answers by cause and model server, with advice, and a list of them; or the one with the ``number`` that a person was shown."""
    words = request.GET.get("number", "").replace("\0", "")[:40]
    found = display_failures.by_number(words)
    if found is not None:
        return redirect("manage_failure", found)
    hours = lists.number(request, "hours")
    hours = hours if hours in [span for span, _words in SPANS] else 24
    kind, server = request.GET.get("cause") or request.GET.get("code", ""), request.GET.get("server")
    groups, latest, count = display_failures.search(person_of(request), FailureFilter(hours, kind, server))
    context = {
        "words": words,
        "hours": hours,
        "spans": SPANS,
        "groups": [group for group in groups if group.has_failed],
        "others": [group for group in groups if not group.has_failed],
        "latest": latest,
        "more": count - len(latest),
        "is_narrowed": bool(kind or server is not None),
        "may_see_system": AdminPart.SYSTEM in administration.parts_of(person_of(request)),
    }
    return page(request, AdminPart.FAILURES, "manage/failures.html", context)


@for_part(AdminPart.FAILURES)
def failure(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Why one answer failed, what helps, and how often that happened."""
    failed, day, week = display_failures.one(person_of(request), turn_id)
    may_see_system = AdminPart.SYSTEM in administration.parts_of(person_of(request))
    context = {"failed": failed, "day": day, "week": week, "may_see_system": may_see_system}
    return page(request, AdminPart.FAILURES, "manage/failure.html", context)


class ConversationsForm(lists.DaysForm):
    """What to search for. Every field may be empty."""

    q = forms.CharField(label=_("Person, address or ID of the conversation, or failure number"), max_length=200, required=False)
    field_order = ("q",)


@for_part(AdminPart.CONVERSATIONS)
def conversations(request: HttpRequest) -> HttpResponse:
    """Finds conversations whose debug view somebody may open. One that was found alone leads to its debug view."""
    form = ConversationsForm(request.GET)
    if not form.is_valid():
        return page(request, AdminPart.CONVERSATIONS, "manage/conversations.html", {"form": form}, 400)
    asked = DebugSearch(form.cleaned_data["q"], **form.period())
    found = debug_search.search(visitor_of(request, "admin"), asked) if asked else None
    if found and len(found) == 1:
        return redirect("debug", found[0].id)
    context: dict[str, object] = {"form": ConversationsForm(initial=form.cleaned_data), "found": found, "most": debug_search.MOST}
    return page(request, AdminPart.CONVERSATIONS, "manage/conversations.html", context)


@for_part(AdminPart.DEBUG_VIEWS)
def looks(request: HttpRequest) -> HttpResponse:
    """Who opened hidden channels of whose conversation, why, and what they saw."""
    form = AccessesForm(request.GET, initial={"days": LOOKED_DAYS})
    if not form.is_valid():
        return page(request, AdminPart.DEBUG_VIEWS, "manage/looks.html", {"form": form, "found": lines.LinePage((), None, None)}, 400)
    chosen = form.cleaned_data
    since = timezone.now() - timedelta(days=int(chosen["days"] or LOOKED_DAYS))
    found = lines.debug_view_page(
        LineFilters(person=chosen["who"], whose=chosen["whose"], since=since), below=lists.number(request, "below")
    )
    return page(request, AdminPart.DEBUG_VIEWS, "manage/looks.html", {"form": AccessesForm(initial=chosen), "found": found})


@for_part(AdminPart.SETTINGS)
def settings(request: HttpRequest) -> HttpResponse:
    """Every setting, or those that match a search, with its value and source; for secrets, only whether they are set."""
    words = request.GET.get("q", "").replace("\0", "")[:150]
    found = [{"heading": _(group.heading), "page": group.page, "settings": rows} for group, rows in display_system.search(words)]
    return page(request, AdminPart.SETTINGS, "manage/settings.html", {"groups": found, "words": words, "missing_groups": groups.missing()})


@for_part(AdminPart.SYSTEM)
def system(request: HttpRequest) -> HttpResponse:
    """The release, updates of the schema, storage and retention."""
    return page(request, AdminPart.SYSTEM, "manage/system.html", {"system": display_system.system(), "env": environment()})
