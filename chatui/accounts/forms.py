"""The forms that take a secret (console code, password, old password). Each counts a guess before it checks it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm, PasswordChangeForm, SetPasswordForm
from django.utils.translation import gettext_lazy as _

from chatui.accounts import api_keys, sign_in, sign_in_settings
from chatui.audit_log.record import Visitor
from chatui.guesses import GuessLimit, MustWaitError, Scope
from chatui.models.user import LOOKS_TAKEN, check_lookalikes

# Codes belong to no account, so guesses are counted by network address only.
CODE_GUESSES = GuessLimit("code", address=Scope(free=9, longest=600, window=3600))

USERNAME_HELP = _("The name to sign in with, such as anna.schmidt: letters, digits and the characters @ . + - _, without spaces.")


def waiting(error: MustWaitError) -> forms.ValidationError:
    """The problem of a form with a secret that was not checked, because there were too many guesses."""
    found = forms.ValidationError(error.sentence, code="wait")
    found.wait = error  # type: ignore[attr-defined]
    return found


def wait_of(form: forms.BaseForm) -> MustWaitError | None:
    """What a form was refused with, if the person has to wait."""
    problems = (each for of_field in form.errors.as_data().values() for each in of_field)
    return next((each.wait for each in problems if each.code == "wait"), None)  # type: ignore[attr-defined]


class NewPassword:
    """A form with a new password, entered twice. Errors are shown at the first of the two fields."""

    def validate_password_for_user(self, user: Any, password_field_name: str = "password2") -> None:  # noqa: S107 - a field
        super().validate_password_for_user(user, password_field_name.removesuffix("2") + "1")  # type: ignore[misc]


class NewAccountForm(NewPassword, BaseUserCreationForm):  # type: ignore[type-arg]
    """The form for an account that its owner creates: user name, and password twice."""

    class Meta:
        model = get_user_model()
        fields = ("username",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].help_text = USERNAME_HELP


class FirstAccountForm(NewAccountForm):
    """The form for the first account: user name, password twice, and the code from the console."""

    code = forms.CharField(
        label=_("Code from the server's console"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "characters"}),
    )
    field_order = ["code", "username", "password1", "password2"]

    def __init__(self, *args: Any, address: str = "", **kwargs: Any) -> None:
        """Put the code first. ``address``: the visitor's network address."""
        super().__init__(*args, **kwargs)
        self._address = address
        self.fields["username"].widget.attrs.pop("autofocus", None)
        self.fields["code"].widget.attrs["autofocus"] = True

    def clean_code(self) -> str:
        """Check the code. After too many guesses no code is checked, so that a right one looks the same as a wrong one."""
        code: str = self.cleaned_data["code"]
        if wait := CODE_GUESSES.seconds_left(self._address):
            raise waiting(MustWaitError(wait))
        if not sign_in.is_valid_code(code):
            try:
                CODE_GUESSES.miss(self._address)
            except MustWaitError as error:
                raise waiting(error) from None
            raise forms.ValidationError(_("This is not the code that the server printed."))
        return code


class InvitedForm(NewAccountForm):
    """The form for an invited person."""

    def __init__(self, *args: Any, invited: str = "", **kwargs: Any) -> None:
        """``invited``: the name or address that they were invited by, which is proposed if it can be a user name."""
        super().__init__(*args, **kwargs)
        self.initial["username"] = self._proposal(invited)

    def _proposal(self, invited: str) -> str:
        name = ".".join(invited.split())
        try:
            get_user_model()._meta.get_field("username").run_validators(name)
            check_lookalikes(name)
        except forms.ValidationError:
            return ""
        return "" if sign_in_settings.is_emergency(name) else name

    def clean_username(self) -> str:
        """Refuse names of emergency accounts: staff may use them, an invited person may not."""
        name: str = self.cleaned_data["username"]
        if sign_in_settings.is_emergency(name):
            raise forms.ValidationError(LOOKS_TAKEN)
        return name


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]
    """The names and the address of an account, for staff."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].help_text = USERNAME_HELP
        for field in self.fields.values():
            field.widget.attrs |= {"autocomplete": "off", "dir": "auto"}

    def refuse_name(self) -> None:
        """Say that the name is taken: somebody else took it after the form was checked."""
        self.add_error("username", LOOKS_TAKEN)

    class Meta:
        model = get_user_model()
        fields = ("username", "first_name", "last_name", "email")


class SignInForm(AuthenticationForm):
    def __init__(self, *args: Any, visitor: Visitor, place: str = "", **kwargs: Any) -> None:
        """``place``: what the browser got when it was told to wait."""
        super().__init__(*args, **kwargs)
        # Lets browsers offer passkeys in the name field.
        self.fields["username"].widget.attrs["autocomplete"] = "username webauthn"
        self._visitor, self._place = visitor, place

    def clean(self) -> dict[str, Any]:
        """Find the person. Not with Django's ``authenticate``, which would keep a connection to the database while it waits."""
        name, password = self.cleaned_data.get("username", ""), self.cleaned_data.get("password")
        if name and password:
            try:
                self.user_cache = sign_in.person_with(self._visitor, name, password, self._place)
            except MustWaitError as wait:
                raise waiting(wait) from None
            if self.user_cache is None:
                raise self.get_invalid_login_error()
        return self.cleaned_data


class PasswordForm(NewPassword, PasswordChangeForm):
    """The form that changes a password: the old one, and the new one twice. People with API keys can choose to revoke them as well."""

    also = forms.MultipleChoiceField(
        label=_("If somebody else may know the old password"),
        choices=(("keys", _("Revoke all of my API keys as well")),),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, visitor: Visitor, **kwargs: Any) -> None:
        """``visitor``: the owner of the password, and their address."""
        super().__init__(*args, **kwargs)
        self._visitor = visitor
        if not (visitor.user and api_keys.keys_of(visitor.user)):
            del self.fields["also"]

    @property
    def revokes_keys(self) -> bool:
        """Whether the person wants to revoke their API keys as well. The form must be valid."""
        return bool(self.cleaned_data.get("also"))

    def clean_old_password(self) -> str:
        """Check the old password, counted as in ``SignInForm``."""
        password: str = self.cleaned_data["old_password"]
        check_old_password(self._visitor, password, self.error_messages["password_incorrect"])
        return password


def check_old_password(visitor: Visitor, password: str, problem: Any) -> None:
    """Check the password of somebody who is signed in. Raises ValidationError with ``problem``, or with the time to wait."""
    try:
        if sign_in.is_old_password(visitor, password):
            return
    except MustWaitError as wait:
        raise waiting(wait) from None
    raise forms.ValidationError(problem)


class LinkedPasswordForm(NewPassword, SetPasswordForm):  # type: ignore[type-arg]
    """The form for a person with a one-time link: a new password, twice."""
