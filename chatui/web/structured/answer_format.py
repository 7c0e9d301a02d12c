"""The page on which a person says that the answers of a conversation are to be JSON that fits a schema."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from chatui.display.conversation_links import shown_conversation
from chatui.display.structured import answer_format as shown
from chatui.display.structured.answer_format import NoSchemaError
from chatui.json_schemas.answer_format import MOST_CHARS
from chatui.permissions import access
from chatui.throttle import Throttle
from chatui.web.guards import guarded
from chatui.web.people import person_of

_writes = Throttle("answer-format", attempts=60, seconds=60)


class SchemaForm(forms.Form):
    """The schema."""

    schema = forms.CharField(
        label=gettext_lazy("JSON schema"),
        error_messages={"required": gettext_lazy("Please write a schema.")},
        max_length=MOST_CHARS,
        widget=forms.Textarea(attrs={"dir": "ltr", "rows": 14, "spellcheck": "false", "autocapitalize": "off", "class": "schema-text"}),
    )


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def answer_format(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The schema of a conversation; sets it, or has its answers be text again."""
    person = person_of(request)
    row = access.own_conversation(person, conversation_id)
    now = shown.schema_text(row)
    form = SchemaForm(request.POST or None, initial={"schema": shown.example() if "example" in request.GET else now})
    if request.method == "POST":
        _writes.check(str(person.pk))
        if "clear" in request.POST:
            shown.set_schema(person, conversation_id, "")
            return redirect("conversation", conversation_id)
        if form.is_valid():
            try:
                shown.set_schema(person, conversation_id, form.cleaned_data["schema"].replace("\r\n", "\n"))
                return redirect("conversation", conversation_id)
            except NoSchemaError as error:
                form.add_error("schema", str(error))
    context = {"form": form, "conversation": shown_conversation(row), "is_on": bool(now), "has_text": bool(form["schema"].value())}
    return render(request, "structured/answer_format.html", context, status=400 if form.errors else 200)
