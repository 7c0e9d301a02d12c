"""The page on which staff with the permission export ratings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from chatui.audit_log.record import Visitor
from chatui.display.ratings.actions import VERDICTS
from chatui.permissions import ratings as permission
from chatui.permissions.debug_requests import REASON_CHARS
from chatui.transfer import rating_exports
from chatui.transfer.rating_exports import ExportOptions, Filters, Format
from chatui.web import archive
from chatui.web.guards import guarded
from chatui.web.visitors import visitor_of

EXPORT_MOST = 20_000
HIDDEN_MOST = 500
"""The most ratings in an export from the page; with hidden channels, each conversation is a line in the audit log.
``manage.py ratings`` has no limit."""


class ExportForm(forms.Form):
    """What to export. Every field but the format may be empty."""

    since = forms.DateField(label=_("From day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    verdict = forms.ChoiceField(
        label=_("Rating"),
        required=False,
        choices=[("", _("Any")), *VERDICTS],
    )
    model = forms.CharField(label=_("Model"), required=False, max_length=200)
    backend = forms.CharField(label=_("Back end"), required=False, max_length=100)
    format = forms.ChoiceField(
        label=pgettext_lazy("of a file", "Format"),
        choices=[(Format.OPENCHATML, "OpenChatML"), (Format.HARMONY, _("Harmony training examples"))],
    )
    hidden = forms.BooleanField(label=_("With hidden channels, such as raw reasoning"), required=False)
    why = forms.CharField(label=_("Why hidden channels are needed"), required=False, help_text=_("It is recorded for each conversation."))

    def __init__(self, data: Any = None, *, may_see_hidden: bool) -> None:
        """``may_see_hidden``: whether to offer hidden channels."""
        super().__init__(data)
        if not may_see_hidden:
            del self.fields["hidden"], self.fields["why"]

    def clean(self) -> dict[str, Any]:
        """Hidden channels need a reason, as in the debug view."""
        values = super().clean() or self.cleaned_data
        if values.get("hidden") and len(values.get("why", "").strip()) not in REASON_CHARS:
            self.add_error("why", gettext("Give a reason of 10 to 180 characters."))
        return values

    def wanted(self) -> ExportOptions:
        """The export that a valid form asks for. Days are whole days, the last one included."""
        values = self.cleaned_data
        since, until = values["since"], values["until"]
        filters = Filters(
            since=datetime.combine(since, time.min, UTC) if since else None,
            before=datetime.combine(until + timedelta(days=1), time.min, UTC) if until and until < date.max else None,
            verdict=values["verdict"],
            model=values["model"],
            backend=values["backend"],
        )
        return ExportOptions(filters, Format(values["format"]), has_hidden=bool(values.get("hidden")), reason=values.get("why", "").strip())


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def ratings(request: HttpRequest) -> HttpResponseBase:
    """The number of ratings, with the form; sends the selected ones as a file. Recorded before anything is read."""
    visitor = visitor_of(request, "download")
    person = (permission.hidden_exporter if "hidden" in request.POST else permission.exporter)(visitor)
    may_see_hidden = permission.can_export_hidden(person)
    form = ExportForm(request.POST or None, may_see_hidden=may_see_hidden)
    if request.method == "POST" and form.is_valid() and _is_bounded(form):
        return _file(request, visitor, form.wanted())
    context = {"form": form, "count": rating_exports.count(Filters()), "may_see_hidden": may_see_hidden}
    return render(request, "ratings/export.html", context, status=400 if form.errors else 200)


def _is_bounded(form: ExportForm) -> bool:
    wanted = form.wanted()
    most = HIDDEN_MOST if wanted.has_hidden else EXPORT_MOST
    if rating_exports.count(wanted.filters) <= most:
        return True
    words = gettext("More than %(count)s ratings. Narrow the filter, or use manage.py ratings.")
    form.add_error(None, words % {"count": number_format(most, force_grouping=True)})
    return False


def _file(request: HttpRequest, visitor: Visitor, wanted: ExportOptions) -> StreamingHttpResponse:
    lines = rating_exports.export(visitor, wanted)

    def parts() -> Iterator[bytes]:
        for line in lines:
            yield line.encode()

    response = StreamingHttpResponse(
        archive.in_threads(parts()) if isinstance(request, ASGIRequest) else parts(), content_type="application/jsonl; charset=utf-8"
    )
    response.headers["Content-Disposition"] = f'attachment; filename="ratings-{timezone.now():%Y-%m-%d}.{wanted.format}.jsonl"'
    return response
