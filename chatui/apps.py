"""The one Django app of the project."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

CHECKS = ("chatui.accounts.checks", "chatui.site.brand", "chatui.checks", "chatui.model_servers.checks", "chatui.observability.tracing")


class ChatUiConfig(AppConfig):
    """Registers the models under the label ``chatui`` and the system checks."""

    name = "chatui"
    label = "chatui"
    verbose_name = _("Chat")
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        """Django calls this before it loads the admin pages of all apps, which import httpx."""
        _load_httpx()
        super().import_models()

    def ready(self) -> None:
        """Load the system checks: Django finds them only when their module is imported."""
        for module in CHECKS:
            import_module(module)


def _load_httpx() -> None:
    """Import httpx without its command line, which nothing here uses. It takes 4 MB if the packages that it needs are installed."""
    modules: Any = sys.modules  # its type excludes None, with which Python marks a module that cannot be imported
    if "click" in modules:
        return
    modules["click"] = None
    try:
        import_module("httpx")
    finally:
        del modules["click"]
