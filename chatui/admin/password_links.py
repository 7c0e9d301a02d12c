"""The admin page on which staff create a one-time link for a new password. It neither takes nor shows a password."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext

from chatui.accounts import password_links
from chatui.accounts.people import account_actions
from chatui.models import User
from chatui.web import people
from chatui.web.visitors import visitor_of


def password_link_page(request: HttpRequest, person: User, context: dict[str, object]) -> HttpResponse:
    """Show the form, and once it is sent the link, which is shown only once.

    For their own password, staff use the page that asks for the old one.
    """
    if person == request.user:
        return redirect("password")
    shown = context | {
        "person": person,
        "title": gettext("New password: %(name)s") % {"name": person.get_username()},
        "hours": password_links.LIFETIME // timedelta(hours=1),
    }
    if request.method == "POST":
        visitor = visitor_of(request, "admin")
        with transaction.atomic():
            path = password_links.create(
                visitor, account_actions.locked(visitor, person.pk), voids_password=request.POST.get("void") == "yes"
            )
        shown["link"] = request.build_absolute_uri(path)
        people.notify_sockets(person)
    return render(request, "admin/password_link.html", shown)
