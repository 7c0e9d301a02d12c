"""The home page of the administration pages: key figures of each part, and pending items."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from chatui.accounts import groups, people
from chatui.audit_log import lines
from chatui.audit_log.lines import LineFilters
from chatui.display import failures, model_servers, system, usage
from chatui.permissions import administration, debug_requests
from chatui.permissions.administration import AdminPart
from chatui.usage import limits, reports
from chatui.usage.reports import Days
from chatui.web.guards import visitor_of
from chatui.web.manage.parts import for_part, page
from chatui.web.sign_in.pages import person_of

LOOKED_DAYS = 7


@for_part(None)
def overview(request: HttpRequest) -> HttpResponse:
    """The figures of the parts that this person may see."""
    found: dict[str, object] = {}
    for part in administration.parts_of(person_of(request)):
        if part in _FIGURES:
            found |= _FIGURES[part](request)
    return page(request, None, "manage/overview.html", found)


def _people(request: HttpRequest) -> dict[str, object]:
    return {"people": people.counts()}


def _servers(request: HttpRequest) -> dict[str, object]:
    known = model_servers.all_of_them()
    return {"servers": known, "silent": [server for server in known if not server.is_alive]}


def _failures(request: HttpRequest) -> dict[str, object]:
    return {"failed": {"day": failures.count(24), "week": failures.count(24 * 7)}}


def _requests(request: HttpRequest) -> dict[str, object]:
    waiting = [asked for asked in debug_requests.pending_requests(visitor_of(request, "page")) if not asked.is_own]
    return {"waiting": {"count": len(waiting)}}


def _looks(request: HttpRequest) -> dict[str, object]:
    return {"looks": {"week": lines.count(LineFilters(since=timezone.now() - timedelta(days=LOOKED_DAYS)))}}


def _usage(request: HttpRequest) -> dict[str, object]:
    now = limits.now()
    days, month = Days(now.day, now.day), Days(now.month, now.day)
    sums = (reports.summed(reports.lines_of(span), span, None) for span in (days, month))
    today, this_month = (usage.total(row) for (row,) in sums)
    return {"usage": {"today": today, "month": this_month}}


def _settings(request: HttpRequest) -> dict[str, object]:
    return {"has_settings": True, "missing_groups": groups.missing()}


def _system(request: HttpRequest) -> dict[str, object]:
    return {"system": {"waiting": system.waiting(), "free": system.free_bytes()}}


_FIGURES = {
    AdminPart.PEOPLE: _people,
    AdminPart.SERVERS: _servers,
    AdminPart.FAILURES: _failures,
    AdminPart.REQUESTS: _requests,
    AdminPart.DEBUG_VIEWS: _looks,
    AdminPart.USAGE: _usage,
    AdminPart.SETTINGS: _settings,
    AdminPart.SYSTEM: _system,
}
