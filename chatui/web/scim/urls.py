"""The URLs of SCIM, below ``/scim/v2/``."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpResponseBase
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from chatui.web.deferred import deferred


def _view(name: str) -> Callable[..., HttpResponseBase]:
    """Loaded with the first request of a directory. Directories have a bearer token, and no CSRF token."""
    return csrf_exempt(deferred(f"web.scim.views.{name}"))


urlpatterns = [
    path("ServiceProviderConfig", _view("service_provider_config"), name="scim_config"),
    path("ResourceTypes", _view("resource_types"), name="scim_resource_types"),
    path("ResourceTypes/<str:key>", _view("resource_types"), name="scim_resource_type"),
    path("Schemas", _view("schemas"), name="scim_schemas"),
    path("Schemas/<str:key>", _view("schemas"), name="scim_schema"),
    path("Users", _view("users"), name="scim_users"),
    path("Users/<str:key>", _view("user"), name="scim_user"),
    path("Groups", _view("all_groups"), name="scim_groups"),
    path("Groups/<str:key>", _view("group"), name="scim_group"),
    path("<path:rest>", _view("nothing"), name="scim_nothing"),
]
