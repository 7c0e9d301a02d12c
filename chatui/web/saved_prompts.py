"""The pages of a person's saved prompts, with import and export, and what the message box asks for after a slash."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from chatui.display import saved_prompts
from chatui.display.saved_prompts import MAX_PROMPTS, NAME_CHARS, TEXT_CHARS, GroupGoneError, PromptNameTakenError, PromptText
from chatui.display.tools import prompt_servers
from chatui.limits import Throttle
from chatui.permissions.offers import may_offer
from chatui.transfer.saved_prompts import MAX_FILE_BYTES, ImportedPrompts, PromptFileError, import_file, written
from chatui.web import undo
from chatui.web.folders import Instructions
from chatui.web.guards import person_of, signed_in, visitor_of

_writes = Throttle("saved-prompt", attempts=120, seconds=60)
_FULL = _("You have the maximum of %(most)s prompts. Delete one first.")
_NAME_TAKEN = _("You have another prompt with this name. Please choose a different one.")
_GROUP_GONE = _("The group does not exist any more, or you may not offer prompts to it any more. Nothing was saved.")


class PromptForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_CHARS,
        help_text=_("What you type after “/” to find it."),
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    text = Instructions(
        label=_("Text"),
        max_length=TEXT_CHARS,
        help_text=format_lazy(
            _(
                "Up to {count} characters. Blanks such as {text}, {date} or {choice} are filled in each time: a text, a day, one of "
                "several words."
            ),
            count=lazy(number_format, str)(TEXT_CHARS, force_grouping=True),
            text="{{text}}",
            date="{{date}}",
            choice="{{tone: formal | friendly}}",
        ),
        widget=forms.Textarea(attrs={"dir": "auto", "rows": 10}),
    )
    group = forms.ChoiceField(
        label=_("Offer to a group"), required=False, help_text=_("Its members find the prompt after “/”, too. You alone can change it.")
    )

    def __init__(self, data: Any = None, *, person: Any, text: PromptText) -> None:
        super().__init__(data, initial={name: getattr(text, name) for name in self.base_fields})
        fields: dict[str, Any] = self.fields
        groups = saved_prompts.groups(person, text.group)
        fields["group"].choices = [("", gettext("Only for me")), *groups]
        if not groups:
            del fields["group"]

    def clean_name(self) -> str:
        if name := saved_prompts.clean(PromptText(self.cleaned_data["name"])).name:
            return name
        raise ValidationError(gettext("Please enter a name."))

    def clean_text(self) -> str:
        if text := saved_prompts.clean(PromptText(text=self.cleaned_data["text"])).text:
            return text
        raise ValidationError(gettext("Please enter a text."))

    def wanted(self) -> PromptText | None:
        return PromptText(**self.cleaned_data) if self.is_valid() else None


class PromptFileForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "JSON as this page exports it or as Open WebUI does, or a CSV table whose first line has the columns “name” and “text”. "
            "If anything in it cannot be read, nothing is imported."
        ),
        widget=forms.FileInput(attrs={"accept": ".json,.csv,application/json,text/csv"}),
    )


@signed_in("GET")
def listing(request: HttpRequest) -> HttpResponse:
    """The prompts that one may use; after a deletion also how to undo it."""
    person = person_of(request)
    context = {
        "prompts": saved_prompts.listed(person),
        "may_offer": may_offer(person),
        **undo.done(request, saved_prompts.deleted, _FULL % {"most": MAX_PROMPTS}),
    }
    return render(request, "prompts/prompts.html", context)


@signed_in("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    form = PromptForm(request.POST or None, person=person_of(request), text=PromptText())
    if request.method == "POST":
        _writes.check(str(person_of(request).pk))
        if wanted := form.wanted():
            try:
                if saved_prompts.create(visitor_of(request, "page"), wanted):
                    return undo.saved("prompts")
                form.add_error(None, _FULL % {"most": MAX_PROMPTS})
            except PromptNameTakenError:
                form.add_error("name", _NAME_TAKEN)
            except GroupGoneError:
                form.add_error("group", _GROUP_GONE)
    return render(request, "prompts/prompt.html", {"form": form}, status=400 if form.errors else 200)


@signed_in("GET", "POST")
def prompt(request: HttpRequest, prompt_id: UUID) -> HttpResponse:
    person = person_of(request)
    text = saved_prompts.text_of(person, prompt_id)
    form = PromptForm(request.POST or None, person=person, text=text)
    if request.method == "POST":
        _writes.check(str(person.pk))
        if wanted := form.wanted():
            try:
                saved_prompts.change(visitor_of(request, "page"), prompt_id, wanted)
                return undo.saved("prompts")
            except PromptNameTakenError:
                form.add_error("name", _NAME_TAKEN)
            except GroupGoneError:
                form.add_error("group", _GROUP_GONE)
    context = {"form": form, "prompt": {"id": prompt_id, "name": text.name}}
    return render(request, "prompts/prompt.html", context, status=400 if form.errors else 200)


@signed_in("POST")
def delete(request: HttpRequest, prompt_id: UUID) -> HttpResponse:
    _writes.check(str(person_of(request).pk))
    gone = saved_prompts.delete(visitor_of(request, "page"), prompt_id)
    return undo.after_deletion("prompts", gone.id)


@signed_in("POST")
def restore(request: HttpRequest, prompt_id: UUID) -> HttpResponse:
    _writes.check(str(person_of(request).pk))
    is_back = saved_prompts.restore(visitor_of(request, "page"), prompt_id)
    return undo.after_restoring("prompts", prompt_id, is_back=is_back)


@signed_in("GET")
def export_file(request: HttpRequest) -> HttpResponse:
    """The person's own prompts, which can be imported again."""
    response = HttpResponse(written(person_of(request)), content_type="application/json")
    response["Content-Disposition"] = 'attachment; filename="prompts.json"'
    return response


@signed_in("GET", "POST")
def import_page(request: HttpRequest) -> HttpResponse:
    """The form; after an import, what it did."""
    if request.method != "POST":
        return render(request, "prompts/import.html", {"form": PromptFileForm()})
    _writes.check(str(person_of(request).pk))
    form = PromptFileForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            done = import_file(person_of(request), form.cleaned_data["file"].read(MAX_FILE_BYTES + 1))
            return render(request, "prompts/import.html", {"form": PromptFileForm(), "done": _sentences(done)})
        except PromptFileError as error:
            for problem in (gettext("Nothing was imported."), *error.problems):
                form.add_error("file", problem)
    return render(request, "prompts/import.html", {"form": form}, status=400)


def _sentences(done: ImportedPrompts) -> list[str]:
    added = ngettext("%(count)d prompt was imported.", "%(count)d prompts were imported.", done.added) % {"count": done.added}
    had = ngettext("You had %(count)d of them already.", "You had %(count)d of them already.", done.had) % {"count": done.had}
    numbered = ngettext(
        "%(count)d of them has a number behind its name now, because another prompt has that name.",
        "%(count)d of them have a number behind their names now, because other prompts have these names.",
        done.numbered,
    )
    return [added, *([numbered % {"count": done.numbered}] if done.numbered else []), *([had] if done.had else [])]


@signed_in("GET")
def offered(request: HttpRequest) -> JsonResponse:
    """The prompts that the person may use, for the message box, and the names of the tool servers that it asks for others."""
    person = person_of(request)
    prompts = [saved_prompts.as_json(each) for each in saved_prompts.listed(person)]
    return JsonResponse({"prompts": prompts, "servers": prompt_servers(person)})


@signed_in("GET")
def text(request: HttpRequest, prompt_id: UUID) -> JsonResponse:
    """The text of one, with its blanks."""
    return JsonResponse({"text": saved_prompts.to_insert(person_of(request), prompt_id)})
