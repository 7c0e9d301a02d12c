"""Colours and their contrast (WCAG 2.2), and the readable variants of an accent for the light and the dark theme."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

Colour = tuple[int, int, int]
"""Red, green and blue, each from 0 to 255."""

MIN_CONTRAST = 4.5
"""The contrast ratio of text and background that WCAG AA requires."""

_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
# The backgrounds of links and other text in the accent colour, from static/css/tokens.css: paper, raised, sunken, hover, question.
LIGHT_PAPERS = ("#fbfaf8", "#ffffff", "#f3f1ed", "#ebe8e2", "#efece6")
DARK_PAPERS = ("#17181a", "#1f2123", "#111214", "#292c2f", "#26292c")


@dataclass(frozen=True, slots=True)
class Accent:
    """The accent colours of one theme: for text and buttons, for a button under the pointer, for the text on buttons, and for a tint behind
    text."""

    colour: Colour
    hover: Colour
    ink: Colour
    wash: Colour


def parse(text: str) -> Colour | None:
    """A colour of the form #rrggbb; None for anything else."""
    return _rgb(text) if _HEX_COLOUR.fullmatch(text) else None


def to_hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def contrast(one: Colour, other: Colour) -> float:
    """The contrast ratio of two colours, from 1 (none) to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def lowest_contrast(colour: Colour, papers: Sequence[str]) -> float:
    """The lowest contrast of the colour with any of these backgrounds."""
    return min(contrast(colour, _rgb(paper)) for paper in papers)


def light_accent(colour: Colour) -> Accent:
    """The accent for the light theme: the colour itself, or the nearest darker one that is readable."""
    return _readable(colour, LIGHT_PAPERS, towards=_BLACK, tint=0.1)


def dark_accent(colour: Colour) -> Accent:
    """The accent for the dark theme: the colour itself, or the nearest lighter one that is readable."""
    return _readable(colour, DARK_PAPERS, towards=_WHITE, tint=0.14)


def _readable(colour: Colour, papers: Sequence[str], *, towards: Colour, tint: float) -> Accent:
    steps = (_accent(_mix(colour, towards, step / 100), _rgb(papers[0]), towards, tint) for step in range(101))
    return next(found for found in steps if _is_readable(found, papers))


def _accent(colour: Colour, paper: Colour, towards: Colour, tint: float) -> Accent:
    hover = _mix(colour, towards, 0.2)
    ink = max((_WHITE, _BLACK), key=lambda ink: min(contrast(ink, colour), contrast(ink, hover)))
    return Accent(colour, hover, ink, _mix(paper, colour, tint))


def _is_readable(found: Accent, papers: Sequence[str]) -> bool:
    texts = (lowest_contrast(found.colour, papers), contrast(found.colour, found.wash))
    return min(*texts, contrast(found.ink, found.colour), contrast(found.ink, found.hover)) >= MIN_CONTRAST


def _mix(one: Colour, other: Colour, share: float) -> Colour:
    """Mix two colours. ``share``: of the other colour, from 0 to 1."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _luminance(colour: Colour) -> float:
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in (c / 255 for c in colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


_HEX_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
