"""The one Django app of the project."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

CHECKS = ("chatui.accounts.checks", "chatui.branding.checks", "chatui.checks", "chatui.model_servers.checks", "chatui.tracing.checks")


class ChatUiConfig(AppConfig):
    """Registers the models under the label ``chatui`` and the system checks."""

    name = "chatui"
    label = "chatui"
    verbose_name = _("Chat")
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        """Called by Django before the admin pages of any app are looked for, which import httpx as well."""
        _load_httpx()
        super().import_models()

    def ready(self) -> None:
        """Load the system checks: Django finds them only when their module is imported."""
        for module in CHECKS:
            import_module(module)


def _load_httpx() -> None:
    """Without its command line, which nothing here uses: 4 MB where a developer has what it needs."""
    modules: Any = sys.modules  # its type does not know None, which Python takes for a module that is not there
    if "click" in modules:
        return
    modules["click"] = None
    try:
        import_module("httpx")
    finally:
        del modules["click"]
