"""The brand that pages show: the operator's name, mark and accent colour, with the style sheets and the checks of them.

Contrast ratios are those of WCAG 2.2, and an accent colour has readable variants for the light and the dark theme. The mark (logo) is a
small SVG or PNG file; files that could run scripts or load others are refused. One style sheet has the accent. Django
system checks report what is wrong with the operator's settings.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from chatui.env import environment
from renderer.characters import is_seen

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


MAX_BYTES = 64 * 1024


class MarkError(Exception):
    """The file cannot be used. The message is a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the brand: its name in URLs, media type and bytes."""

    name: str
    content_type: str
    data: bytes = field(repr=False)

    @property
    def sizes(self) -> str:
        """Width and height in pixels, in a web manifest's format: 512x512; ``any`` for a vector image."""
        if not self.data.startswith(_PNG):
            return "any"
        width, height = (int.from_bytes(self.data[at : at + 4], "big") for at in (16, 20))
        return f"{width}x{height}"


@lru_cache(maxsize=8)
def read(path: Path) -> File:
    """The mark, read once per process. Raises MarkError if it cannot be read, is too large, or is not an allowed picture."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        raise MarkError("CHATUI_MARK does not name a file that can be read.") from None
    if len(data) > MAX_BYTES:
        raise MarkError(f"CHATUI_MARK names a file of more than {MAX_BYTES // 1024} KB.")
    if data.startswith(_PNG):
        return File("mark.png", "image/png", data)
    if _SVG.match(data) is None:
        raise MarkError("CHATUI_MARK names a file that is neither SVG nor PNG.")
    if _ACTIVE.search(data):
        raise MarkError("CHATUI_MARK names an SVG with a script, an event handler, foreign content, an entity or an external URL.")
    return File("mark.svg", "image/svg+xml", data)


_PNG = b"\x89PNG\r\n\x1a\n"
# A comment, the XML declaration and a document type may precede the picture.
_SVG = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?[^>]{0,500}>\s*|<!--.{0,2000}?-->\s*|<!DOCTYPE[^>\[]{0,500}>\s*)*<svg[\s>]", re.DOTALL)
# An img element would not run or load any of this, but the file can also be opened by its URL, so it is refused.
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignObject|iframe|image|handler)\b|\son\w+\s*=|<!ENTITY|javascript:|href\s*=\s*[\"']\s*(?!#)|url\(\s*[\"']?\s*(?!#)",
    re.IGNORECASE,
)


STYLES = "site.css"
PRODUCT = "chatui"
MAX_NAME = 40
ACCENT = "#0b6355"


def sheet(light: Accent, dark: Accent) -> File:
    """The style sheet with the accent of both themes."""
    rules = {
        "--accent": (light.colour, dark.colour),
        "--accent-hover": (light.hover, dark.hover),
        "--accent-ink": (light.ink, dark.ink),
        "--accent-wash": (light.wash, dark.wash),
    }
    lines = [f"  {name}: light-dark({to_hex(one)}, {to_hex(other)});\n" for name, (one, other) in rules.items()]
    return File(STYLES, "text/css; charset=utf-8", f"@layer tokens {{\n:root {{\n{''.join(lines)}}}\n}}\n".encode())


@dataclass(frozen=True, slots=True)
class Brand:
    """The operator's brand. ``mark`` is None and ``digest`` empty if the operator has none; ``accent``: as #rrggbb, the product's own if
    the operator has none. ``files``: by name, those that are served under addresses with the digest."""

    name: str
    mark: File | None
    accent: str
    digest: str
    files: Mapping[str, File]

    @property
    def has_accent(self) -> bool:
        """Whether there is a style sheet."""
        return STYLES in self.files


def brand() -> Brand:
    """The brand that the settings describe. Unusable values are ignored; ``manage.py check`` reports them."""
    env = environment()
    return _brand(env.name, env.mark, env.accent)


def file(digest: str, name: str) -> File | None:
    """The brand's file with the digest and name of a URL; None if there is none."""
    return brand().files.get(name) if digest == brand().digest else None


def is_name(name: str) -> bool:
    """Whether a name can be used in a title: not empty, on one line, and short."""
    return is_seen(name) and name.isprintable() and len(name) <= MAX_NAME


@lru_cache(maxsize=8)
def _brand(name: str, path: Path | None, accent: str) -> Brand:
    colour, mark = parse(accent), _mark(path)
    files = {STYLES: sheet(light_accent(colour), dark_accent(colour))} if colour else {}
    files |= {mark.name: mark} if mark else {}
    digest = hashlib.sha256(b"".join(each.data for each in files.values())).hexdigest()[:16] if files else ""
    shown = to_hex(light_accent(colour).colour) if colour else ACCENT
    return Brand(name.strip() if is_name(name) else PRODUCT, mark, shown, digest, files)


def _mark(path: Path | None) -> File | None:
    try:
        return read(path) if path else None
    except MarkError:
        return None
