"""The form of a person's own settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.validators import MaxLengthValidator
from django.utils.formats import number_format
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts import profile, time_zones
from chatui.accounts.profile import PersonalSettings
from chatui.display.conversation import EFFORTS
from chatui.display.folders.actions import INSTRUCTION_CHARS, clean_instructions
from chatui.display.folders.names import one_line
from chatui.languages.available import LANGUAGES
from chatui.model_servers import model_choice
from chatui.web.lists.folders import Instructions

if TYPE_CHECKING:
    from chatui.models import User

NAME_CHARS = 150
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
        help_text=_(
            "For times on pages, and for the date that models are told, if this server tells them. With UTC, answers show the time of "
            "your browser."
        ),
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
        """``person``: their settings are the initial values."""
        now = profile.settings_of(person)
        super().__init__(data, initial={name: getattr(now, name) for name in self.base_fields})
        fields: dict[str, Any] = self.fields
        fields["name"].disabled = profile.is_name_managed(person)
        if len(now.name) > NAME_CHARS:
            # A directory's name has two parts, which may be longer together; it stays unchanged.
            del fields["name"].widget.attrs["maxlength"]
        fields["language"].choices = [("", gettext("Same as the browser")), *LANGUAGES.items()]
        fields["time_zone"].choices = [("", "UTC"), *((name, name.replace("_", " ")) for name in time_zones.names())]
        offered = [(choice.value, choice.label) for choice in model_choice.choices_for(person)]
        fields["choice"].choices = [("", gettext("Default")), *offered]
        fields["effort"].choices = [("", gettext("Default of the model")), *EFFORTS]
        # An earlier choice that no longer exists must not prevent other changes.
        for name in ("language", "time_zone", "choice"):
            if self.initial[name] not in dict(fields[name].choices):
                self.initial[name] = ""

    def clean_name(self) -> str:
        """One line, not too long; an existing name is accepted unchanged."""
        name, before = one_line(self.cleaned_data["name"]), str(self.initial["name"])
        if name == one_line(before):
            return before
        MaxLengthValidator(NAME_CHARS)(name)
        return name

    def wanted(self) -> PersonalSettings | None:
        """The settings of a valid form."""
        if not self.is_valid():
            return None
        values = {name: self.cleaned_data[name] for name in self.base_fields}
        values |= {"instructions": clean_instructions(values["instructions"])}
        return PersonalSettings(**values)
