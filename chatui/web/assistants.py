"""The pages of a person's assistants: the list, creating, changing, offering, deleting and restoring one, and the one of a conversation."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from uuid import UUID

from csp.decorators import csp
from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.display import assistants, collections
from chatui.display.assistants import MAX_ASSISTANTS, MAX_STARTERS, NAME_CHARS, STARTER_CHARS, AssistantText
from chatui.display.conversation import EFFORTS
from chatui.display.conversation_list import shown_conversation
from chatui.display.folders import clean_instructions
from chatui.display.model_choice import shown_choices
from chatui.display.tools import tools_to_choose
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.permissions.access import NotFoundError
from chatui.permissions.collections import MAX_ASKED
from chatui.permissions.offers import may_offer
from chatui.pictures import MAX_BYTES, MAX_SIDE, PictureError, PictureFault, only_pixels
from chatui.web import undo
from chatui.web.folders import Instructions
from chatui.web.guards import INERT, person_of, signed_in, visitor_of

if TYPE_CHECKING:
    from chatui.models.user import User

_writes = Throttle("assistant", attempts=120, seconds=60)


class AssistantForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=NAME_CHARS, widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}))
    initials = forms.CharField(
        label=_("Initials"),
        required=False,
        max_length=assistants.INITIAL_CHARS,
        help_text=_("One or two letters, or an emoji. Otherwise they come from the name."),
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    picture = forms.FileField(
        label=_("Picture"),
        required=False,
        help_text=format_lazy(
            _(
                "Shown instead of the initials. Any picture is made a small square; without scripts, choose a PNG of at most {side} × "
                "{side} pixels and {size} KB."
            ),
            side=MAX_SIDE,
            size=MAX_BYTES // 1024,
        ),
        widget=forms.FileInput(attrs={"accept": "image/png"}),
    )
    kept_picture = forms.Field(required=False, widget=forms.HiddenInput)
    """The picture that was chosen before the form came back with a mistake, in base64: a browser does not choose a file again."""
    no_picture = forms.BooleanField(label=_("Without a picture"), required=False)
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=assistants.DESCRIPTION_CHARS,
        help_text=_("What it is for, in a sentence, for those who choose one."),
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    instructions = Instructions(
        label=_("Instructions"),
        required=False,
        max_length=assistants.INSTRUCTION_CHARS,
        help_text=format_lazy(
            _(
                "What the assistant does, and how it should answer, in up to {count} characters. This site's own instructions take "
                "precedence. Write nothing secret here: a model may repeat its instructions in an answer."
            ),
            count=lazy(number_format, str)(assistants.INSTRUCTION_CHARS, force_grouping=True),
        ),
        widget=forms.Textarea(attrs={"dir": "auto", "rows": 10}),
    )
    choice = forms.ChoiceField(label=_("Model"), required=False)
    effort = forms.ChoiceField(label=_("Reasoning effort"), required=False)
    starters = Instructions(
        label=_("First questions"),
        required=False,
        help_text=format_lazy(_("Up to {count} questions to begin with, one in each line."), count=MAX_STARTERS),
        widget=forms.Textarea(attrs={"dir": "auto", "rows": 4}),
    )
    choose_tools = forms.BooleanField(
        label=_("Begin with these tools alone"),
        required=False,
        help_text=_("Otherwise a conversation begins with the tools that whoever begins it would have."),
    )
    tools = forms.MultipleChoiceField(
        label=_("Tools"),
        required=False,
        help_text=_("Whoever begins a conversation has those of them that they are offered, and can switch them on and off there."),
        widget=forms.CheckboxSelectMultiple,
    )
    collections = forms.MultipleChoiceField(
        label=_("Documents"),
        required=False,
        help_text=_(
            "Conversations with it ask these collections of yours. Whoever is not offered one goes on without it: offer it to their "
            "groups, too. A model may repeat what it finds."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    groups = forms.TypedMultipleChoiceField(
        label=_("Offer to groups"),
        required=False,
        coerce=int,
        help_text=_(
            "Members may begin conversations with it, and see its name, initials, picture, description and first questions. They do not "
            "see its instructions, but a model may repeat them."
        ),
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any = None, files: Any = None, *, person: Any, text: AssistantText, offered_to: Collection[int] = ()) -> None:
        texts = {name: getattr(text, name) for name in self.base_fields if name not in _NO_TEXTS}
        super().__init__(
            data,
            files,
            initial={
                **texts,
                "groups": list(offered_to),
                "choose_tools": text.tools is not None,
                "tools": text.tools or (),
                "collections": text.collections,
            },
        )
        fields: dict[str, Any] = self.fields
        if tools := tools_to_choose(person, text.tools or ()):
            fields["tools"].choices = tools
        else:
            del fields["choose_tools"], fields["tools"]
        if files := collections.to_lend(person, text.collections):
            fields["collections"].choices = files
        else:
            del fields["collections"]
        self._text = text
        if groups := assistants.groups_to_offer(person):
            fields["groups"].choices = groups
        else:
            del fields["groups"]
        models = shown_choices(person, None, begins_with=text.choice)
        offered = [(choice.exact, choice.label) for choice in models.choices]
        if models.gone and text.choice:
            # Saving other settings must not change this one unseen.
            offered.append((text.choice, gettext("%(model)s (not offered now)") % {"model": models.gone}))
        elif text.choice and models.chosen:
            self.initial["choice"] = models.chosen.exact
        fields["choice"].choices = [("", gettext("As for any conversation")), *offered]
        fields["effort"].choices = [("", gettext("As for any conversation")), *EFFORTS]

    def clean_picture(self) -> bytes:
        """Empty if none was chosen."""
        chosen = self.cleaned_data["picture"]
        try:
            return only_pixels(chosen.read(MAX_BYTES + 1)) if chosen else b""
        except PictureError as error:
            raise ValidationError(_FAULTS[error.fault] % {"side": MAX_SIDE, "size": MAX_BYTES // 1024}) from None

    def clean_kept_picture(self) -> bytes:
        """The picture that was sent. Our form sends nothing but pictures: anything else counts as no picture."""
        try:
            return only_pixels(b64decode(self.cleaned_data["kept_picture"] or "", validate=True))
        except ValueError:
            return b""

    def clean_name(self) -> str:
        if name := assistants.clean(AssistantText(self.cleaned_data["name"])).name:
            return name
        raise ValidationError(gettext("Please enter a name."))

    def clean_instructions(self) -> str:
        return clean_instructions(self.cleaned_data["instructions"], assistants.INSTRUCTION_CHARS)

    def clean_starters(self) -> str:
        lines = assistants.starters_of(self.cleaned_data["starters"])
        if not assistants.starters_fit(lines):
            problem = gettext("Please enter at most %(most)s questions, each of at most %(chars)s characters.")
            raise ValidationError(problem % {"most": MAX_STARTERS, "chars": STARTER_CHARS})
        return "\n".join(lines)

    def clean_tools(self) -> list[str]:
        ticked: list[str] = self.cleaned_data["tools"]
        if ticked and not self.cleaned_data["choose_tools"]:
            raise ValidationError(gettext("Please tick “Begin with these tools alone”, or none of them."))
        return ticked

    def clean_collections(self) -> list[str]:
        files: list[str] = self.cleaned_data["collections"]
        if len(files) > MAX_ASKED:
            raise ValidationError(gettext("Please choose at most %(most)d.") % {"most": MAX_ASKED})
        return files

    def wanted(self) -> AssistantText | None:
        if not self.is_valid():
            return None
        given = self.cleaned_data
        tools = self._text.tools if "tools" not in given else given["tools"] if given["choose_tools"] else None
        texts = {name: given[name] for name in given if name not in _NO_TEXTS}
        return assistants.clean(AssistantText(**texts, tools=tools, collections=given.get("collections", self._text.collections)))

    def picture_wanted(self) -> bytes | None:
        """The picture that it has from now on, a PNG of pixels alone; empty for none; None if it stays."""
        given = self.cleaned_data
        return given["picture"] or (b"" if given["no_picture"] else given["kept_picture"] or None)

    def picture_in_hand(self) -> str:
        """The picture that was chosen and is not stored yet, in base64, for a form that comes back."""
        given = getattr(self, "cleaned_data", {})
        return b64encode(given.get("picture") or given.get("kept_picture") or b"").decode()

    def groups_wanted(self) -> Collection[int] | None:
        """The groups to which it is offered; None if the form does not ask for them."""
        return self.cleaned_data.get("groups")


_NO_TEXTS = ("picture", "kept_picture", "no_picture", "groups", "choose_tools", "tools", "collections")
"""The fields that are no text of the assistant's."""
_FAULTS = {
    PictureFault.LARGE: _("Please choose a PNG of at most %(side)s × %(side)s pixels and %(size)s KB."),
    PictureFault.KIND: _("Please choose a PNG with 8 bits per channel that is neither interlaced nor animated."),
    PictureFault.BROKEN: _("This PNG is damaged. Please choose another one."),
}
_FULL = _("You have the maximum of %(most)s assistants. Delete one first.")


@signed_in("GET")
def listing(request: HttpRequest) -> HttpResponse:
    """The assistants with which one may begin a conversation; after a deletion also how to undo it."""
    person = person_of(request)
    context = {
        "assistants": assistants.with_groups(person),
        "may_offer": may_offer(person),
        **undo.done(request, assistants.deleted, _FULL % {"most": MAX_ASSISTANTS}),
    }
    return render(request, "assistants/assistants.html", context)


@signed_in("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = AssistantForm(request.POST or None, request.FILES or None, person=person, text=AssistantText())
    if request.method == "POST":
        _writes.check(str(person.pk))
        if wanted := form.wanted():
            if made := assistants.create(visitor_of(request, "page"), wanted, form.groups_wanted() or (), form.picture_wanted() or b""):
                return _saved(person, made)
            form.add_error(None, _FULL % {"most": MAX_ASSISTANTS})
    return render(request, "assistants/new.html", {"form": form}, status=400 if form.errors else 200)


@signed_in("GET", "POST")
def assistant(request: HttpRequest, assistant_id: UUID) -> HttpResponse:
    """The page on which its owner changes an assistant. A conversation that began with it keeps the version that it has."""
    person = person_of(request)
    text = assistants.text_of(person, assistant_id)
    offered_to = assistants.offered_to(person, assistant_id)
    form = AssistantForm(request.POST or None, request.FILES or None, person=person, text=text, offered_to=offered_to)
    if request.method == "POST":
        _writes.check(str(person.pk))
        if wanted := form.wanted():
            assistants.change(visitor_of(request, "page"), assistant_id, wanted, form.groups_wanted(), form.picture_wanted())
            return _saved(person, assistant_id)
    context = {
        "form": form,
        "assistant": {"id": assistant_id, "name": text.name, "picture": text.picture},
        "not_offered": collections.not_offered(person, text.collections, form.initial["groups"]),
        "is_saved": "saved" in request.GET and request.method == "GET",
    }
    return render(request, "assistants/assistant.html", context, status=400 if form.errors else 200)


@signed_in("GET")
@csp(INERT)  # type: ignore[arg-type]
def picture(request: HttpRequest, picture_id: UUID) -> HttpResponse:
    """The picture of an assistant. Another picture has another address, so the person's browser may keep it."""
    response = HttpResponse(assistants.picture(person_of(request), picture_id), content_type="image/png")
    response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _saved(person: User, assistant_id: object) -> HttpResponse:
    """Leads to the list; but back to the form if it has to say that some of the groups may not ask the documents."""
    files = assistants.text_of(person, assistant_id).collections
    if collections.not_offered(person, files, assistants.offered_to(person, assistant_id)):
        return redirect(f"{reverse('assistant', args=[assistant_id])}?saved=1")
    return undo.saved("assistants")


@signed_in("POST")
def delete(request: HttpRequest, assistant_id: UUID) -> HttpResponse:
    _writes.check(str(person_of(request).pk))
    gone = assistants.delete(visitor_of(request, "page"), assistant_id)
    return undo.after_deletion("assistants", gone.id)


@signed_in("POST")
def restore(request: HttpRequest, assistant_id: UUID) -> HttpResponse:
    _writes.check(str(person_of(request).pk))
    is_back = assistants.restore(visitor_of(request, "page"), assistant_id)
    return undo.after_restoring("assistants", assistant_id, is_back=is_back)


@signed_in("GET", "POST")
def of_conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The assistant that a conversation began with; lets its newest version apply there."""
    row = access.own_conversation(person_of(request), conversation_id)
    here = assistants.here(row)
    if here is None:
        raise NotFoundError
    if request.method == "POST":
        _writes.check(str(person_of(request).pk))
        assistants.use_newest(row)
        return redirect("conversation", conversation_id)
    return render(request, "assistants/here.html", {"conversation": shown_conversation(row), "here": here})
