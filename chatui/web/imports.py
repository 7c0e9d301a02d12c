"""The page on which a person uploads a transcript."""

from __future__ import annotations

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from chatui.delivery import groups
from chatui.delivery.bus import send_from_thread
from chatui.display import list_events
from chatui.throttle import Throttle
from chatui.transfer import imports
from chatui.transfer.imports import ImportRefusedError
from chatui.transfer.upload import MAX_BYTES
from chatui.web.guards import guarded
from chatui.web.people import person_of

# Each may hold 5 MB and thousands of messages.
_imports = Throttle("import", attempts=20, seconds=600)


class ImportForm(forms.Form):
    """The upload form: one file."""

    file = forms.FileField(
        label="Transcript",
        help_text=f"OpenChatML text or JSON, up to {MAX_BYTES // (1024 * 1024)} MB. System and developer messages, reasoning and "
        "tool traffic in it stay hidden.",
        widget=forms.FileInput(attrs={"accept": ".ocml,.txt,.json,text/plain,application/json"}),
    )


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def import_page(request: HttpRequest) -> HttpResponse:
    """The form; after a good upload, the new conversation."""
    if request.method == "POST":
        _imports.check(str(person_of(request).pk))
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            imported = imports.import_transcript(person_of(request), form.cleaned_data["file"].read(MAX_BYTES + 1))
        except ImportRefusedError as error:
            form.add_error("file", _sentence(error))
        else:
            row = imported.conversation
            send_from_thread(groups.person(row.owner_id), list_events.listed(row))
            return redirect("conversation", row.pk)
    return render(request, "account/import.html", {"form": form}, status=400 if form.errors else 200)


def _sentence(error: ImportRefusedError) -> str:
    """Which rule was broken, and where. The text is the product's own, and quotes nothing from the file."""
    place = error.problem.place
    where = f"Line {place.line}, column {place.column}: " if place else ""
    return f"Nothing was imported. {where}{error.problem.hint} ({error.problem.code})."
