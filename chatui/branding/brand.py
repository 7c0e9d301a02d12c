"""The brand that pages show: the name, and the URLs of the mark and of the style sheets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from chatui.branding import mark, style_sheet
from chatui.branding.mark import Mark, MarkError
from chatui.env import environment

PRODUCT = "chatui"
MAX_NAME = 40
ACCENT = "#0b6355"


@dataclass(frozen=True, slots=True)
class Brand:
    """The operator's brand. ``mark`` and ``digest`` are empty if the operator has none; ``has_accent``: there are style sheets.

    ``mark_sizes``: as in a manifest, such as 512x512; ``accent``: as #rrggbb, the product's own if the operator has none.
    """

    name: str
    mark: str
    mark_type: str
    mark_sizes: str
    has_accent: bool
    accent: str
    digest: str


@dataclass(frozen=True, slots=True)
class File:
    """A file of the brand, as it is served."""

    content_type: str
    data: bytes


def brand() -> Brand:
    """The brand that the settings describe. Unusable values are ignored; ``manage.py check`` reports them."""
    env = environment()
    return _brand(env.name, env.mark, env.accent)


def file(digest: str, name: str) -> File | None:
    """The brand's file with the digest and name of a URL; None if there is none."""
    env = environment()
    found = _files(env.mark, env.accent).get(name)
    return found if digest == brand().digest else None


def is_name(name: str) -> bool:
    """Whether a name can be used in a title: not empty, on one line, and short."""
    return bool(name.strip()) and name.isprintable() and len(name) <= MAX_NAME


@lru_cache(maxsize=8)
def _brand(name: str, path: Path | None, accent: str) -> Brand:
    files = _files(path, accent)
    picture = _mark(path)
    digest = hashlib.sha256(b"".join(each.data for each in files.values())).hexdigest()[:16] if files else ""
    return Brand(
        name=name.strip() if is_name(name) else PRODUCT,
        mark=picture.name if picture else "",
        mark_type=picture.content_type if picture else "",
        mark_sizes=picture.sizes if picture else "",
        has_accent="site.css" in files,
        accent=style_sheet.light_accent(accent) or ACCENT,
        digest=digest,
    )


@lru_cache(maxsize=8)
def _files(path: Path | None, accent: str) -> dict[str, File]:
    found = {name: File("text/css; charset=utf-8", text.encode()) for name, text in style_sheet.sheets(accent).items()}
    picture = _mark(path)
    return found | ({picture.name: File(picture.content_type, picture.data)} if picture else {})


def _mark(path: Path | None) -> Mark | None:
    try:
        return mark.read(path) if path else None
    except MarkError:
        return None
