"""What ``manage.py check`` says about the settings and what they name."""

from django.core.checks import CheckMessage
from django.core.checks.registry import registry


def said(*ids: str, deploy: bool = False) -> list[CheckMessage]:
    """What the product's own checks find, of all ids or these, such as ``"W017"``; ``deploy`` as ``check --deploy``."""
    rules = [check for check in registry.get_checks(include_deployment_checks=deploy) if check.__module__.startswith("chatui.")]
    found = [message for rule in rules for message in rule(app_configs=None, databases=None)]
    return [message for message in found if not ids or str(message.id).removeprefix("chatui.") in ids]
