"""The pages that set a JSON Schema for the answers of a conversation, or of the next new one."""

from __future__ import annotations

import secrets
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy

from chatui.answer_formats import MAX_CHARS, AnswerFormat
from chatui.display import answer_format as display_answer_format
from chatui.display.conversation_list import shown_conversation
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.web.guards import keep_for_tab, person_of, signed_in

_writes = Throttle("answer-format", attempts=60, seconds=60)
_SESSION_KEY = "answer_formats"


class SchemaForm(forms.Form):
    schema = forms.CharField(
        label=gettext_lazy("JSON schema"),
        error_messages={"required": gettext_lazy("Please enter a schema.")},
        max_length=MAX_CHARS,
        widget=forms.Textarea(attrs={"dir": "ltr", "rows": 14, "spellcheck": "false", "autocapitalize": "off", "class": "schema-text"}),
    )

    def clean_schema(self) -> AnswerFormat:
        # A form sends CR LF for each line end.
        return display_answer_format.read(self.cleaned_data["schema"].replace("\r\n", "\n"))


@signed_in("GET", "POST")
def answer_format(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    person = person_of(request)
    row = access.own_conversation(person, conversation_id)
    now = display_answer_format.schema_text(row)
    form, clears = _form(request, now), "clear" in request.POST
    if request.method == "POST" and (clears or form.is_valid()):
        display_answer_format.set_schema(person, conversation_id, None if clears else form.cleaned_data["schema"])
        return redirect("conversation", conversation_id)
    context = {"form": form, "conversation": shown_conversation(row), "is_on": bool(now), "has_text": bool(form["schema"].value())}
    return render(request, "chat/answer_format.html", context, status=400 if form.errors else 200)


@signed_in("GET", "POST")
def new_answer_format(request: HttpRequest) -> HttpResponse:
    """The schema of a conversation that does not exist yet.

    The session stores it for the page on which the first message is written, which sends it; other pages start without one.
    """
    asked, now = request.GET.get("for", ""), stored_schema(request)
    form = _form(request, display_answer_format.formatted(now))
    back = {name: request.GET[name] for name in ("folder", "assistant") if name in request.GET}
    if "clear" in request.POST:
        return redirect(_home(back))
    if request.method == "POST" and form.is_valid():
        key = secrets.token_urlsafe(9)
        keep_for_tab(request, _SESSION_KEY, key, display_answer_format.one_line(form.cleaned_data["schema"]))
        return redirect(_home({**back, "format": key}))
    here = {**back, "for": asked} if now else back
    context = {
        "form": form,
        "is_on": bool(now),
        "has_text": bool(form["schema"].value()),
        "here": f"?{urlencode(here)}",
        "example": f"?{urlencode({**here, 'example': 1})}",
        "back": _home({**back, "format": asked} if now else back),
    }
    return render(request, "chat/new_answer_format.html", context, status=400 if form.errors else 200)


def stored_schema(request: HttpRequest, name: str = "for") -> str:
    """The schema, in one line, that the session stores under the key in the query parameter ``name``; empty if there is none."""
    return str(request.session.get(_SESSION_KEY, {}).get(request.GET.get(name, ""), ""))


def _form(request: HttpRequest, now: str) -> SchemaForm:
    """The form with the schema that is in force, or an example. Each time that it is sent is counted."""
    if request.method == "POST":
        _writes.check(str(person_of(request).pk))
    return SchemaForm(request.POST or None, initial={"schema": display_answer_format.EXAMPLE if "example" in request.GET else now})


def _home(query: dict[str, str]) -> str:
    return f"{reverse('home')}?{urlencode(query)}" if query else reverse("home")
