"""The URLs of the API, below ``/v1/``."""

from __future__ import annotations

from django.urls import path

from chatui.api import documentation
from chatui.api.endpoints import endpoints

urlpatterns = [*endpoints, path("openapi.json", documentation.view, name="api_openapi")]
