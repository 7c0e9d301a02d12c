"""The administration pages about the system: the overview, failed answers, debug views, settings, processes, updates and storage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chatui.accounts import groups, people
from chatui.audit_log import lines
from chatui.audit_log.lines import LineFilters
from chatui.display import debug_search, figures, model_servers, process_reports, settings_in_force
from chatui.display import failures as display_failures
from chatui.display import system as display_system
from chatui.display import usage as display_usage
from chatui.display.debug_search import DebugSearch
from chatui.env import environment
from chatui.permissions import administration
from chatui.permissions.administration import AdminPart
from chatui.usage import limits, reports
from chatui.usage.reports import Days
from chatui.web.guards import number, person_of, visitor_of
from chatui.web.manage.parts import DaysForm, Shown, for_part, list_page, page, words_of

LOOKED_DAYS = 7
SPANS = ((1, _("Last hour")), (24, _("Last 24 hours")), (24 * 7, _("Last 7 days")))


@for_part(None)
def overview(request: HttpRequest) -> HttpResponse:
    """What this person may see of each part."""
    seen = administration.parts_of(person_of(request))
    found: dict[str, object] = {
        "finds_conversations": AdminPart.CONVERSATIONS in seen,
        "may_invite": administration.may_invite(person_of(request), None),
    }
    for part, figure in _FIGURES.items():
        if part in seen:
            found |= figure()
    return page(request, None, "manage/overview.html", found)


def _usage() -> dict[str, object]:
    now = limits.now()
    days, month = Days(now.day, now.day), Days(now.month, now.day)
    sums = (reports.summed(reports.lines_of(span), span, None) for span in (days, month))
    today, this_month = (display_usage.total(row) for (row,) in sums)
    return {"today": today, "month": this_month}


_FIGURES: dict[AdminPart, Callable[[], dict[str, object]]] = {
    AdminPart.PEOPLE: lambda: {"people": people.counts()},
    AdminPart.SERVERS: lambda: {"servers": model_servers.all_of_them(), "unconfirmed": model_servers.unconfirmed()},
    AdminPart.FAILURES: lambda: {"figures": figures.figures()},
    AdminPart.DEBUG_VIEWS: lambda: {"looks": {"week": lines.count(LineFilters(since=timezone.now() - timedelta(days=LOOKED_DAYS)))}},
    AdminPart.USAGE: lambda: {"usage": _usage()},
    AdminPart.SETTINGS: lambda: {"has_settings": True, "missing_groups": groups.missing()},
    AdminPart.SYSTEM: lambda: {"system": {"waiting": display_system.waiting(), "free": display_system.free_bytes()}},
}


class AccessesForm(forms.Form):
    """Filters accesses by staff member, by owner and by days."""

    who = forms.CharField(label=_("Who"), max_length=150, required=False)
    whose = forms.CharField(label=_("Whose"), max_length=150, required=False)
    days = forms.ChoiceField(label=_("Since"), required=False, choices=[("7", _("7 days")), ("31", _("31 days")), ("366", _("one year"))])


@for_part(AdminPart.FAILURES)
def failures(request: HttpRequest) -> HttpResponse:
    """Failed answers by cause and model server, with advice, and a list of them; or the one with the ``number`` that a person was shown."""
    words = words_of(request, "number", 40)
    found = display_failures.by_number(words)
    if found is not None:
        return redirect("manage_failure", found)
    hours = number(request.GET.get("hours"), 24)
    hours = hours if hours in dict(SPANS) else 24
    kind, server = request.GET.get("cause") or request.GET.get("code", ""), request.GET.get("server")
    groups, latest, count = display_failures.search(person_of(request), hours, kind, server)
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


class ConversationsForm(DaysForm):
    """What to search for. Every field may be empty."""

    q = forms.CharField(label=_("Person, address or ID of the conversation, or failure number"), max_length=200, required=False)
    field_order = ("q",)


@list_page(AdminPart.CONVERSATIONS, "manage/conversations.html", ConversationsForm)
def conversations(request: HttpRequest, form: ConversationsForm) -> Shown:
    """Finds conversations whose debug view somebody may open. One that was found alone leads to its debug view."""
    asked = DebugSearch(form.cleaned_data["q"], **form.period()) if form.is_valid() else None
    found = debug_search.search(visitor_of(request, "admin"), asked) if asked else None
    return redirect("debug", found[0].id) if found and len(found) == 1 else {"found": found, "most": debug_search.MOST}


@list_page(AdminPart.DEBUG_VIEWS, "manage/debug_views.html", AccessesForm)
def debug_views(request: HttpRequest, form: AccessesForm) -> Shown:
    """Who opened hidden channels of whose conversation, why, and what they saw."""
    if not form.is_valid():
        return {"found": lines.LinePage((), None, None)}
    chosen = form.cleaned_data
    since = timezone.now() - timedelta(days=int(chosen["days"] or LOOKED_DAYS))
    filters = LineFilters(person=chosen["who"], whose=chosen["whose"], since=since)
    return {"found": lines.debug_view_page(filters, below=number(request.GET.get("below"), None))}


@for_part(AdminPart.SETTINGS)
def settings(request: HttpRequest) -> HttpResponse:
    """Every setting, or those that match a search, with its value and source; for secrets, only whether they are set."""
    words = words_of(request)
    found = [{"heading": _(group.heading), "page": group.page, "settings": rows} for group, rows in settings_in_force.search(words)]
    return page(request, AdminPart.SETTINGS, "manage/settings.html", {"groups": found, "words": words, "missing_groups": groups.missing()})


@for_part(AdminPart.SYSTEM)
def system(request: HttpRequest) -> HttpResponse:
    """The state of the system: first what may have failed (processes, model servers, the last failures), then the release, updates of the
    schema, storage and retention."""
    context: dict[str, object] = {"system": display_system.system(), "env": environment(), "found": process_reports.processes()}
    if AdminPart.FAILURES in administration.parts_of(person_of(request)):
        groups, _latest, _times = display_failures.search(person_of(request), 24)
        context |= {"servers": model_servers.error_rates(), "failures": [group for group in groups if group.has_failed][:MOST_CAUSES]}
    return page(request, AdminPart.SYSTEM, "manage/system.html", context)


MOST_CAUSES = 5
"""How many causes of failures the page of the system has; *Failed answers* has all."""
