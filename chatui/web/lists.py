"""What list pages with filters have in common: days to choose, and numbers in the address. Files are sent by ``downloads.streamed``."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TypedDict

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _


class Period(TypedDict):
    """The time from ``since`` until before ``before`` (UTC); None is without limit."""

    since: datetime | None
    before: datetime | None


class DaysForm(forms.Form):
    """A first and a last day, which both may be empty."""

    since = forms.DateField(label=_("From day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def period(self) -> Period:
        """The chosen days of a valid form. Days are whole days, the last one included."""
        since, until = self.cleaned_data["since"], self.cleaned_data["until"]
        return {
            "since": datetime.combine(since, time.min, UTC) if since else None,
            "before": datetime.combine(until + timedelta(days=1), time.min, UTC) if until and until < date.max else None,
        }


def number(request: HttpRequest, name: str) -> int | None:
    """A whole number from the query string that fits into a database column."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
