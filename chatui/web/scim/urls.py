"""The URLs of SCIM, below ``/scim/v2/``."""

from __future__ import annotations

from django.urls import path

from chatui.web.scim import views

urlpatterns = [
    path("ServiceProviderConfig", views.service_provider_config, name="scim_config"),
    path("ResourceTypes", views.resource_types, name="scim_resource_types"),
    path("ResourceTypes/<str:key>", views.resource_types, name="scim_resource_type"),
    path("Schemas", views.schemas, name="scim_schemas"),
    path("Schemas/<str:key>", views.schemas, name="scim_schema"),
    path("Users", views.users, name="scim_users"),
    path("Users/<str:key>", views.user, name="scim_user"),
    path("Groups", views.all_groups, name="scim_groups"),
    path("Groups/<str:key>", views.group, name="scim_group"),
    path("<path:rest>", views.nothing, name="scim_nothing"),
]
