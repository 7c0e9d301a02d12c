"""The colours of both themes: text has a contrast of 4.5 to 1 with its background, and borders and focus rings have 3 to 1."""

import re

import pytest

from chatui.env import BASE_DIR
from chatui.site import colours
from chatui.site.colours import MIN_CONTRAST, Colour, contrast, parse

SEEN = 3.0
"""What WCAG 1.4.11 requires between a border, a ring or an icon and what is next to it."""
PAPERS = ("paper", "paper-raised", "paper-sunken", "paper-hover", "question")
WASHES = ("accent-wash", "danger-wash", "warning-wash", "note-wash", "debug-wash")
TEXTS: dict[str, tuple[str, ...]] = {
    "ink": (*PAPERS, *WASHES, "code-added", "code-removed"),
    "ink-soft": (*PAPERS, "accent-wash"),
    "accent": (*PAPERS, "accent-wash"),
    "accent-ink": ("accent", "accent-hover"),
    "accent-hover": PAPERS,
    "paper": ("ink",),  # a toast
    "danger": ("paper", "paper-raised", "paper-sunken", "paper-hover", "danger-wash"),
    "warning": ("paper", "warning-wash"),
    "note": ("paper", "note-wash"),
    "debug": ("paper", "paper-raised", "debug-wash"),
    **{f"code-{kind}": ("paper-sunken",) for kind in ("comment", "keyword", "string", "number", "name", "type")},
}
NO_TEXTS: dict[str, tuple[str, ...]] = {
    "line-strong": ("paper", "paper-raised", "paper-sunken"),  # the borders of fields
    "accent": (*PAPERS, *WASHES),  # the ring around what has the focus
    "debug": ("paper", "paper-raised"),
}


def themes() -> dict[str, dict[str, Colour]]:
    """Each colour of tokens.css by name: light, dark, and both for people who request more contrast."""
    sheet, _, more = (BASE_DIR / "static/css/tokens.css").read_text(encoding="utf-8").partition("@media (prefers-contrast: more)")
    usual, stronger = (re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", part) for part in (sheet, more))
    found: dict[str, dict[str, Colour]] = {}
    for number, theme in enumerate(("light", "dark"), start=1):
        found[theme] = {row[0]: known(row[number]) for row in usual}
        found[f"{theme}, more contrast"] = found[theme] | {row[0]: known(row[number]) for row in stronger}
    return found


def known(text: str) -> Colour:
    colour = parse(text)
    assert colour
    return colour


THEMES = themes()


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read_and_borders_can_be_seen(theme: str) -> None:
    named = THEMES[theme]
    faults = [
        f"{name} on {ground}: {contrast(named[name], named[ground]):.2f}"
        for pairs, least in ((TEXTS, MIN_CONTRAST), (NO_TEXTS, SEEN))
        for name, grounds in pairs.items()
        for ground in grounds
        if contrast(named[name], named[ground]) < least
    ]
    assert faults == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_ring_in_an_operators_colour_can_be_seen_on_every_ground(theme: str) -> None:
    named = THEMES[theme]
    levels = (0, 51, 102, 153, 204, 255)
    for colour in ((red, green, blue) for red in levels for green in levels for blue in levels):
        accent = colours.light_accent(colour) if theme == "light" else colours.dark_accent(colour)
        grounds = [named[name] for name in (*PAPERS, *WASHES[1:])] + [accent.wash]
        assert min(contrast(accent.colour, ground) for ground in grounds) >= SEEN, colour


def test_each_colour_of_text_in_the_sheet_is_in_the_table() -> None:
    listed = {*TEXTS, *NO_TEXTS, *PAPERS, *WASHES, "code-added", "code-removed"}
    needs_none = {"line", "debug-bar"}  # a line that only divides; the bar of the debug view, whose text is white (examined by axe)
    assert set(THEMES["light"]) - listed == needs_none
