"""The pages on which a person rates an answer, and staff with the permission export ratings.

Scripts show the form of a rating in a dialog.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from chatui import wire
from chatui.display import conversation_list
from chatui.display import ratings as display_ratings
from chatui.display.ratings import MAX_CHARS, REASONS, VERDICTS, RatingInput
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.permissions import ratings as permissions_ratings
from chatui.permissions.administration import AdminPart
from chatui.permissions.debug_requests import REASON_CHARS
from chatui.program import command
from chatui.transfer import ratings as transfer_ratings
from chatui.transfer.ratings import ExportOptions, RatingFilters, RatingFormat
from chatui.web import downloads
from chatui.web.errors import wants_json
from chatui.web.guards import number, signed_in, visitor_of
from chatui.web.manage.parts import DaysForm, page

EXPORT_MOST = 20_000
HIDDEN_MOST = 500
"""The most ratings in an export from the page; with hidden channels, each conversation is a line in the audit log.
``manage.py ratings`` has no limit."""


SPANS = ((7, _("Last 7 days")), (31, _("Last 31 days")), (0, _("All")))
"""The periods of the page, in days; 0 is without limit."""


class ExportForm(DaysForm):
    """What to export. Every field but the format may be empty."""

    verdict = forms.ChoiceField(
        label=_("Rating"),
        required=False,
        choices=[("", _("Any")), *VERDICTS],
    )
    model = forms.CharField(label=_("Model"), required=False, max_length=200)
    backend = forms.CharField(label=_("Model server"), required=False, max_length=100)
    format = forms.ChoiceField(
        label=pgettext_lazy("of a file", "Format"),
        choices=[(RatingFormat.OPENCHATML, "OpenChatML"), (RatingFormat.HARMONY, _("Harmony training examples"))],
    )
    hidden = forms.BooleanField(label=_("With hidden channels, such as raw reasoning"), required=False)
    why = forms.CharField(label=_("Why hidden channels are needed"), required=False, help_text=_("It is recorded for each conversation."))

    def __init__(self, data: Any = None, *, may_see_hidden: bool) -> None:
        super().__init__(data)
        if not may_see_hidden:
            del self.fields["hidden"], self.fields["why"]

    def clean(self) -> dict[str, Any]:
        """Hidden channels need a reason, as in the debug view, and no export has too many ratings."""
        values = super().clean() or self.cleaned_data
        if values.get("hidden") and len(values.get("why", "").strip()) not in REASON_CHARS:
            self.add_error("why", gettext("Give a reason of 10 to 180 characters."))
        if not self.errors:
            wanted = self.wanted()
            most = HIDDEN_MOST if wanted.has_hidden else EXPORT_MOST
            if transfer_ratings.count(wanted.filters) > most:
                words = gettext("More than %(count)s ratings. Narrow the filter, or use %(command)s.")
                self.add_error(None, words % {"count": number_format(most, force_grouping=True), "command": command("ratings")})
        return values

    def wanted(self) -> ExportOptions:
        values = self.cleaned_data
        filters = RatingFilters(
            **self.period(),
            verdict=values["verdict"],
            model=values["model"],
            backend=values["backend"],
        )
        return ExportOptions(
            filters, RatingFormat(values["format"]), has_hidden=bool(values.get("hidden")), reason=values.get("why", "").strip()
        )


@signed_in("GET", "POST")
def ratings(request: HttpRequest) -> HttpResponseBase:
    """The ratings of a period in numbers, with the form; sends the selected ones as a file. Recorded before anything is read."""
    visitor = visitor_of(request, "download")
    person = (permissions_ratings.hidden_exporter if "hidden" in request.POST else permissions_ratings.exporter)(visitor)
    form = ExportForm(request.POST or None, may_see_hidden=permissions_ratings.can_export_hidden(person))
    if request.method == "POST" and form.is_valid():
        wanted = form.wanted()
        pieces = (line.encode() for line in transfer_ratings.export(visitor, wanted))
        return downloads.streamed(request, pieces, "application/jsonl; charset=utf-8", f"ratings-{{day}}.{wanted.format}.jsonl")
    days = number(request.GET.get("days"), 0)
    days = days if days in dict(SPANS) else 0
    sums = transfer_ratings.sums(RatingFilters(since=timezone.now() - timedelta(days=days) if days else None))
    labels = dict(REASONS)
    reasons = [(labels.get(key, labels["other"]), times) for key, times in sums.reasons]
    context = {"form": form, "sums": sums, "reasons": reasons, "days": days, "spans": SPANS}
    return page(request, AdminPart.RATINGS, "manage/ratings.html", context, 400 if form.errors else 200)


_writes = Throttle("ratings", attempts=120, seconds=60)


@signed_in("GET", "POST")
def rating(request: HttpRequest, conversation_id: UUID, message_id: UUID) -> HttpResponse:
    """The form with the person's current rating, for the thumb ``verdict``; stores or removes their rating."""
    visitor = visitor_of(request, "page")
    before = display_ratings.current(visitor, conversation_id, message_id)
    back = f"{reverse('conversation', args=[conversation_id])}?at={message_id}#m-{message_id}"
    asked = (request.POST or request.GET).get("verdict", before.verdict)
    context = {
        "conversation": {"id": conversation_id},
        "message_id": message_id,
        "verdict": asked if asked == "up" else "down",
        "reasons": REASONS,
        "reason": request.POST.get("reason", before.reason),
        "note": request.POST.get("note", before.note),
        "note_chars": MAX_CHARS,
        "back": back,
    }
    if request.method == "POST":
        _writes.check(str(visitor.user))
        # A form sends CR LF for each line end, which the textarea, and so its maximum length, counts as one character.
        sent = request.POST
        given = RatingInput(sent.get("verdict", ""), sent.get("reason", ""), sent.get("note", "").replace("\r\n", "\n"))
        if not display_ratings.rate(visitor, conversation_id, message_id, given):
            context["problem"] = gettext("Choose a reason. Your comment can have up to 1,000 characters.")
            return render(request, "exchange/rating.html", context, status=400)
        person = access.person_of(visitor)
        conversation_list.tell(person.pk, wire.Rated(str(conversation_id), str(message_id), given.verdict))
        if wants_json(request):
            return JsonResponse({"ok": True})
        return redirect(back)
    return render(request, "exchange/rating.html", context)
