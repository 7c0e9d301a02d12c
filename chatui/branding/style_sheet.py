"""Generates the style sheets with the operator's accent colour: one for the product's pages and one for the admin."""

from __future__ import annotations

from functools import lru_cache

from chatui.branding import colours
from chatui.branding.colours import Accent, Colour, to_hex


@lru_cache(maxsize=8)
def sheets(accent: str) -> dict[str, str]:
    """The style sheets by file name; an empty dictionary if there is no accent, or an invalid one."""
    colour = colours.parse(accent)
    if colour is None:
        return {}
    light, dark = colours.light_accent(colour), colours.dark_accent(colour)
    return {"site.css": _site(light, dark), "admin.css": _admin(light, dark)}


def light_accent(accent: str) -> str:
    """The accent of the light theme, as #rrggbb; empty if there is none, or an invalid one."""
    colour = colours.parse(accent)
    return to_hex(colours.light_accent(colour).colour) if colour else ""


def _site(light: Accent, dark: Accent) -> str:
    rules = {
        "--accent": (light.colour, dark.colour),
        "--accent-hover": (light.hover, dark.hover),
        "--accent-ink": (light.ink, dark.ink),
        "--accent-wash": (light.wash, dark.wash),
    }
    return f"@layer tokens {{\n{_rule(':root', rules)}}}\n"


def _admin(light: Accent, dark: Accent) -> str:
    """The accent under the names of Django's variables, as in ``static/css/pages/admin.css``."""
    one: dict[str, tuple[Colour, Colour]] = dict.fromkeys(
        ("--header-bg", "--button-bg", "--object-tools-bg", "--default-button-hover-bg"), (light.colour, light.colour)
    )
    one |= dict.fromkeys(("--button-hover-bg", "--object-tools-hover-bg", "--default-button-bg"), (light.hover, light.hover))
    one |= dict.fromkeys(("--header-color", "--accent", "--header-link-color", "--button-fg"), (light.ink, light.ink))
    one |= dict.fromkeys(("--primary", "--secondary"), (light.colour, dark.wash))
    one |= dict.fromkeys(("--link-fg", "--link-selected-fg", "--breadcrumbs-link-fg"), (light.colour, dark.colour))
    one |= {"--primary-fg": (light.ink, colours.dark_accent(dark.colour).colour), "--link-hover-color": (light.hover, dark.hover)}
    one |= dict.fromkeys(("--breadcrumbs-bg", "--selected-row"), (light.wash, dark.wash))
    return _rule("html:root", one)


def _rule(place: str, values: dict[str, tuple[Colour, Colour]]) -> str:
    lines = [f"  {name}: light-dark({to_hex(light)}, {to_hex(dark)});\n" for name, (light, dark) in values.items()]
    return f"{place} {{\n{''.join(lines)}}}\n"
