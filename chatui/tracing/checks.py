"""A Django system check that traces can be sent, if the operator configured a collector."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register

from chatui.env import environment
from chatui.tracing.starting import problem_of


@register()
def traces(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_TRACES_… must make sense, and the packages be there."""
    problem = problem_of(environment())
    return [Error(problem, id="chatui.E060")] if problem else []
