"""Django's admin at ``/admin/``, a repair hatch: off unless CHATUI_DJANGO_ADMIN asks for it, for superusers only, and nothing links to it.

It shows plain rows, with the product's CSP except Trusted Types, which its jQuery does not support. Administration is ``web.manage``.

Messages, conversations, turns and files must not be registered: a list of rows would show hidden text without the gate and without an
audit line. Nor may anything that is a secret, or that has steps of its own, such as closing or erasing an account.
"""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

from csp.decorators import csp
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.auth.models import Group
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse
from django.utils.translation import gettext

from chatui.accounts import account_managers, people
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.audit_log.record import record
from chatui.models.sign_in import Invitation
from chatui.models.usage import ModelPrice, UsageLimit
from chatui.models.user import User
from chatui.permissions import debug_requests
from chatui.permissions.access import NotFoundError
from chatui.usage import limits
from chatui.web.guards import notify_sockets, visitor_of
from chatui.web.sign_in import pages

_TRUSTED_TYPES = ("require-trusted-types-for", "trusted-types")


class RepairSite(admin.AdminSite):
    """Django's site for superusers. It has no sign-in of its own: the product's limits guesses."""

    site_url = "/manage/"

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login("/admin/")

    def logout(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Sign out as on every other page, so that this person's sockets are closed."""
        return pages.sign_out(request)

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return redirect("password")

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Wrap every admin view with our CSP and ``_guarded``."""
        directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
        own = {name: value for name, value in directives.items() if name not in _TRUSTED_TYPES}
        return csp(own)(super().admin_view(_guarded(view), cacheable))


def _guarded(view: Any) -> Any:
    """The view, where no change may leave nobody who manages accounts. Its lists query the database while they are rendered, so that is
    done here; and what Django does not expect in an address is a bad request instead of a server error."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if {fields.get(TO_FIELD_VAR, "id") for fields in (request.GET, request.POST)} != {"id"}:
            raise BadRequest  # Django loads the row before it checks whether the field exists
        try:
            if request.method != "POST":
                return _rendered(view(request, *args, **kwargs))
            with account_managers.require_manager_left("in Django's admin"):
                return _rendered(view(request, *args, **kwargs))
        except OverflowError:
            raise BadRequest from None
        except NotFoundError:
            raise PermissionDenied from None
        except LastAccountManagerError as error:
            record("account not changed", visitor_of(request, "admin"), detail=f"{error.name}: {error}")
            list(messages.get_messages(request))  # remove the success message, which is no longer true
            messages.error(request, gettext("Nothing was changed: nobody else could manage accounts."))
            return redirect(request.path)

    return answer


def _rendered(response: HttpResponse) -> HttpResponse:
    return response.render() if isinstance(response, SimpleTemplateResponse) else response


class RecordedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows whose every change is recorded: of people and groups one line for each difference."""

    show_full_result_count = False

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        form.before = people.snapshot(obj) if change and isinstance(obj, User | Group) else None
        super().save_model(request, obj, form, change)
        transaction.on_commit(limits.clear_cache)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        row, visitor = form.instance, visitor_of(request, "admin")
        if not isinstance(row, User | Group):
            changed = ", ".join(f"{name} {form.cleaned_data[name]}" for name in form.changed_data)
            record(f"{row._meta.model_name} {'changed' if change else 'created'}", visitor, detail=f"{row}: {changed}"[:200])
            return
        if change:
            people.record_changed(visitor, row, form.before)
        else:
            people.record_created(visitor, row)
        told = [row] if isinstance(row, User) else row.user_set.filter(is_staff=True).only("pk")
        transaction.on_commit(partial(notify_sockets, *told))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        visitor = visitor_of(request, "admin")
        if isinstance(obj, Group):
            people.record_deleted(visitor, obj)
        else:
            record(f"{obj._meta.model_name} deleted", visitor, detail=str(obj)[:200])
        super().delete_model(request, obj)
        debug_requests.close_unpermitted()
        transaction.on_commit(limits.clear_cache)

    def get_actions(self, request: HttpRequest) -> Any:
        return {}  # each row by itself, after its own page


class PersonAdmin(RecordedAdmin):
    """Accounts. Creating, closing and erasing them, and their passwords, have steps of their own elsewhere."""

    list_display = ("username", "is_active", "is_staff", "is_superuser", "last_login")
    search_fields = ("username", "email")
    fields = ("username", "first_name", "last_name", "email", "is_staff", "is_superuser", "groups", "user_permissions")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


site = RepairSite()
site.register(User, PersonAdmin)
site.register([Group, UsageLimit, ModelPrice, Invitation], RecordedAdmin)
