"""The pages behind one-time links: for an invitation, and for a new password.

An invitation's page is a form that creates an account, or a link to a provider.
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from chatui.accounts import invitations, password_links, sign_in_settings
from chatui.accounts.forms import CODE_GUESSES, InvitedForm, LinkedPasswordForm
from chatui.accounts.sign_in_settings import sign_in_file
from chatui.codes import ProductCode
from chatui.permissions.access import NotFoundError
from chatui.web.errors import refuse
from chatui.web.guards import guarded, notify_sockets, person_of, secret_address, signed_in, visitor_of
from chatui.web.language import back
from chatui.web.sign_in import session


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@secret_address
@guarded
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
            if session.is_due(person):
                return session.begin(request, person, "")
            return session.enter(request, person, session.Entrance("by invitation"))
    except NotFoundError:
        CODE_GUESSES.admit(visitor.address)  # a valid link is never refused; guesses have to wait
        return refuse(request, ProductCode.LINK, 404)
    shown = {"form": form, "providers": sign_in_file().providers, "inviter": row.made_by.get_username()}
    return render(request, "account/invitation.html", shown | {"invitation": f"{row.pk}/{token}"})


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@secret_address
@guarded
def password_link(request: HttpRequest, link_id: UUID, token: str) -> HttpResponse:
    """A form for a new password. Opening it does not use up the link, because programs open links in messages."""
    visitor = visitor_of(request, "page")
    try:
        person = password_links.person_for(link_id, token)
    except NotFoundError:
        CODE_GUESSES.admit(visitor.address)  # a valid link is never refused; guesses have to wait
        return refuse(request, ProductCode.LINK, 404)
    form = LinkedPasswordForm(person, request.POST or None)
    if request.method == "POST" and form.is_valid():
        notify_sockets(password_links.use(visitor, link_id, token, form.cleaned_data["new_password1"]))
        return redirect("sign_in")
    return render(request, "account/password_link.html", {"form": form, "name": person.get_username()})


@signed_in("POST")
def dismiss(request: HttpRequest) -> HttpResponse:
    password_links.dismiss(person_of(request))
    return redirect(back(request))
