"""Makes up a sample value that fits a JSON Schema, so that the demo can answer in a format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def sample_answer(schema: Mapping[str, Any]) -> str:
    """JSON, as a model would write it."""
    return json.dumps(_sample(schema), indent=2, ensure_ascii=False)


def _sample(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return schema["const"]
    for word in ("enum", "examples"):
        if isinstance(schema.get(word), list) and schema[word]:
            return schema[word][0]
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list) and schema[word]:
            return _sample(schema[word][0])
    return _typed(schema, schema.get("type", "object" if "properties" in schema else "string"))


def _typed(schema: Mapping[str, Any], kind: object) -> Any:
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            properties = schema.get("properties")
            return {name: _sample(each) for name, each in properties.items()} if isinstance(properties, Mapping) else {}
        case "array":
            return [_sample(schema.get("items", {}))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
    return "This is the demo: no model wrote it."
