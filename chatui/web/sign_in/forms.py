"""The form with which a signed-in person confirms their identity."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from chatui.accounts import sign_in
from chatui.audit_log.record import Visitor
from chatui.guess_limits import MustWaitError


class ConfirmForm(forms.Form):
    """The form that asks for the password again."""

    password = forms.CharField(
        label=_("Password"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True})
    )

    def __init__(self, *args: Any, visitor: Visitor, **kwargs: Any) -> None:
        """``visitor``: the owner of the password, and their address."""
        super().__init__(*args, **kwargs)
        self._visitor = visitor

    def clean_password(self) -> str:
        """Count before checking, as at sign-in."""
        password: str = self.cleaned_data["password"]
        try:
            guess = sign_in.admit_old_password(self._visitor)
        except MustWaitError as wait:
            sign_in.record_password_refused(self._visitor, waits=True)
            raise forms.ValidationError(wait.sentence) from None
        if self._visitor.user is None or not self._visitor.user.check_password(password):
            sign_in.record_password_refused(self._visitor, waits=False)
            raise forms.ValidationError(_("This is not your password."))
        guess.succeeded()
        return password
