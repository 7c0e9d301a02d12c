"""The one Django app of the project."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ChatUiConfig(AppConfig):
    """Registers the models under the label ``chatui`` and the system checks."""

    name = "chatui"
    label = "chatui"
    verbose_name = _("Chat")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Load the system checks: Django finds them only when their module is imported."""
        import_module("chatui.checks")
