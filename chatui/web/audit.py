"""The audit log's page, on which staff with the permission filter and export it, and acknowledge warnings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from itertools import islice
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

from chatui.audit_log import aggregation, chain, lines, words
from chatui.audit_log.lines import LineFilters
from chatui.audit_log.record import NOT_BY_PERSON, record
from chatui.codes import ProductCode
from chatui.permissions import access, attempts
from chatui.permissions.administration import AdminPart
from chatui.program import command
from chatui.web.errors import refuse
from chatui.web.guards import number, visitor_of
from chatui.web.manage.parts import DaysForm, Shown, done, for_part, list_page, page
from renderer.errors import Code

EXPORT_MOST = 50_000
"""The most lines in an export from the page. ``manage.py audit export`` has no limit."""

COUNTED_DAYS = 30
_COUNTED_MOST = 100
_NO_LINES = lines.LinePage((), None, None)
_IN_WORDS: dict[str, Callable[[str], str]] = {"action": words.action_in_words, "code": str, "way": words.way_in_words}
_KINDS = {"jsonl": "application/jsonl", "csv": "text/csv"}


class FilterForm(DaysForm):
    person = forms.CharField(label=_("Who"), max_length=150, required=False)
    whose = forms.CharField(label=_("Whose"), max_length=150, required=False)
    action = forms.ChoiceField(label=_("What"), required=False)
    code = forms.ChoiceField(label=_("Code"), required=False)
    way = forms.ChoiceField(label=_("Via"), required=False)
    conversation = forms.UUIDField(label=_("Conversation"), required=False, error_messages={"invalid": _("This is not a conversation ID.")})
    field_order = ("person", "whose", "action", "code", "way", "conversation")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("action", "code", "way"):
            # An old link may name a value that is not in the log: it matches nothing, but is not a form error.
            asked = str(self.data.get(name, ""))
            values = sorted({*lines.distinct_values(name), *([asked] if asked.isprintable() else [])} - {""})
            self.fields[name].choices = [("", _("Any")), *((value, _IN_WORDS[name](value)) for value in values)]  # type: ignore[attr-defined]
        for name in ("person", "whose", "conversation"):
            self.fields[name].widget.attrs |= {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}

    def filters(self) -> LineFilters:
        values = {name: value for name, value in self.cleaned_data.items() if name not in ("since", "until")}
        return LineFilters(**values, **self.period())


@list_page(AdminPart.AUDIT, "manage/audit_log.html", FilterForm)
def audit_page(request: HttpRequest, form: FilterForm) -> Shown:
    """The lines that match, newest first. ``below`` and ``above`` are line numbers, from which the next or previous page starts."""
    if not form.is_valid():
        return _shown(form, _NO_LINES)
    below, above = (number(request.GET.get(name), None) for name in ("below", "above"))
    return _shown(form, lines.page(form.filters(), below=below, above=above))


@for_part(AdminPart.AUDIT, "POST")
def audit_export(request: HttpRequest, kind: str) -> HttpResponse:
    """The lines that match as a file, oldest first. The export is recorded before it is made, and so is part of it."""
    if kind not in _KINDS:
        raise access.NotFoundError
    asked = FilterForm(request.POST)
    if not asked.is_valid():
        return refuse(request, ProductCode.COMMAND, 400)
    filters = asked.filters()
    if lines.rows(filters)[: EXPORT_MOST + 1].count() > EXPORT_MOST:
        words = _("More than %(count)s lines. Narrow the filter, or use %(command)s.")
        asked.add_error(None, words % {"count": number_format(EXPORT_MOST, force_grouping=True), "command": command("audit export")})
        return page(request, AdminPart.AUDIT, "manage/audit_log.html", {"form": asked} | _shown(asked, _NO_LINES), 400)
    aggregation.close_expired()
    record("audit export", visitor_of(request, "download"), detail=f"{kind}: {filters}")
    response = HttpResponse("".join(islice(lines.FORMATS[kind](filters), EXPORT_MOST + 2)), content_type=f"{_KINDS[kind]}; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="audit-log-{timezone.now():%Y-%m-%d}.{kind}"'
    return response


@for_part(AdminPart.AUDIT, "POST")
def audit_acknowledge(request: HttpRequest, warning_id: UUID) -> HttpResponse:
    attempts.acknowledge(visitor_of(request, "page"), warning_id)
    return done("warning-acknowledged", "", "audit")


def _shown(form: FilterForm, page: lines.LinePage) -> dict[str, Any]:
    filters = {name: value for name in form.fields if (value := form.data.get(name, ""))}
    since = datetime.combine(timezone.now().date(), time.min, UTC) - timedelta(days=COUNTED_DAYS - 1)
    refused = LineFilters(code=Code.PERM_VISIBILITY, since=since, except_ways=NOT_BY_PERSON)
    return {
        "filters": filters,
        "lines": page.lines,
        "older": _address(filters, below=page.older),
        "newer": _address(filters, above=page.newer),
        "head": chain.head(),
        "warnings": attempts.unacknowledged(),
        "tallies": lines.tallies(refused, by=frozenset({"day", "person"}), most=_COUNTED_MOST),
        "counted_days": COUNTED_DAYS,
        "refused_code": Code.PERM_VISIBILITY.value,
    }


def _address(filters: dict[str, str], **place: int | None) -> str:
    return f"{reverse('audit')}?{urlencode(filters | place)}" if None not in place.values() else ""
