"""The admin page on which staff create an API key for an account that nobody can sign in to, such as a service account."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from chatui.accounts.api_keys import management
from chatui.accounts.api_keys.management import CreatedKey, TooManyKeysError
from chatui.accounts.people import account_actions
from chatui.model_servers import model_choice
from chatui.models import User
from chatui.permissions import four_eyes
from chatui.permissions.access import NotFoundError, as_person
from chatui.permissions.programs import reasoning
from chatui.web.api_keys.forms import KeyForm
from chatui.web.visitors import visitor_of

is_service_account = management.is_service_account


def account_key_page(request: HttpRequest, account: User, context: dict[str, object]) -> HttpResponse:
    """Show the form, and once it is sent the key, which is shown only once.

    The caller has checked that the visitor may change the account.
    """
    maker = as_person(request.user)
    may_view_hidden = maker is not None and reasoning.may_read(account) and reasoning.may_read(maker)
    form = KeyForm(request.POST or None, choices=model_choice.choices_for(account), may_view_hidden=may_view_hidden)
    shown = context | {"account": account, "form": form, "title": gettext("New API key: %(name)s") % {"name": account.get_username()}}
    shown["is_service_account"] = is_service_account(account)
    if request.method == "POST":
        shown["made"] = _create_key(request, account, form)
    return render(request, "admin/api_key.html", shown, status=400 if form.errors else 200)


def _create_key(request: HttpRequest, account: User, form: KeyForm) -> CreatedKey | None:
    wanted, visitor = form.wanted(), visitor_of(request, "admin")
    if wanted is None:
        return None
    try:
        with transaction.atomic():
            made = management.create_for_account(visitor, account_actions.locked(visitor, account.pk), wanted)
            four_eyes.record_change(visitor.user, [account.pk], "an API key")
    except TooManyKeysError:
        form.add_error(None, gettext("This account has the maximum number of keys. Revoke one that is no longer used."))
        return None
    except NotFoundError:
        form.add_error(None, gettext("No key can be created for this account here."))
        return None
    return made
