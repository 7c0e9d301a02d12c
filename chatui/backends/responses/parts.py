"""The content parts of output items: their kinds and their text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatui.backends.speaker import other_label

VISIBLE_PARTS = ("output_text", "text", "refusal")


def kind_of(part: Mapping[str, Any]) -> str:
    """The type of a part; empty if a label says that it is something else."""
    kind = part.get("type")
    label = other_label(part, besides=("type",))
    return "" if label or not isinstance(kind, str) else kind


def text_of(part: Mapping[str, Any]) -> str:
    """The text of a part, or of its refusal."""
    text = part.get("refusal") if part.get("type") == "refusal" else part.get("text")
    return text if isinstance(text, str) else ""


def texts_of(parts: object) -> list[str]:
    """The texts of a reasoning item's parts, whatever their type."""
    if isinstance(parts, str):
        return [parts]
    return [text for part in parts if isinstance(part, dict) and (text := text_of(part))] if isinstance(parts, list) else []
