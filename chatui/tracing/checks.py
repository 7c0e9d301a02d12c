"""A Django system check of the settings for traces."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register

from chatui.env import environment
from chatui.tracing.starting import problem_of


@register()
def traces(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The CHATUI_TRACES_… settings must be valid, and the packages that they need installed."""
    problem = problem_of(environment())
    return [Error(problem, id="chatui.E060")] if problem else []
