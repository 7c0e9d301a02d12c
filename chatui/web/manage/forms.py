"""The forms of the administration pages about people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts import invitations
from chatui.accounts.mails import invitation_mails
from chatui.accounts.people import account_actions, named_groups
from chatui.permissions import administration, catalogue

if TYPE_CHECKING:
    from chatui.models import User

_NOTE_CHARS = 100


class InviteForm(forms.Form):
    """Whom to invite, one on each line or with commas between them, into which group, and for how long."""

    people = forms.CharField(
        label=_("Whom to invite"),
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocapitalize": "off"}),
        help_text=_("One name or e-mail address per line. Each person gets their own link."),
        max_length=20_000,
    )
    group = forms.ModelChoiceField(label=_("Group"), queryset=Group.objects.none(), required=False, empty_label=_("No group"))
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=invitations.MAX_DAYS, initial=7)

    mails = forms.BooleanField(label=_("Send the link by e-mail to everyone listed by address"), required=False, initial=True)

    def __init__(self, staff: User, *args: Any, **kwargs: Any) -> None:
        """Offers only groups whose permissions the member of staff has, too, and mail only if it is configured."""
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["group"].queryset = administration.assignable_groups(staff)
        if not invitation_mails.is_on():
            del fields["mails"]

    def clean(self) -> dict[str, Any]:
        """Without configured mail, none is sent."""
        return {"mails": False} | (super().clean() or self.cleaned_data)

    def clean_people(self) -> list[str]:
        """The people, each once, without empty lines."""
        text = self.cleaned_data["people"].replace(",", "\n").replace(";", "\n")
        notes = list(dict.fromkeys(" ".join(line.split()) for line in text.splitlines() if line.strip()))
        if len(notes) > account_actions.MAX_INVITED:
            raise ValidationError(_("Invite at most %(count)s people at once."), params={"count": account_actions.MAX_INVITED})
        if any(len(note) > _NOTE_CHARS or not note.isprintable() for note in notes):
            raise ValidationError(_("A name or address can have at most 100 characters."))
        return notes


class _GroupsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Shows each group with its permissions, so that nobody grants one without having read it."""

    def label_from_instance(self, obj: Any) -> str:
        """Its name, and its permissions in words."""
        names = [f"{each.content_type.app_label}.{each.codename}" for each in obj.permissions.all()]
        words = [gettext(catalogue.DESCRIPTIONS[name]) for name in names if name in catalogue.DESCRIPTIONS]
        return f"{obj.name}: {'; '.join(words)}" if words else str(obj.name)


class GroupsForm(forms.Form):
    """The groups of one person, among those that the member of staff may give, and whether they are staff."""

    groups = _GroupsField(label=_("Groups"), queryset=Group.objects.none(), required=False, widget=forms.CheckboxSelectMultiple)
    is_staff = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=[("on", _("Staff"))],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Permissions for the debug view, the audit log and these pages take effect for staff only."),
    )

    def __init__(self, staff: User, account: User, *args: Any, **kwargs: Any) -> None:
        """Starts with the current values."""
        initial = {"groups": list(account.groups.values_list("pk", flat=True)), "is_staff": ["on"] if account.is_staff else []}
        super().__init__(*args, **kwargs | {"initial": initial})
        fields: dict[str, Any] = self.fields
        fields["groups"].queryset = administration.assignable_groups(staff).prefetch_related("permissions__content_type")


class _PermissionsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        """The permission in words."""
        return gettext(catalogue.DESCRIPTIONS[f"{obj.content_type.app_label}.{obj.codename}"])


class NewGroupForm(forms.Form):
    """A new group: its name, and which of the staff member's own permissions it gives."""

    name = forms.CharField(label=_("Name"), max_length=150)
    permissions = _PermissionsField(
        label=_("Permissions"), queryset=Permission.objects.none(), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, staff: User, *args: Any, **kwargs: Any) -> None:
        """Offers only the permissions of the member of staff."""
        super().__init__(*args, **kwargs)
        self._staff = staff
        fields: dict[str, Any] = self.fields
        fields["permissions"].queryset = administration.group_permissions(staff)

    def clean_name(self) -> str:
        """Checks that the member of staff can give a new group this name."""
        name: str = self.cleaned_data["name"]
        if why := named_groups.problem_with_new_name(self._staff, name):
            raise ValidationError(why)
        return name
