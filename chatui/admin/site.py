"""The admin site: Django's admin at ``/admin/``, with the product's CSP except Trusted Types, which Django's jQuery does not support."""

from __future__ import annotations

from functools import wraps
from typing import Any

from csp.decorators import csp
from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

_TRUSTED_TYPES = ("require-trusted-types-for", "trusted-types")


class ChatUiAdminSite(AdminSite):
    """Django's site with our titles, and without the Trusted Types directives: its pages show no text of a model."""

    site_header = _("Admin")
    site_title = _("Admin")
    index_title = _("People and groups")

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect staff to the admin pages, and visitors to the product's sign-in page, which limits guesses; refuse everybody else."""
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            raise PermissionDenied
        from django.contrib.auth.views import redirect_to_login  # models cannot be imported yet when Django loads this module

        return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME, reverse("admin:index")))

    def logout(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Sign out as on every other page, so that this person's sockets are closed."""
        from chatui.web.sign_in import pages as sign_in_pages  # as above

        return sign_in_pages.sign_out(request)

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return redirect("password")

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Wrap every admin view with our CSP and error handling."""
        directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
        own = {name: value for name, value in directives.items() if name not in _TRUSTED_TYPES}
        return csp(own)(super().admin_view(_with_error_handling(view), cacheable))


def _with_error_handling(view: Any) -> Any:
    """The view with error handling: a number too large for the database or an invalid lookup field becomes a bad request (400), and
    NotFoundError a forbidden one (403), instead of a server error.
    """

    @wraps(view)
    def handle(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if {fields.get(TO_FIELD_VAR, "id") for fields in (request.GET, request.POST)} != {"id"}:
            raise BadRequest  # Django loads the row before it checks whether the field exists
        from chatui.permissions.access import NotFoundError  # models cannot be imported yet when Django loads this module

        try:
            response: HttpResponse = view(request, *args, **kwargs)
            # Render here: lists query the database while they are rendered, and Django would do that later.
            return response.render() if isinstance(response, SimpleTemplateResponse) else response
        except OverflowError:
            raise BadRequest from None
        except NotFoundError:
            raise PermissionDenied from None  # the member of staff lost a permission while the request ran

    return handle


class ChatUiAdminConfig(AdminConfig):
    """Makes ``ChatUiAdminSite`` the default admin site."""

    default_site = "chatui.admin.site.ChatUiAdminSite"

    def ready(self) -> None:
        """Register the models. Django would look for registrations in the app's ``admin`` module, which is a package here."""
        super().ready()
        from chatui.admin import people, records  # noqa: F401 - models cannot be imported before now
