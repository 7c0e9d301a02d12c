"""Models as Anthropic's format describes them, for clients that name its version in a header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any


def model_object(found: Mapping[str, Any]) -> dict[str, Any]:
    """``found``: the model as the other formats describe it."""
    created = datetime.fromtimestamp(found["created"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": "model",
        "id": found["id"],
        "display_name": found["id"],
        "created_at": created,
        "max_input_tokens": found.get("context_length"),
        "max_tokens": None,
        "capabilities": None,
    }


def model_list(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All of them, on one page."""
    ids = [each["id"] for each in found]
    first, last = (ids[0], ids[-1]) if ids else (None, None)
    return {"data": [model_object(each) for each in found], "has_more": False, "first_id": first, "last_id": last}
