"""A person's settings page, the switch for their instructions in one conversation, and the page that closes their account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import auth
from django.core.validators import MaxLengthValidator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from chatui.accounts import profile
from chatui.accounts import second_factor as accounts_second_factor
from chatui.accounts.profile import PersonalSettings
from chatui.display.conversation import EFFORTS
from chatui.display.conversation_list import shown_conversation
from chatui.display.folders import INSTRUCTION_CHARS, clean_instructions
from chatui.display.model_choice import shown_choices
from chatui.env import environment
from chatui.lifecycle import closing
from chatui.lifecycle.closing import CannotCloseError
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.permissions.access import NotFoundError
from chatui.site.languages import LANGUAGES
from chatui.web.folders import Instructions
from chatui.web.guards import person_of, signed_in, visitor_of
from chatui.web.language import in_cookie
from chatui.web.sign_in import second_factor, session
from chatui.web.sign_in.pages import after_sign_out
from renderer.characters import one_line

if TYPE_CHECKING:
    from chatui.models.user import User


NAME_CHARS = 150
SECTIONS = (
    (pgettext_lazy("settings", "You"), ("name",)),
    (_("Language and appearance"), ("language", "time_zone", "theme")),
    (_("Answers"), ("choice", "effort", "instructions")),
    (_("Search"), ("finds_documents",)),
)
THEMES = (("", _("Same as the system")), ("light", _("Light")), ("dark", _("Dark")))


class SettingsForm(forms.Form):
    """Everything is optional: an empty field means the default for everybody."""

    name = forms.CharField(
        label=_("Name"),
        required=False,
        help_text=_("The name that others see, such as on a share link that names you. You sign in with your account name."),
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "name", "maxlength": NAME_CHARS}),
    )
    language = forms.ChoiceField(label=_("Language"), required=False)
    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        required=False,
        help_text=_("For times on pages. If you choose one, models are told the date in it, where this server tells them the date."),
    )
    theme = forms.ChoiceField(
        label=_("Appearance"),
        required=False,
        choices=THEMES,
        help_text=_("Applies in all of your browsers. The switch in the menu applies to one browser."),
    )
    choice = forms.ChoiceField(label=_("Model for new conversations"), required=False)
    effort = forms.ChoiceField(label=_("Reasoning effort for new conversations"), required=False)
    instructions = Instructions(
        label=_("My instructions"),
        required=False,
        max_length=INSTRUCTION_CHARS,
        help_text=format_lazy(
            _(
                "How the model should answer, or what it should know about you, in up to {count} characters. They apply to all of your "
                "conversations from your next message on; this site's own instructions take precedence. You can turn them off for a "
                "conversation in its menu. People who open a shared link do not see them, and programs that use your keys do not get "
                "them."
            ),
            count=lazy(number_format, str)(INSTRUCTION_CHARS, force_grouping=True),
        ),
        widget=forms.Textarea(attrs={"dir": "auto", "rows": 8}),
    )

    finds_documents = forms.BooleanField(
        label=_("Include my documents in my search"),
        required=False,
        help_text=_(
            "The search in your list of conversations also covers the text of documents that you sent. Nobody else can search them."
        ),
    )

    def __init__(self, data: Any = None, *, person: User) -> None:
        now = profile.settings_of(person)
        super().__init__(data, initial={name: getattr(now, name) for name in self.base_fields})
        fields: dict[str, Any] = self.fields
        fields["name"].disabled = profile.is_name_managed(person)
        if len(now.name) > NAME_CHARS:
            # A directory's name has two parts, which may be longer together; it stays unchanged.
            del fields["name"].widget.attrs["maxlength"]
        fields["language"].choices = [("", gettext("Same as the browser")), *LANGUAGES.items()]
        fields["time_zone"].choices = [
            ("", gettext("Same as the browser")),
            ("UTC", "UTC"),
            *((name, name.replace("_", " ")) for name in profile.names()),
        ]
        models = shown_choices(person, None)
        offered = [(choice.exact, choice.label) for choice in models.choices]
        if models.gone:
            # Saving other settings must not change this one unseen.
            offered.append((person.choice, gettext("%(model)s (not offered now)") % {"model": models.gone}))
        elif person.choice and models.chosen:
            self.initial["choice"] = models.chosen.exact
        fields["choice"].choices = [("", gettext("Default")), *offered]
        fields["effort"].choices = [("", gettext("Default of the model")), *EFFORTS]
        # An earlier choice that no longer exists must not prevent other changes.
        for name in ("language", "time_zone", "choice"):
            if self.initial[name] not in dict(fields[name].choices):
                self.initial[name] = ""

    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(str(heading), [self[name] for name in names]) for heading, names in SECTIONS]

    def clean_name(self) -> str:
        """One line, not too long; an existing name is accepted unchanged."""
        name, before = one_line(self.cleaned_data["name"]), str(self.initial["name"])
        if name == one_line(before):
            return before
        MaxLengthValidator(NAME_CHARS)(name)
        return name

    def wanted(self) -> PersonalSettings | None:
        if not self.is_valid():
            return None
        values = {name: self.cleaned_data[name] for name in self.base_fields}
        values |= {"instructions": clean_instructions(values["instructions"])}
        return PersonalSettings(**values)


_writes = Throttle("settings", attempts=60, seconds=600)


@signed_in("GET", "POST")
def settings(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = SettingsForm(request.POST or None, person=person)
    if request.method == "POST":
        _writes.check(str(person.pk))
        if wanted := form.wanted():
            profile.save(visitor_of(request, "page"), wanted)
            return in_cookie(redirect(f"{reverse('settings')}?saved"), wanted.language)
    context = {"form": form, "is_saved": "saved" in request.GET}
    return render(request, "account/settings.html", context, status=400 if form.errors else 200)


@signed_in("GET", "POST")
def instructions(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Switches one's own instructions on or off in this conversation."""
    row = access.own_conversation(person_of(request), conversation_id)
    if request.method == "POST":
        _writes.check(str(person_of(request).pk))
        row.without_instructions = "off" in request.POST
        row.save(update_fields=["without_instructions"])
        return redirect("conversation", conversation_id)
    return render(request, "account/instructions.html", {"conversation": shown_conversation(row), "is_off": row.without_instructions})


@signed_in("GET", "POST")
def close(request: HttpRequest) -> HttpResponse:
    """Closes one's own account, if the operator allows it, within ten minutes of authentication."""
    if not environment().close_own_account:
        raise NotFoundError
    if not session.is_recent(request):
        return redirect(f"{reverse('sign_in_confirm')}?next={reverse('settings_close')}")
    person, problem = person_of(request), ""
    form = second_factor.CodeForm(request.POST or None) if accounts_second_factor.is_on(person) else None
    is_shown = form is None or (form.is_valid() and second_factor.is_right(request, form, person))
    if request.method == "POST" and "sure" in request.POST and is_shown:
        _writes.check(str(person.pk))
        try:
            closing.close_own(visitor_of(request, "page"))
        except CannotCloseError as error:
            problem = gettext("Your account was not closed: nobody else could manage accounts.")
            if error.why == closing.HEIR:
                problem = gettext("Your account was not closed: it receives the conversations of closed accounts.")
        else:
            auth.logout(request)
            return after_sign_out(person)
    shown = {"form": form, "problem": problem, "policy": environment().closed_accounts, "days": environment().closed_account_days}
    page = render(request, "account/close.html", shown, status=400 if problem or (form is not None and form.errors) else 200)
    return session.refused_form(page, form)
