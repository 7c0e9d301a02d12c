"""The administration pages about usage limits and prices of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.formats import number_format
from django.utils.translation import ngettext_lazy

from chatui.accounts import limits as accounts_limits
from chatui.accounts.limits import LimitForm, PriceForm
from chatui.env import environment
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.web.guards import person_of, visitor_of
from chatui.web.manage.parts import done, for_part, page

if TYPE_CHECKING:
    from chatui.models.usage import ModelPrice, UsageLimit

_KINDS = {
    "day_turns": ngettext_lazy("%(count)s answer per day", "%(count)s answers per day", "number"),
    "day_tokens": ngettext_lazy("%(count)s token per day", "%(count)s tokens per day", "number"),
    "month_turns": ngettext_lazy("%(count)s answer per month", "%(count)s answers per month", "number"),
    "month_tokens": ngettext_lazy("%(count)s token per month", "%(count)s tokens per month", "number"),
}


@for_part(AdminPart.LIMITS, "GET", "POST")
def limits(request: HttpRequest) -> HttpResponse:
    sent = request.POST.get("what", "")
    forms: dict[str, Any] = {
        "limit": LimitForm(request.POST if sent == "limit" else None),
        "price": PriceForm(request.POST if sent == "price" else None),
    }
    if request.method == "POST":
        if sent not in forms:
            raise NotFoundError
        if forms[sent].is_valid():
            return _save(request, forms[sent])
    sees_accounts = administration.may_see_accounts(person_of(request))
    context = {
        "limits": [(row, _in_words(row)) for row in accounts_limits.all_limits() if row.person_id is None or sees_accounts],
        "prices": accounts_limits.all_prices(),
        "limit_form": forms["limit"],
        "price_form": forms["price"],
        "currency": environment().currency,
    }
    return page(request, AdminPart.LIMITS, "manage/limits.html", context, 400 if sent else 200)


@for_part(AdminPart.LIMITS, "GET", "POST")
def limit(request: HttpRequest, limit_id: int) -> HttpResponse:
    """One limit: change it or remove it. That of a person is for those who may see accounts."""
    row = accounts_limits.limit(limit_id)
    if row.person_id is not None and not administration.may_see_accounts(person_of(request)):
        raise NotFoundError
    return _edit(request, row, LimitForm)


@for_part(AdminPart.LIMITS, "GET", "POST", may=administration.may_see_accounts)
def limit_of_person(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """The limit of one person, which may not exist yet."""
    return _edit(request, accounts_limits.limit_of(person_id), LimitForm)


@for_part(AdminPart.LIMITS, "GET", "POST")
def price(request: HttpRequest, price_id: int) -> HttpResponse:
    return _edit(request, accounts_limits.price(price_id), PriceForm)


def _in_words(row: UsageLimit) -> list[str]:
    numbers = {name: getattr(row, name) for name in _KINDS}
    return [
        _KINDS[name] % {"number": number, "count": number_format(number, force_grouping=True)}
        for name, number in numbers.items()
        if number is not None
    ]


def _edit(request: HttpRequest, row: UsageLimit | ModelPrice, form_class: type[LimitForm | PriceForm]) -> HttpResponse:
    if request.method == "POST" and "delete" in request.POST and row.pk:
        kind, name = accounts_limits.kind_and_name(row)
        accounts_limits.delete(visitor_of(request, "admin"), row)
        return done(f"{kind}-deleted", name, "manage_limits")
    name = str(row)
    form = form_class(request.POST if request.method == "POST" else None, instance=row)
    if request.method == "POST" and form.is_valid():
        return _save(request, form)
    context: dict[str, object] = {"form": form, "name": name, "is_new": row.pk is None, "is_price": form_class is PriceForm}
    return page(request, AdminPart.LIMITS, "manage/limit.html", context, 400 if form.errors else 200)


def _save(request: HttpRequest, form: Any) -> HttpResponse:
    try:
        row = form.save(commit=False)
        accounts_limits.save(visitor_of(request, "admin"), row)
    except IntegrityError:
        return redirect("manage_limits")  # another request created the same first: it is in the list
    kind, name = accounts_limits.kind_and_name(row)
    return done(f"{kind}-saved", name, "manage_limits")
