"""The page behind an invitation link: a form that creates an account, or a link to a provider."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from chatui.accounts import invitations
from chatui.accounts.forms import CODE_GUESSES, InvitedForm
from chatui.accounts.sign_in_rules import password_use
from chatui.accounts.sign_in_rules.sign_in_file import sign_in_file
from chatui.codes import ProductCode
from chatui.permissions.access import NotFoundError
from chatui.web.entrance import second_step, session_start
from chatui.web.errors import refuse
from chatui.web.guards import guarded, secret_address
from chatui.web.visitors import visitor_of


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
        form = InvitedForm(request.POST or None) if password_use.is_for_everybody() else None
        if request.method == "POST" and form is not None and form.is_valid():
            person = invitations.create_account(
                visitor, invitation_id, token, form.cleaned_data["username"], form.cleaned_data["password1"]
            )
            if second_step.is_due(person):
                return second_step.begin(request, person, "")
            return session_start.enter(request, person, how="by invitation")
    except NotFoundError:
        CODE_GUESSES.admit(visitor.address)  # a valid link is never refused; guesses have to wait
        return refuse(request, ProductCode.LINK, 404)
    shown = {"form": form, "providers": sign_in_file().providers, "inviter": row.made_by.get_username()}
    return render(request, "account/invitation.html", shown | {"invitation": f"{row.pk}/{token}"})
