"""The filter form of the usage pages: which days, and how to group the sums."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from chatui.display.usage.usage_tables import WORDS
from chatui.usage import periods
from chatui.usage.reports import By, Days

MAX_DAYS = 366
USUAL_DAYS = 30


class DaysForm(forms.Form):
    """Both days may be empty: then the last month is used."""

    since = forms.DateField(label=_("From day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    by = forms.ChoiceField(label=_("Group by"), required=False, choices=list(WORDS.items()))

    def clean(self) -> dict[str, Any]:
        """The days in order, and not too many for a page."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and not 0 <= (self._last() - self._first()).days < MAX_DAYS:
            self.add_error("until", _("Choose a range of days, of one year at most."))
        return cleaned

    def days(self) -> Days:
        """The days of a valid form."""
        return Days(self._first(), self._last())

    def summed_by(self) -> By:
        """The grouping; by person if nothing is chosen."""
        return By(self.cleaned_data["by"] or By.PERSON)

    def _last(self) -> date:
        return self.cleaned_data.get("until") or periods.now().day

    def _first(self) -> date:
        since: date | None = self.cleaned_data.get("since")
        last = self._last()
        return since or (last - timedelta(days=USUAL_DAYS - 1) if last.toordinal() > USUAL_DAYS else date.min)


def usual() -> Days:
    """The days of a page without a choice of days."""
    today = periods.now().day
    return Days(today - timedelta(days=USUAL_DAYS - 1), today)
