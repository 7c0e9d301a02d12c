"""A person's settings page, the switch for their instructions in one conversation, and the page that closes their account."""

from __future__ import annotations

from uuid import UUID

from django.contrib import auth
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from chatui.accounts import profile
from chatui.accounts.second_factor import enrollment
from chatui.display.conversation_links import shown_conversation
from chatui.env import environment
from chatui.offboarding import self_closing
from chatui.offboarding.closing import CannotCloseError
from chatui.permissions import access
from chatui.permissions.access import NotFoundError
from chatui.throttle import Throttle
from chatui.web.entrance import session_start
from chatui.web.guards import guarded
from chatui.web.language.choice import in_cookie
from chatui.web.people import person_of
from chatui.web.settings.forms import SettingsForm
from chatui.web.sign_in import second_factor
from chatui.web.visitors import visitor_of

_writes = Throttle("settings", attempts=60, seconds=600)


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def settings(request: HttpRequest) -> HttpResponse:
    """One's own settings, and links to all pages about oneself."""
    person = person_of(request)
    form = SettingsForm(request.POST or None, person=person)
    if request.method == "POST":
        _writes.check(str(person.pk))
        if wanted := form.wanted():
            profile.save(visitor_of(request, "page"), wanted)
            return in_cookie(redirect(f"{reverse('settings')}?saved"), wanted.language)
    context = {"form": form, "is_saved": "saved" in request.GET, "can_close": environment().close_own_account}
    return render(request, "settings/settings.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def instructions(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Switches one's own instructions on or off in this conversation."""
    row = access.own_conversation(person_of(request), conversation_id)
    if request.method == "POST":
        _writes.check(str(person_of(request).pk))
        row.without_instructions = "off" in request.POST
        row.save(update_fields=["without_instructions"])
        return redirect("conversation", conversation_id)
    return render(request, "settings/instructions.html", {"conversation": shown_conversation(row), "is_off": row.without_instructions})


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def close(request: HttpRequest) -> HttpResponse:
    """Closes one's own account, if the operator allows it, within ten minutes of authentication."""
    if not environment().close_own_account:
        raise NotFoundError
    if not session_start.is_recent(request):
        return redirect(f"{reverse('sign_in_confirm')}?next={reverse('settings_close')}")
    person, problem = person_of(request), ""
    form = second_factor.CodeForm(request.POST or None) if enrollment.is_on(person) else None
    is_shown = form is None or (form.is_valid() and second_factor.is_right(request, form, person))
    if request.method == "POST" and "sure" in request.POST and is_shown:
        _writes.check(str(person.pk))
        try:
            self_closing.close_own(visitor_of(request, "page"))
        except CannotCloseError:
            problem = gettext("Your account was not closed: nobody else could manage accounts.")
        else:
            auth.logout(request)
            return redirect(f"{reverse('sign_in')}?signed-out")
    shown = {"form": form, "problem": problem, "policy": environment().closed_accounts, "days": environment().closed_account_days}
    return render(request, "settings/close.html", shown, status=400 if problem or (form is not None and form.errors) else 200)
