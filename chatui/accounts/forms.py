"""The forms that ask for a secret (console code, password, old password). Each counts a guess before judging it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm, PasswordChangeForm

from chatui.accounts import first_account, sign_in
from chatui.audit_log.record import Visitor
from chatui.guess_limits import GuessLimit, MustWaitError, Scope

# Codes are no account's, so only where they come from is counted.
CODES = GuessLimit("code", address=Scope(free=9, longest=600, window=3600))


class FirstAccountForm(BaseUserCreationForm):  # type: ignore[type-arg]
    """Name, password twice, and the code from the console."""

    code = forms.CharField(
        label="Code from the server's console",
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "characters"}),
    )
    field_order = ["code", "username", "password1", "password2"]

    def __init__(self, *args: Any, address: str = "", **kwargs: Any) -> None:
        """The code is the first thing to type. ``address``: of whoever types it."""
        super().__init__(*args, **kwargs)
        self._address = address
        self.fields["username"].widget.attrs.pop("autofocus", None)
        self.fields["code"].widget.attrs["autofocus"] = True

    class Meta:
        model = get_user_model()
        fields = ("username",)

    def clean_code(self) -> str:
        """A wrong code says only that; after too many of them a good one says no more than another wrong one."""
        code: str = self.cleaned_data["code"]
        try:
            guess = CODES.admit(self._address)
        except MustWaitError as wait:
            raise forms.ValidationError(wait.sentence) from None
        if not first_account.code_is_good(code):
            raise forms.ValidationError("This is not the code that the server printed.")
        guess.succeeded()
        return code


class SignInForm(AuthenticationForm):
    """Name and password."""

    def __init__(self, *args: Any, visitor: Visitor, device: str = "", **kwargs: Any) -> None:
        """``device``: the value of the cookie that says whether this browser was signed in before."""
        super().__init__(*args, **kwargs)
        self._visitor = visitor
        self._device = device

    def clean(self) -> dict[str, Any]:
        """Count before asking, so that a guess in flight counts too."""
        name = self.cleaned_data.get("username", "")
        if not name or not self.cleaned_data.get("password"):
            return super().clean()
        try:
            guess = sign_in.admit(self._visitor, name, self._device)
        except MustWaitError as wait:
            sign_in.record_refused(self._visitor, name, waits=True)
            raise forms.ValidationError(wait.sentence) from None
        try:
            cleaned = super().clean()
        except forms.ValidationError:
            sign_in.record_refused(self._visitor, name, waits=False)
            raise
        guess.succeeded()
        return cleaned


class PasswordForm(PasswordChangeForm):
    """The old password, and a new one twice."""

    def __init__(self, *args: Any, visitor: Visitor, **kwargs: Any) -> None:
        """``visitor``: whose password it is, and where they are."""
        super().__init__(*args, **kwargs)
        self._visitor = visitor

    def clean_old_password(self) -> str:
        """As for the sign-in."""
        try:
            guess = sign_in.admit_old_password(self._visitor)
        except MustWaitError as wait:
            sign_in.record_password_refused(self._visitor, waits=True)
            raise forms.ValidationError(wait.sentence) from None
        try:
            password: str = super().clean_old_password()
        except forms.ValidationError:
            sign_in.record_password_refused(self._visitor, waits=False)
            raise
        guess.succeeded()
        return password
