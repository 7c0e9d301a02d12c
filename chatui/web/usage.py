"""The usage pages: one's own usage, and everybody's for people with the permission, with a download.

A form filters which days, and how to group the sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from chatui.audit_log.lines import csv_row, safe_cell
from chatui.audit_log.record import record
from chatui.codes import ProductCode
from chatui.display import usage
from chatui.display.usage import WORDS
from chatui.env import environment
from chatui.permissions.administration import AdminPart
from chatui.usage import limits, reports
from chatui.usage.reports import By, Days
from chatui.web import downloads
from chatui.web.errors import refuse
from chatui.web.guards import person_of, signed_in, visitor_of
from chatui.web.manage.parts import DaysForm, Shown, for_part, list_page

MAX_DAYS = 366
USUAL_DAYS = 30


class UsageForm(DaysForm):
    """Both days may be empty: then the last month is used."""

    by = forms.ChoiceField(label=_("Group by"), required=False, choices=list(WORDS.items()))

    def clean(self) -> dict[str, Any]:
        """The days in order, and not too many for a page."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        last = cleaned.get("until") or limits.now().day
        first = cleaned.get("since") or date.fromordinal(max(last.toordinal() - USUAL_DAYS + 1, 1))
        if not self.errors and not 0 <= (last - first).days < MAX_DAYS:
            self.add_error("until", _("Choose a range of days, of one year at most."))
        return {**cleaned, "days": Days(first, last), "by": By(cleaned.get("by") or By.PERSON)}


def usual() -> Days:
    today = limits.now().day
    return Days(today - timedelta(days=USUAL_DAYS - 1), today)


@signed_in("GET")
def own(request: HttpRequest) -> HttpResponse:
    person, days = person_of(request), usual()
    lines = reports.lines_of(days, person)
    by_day = reports.summed(lines, days, By.DAY)
    [total] = reports.summed(lines, days, None)
    context = {
        "limits": usage.limits_of(person),
        "contact": environment().usage_contact,
        "plot": usage.plot(by_day, days),
        "total": usage.total(total),
        "tables": [usage.table(reports.summed(lines, days, by), by) for by in (By.MODEL, By.KEY)],
        "by_day": usage.table(by_day, By.DAY),
        "currency": environment().currency,
        "unpriced": usage.unpriced(total),
    }
    return render(request, "account/usage.html", context)


@list_page(AdminPart.USAGE, "manage/usage.html", UsageForm)
def everybody(request: HttpRequest, form: UsageForm) -> Shown:
    if not form.is_valid():
        return {}
    days, by = form.cleaned_data["days"], form.cleaned_data["by"]
    lines = reports.lines_of(days)
    [total] = reports.summed(lines, days, None)
    return {
        "form": UsageForm(initial={"since": days.first, "until": days.last, "by": by}),
        "days": days,
        "plot": usage.plot(reports.summed(lines, days, By.DAY), days),
        "total": usage.total(total),
        "table": usage.table(reports.summed(lines, days, by), by),
        "is_by_group": by is By.GROUP,
        "currency": environment().currency,
        "unpriced": usage.unpriced(total),
    }


@for_part(AdminPart.USAGE, "POST")
def file(request: HttpRequest) -> HttpResponseBase:
    """The usage of the chosen days as CSV. Recorded before it is created."""
    form = UsageForm(request.POST)
    if not form.is_valid():
        return refuse(request, ProductCode.COMMAND, 400)
    days = form.cleaned_data["days"]
    record("usage export", visitor_of(request, "download"), detail=f"{days.first} to {days.last}")
    return downloads.streamed(request, (line.encode() for line in _csv(days)), "text/csv; charset=utf-8", "usage-{day}.csv")


_COLUMNS = ("day", "person", "key", "backend", "model", "kind", "answers", "input_tokens", "cached_tokens", "output_tokens", "estimates")


def _csv(days: Days) -> Iterator[str]:
    currency = environment().currency
    yield csv_row([*_COLUMNS, *([f"cost_{currency}"] if currency else [])])
    for line in reports.every_line(reports.lines_of(days), days):
        *names, sums = line.values()
        numbers = [sums.turns, sums.input, sums.cached, sums.output, sums.estimated]
        cost = ["" if sums.cost is None else format(sums.cost, "f")] if currency else []
        yield csv_row([safe_cell(str(name) if name is not None else "") for name in names] + numbers + cost)
