"""The page of the ways in which a person signs in, and the one on which they show once more who they are."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatui.accounts import identities, session_list
from chatui.accounts.second_factor import factors
from chatui.accounts.sign_in_rules import password_use
from chatui.web.entrance import entering
from chatui.web.guards import guarded
from chatui.web.people import person_of
from chatui.web.sign_in.forms import ConfirmForm
from chatui.web.visitors import visitor_of


@require_GET
@login_required
@guarded
def ways(request: HttpRequest) -> HttpResponse:
    """The identities that open the account, and the providers that could be connected."""
    person = person_of(request)
    context = {
        "identities": identities.of(person),
        "connectable": identities.connectable(person),
        "has_password": password_use.may_use(person) and person.has_usable_password(),
        "second_factor": factors.setting_of(person),
        "sessions": session_list.of(person, request.session.session_key),
        "is_recent": entering.is_recent(request),
    }
    return render(request, "ways/ways.html", context)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@login_required
@guarded
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask for the password again before the account is changed. Without one, signing in again does the same."""
    person = person_of(request)
    has_password = password_use.may_use(person) and person.has_usable_password()
    form = ConfirmForm(request.POST or None, visitor=visitor_of(request, "page")) if has_password else None
    after = entering.own_path(request, request.POST.get("next") or request.GET.get("next", ""))
    if request.method == "POST" and form is not None and form.is_valid():
        entering.note_shown(request)
        return redirect(after or "sign_in_ways")
    return render(request, "ways/confirm.html", {"form": form, "next": after})


@require_POST
@login_required
@guarded
def remove(request: HttpRequest, identity_id: UUID) -> HttpResponse:
    """Take an identity away from the account."""
    if not entering.is_recent(request):
        return redirect("sign_in_confirm")
    identities.remove(visitor_of(request, "page"), identity_id)
    return redirect("sign_in_ways")
