"""The brand that pages show: the operator's name, mark and accent colour, and the style sheet with the accent.

System checks report what is wrong with the operator's settings; until they are right, pages show the product's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from chatui.env import environment
from chatui.site import colours, mark
from chatui.site.colours import Accent
from chatui.site.mark import File, MarkError
from renderer.characters import is_seen

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
    lines = [f"  {name}: light-dark({colours.to_hex(one)}, {colours.to_hex(other)});\n" for name, (one, other) in rules.items()]
    return File(STYLES, "text/css; charset=utf-8", f"@layer tokens {{\n:root {{\n{''.join(lines)}}}\n}}\n".encode())


@dataclass(frozen=True, slots=True)
class Brand:
    """The operator's brand."""

    name: str
    mark: File | None
    """None if the operator has none."""
    accent: str
    """As #rrggbb; the product's own if the operator has none."""
    digest: str
    """Empty if the operator has none."""
    files: Mapping[str, File]
    """By name, those that are served under addresses with the digest."""

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
    colour, picture = colours.parse(accent), _mark(path)
    files = {STYLES: sheet(colours.light_accent(colour), colours.dark_accent(colour))} if colour else {}
    files |= {picture.name: picture} if picture else {}
    digest = hashlib.sha256(b"".join(each.data for each in files.values())).hexdigest()[:16] if files else ""
    shown = colours.to_hex(colours.light_accent(colour).colour) if colour else ACCENT
    return Brand(name.strip() if is_name(name) else PRODUCT, picture, shown, digest, files)


def _mark(path: Path | None) -> File | None:
    try:
        return mark.read(path) if path else None
    except MarkError:
        return None
