"""The pages for one-time codes: enter a code after the password, set codes up, recovery codes, remove them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _

from chatui.accounts import one_time_codes, passkey_ceremonies, sign_in
from chatui.accounts import second_factor as accounts_second_factor
from chatui.accounts.forms import waiting
from chatui.accounts.second_factor import WrongCodeError
from chatui.guesses import MustWaitError
from chatui.permissions.access import NotFoundError, as_person, existing
from chatui.site.brand import brand
from chatui.web.guards import for_anybody, person_of, signed_in, visitor_of
from chatui.web.sign_in import second_step, session

if TYPE_CHECKING:
    from chatui.models.user import User

_WRONG = _("This code is not correct. Codes change every 30 seconds, and each works once.")
_HOW = session.Entrance("by password and code", has_factor=True)


class CodeForm(forms.Form):
    """A code from the app, or a recovery code."""

    code = forms.CharField(
        label=_("Code"),
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "none", "autofocus": True}),
    )


@for_anybody("GET", "POST")
def code(request: HttpRequest) -> HttpResponse:
    """The step after the password. People who need a second factor, and have none, set it up here before they can sign in."""
    person = second_step.person_of(request)
    if person is None or request.user.is_authenticated:
        return redirect("sign_in")
    if not accounts_second_factor.is_on(person):
        return _set_up(request, person)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and is_right(request, form, person):
        return session.enter(request, person, _HOW, after=second_step.finish(request))
    shown = {"form": form, "has_app": accounts_second_factor.has_app(person), "has_passkeys": accounts_second_factor.has_passkeys(person)}
    return session.refused_form(render(request, "account/code.html", shown), form)


@signed_in("GET", "POST")
def second_factor(request: HttpRequest) -> HttpResponse:
    """Set up one-time codes; if they are on already, redirect to the sign-in methods."""
    person = person_of(request)
    if not session.is_recent(request):
        return redirect("sign_in_confirm")
    return redirect("sign_in_ways") if accounts_second_factor.has_app(person) else _set_up(request, person)


@for_anybody("GET")
def picture(request: HttpRequest) -> HttpResponse:
    """The QR code of the secret during set-up, as a separate picture: our policy refuses pictures embedded in pages."""
    person = existing(_who_sets_up(request))
    try:
        secret = accounts_second_factor.secret_of(person)
    except WrongCodeError:
        raise NotFoundError from None
    import segno  # imported here, because only the set-up needs it

    drawn = io.BytesIO()
    segno.make(one_time_codes.otpauth_uri(secret, brand().name, person.get_username()), error="m").save(
        drawn, kind="svg", scale=5, border=4, light="#fff"
    )
    return HttpResponse(drawn.getvalue(), content_type="image/svg+xml")


def _who_sets_up(request: HttpRequest) -> User | None:
    """The person who may set up one-time codes now: signed in a short while ago, or behind their password without a second factor."""
    if (person := as_person(request.user)) is not None:
        return person if session.is_recent(request) else None
    person = second_step.person_of(request)
    # People with a passkey must use that first.
    return None if person is None or accounts_second_factor.is_on(person) else person


@session.own_change
def new_codes(request: HttpRequest) -> HttpResponse:
    try:
        codes = accounts_second_factor.replace_codes(visitor_of(request, "page"), person_of(request))
    except WrongCodeError:
        raise NotFoundError from None
    return render(request, "account/recovery_codes.html", {"codes": codes, "after": ""})


@session.own_change
def remove(request: HttpRequest) -> HttpResponse:
    """Remove one-time codes, if no group requires them or there is a passkey."""
    person = person_of(request)
    accounts_second_factor.switch_app_off(visitor_of(request, "page"), person)
    return redirect("sign_in_ways")


def _set_up(request: HttpRequest, person: User) -> HttpResponse:
    if request.method == "GET":
        accounts_second_factor.start_setup(person)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            codes = accounts_second_factor.confirm(visitor_of(request, "page"), person, form.cleaned_data["code"])
        except WrongCodeError:
            form.add_error("code", _WRONG)
        except MustWaitError as wait:
            form.add_error("code", waiting(wait))
        else:
            after = second_step.finish(request)
            if request.user.is_authenticated:
                session.mark_authenticated(request, has_factor=True)
            else:
                session.enter(request, person, _HOW)
            return render(request, "account/recovery_codes.html", {"codes": codes, "after": after})
    if accounts_second_factor.has_app(person):  # the form was submitted twice
        return redirect("sign_in_ways")
    shown = {
        "form": form,
        "secret": one_time_codes.encoded_secret(accounts_second_factor.secret_of(person)),
        "is_required": not request.user.is_authenticated,
        "has_site": passkey_ceremonies.site_of(str(request.scheme), request.get_host()) is not None,
    }
    return session.refused_form(render(request, "account/second_factor.html", shown), form)


def is_right(request: HttpRequest, form: forms.Form, person: User) -> bool:
    """Whether the code in the field ``code`` is correct. Attempts are counted and recorded; a wrong code adds a form error."""
    visitor = visitor_of(request, "page")
    try:
        accounts_second_factor.check(visitor, person, form.cleaned_data["code"])
    except WrongCodeError:
        why, problem = "wrong code", ValidationError(_WRONG)
    except MustWaitError as wait:
        why, problem = "had to wait with the code", waiting(wait)
    else:
        return True
    sign_in.record_way_refused(visitor, person, why)
    form.add_error("code", problem)
    return False
