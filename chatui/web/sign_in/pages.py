"""The account pages: create the first account, sign in and out, change the password, and ask for a link if it is forgotten.

The first account needs the code from the server's console. Staff invite or create all others. The page behind the link of an invitation is
a form that creates an account, or a link to a provider; behind that for a password it is a form for a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import auth
from django.contrib.auth import views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from chatui.accounts import (
    api_keys,
    invitations,
    passkey_ceremonies,
    password_links,
    sessions,
    sign_in,
    sign_in_notices,
    sign_in_settings,
)
from chatui.accounts.forms import CODE_GUESSES, FirstAccountForm, InvitedForm, LinkedPasswordForm, PasswordForm, SignInForm
from chatui.accounts.sign_in_settings import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.codes import ProductCode
from chatui.permissions.access import NotFoundError
from chatui.turns import temporary
from chatui.web.errors import refuse
from chatui.web.guards import for_anybody, notify_sockets, person_of, secret_address, signed_in, visitor_of
from chatui.web.language import back
from chatui.web.sign_in import second_step, session

if TYPE_CHECKING:
    from chatui.models.user import User


@for_anybody("GET", "POST")
def setup(request: HttpRequest) -> HttpResponse:
    """Create the first account: staff, with all of the product's permissions. The page exists only while there is no account."""
    if not sign_in.is_needed():
        return redirect("home")
    form = FirstAccountForm(request.POST or None, address=visitor_of(request, "page").address)
    if request.method == "POST" and form.is_valid():
        person = sign_in.create(form.cleaned_data["username"], form.cleaned_data["password1"])
        if person is None:
            return redirect("sign_in")
        record("first account", Visitor(person, visitor_of(request, "page").address, "page"))
        auth.login(request, person)
        session.record_start(request, person)
        return session.on_known_device(redirect("home"), person)
    return session.refused_form(render(request, "account/setup.html", {"form": form}), form)


class SignIn(views.LoginView):
    template_name = "account/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """While there is no account, redirect to the page that creates the first one."""
        if sign_in.is_needed():
            return redirect("setup")
        return super().get(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        place = self.request.COOKIES.get(sign_in.PLACE_COOKIE, "")
        return super().get_form_kwargs() | {"visitor": visitor_of(self.request, "page"), "place": place}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Record the sign-in first: if that fails, there is no sign-in. The page's script is told where to go on."""
        person, after = form.get_user(), session.own_path(self.request, self.get_success_url())
        begin = second_step.begin if second_step.is_due(person) else session.enter
        response = begin(self.request, person, after=after)
        if "application/json" in self.request.headers.get("Accept", ""):
            cookies, response = response.cookies, JsonResponse({"ok": True, "url": response.headers["Location"]})
            response.cookies = cookies
        response.delete_cookie(sign_in.PLACE_COOKIE, samesite="Lax")
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Say how long to wait, if nothing was checked, and let the browser keep its place."""
        return session.refused_form(super().form_invalid(form), form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """If passwords are only for emergencies, the form is shown on request."""
        shows = sign_in_settings.is_for_everybody() or "password" in self.request.GET or self.request.method == "POST"
        return super().get_context_data(**kwargs) | {
            "providers": sign_in_file().providers,
            "shows_password": shows,
            "can_reset": password_links.is_on(),
            "signed_out": self.request.GET.get("signed-out"),
            # People may sign in with a passkey if they may sign in with a password, and only then.
            "has_passkeys": shows and passkey_ceremonies.site_of(str(self.request.scheme), self.request.get_host()) is not None,
        }


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session, and the WebSockets that belong to it."""
    visitor = visitor_of(request, "page")
    auth.logout(request)
    if visitor.user is not None:
        notify_sockets(visitor.user)
        temporary.sign_out(visitor.user)
        sign_in.record_signed_out(visitor)
    response = after_sign_out(visitor.user)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


def after_sign_out(person: User | None) -> HttpResponse:
    """Redirects to the sign-in page, whose scripts delete this person's unsent text from the browser."""
    whose = "" if person is None else f"={person.pk}"
    return redirect(f"{reverse('sign_in')}?signed-out{whose}")


@method_decorator(login_required, name="dispatch")
class Password(views.PasswordChangeView):
    """The page that changes the password. The person's other sessions end."""

    template_name = "account/password.html"
    success_url = reverse_lazy("home")
    form_class = PasswordForm

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """People who may not sign in with a password cannot set one; people with a second factor give it first."""
        if not sign_in_settings.may_use(person_of(request)):
            return refuse(request, ProductCode.NOT_FOUND, 404)
        if session.needs_factor(person_of(request)) and not session.is_recent(request):
            return redirect(f"{reverse('sign_in_confirm')}?next={reverse('password')}")
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"visitor": visitor_of(self.request, "page")}

    def form_invalid(self, form: forms.BaseForm) -> HttpResponse:
        """As at sign-in."""
        return session.refused_form(super().form_invalid(form), form)  # type: ignore[arg-type]

    def form_valid(self, form: forms.BaseForm) -> HttpResponse:
        """Store the password, and revoke the keys if requested. Then have every socket of this person check whether its session is
        still valid."""
        before, has_factor = self.request.session.session_key, session.needs_factor(person_of(self.request))
        with transaction.atomic():
            response = super().form_valid(form)  # type: ignore[arg-type]
            sign_in_notices.notify(person_of(self.request), "password-changed")
        sessions.change_key(before, self.request.session.session_key)
        if isinstance(form, PasswordForm) and form.revokes_keys:
            api_keys.revoke_all(visitor_of(self.request, "page"), person_of(self.request))
        session.mark_authenticated(self.request, has_factor=has_factor)
        notify_sockets(person_of(self.request))
        return response


class ForgottenForm(forms.Form):
    account = forms.CharField(
        label=_("Your account name or e-mail address"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}),
    )


@for_anybody("GET", "POST")
def password_forgotten(request: HttpRequest) -> HttpResponse:
    """The form; its confirmation is the same for everybody, known or not."""
    if not password_links.is_on():
        raise NotFoundError
    if request.user.is_authenticated:
        return redirect("password")
    form = ForgottenForm(request.POST or None)
    is_sent = request.method == "POST" and form.is_valid()
    if is_sent:
        password_links.request_links(visitor_of(request, "page"), form.cleaned_data["account"])
    return render(request, "account/forgotten.html", {"form": form, "is_sent": is_sent})


@secret_address
@for_anybody("GET", "POST")
def invitation(request: HttpRequest, invitation_id: UUID, token: str) -> HttpResponse:
    """Opening it does not use up the link, because programs open links in messages."""
    visitor = visitor_of(request, "page")
    try:
        row = invitations.find_valid(invitation_id, token)
        if request.user.is_authenticated:
            return redirect("home")
        form = InvitedForm(request.POST or None, invited=row.note) if sign_in_settings.is_for_everybody() else None
        if request.method == "POST" and form is not None and form.is_valid():
            person = invitations.create_account(
                visitor, invitation_id, token, form.cleaned_data["username"], form.cleaned_data["password1"]
            )
            if second_step.is_due(person):
                return second_step.begin(request, person, "")
            return session.enter(request, person, session.Entrance("by invitation"))
    except NotFoundError:
        if invitations.was_used(invitation_id, token):
            return refuse(request, ProductCode.LINK_USED, 404)
        CODE_GUESSES.miss(visitor.address)  # a valid link is never refused; guesses have to wait
        return refuse(request, ProductCode.LINK, 404)
    shown = {"form": form, "providers": sign_in_file().providers, "inviter": row.made_by.get_username()}
    return render(request, "account/invitation.html", shown | {"invitation": f"{row.pk}/{token}"})


@secret_address
@for_anybody("GET", "POST")
def password_link(request: HttpRequest, link_id: UUID, token: str) -> HttpResponse:
    """A form for a new password. Opening it does not use up the link, because programs open links in messages."""
    visitor = visitor_of(request, "page")
    try:
        person = password_links.person_for(link_id, token)
    except NotFoundError:
        CODE_GUESSES.miss(visitor.address)  # a valid link is never refused; guesses have to wait
        return refuse(request, ProductCode.LINK, 404)
    form = LinkedPasswordForm(person, request.POST or None)
    if request.method == "POST" and form.is_valid():
        owner = password_links.use(visitor, link_id, token, form.cleaned_data["new_password1"])
        notify_sockets(owner)
        # Whoever had the link is no stranger: others' guesses from the same address do not keep them out.
        return session.on_known_device(redirect("sign_in"), owner)
    return render(request, "account/password_link.html", {"form": form, "name": person.get_username()})


@signed_in("POST")
def dismiss_links(request: HttpRequest) -> HttpResponse:
    password_links.dismiss(person_of(request))
    return redirect(back(request))
