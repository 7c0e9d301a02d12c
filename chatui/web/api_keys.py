"""The page of a person's API keys, with the form for a new one: its name, what it may be used for, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts import api_keys
from chatui.accounts.api_keys import MAX_AT_ONCE, MAX_PER_MINUTE, NAME_CHARS, CreatedKey, NewKeyOptions, TooManyKeysError
from chatui.display.tools import tools_for_keys
from chatui.limits import Throttle
from chatui.model_servers import choice as model_choice
from chatui.model_servers.choice import ModelChoice
from chatui.permissions import programs
from chatui.proxies import public_address
from chatui.web.guards import person_of, signed_in, visitor_of
from chatui.web.sign_in import session
from renderer.characters import is_seen, one_line

RESPONSES, CHAT, MESSAGES = "responses", "chat", "messages"
ALL, HIDDEN = "all", "hidden"
DAYS = (30, 90, 365)
NEVER = "never"


class KeyForm(forms.Form):
    """What a new key may be used for."""

    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_CHARS,
        help_text=_("Which program will use it, and where."),
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    formats = forms.MultipleChoiceField(
        label=_("Formats"),
        choices=((RESPONSES, "Responses"), (CHAT, "Chat Completions"), (MESSAGES, "Messages")),
        initial=[RESPONSES, CHAT, MESSAGES],
        widget=forms.CheckboxSelectMultiple,
    )
    models = forms.MultipleChoiceField(
        label=_("Models"),
        required=False,
        help_text=_("If none is selected: all that you may use."),
        widget=forms.CheckboxSelectMultiple,
    )
    tools = forms.MultipleChoiceField(
        label=_("Tools"),
        required=False,
        help_text=_("Tools of this site that models may use for this program. Only tools that run without asking you are listed."),
        widget=forms.CheckboxSelectMultiple,
    )
    more = forms.MultipleChoiceField(label=_("Additional permissions"), required=False, widget=forms.CheckboxSelectMultiple)
    lasts = forms.ChoiceField(label=_("Valid for"), initial="90")
    per_minute = forms.IntegerField(label=_("Maximum requests per minute"), min_value=1, max_value=MAX_PER_MINUTE, initial=60)
    at_once = forms.IntegerField(
        label=_("Maximum answers at once"),
        required=False,
        min_value=1,
        max_value=MAX_AT_ONCE,
        help_text=_("Further requests wait. If empty: as many as for all your keys together."),
    )

    def __init__(
        self,
        *args: Any,
        choices: Iterable[ModelChoice],
        tools: Sequence[tuple[str, str]] = (),
        may_view_hidden: bool = False,
        **kwargs: Any,
    ) -> None:
        """``choices``: the models that the person may use; ``tools``: name and title of each tool that the key can name.
        ``may_view_hidden``: whether their keys may read reasoning."""
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["models"].choices = [(choice.value, choice.label) for choice in choices]
        fields["tools"].choices = tools
        if not tools:
            del fields["tools"]
        more = [(ALL, gettext("read responses requested with your other keys"))]
        if may_view_hidden:
            more.append((HIDDEN, gettext("read the models' raw reasoning: each access is recorded in the audit log")))
        fields["more"].choices = more
        days = [(str(count), ngettext("%(count)d day", "%(count)d days", count) % {"count": count}) for count in DAYS]
        fields["lasts"].choices = [*days, (NEVER, gettext("until it is revoked"))]

    def clean_name(self) -> str:
        name = one_line(self.cleaned_data["name"])
        if is_seen(name):
            return name
        raise ValidationError(gettext("Please enter a name."))

    def wanted(self) -> NewKeyOptions | None:
        if not self.is_valid():
            return None
        formats, lasts = self.cleaned_data["formats"], self.cleaned_data["lasts"]
        return NewKeyOptions(
            name=self.cleaned_data["name"],
            for_responses=RESPONSES in formats,
            for_chat=CHAT in formats,
            for_messages=MESSAGES in formats,
            models=tuple(self.cleaned_data["models"]),
            per_minute=self.cleaned_data["per_minute"],
            at_once=self.cleaned_data["at_once"],
            tools=tuple(self.cleaned_data.get("tools", ())),
            reads_all=ALL in self.cleaned_data["more"],
            views_hidden=HIDDEN in self.cleaned_data["more"],
            days=None if lasts == NEVER else int(lasts),
        )


_new_keys = Throttle("new-api-key", attempts=20, seconds=600)


@signed_in("GET", "POST")
def keys(request: HttpRequest) -> HttpResponse:
    """The person's keys, with the form for a new one. The answer to the form is the only page that ever shows the new key."""
    person = person_of(request)
    new_form = partial(
        KeyForm,
        choices=model_choice.choices_for(person),
        tools=tools_for_keys(person),
        may_view_hidden=programs.may_read(person),
    )
    form, made = new_form(request.POST or None), None
    is_recent = session.is_recent(request)
    if request.method == "POST":
        if not is_recent:
            return redirect(f"{reverse('sign_in_confirm')}?next={reverse('api_keys')}")
        _new_keys.check(str(person.pk))
        if made := _created(request, form):
            form = new_form()
    context = {
        "keys": api_keys.keys_of(person),
        "form": form,
        "made": made,
        "is_recent": is_recent,
        "address": public_address(request, "/v1"),
    }
    return render(request, "account/keys.html", context, status=400 if form.errors else 200)


@signed_in("POST")
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    api_keys.revoke_own(visitor_of(request, "page"), key_id)
    return redirect("api_keys")


def _created(request: HttpRequest, form: KeyForm) -> CreatedKey | None:
    wanted = form.wanted()
    if wanted is None:
        return None
    try:
        return api_keys.create(visitor_of(request, "page"), wanted)
    except TooManyKeysError:
        form.add_error(None, gettext("You have the maximum number of keys. Revoke one that you no longer use."))
        return None
