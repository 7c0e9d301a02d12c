"""The page of a person's API keys."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from chatui.accounts.api_keys import management
from chatui.accounts.api_keys.management import CreatedKey, TooManyKeysError
from chatui.display.tools.key_tools import tools_for_keys
from chatui.model_servers import connected, model_choice
from chatui.permissions.programs import reasoning
from chatui.throttle import Throttle
from chatui.web.api_keys.forms import KeyForm
from chatui.web.guards import guarded
from chatui.web.people import person_of
from chatui.web.visitors import visitor_of

_new_keys = Throttle("new-api-key", attempts=20, seconds=600)


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def keys(request: HttpRequest) -> HttpResponse:
    """The person's keys, with the form for a new one. The answer to the form is the only page that ever shows the new key."""
    person = person_of(request)
    new_form = partial(
        KeyForm,
        choices=model_choice.choices_for(person),
        tools=tools_for_keys(person, is_demo=connected.is_demo()),
        may_view_hidden=reasoning.may_read(person),
    )
    form, made = new_form(request.POST or None), None
    if request.method == "POST":
        _new_keys.check(str(person.pk))
        if made := _created(request, form):
            form = new_form()
    context = {"keys": management.keys_of(person), "form": form, "made": made, "address": request.build_absolute_uri("/v1")}
    return render(request, "api_keys/keys.html", context, status=400 if form.errors else 200)


@require_POST
@login_required
@guarded
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Revoke one key."""
    management.revoke_own(visitor_of(request, "page"), key_id)
    return redirect("api_keys")


def _created(request: HttpRequest, form: KeyForm) -> CreatedKey | None:
    wanted = form.wanted()
    if wanted is None:
        return None
    try:
        return management.create(visitor_of(request, "page"), wanted)
    except TooManyKeysError:
        form.add_error(None, gettext("You have the maximum number of keys. Revoke one that you no longer use."))
        return None
