"""The one Django app of the project."""

from __future__ import annotations

from django.apps import AppConfig


class ChatUiConfig(AppConfig):
    """Registers the models under the label ``chatui`` and the system checks."""

    name = "chatui"
    label = "chatui"
    verbose_name = "Chat"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Load the system checks: Django finds them only when their module is imported."""
