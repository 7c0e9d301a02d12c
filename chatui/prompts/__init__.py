"""The product's own prompts to models, one Markdown file each."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def read(name: str) -> str:
    """The words of ``name``, without the line break at their end."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").strip()
