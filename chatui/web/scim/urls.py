"""The URLs of SCIM, below ``/scim/v2/``."""

from __future__ import annotations

from django.urls import path

from chatui.web.deferred import Deferred

urlpatterns = [
    path("ServiceProviderConfig", Deferred("web.scim.views.service_provider_config"), name="scim_config"),
    path("ResourceTypes", Deferred("web.scim.views.resource_types"), name="scim_resource_types"),
    path("ResourceTypes/<str:key>", Deferred("web.scim.views.resource_types"), name="scim_resource_type"),
    path("Schemas", Deferred("web.scim.views.schemas"), name="scim_schemas"),
    path("Schemas/<str:key>", Deferred("web.scim.views.schemas"), name="scim_schema"),
    path("Users", Deferred("web.scim.views.users"), name="scim_users"),
    path("Users/<str:key>", Deferred("web.scim.views.user"), name="scim_user"),
    path("Groups", Deferred("web.scim.views.all_groups"), name="scim_groups"),
    path("Groups/<str:key>", Deferred("web.scim.views.group"), name="scim_group"),
    path("<path:rest>", Deferred("web.scim.views.nothing"), name="scim_nothing"),
]
