"""The product's own prompts to models, one Markdown file each."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def read(name: str) -> str:
    """The text of the prompt ``name``, without the final line break."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").strip()
