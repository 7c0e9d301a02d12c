"""The URLs of the API, below ``/v1/``."""

from __future__ import annotations

from django.urls import path

from chatui.api import documentation as openapi
from chatui.api.endpoints import endpoints

urlpatterns = [*endpoints, path("openapi.json", openapi.view, name="api_openapi")]
