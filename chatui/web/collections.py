"""The pages of collections of documents: the list, creating, changing, offering, filling, deleting and restoring one, and the files of a
folder."""

from __future__ import annotations

from collections.abc import Collection as Several
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from chatui.display import collections, files
from chatui.display.collections import DESCRIPTION_CHARS, MAX_COLLECTIONS, NAME_CHARS, CollectionText, ListedDocument, ShownCollection
from chatui.display.conversation_list import shown_conversation
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.permissions.access import NotFoundError
from chatui.permissions.collections import MAX_ASKED, may_offer
from chatui.transfer import collections as transfer
from chatui.transfer.collections import MAX_DOCUMENTS, FileUpload, RefusedDocument
from chatui.transfer.upload import max_form_bytes
from chatui.web import undo
from chatui.web.guards import person_of, signed_in, visitor_of

_writes = Throttle("collection", attempts=120, seconds=60)
_uploads = Throttle("documents", attempts=60, seconds=600)
_FULL = _("You have the maximum of %(most)s collections. Delete one first.")
MAX_FILES = 20
"""The most files of one upload: they are read while the browser waits."""


class CollectionForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=NAME_CHARS, widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}))
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=DESCRIPTION_CHARS,
        help_text=_("What is in it, in a sentence. The model reads it to know what to look for here."),
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    groups = forms.TypedMultipleChoiceField(
        label=_("Offer to groups"),
        required=False,
        coerce=int,
        help_text=_("Members may ask its documents in their conversations, and open and download them. You alone can change them."),
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any = None, *, person: Any, text: CollectionText, offered_to: Several[int] = ()) -> None:
        super().__init__(data, initial={"name": text.name, "description": text.description, "groups": list(offered_to)})
        fields: dict[str, Any] = self.fields
        if groups := collections.groups_to_offer(person):
            fields["groups"].choices = groups
        else:
            del fields["groups"]

    def clean_name(self) -> str:
        if name := collections.clean(CollectionText(self.cleaned_data["name"])).name:
            return name
        raise ValidationError(gettext("Please enter a name."))

    def wanted(self) -> CollectionText | None:
        if not self.is_valid():
            return None
        return collections.clean(CollectionText(self.cleaned_data["name"], self.cleaned_data["description"]))

    def groups_wanted(self) -> Several[int] | None:
        """The groups to which it is offered; None if the form does not ask for them."""
        return self.cleaned_data.get("groups")


class _Input(forms.FileInput):
    allow_multiple_selected = True


class _Files(forms.FileField):
    """One file or more."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        return [super(_Files, self).clean(each, initial) for each in data or [None]]


class UploadForm(forms.Form):
    file = _Files(
        label=_("Files"),
        help_text=lazy(files.accepted, str)(),
        allow_empty_file=True,  # it is refused with its name, and not the others with it
        widget=_Input(attrs={"multiple": True}),
    )
    replaces = forms.ChoiceField(
        label=_("Replaces"),
        required=False,
        help_text=_("A file with the name of a document always takes its place. Answers use the new version from the next search on."),
    )

    def __init__(self, data: Any = None, given: Any = None, *, documents: Sequence[ListedDocument]) -> None:
        super().__init__(data, given)
        fields: dict[str, Any] = self.fields
        fields["replaces"].choices = [("", gettext("Nothing")), *((each.id, each.name) for each in documents)]
        if not documents:
            del fields["replaces"]


@signed_in("GET")
def listing(request: HttpRequest) -> HttpResponse:
    """The collections that one may ask; after a deletion also how to undo it."""
    person = person_of(request)
    context = {
        "collections": collections.listed(person),
        "may_offer": may_offer(person),
        **undo.done(request, collections.deleted, _FULL % {"most": MAX_COLLECTIONS}),
    }
    return render(request, "collections/collections.html", context)


@signed_in("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = CollectionForm(request.POST or None, person=person, text=CollectionText())
    if request.method == "POST":
        _writes.check(str(person.pk))
        if wanted := form.wanted():
            if key := collections.create(visitor_of(request, "page"), wanted, form.groups_wanted() or ()):
                return redirect("collection", key)
            form.add_error(None, _FULL % {"most": MAX_COLLECTIONS})
    return render(request, "collections/change.html", {"form": form}, status=400 if form.errors else 200)


@signed_in("GET", "POST")
def change(request: HttpRequest, collection_id: UUID) -> HttpResponse:
    person = person_of(request)
    text = collections.text_of(person, collection_id)
    form = CollectionForm(request.POST or None, person=person, text=text, offered_to=collections.offered_to(person, collection_id))
    if request.method == "POST":
        _writes.check(str(person.pk))
        if wanted := form.wanted():
            collections.change(visitor_of(request, "page"), collection_id, wanted, form.groups_wanted())
            return redirect(f"{reverse('collection', args=[collection_id])}?saved=1")
    context = {"form": form, "collection": {"id": collection_id, "name": text.name}}
    return render(request, "collections/change.html", context, status=400 if form.errors else 200)


@signed_in("GET")
def collection(request: HttpRequest, collection_id: UUID) -> HttpResponse:
    """The documents of a collection that one may ask; its owner adds and removes some here."""
    return _page(request, collections.shown(person_of(request), collection_id))


@signed_in("GET", "POST")
def of_folder(request: HttpRequest, folder_id: UUID) -> HttpResponse:
    """The files of one's folder, and uploads to them."""
    person = person_of(request)
    shown = collections.of_folder(person, folder_id)
    if request.method == "POST":
        return _upload(request, shown)
    return _page(request, shown)


@signed_in("POST")
def upload(request: HttpRequest, collection_id: UUID) -> HttpResponse:
    return _upload(request, collections.shown(person_of(request), collection_id))


def _upload(request: HttpRequest, shown: ShownCollection) -> HttpResponse:
    person = person_of(request)
    if shown.maker:
        raise NotFoundError
    _uploads.check(str(person.pk))
    form = UploadForm(request.POST, request.FILES, documents=_documents(request, shown))
    given = request.FILES.getlist("file")
    if int(request.headers.get("Content-Length") or 0) > max_form_bytes():
        # The server drops the end of a long request, and with it files.
        form.errors.pop("file", None)
        form.add_error("file", gettext("These files together have more than %(count)d MB.") % {"count": max_form_bytes() // (1024 * 1024)})
    elif len(given) > MAX_FILES:
        form.add_error("file", gettext("Please choose at most %(count)d files at a time.") % {"count": MAX_FILES})
    if not form.is_valid():
        return _page(request, shown, form)
    key = shown.id or collections.open_folder(person, shown.folder)
    uploads = [FileUpload(each.name or "", each.read()) for each in given]
    refused = transfer.add(visitor_of(request, "page"), key, uploads, form.cleaned_data.get("replaces"))
    if not refused:
        # The empty fragment ends that of the form, which would lead past the sentence.
        return redirect(f"{_address(shown)}?added={len(uploads)}#")
    for each in refused:
        sentence = _refusal(each)
        form.add_error("file", gettext("“%(name)s” was not added. %(why)s") % {"name": each.name, "why": sentence})
    return _page(request, collections.shown(person, key), form, added=len(uploads) - len(refused))


def _refusal(refused: RefusedDocument) -> str:
    if refused.why == "full":
        return gettext("A collection has at most %(most)d documents.") % {"most": MAX_DOCUMENTS}
    return files.sentence(refused.why, refused.places)


def _page(request: HttpRequest, shown: ShownCollection, form: UploadForm | None = None, added: int = 0) -> HttpResponse:
    documents = _documents(request, shown)
    added = added or (int(asked) if (asked := request.GET.get("added", "")).isdecimal() and len(asked) < 4 else 0)
    context = {
        "collection": shown,
        "documents": documents,
        "earlier": sum(each.earlier for each in documents),
        "form": None if shown.maker else form or UploadForm(documents=documents),
        "upload_address": reverse("folder_documents", args=[shown.folder]) if shown.folder else _upload_address(shown),
        "added": _added(added) if added else "",
        "is_saved": "saved" in request.GET,
        "is_removed": "removed" in request.GET,
    }
    return render(request, "collections/collection.html", context, status=400 if form and form.errors else 200)


def _documents(request: HttpRequest, shown: ShownCollection) -> Sequence[ListedDocument]:
    return collections.documents(person_of(request), shown.id) if shown.id else ()


def _upload_address(shown: ShownCollection) -> str:
    return reverse("collection_documents", args=[shown.id])


def _address(shown: ShownCollection) -> str:
    return reverse("folder_documents", args=[shown.folder]) if shown.folder else reverse("collection", args=[shown.id])


def _added(count: int) -> str:
    return ngettext("%(count)d file was added.", "%(count)d files were added.", count) % {"count": count}


@signed_in("GET", "POST")
def of_conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Chooses the collections that a conversation asks."""
    row = access.own_conversation(person_of(request), conversation_id)
    if request.method == "POST":
        _writes.check(str(person_of(request).pk))
        asked = request.POST.getlist("collection")
        if len(asked) <= MAX_ASKED:
            collections.choose(row, asked)
            return redirect("conversation", conversation_id)
        return _choice(request, asked, row=row, problem=gettext("Please choose at most %(most)d.") % {"most": MAX_ASKED})
    return _choice(request, collections.chosen(row), row=row)


@signed_in("GET")
def choose(request: HttpRequest) -> HttpResponse:
    """Chooses those that a new conversation asks, whose page it leads to with what else that begins with."""
    return _choice(request, request.GET.getlist("collection"), begins=begins_with(request))


def _choice(
    request: HttpRequest, chosen: Sequence[str], *, row: Any = None, begins: Sequence[tuple[str, str]] = (), problem: str = ""
) -> HttpResponse:
    person, assistant = person_of(request), dict(begins).get("assistant")
    context = {
        "collections": collections.listed(person),
        "chosen": chosen,
        "conversation": shown_conversation(row) if row else None,
        "here": collections.here(row) if row else collections.of_assistant(person, assistant) if assistant else None,
        "begins": begins,
        "problem": problem,
    }
    return render(request, "collections/choose.html", context, status=400 if problem else 200)


_BEGINS = ("folder", "assistant", "temporary", "format", "model")


def begins_with(request: HttpRequest) -> list[tuple[str, str]]:
    """What the address says about a new conversation besides its collections, as far as it is said again."""
    return [(name, value) for name in _BEGINS if (value := request.GET.get(name))]


@signed_in("POST")
def remove(request: HttpRequest, collection_id: UUID, file_id: UUID) -> HttpResponse:
    """Delete a document for good."""
    _writes.check(str(person_of(request).pk))
    collections.remove_document(visitor_of(request, "page"), collection_id, file_id)
    return redirect(f"{_address(collections.shown(person_of(request), collection_id))}?removed=1")


@signed_in("POST")
def forget_versions(request: HttpRequest, collection_id: UUID) -> HttpResponse:
    """Delete the earlier versions of all documents for good."""
    _writes.check(str(person_of(request).pk))
    collections.forget_versions(visitor_of(request, "page"), collection_id)
    return redirect(f"{_address(collections.shown(person_of(request), collection_id))}?removed=1")


@signed_in("POST")
def delete(request: HttpRequest, collection_id: UUID) -> HttpResponse:
    _writes.check(str(person_of(request).pk))
    gone = collections.delete(visitor_of(request, "page"), collection_id)
    return undo.after_deletion("collections", gone.id)


@signed_in("POST")
def restore(request: HttpRequest, collection_id: UUID) -> HttpResponse:
    _writes.check(str(person_of(request).pk))
    is_back = collections.restore(visitor_of(request, "page"), collection_id)
    return undo.after_restoring("collections", collection_id, is_back=is_back)
