"""Django system checks for the operator's name, mark and accent colour."""

from __future__ import annotations

from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error, register

from chatui.branding import brand, colours, mark
from chatui.branding.colours import to_hex
from chatui.branding.mark import MarkError
from chatui.env import environment


@register()
def name(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_NAME must fit into titles."""
    if brand.is_name(environment().name):
        return []
    return [Error(f"CHATUI_NAME must be one line of 1 to {brand.MAX_NAME} characters.", id="chatui.E006")]


@register()
def mark_file(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_MARK must be a small picture without scripts."""
    path = environment().mark
    try:
        if path:
            mark.read(path)
    except MarkError as error:
        return [Error(str(error), id="chatui.E007")]
    return []


@register()
def accent(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CHATUI_ACCENT must be a colour. If its contrast is too low, a warning names the colour that replaces it."""
    text = environment().accent
    if not text:
        return []
    wanted = colours.parse(text)
    if wanted is None:
        return [Error("CHATUI_ACCENT must be a colour such as #0b6355.", id="chatui.E008")]
    themes = (("light", colours.LIGHT_PAPERS, colours.light_accent(wanted)), ("dark", colours.DARK_PAPERS, colours.dark_accent(wanted)))
    message = "CHATUI_ACCENT {} has a contrast of only {:.1f}:1 in the {} theme, and WCAG AA requires 4.5:1. {} is used there instead."
    return [
        checks.Warning(message.format(text, colours.lowest_contrast(wanted, papers), theme, to_hex(found.colour)), id="chatui.W019")
        for theme, papers, found in themes
        if found.colour != wanted
    ]
