"""The page behind a one-time link for a new password."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from chatui.accounts import password_links
from chatui.accounts.forms import CODE_GUESSES, LinkedPasswordForm
from chatui.codes import ProductCode
from chatui.permissions.access import NotFoundError
from chatui.web.errors import refuse
from chatui.web.guards import guarded, secret_address
from chatui.web.language.choice import back
from chatui.web.people import notify_sockets, person_of
from chatui.web.visitors import visitor_of


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


@require_POST
@login_required
@guarded
def dismiss(request: HttpRequest) -> HttpResponse:
    """Dismiss the notice about a password link."""
    password_links.dismiss(person_of(request))
    return redirect(back(request))
