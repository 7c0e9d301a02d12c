"""The forgotten password page."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from chatui.accounts import password_reset
from chatui.permissions.access import NotFoundError
from chatui.web.guards import guarded
from chatui.web.visitors import visitor_of


class ForgottenForm(forms.Form):
    """The form that asks for the account."""

    account = forms.CharField(
        label=_("Your account name or e-mail address"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}),
    )


@require_http_methods(["GET", "POST"])
@guarded
def password_forgotten(request: HttpRequest) -> HttpResponse:
    """The form; its confirmation is the same for everybody, known or not."""
    if not password_reset.is_on():
        raise NotFoundError
    if request.user.is_authenticated:
        return redirect("password")
    form = ForgottenForm(request.POST or None)
    is_sent = request.method == "POST" and form.is_valid()
    if is_sent:
        password_reset.request_links(visitor_of(request, "page"), form.cleaned_data["account"])
    return render(request, "account/forgotten.html", {"form": form, "is_sent": is_sent})
