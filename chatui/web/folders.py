"""The folder pages: create, edit and delete a folder, and move a conversation into one."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui import wire
from chatui.display import conversation_list
from chatui.display import folders as display_folders
from chatui.display import own_data as display_own_data
from chatui.display.conversation_list import shown_conversation
from chatui.display.folders import INSTRUCTION_CHARS, MAX_FOLDERS, NAME_CHARS, clean_instructions
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.web import own_data
from chatui.web.errors import wants_json
from chatui.web.guards import done, person_of, signed_in

if TYPE_CHECKING:
    from chatui.models.conversation import Folder
    from chatui.models.user import User

_writes = Throttle("folder", attempts=120, seconds=60)

MAX_ASKED = 100
"""For how many conversations a list asks at once in which folders they are: so many ids fit into an address."""


class Instructions(forms.CharField):
    """A text of several lines. Browsers send each line end as two characters, but count one."""

    def to_python(self, value: object) -> str:
        text = super().to_python(value)
        return text.replace("\r\n", "\n") if text else ""


class FolderForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_CHARS,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    instructions = Instructions(
        label=_("Instructions"),
        required=False,
        max_length=INSTRUCTION_CHARS,
        help_text=format_lazy(
            _(
                "How the model should answer in this folder, or what it should know, in up to {count} characters. They apply from your "
                "next message on. People who open a shared link do not see them."
            ),
            count=lazy(number_format, str)(INSTRUCTION_CHARS, force_grouping=True),
        ),
        widget=forms.Textarea(attrs={"dir": "auto", "rows": 8}),
    )

    def clean_name(self) -> str:
        if name := display_folders.clean_name(self.cleaned_data["name"]):
            return name
        raise ValidationError(gettext("Please enter a name."))

    def clean_instructions(self) -> str:
        return clean_instructions(self.cleaned_data["instructions"])


@signed_in("GET")
def of(request: HttpRequest) -> HttpResponse:
    """JSON: the folder of each of the person's conversations that ``conversations`` names, separated by commas; by id. Those in none, and
    those of others, are left out. A list that has not loaded a closed folder asks, so that the folder can be marked."""
    named = request.GET.get("conversations", "").split(",")[:MAX_ASKED]
    return JsonResponse(display_folders.folders_of(person_of(request), named))


@signed_in("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    """Creates a folder, then moves the conversation named by ``conversation`` into it, or opens a new one in it."""
    person = person_of(request)
    asked = request.POST.get("conversation") or request.GET.get("conversation", "")
    row = access.own_permanent(person, asked) if asked else None
    form = FolderForm(request.POST or None)
    if request.method == "POST":
        _writes.check(str(person.pk))
        if form.is_valid():
            if folder := display_folders.create(person, **form.cleaned_data):
                _notify(person, folder)
                url = f"{reverse('home')}?folder={folder.pk}"
                if row is None:
                    return done(request, url, folder=str(folder.pk), name=folder.name)
                return _moved(request, person, row.pk, str(folder.pk))
            form.add_error(None, gettext("You have the maximum of %(most)s folders. Delete one first.") % {"most": MAX_FOLDERS})
        if wants_json(request):
            return JsonResponse({"ok": False, "message": " ".join(map(str, chain.from_iterable(form.errors.values())))})
    context = {"form": form, "conversation": shown_conversation(row) if row else None}
    return render(request, "sidebar/new_folder.html", context, status=400 if form.errors else 200)


@signed_in("GET", "POST")
def folder(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    person = person_of(request)
    text = display_folders.text_of(person, folder_id)
    form = FolderForm(request.POST or None, initial={"name": text.name, "instructions": text.instructions})
    if request.method == "POST":
        _writes.check(str(person.pk))
        if form.is_valid():
            _notify(person, display_folders.change(person, folder_id, **form.cleaned_data))
            return redirect(f"{reverse('folder', args=[folder_id])}?saved=1")
    context = {"form": form, "folder": text, "is_saved": "saved" in request.GET and request.method == "GET"}
    return render(request, "sidebar/folder.html", context, status=400 if form.errors else 200)


@signed_in("GET", "POST")
def delete(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    """Asks whether to delete a folder; then does so. Its conversations go back to the list."""
    person = person_of(request)
    if request.method == "POST":
        _writes.check(str(person.pk))
        display_folders.delete(person, folder_id)
        conversation_list.tell(person.pk, wire.FolderGone(str(folder_id)))
        return redirect("home")
    return render(request, "sidebar/delete_folder.html", {"folder": display_folders.text_of(person, folder_id)})


@signed_in("GET", "POST")
def move(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Asks for the folder of a conversation; then moves it. Without a folder it goes to the list."""
    person = person_of(request)
    if request.method == "POST":
        return _moved(request, person, conversation_id, request.POST.get("folder", ""))
    row = access.own_permanent(person, conversation_id)
    folders = display_folders.names(person)
    context = {
        "conversation": shown_conversation(row),
        "folders": folders,
        "here": str(row.folder_id or ""),
        "is_full": len(folders) >= MAX_FOLDERS,
        "most": MAX_FOLDERS,
        "name_chars": NAME_CHARS,
    }
    return render(request, "sidebar/move.html", context)


def _moved(request: HttpRequest, person: User, conversation_id: UUID, folder_id: str) -> HttpResponse:
    row = access.own_permanent(person, conversation_id)
    kept = own_data.remember(request, display_own_data.move(person, [row.pk], folder_id))
    return done(request, reverse("conversation", args=[row.pk]), title=row.title, undo=kept["key"], folder=folder_id)


def _notify(person: User, row: Folder) -> None:
    conversation_list.tell(person.pk, wire.FolderKept(str(row.pk), row.name, display_folders.next_folder_id(row, person)))
