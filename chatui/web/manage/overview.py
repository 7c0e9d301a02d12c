"""The home page of the administration pages: what waits for a decision, the figures of the last day and week, and each part in short."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from chatui.accounts import groups, people
from chatui.audit_log import lines
from chatui.audit_log.lines import LineFilters
from chatui.display import figures, model_servers, system, usage
from chatui.permissions import administration
from chatui.permissions.administration import AdminPart
from chatui.usage import limits, reports
from chatui.usage.reports import Days
from chatui.web.manage.parts import for_part, page
from chatui.web.sign_in.pages import person_of

LOOKED_DAYS = 7


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


def _people() -> dict[str, object]:
    return {"people": people.counts()}


def _servers() -> dict[str, object]:
    return {"servers": model_servers.all_of_them(), "unconfirmed": model_servers.unconfirmed()}


def _failures() -> dict[str, object]:
    return {"figures": figures.figures()}


def _looks() -> dict[str, object]:
    return {"looks": {"week": lines.count(LineFilters(since=timezone.now() - timedelta(days=LOOKED_DAYS)))}}


def _usage() -> dict[str, object]:
    now = limits.now()
    days, month = Days(now.day, now.day), Days(now.month, now.day)
    sums = (reports.summed(reports.lines_of(span), span, None) for span in (days, month))
    today, this_month = (usage.total(row) for (row,) in sums)
    return {"usage": {"today": today, "month": this_month}}


def _settings() -> dict[str, object]:
    return {"has_settings": True, "missing_groups": groups.missing()}


def _system() -> dict[str, object]:
    return {"system": {"waiting": system.waiting(), "free": system.free_bytes()}}


_FIGURES = {
    AdminPart.PEOPLE: _people,
    AdminPart.SERVERS: _servers,
    AdminPart.FAILURES: _failures,
    AdminPart.DEBUG_VIEWS: _looks,
    AdminPart.USAGE: _usage,
    AdminPart.LIMITS: dict,
    AdminPart.SETTINGS: _settings,
    AdminPart.SYSTEM: _system,
}
