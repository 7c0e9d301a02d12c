"""The page of a person's sign-in methods and sessions, with the action that ends these, and the page on which they confirm who they are."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chatui.accounts import account_linking, passkeys, second_factor, sessions, sign_in_notices, sign_in_settings
from chatui.accounts.forms import check_old_password
from chatui.audit_log.record import Visitor
from chatui.web.guards import notify_sockets, person_of, signed_in, visitor_of
from chatui.web.language import back
from chatui.web.sign_in import passkeys as passkey_pages
from chatui.web.sign_in import session
from chatui.web.sign_in.second_factor import CodeForm
from chatui.web.sign_in.second_factor import is_right as is_right_code


class ConfirmPasswordForm(forms.Form):
    password = forms.CharField(
        label=_("Password"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True})
    )

    code = CodeForm.base_fields["code"]

    def __init__(self, *args: Any, visitor: Visitor, has_password: bool, needs_code: bool, **kwargs: Any) -> None:
        """``visitor``: the owner of the password, and their address. ``needs_code``: the password alone is not enough."""
        super().__init__(*args, **kwargs)
        self._visitor = visitor
        if not has_password:
            del self.fields["password"]
        if not needs_code:
            del self.fields["code"]

    def clean_password(self) -> str:
        """Count before checking, as at sign-in."""
        password: str = self.cleaned_data["password"]
        check_old_password(self._visitor, password, _("This is not your password."))
        return password


@signed_in("GET")
def ways(request: HttpRequest) -> HttpResponse:
    """The identities that open the account, and the providers that could be connected."""
    person = person_of(request)
    context = {
        "identities": account_linking.identities_of(person),
        "connectable": account_linking.connectable(person),
        "has_password": sign_in_settings.may_use(person) and person.has_usable_password(),
        "second_factor": second_factor.status_of(person),
        "passkeys": passkeys.passkeys_of(person),
        "may_remove_passkey": passkeys.may_remove_one(person),
        "most": passkeys.MAX_NAME_CHARS,
        "has_site": passkey_pages.site_of(request) is not None,
        "sessions": sessions.sessions_of(person, request.session.session_key),
        "is_recent": session.is_recent(request),
    }
    return render(request, "account/ways.html", context)


@signed_in("POST")
def dismiss_news(request: HttpRequest) -> HttpResponse:
    sign_in_notices.dismiss(person_of(request))
    return redirect(back(request))


@signed_in("GET", "POST")
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask again before the account is changed: for a passkey, or the password and, if there is a second factor, a code. People who have
    none of these are asked by their provider.
    """
    person = person_of(request)
    has_password = sign_in_settings.may_use(person) and person.has_usable_password()
    needs_code = session.needs_factor(person)
    after = session.own_path(request, request.POST.get("next") or request.GET.get("next", ""))
    is_passkey = "credential" in request.POST
    if is_passkey and not passkey_pages.is_confirmed(request, person):
        return redirect(f"{reverse('sign_in_confirm')}?{urlencode({'passkey-refused': ''} | ({'next': after} if after else {}))}")
    data = request.POST if request.method == "POST" and not is_passkey else None
    visitor, form = visitor_of(request, "page"), None
    if has_password or needs_code:
        form = ConfirmPasswordForm(data, visitor=visitor, has_password=has_password, needs_code=needs_code)
    is_right = form is not None and form.is_valid() and (not needs_code or is_right_code(request, form, person))
    if is_passkey or is_right:
        session.mark_authenticated(request, has_factor=is_passkey or needs_code)
        return redirect(after or "sign_in_ways")
    shown: dict[str, Any] = {"form": form, "next": after, "has_passkeys": passkey_pages.can_confirm(request), "needs_code": needs_code}
    shown |= {"services": [] if form else account_linking.confirmable(person)}
    return session.refused_form(render(request, "account/confirm.html", shown), form)


@signed_in("POST")
def remove(request: HttpRequest, identity_id: UUID) -> HttpResponse:
    if not session.is_recent(request):
        return redirect("sign_in_confirm")
    account_linking.remove_identity(visitor_of(request, "page"), identity_id, request.session.session_key)
    notify_sockets(person_of(request))
    return redirect("sign_in_ways")


@signed_in("POST")
def end(request: HttpRequest, session_id: UUID) -> HttpResponse:
    session.admit_change(person_of(request))
    sessions.end(visitor_of(request, "page"), session_id)
    notify_sockets(person_of(request))
    return redirect("sign_in_ways")


@signed_in("POST")
def end_others(request: HttpRequest) -> HttpResponse:
    session.admit_change(person_of(request))
    sessions.end_others(visitor_of(request, "page"), request.session.session_key)
    notify_sockets(person_of(request))
    return redirect("sign_in_ways")
