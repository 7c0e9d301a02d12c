"""Reads a Jupyter notebook: its texts, its code, and what the code has written. Pictures count."""

from __future__ import annotations

import json
import re
from typing import Any

from chatui.documents.inside import encodings, html
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.kinds import NoTextReason, UnreadThing

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_MEDIA = {"image": UnreadThing.PICTURE, "audio": UnreadThing.MEDIA, "video": UnreadThing.MEDIA}


def prepare(data: bytes) -> None:
    html.prepare(data)


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole notebook as one part."""
    try:
        found = json.loads(encodings.decoded(data, len(data)).text)
        language = str(found.get("metadata", {}).get("kernelspec", {}).get("language", ""))
        sheets = found.get("worksheets") or [found]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UnreadableFileError(NoTextReason.BROKEN) from None
    collector.begin()
    for cell in cells:
        if isinstance(cell, dict):
            _put_cell(cell, language, collector)


def _put_cell(cell: dict[str, Any], language: str, collector: TextCollector) -> None:
    source = _text(cell.get("source", cell.get("input")))
    if cell.get("cell_type") == "code":
        collector.put(f"```{language}\n{source}\n```\n\n")
    else:
        collector.put(f"{source}\n\n")
    attached = cell.get("attachments")
    collector.count(UnreadThing.PICTURE, len(attached) if isinstance(attached, dict) else 0)
    for output in cell.get("outputs") or ():
        if isinstance(output, dict):
            _put_output(output, collector)


def _put_output(output: dict[str, Any], collector: TextCollector) -> None:
    kind, data = output.get("output_type"), output.get("data", output)
    if kind in ("error", "pyerr"):
        text = _text(output.get("traceback"), "\n") or f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        if (last := f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}") not in text:
            text += f"\n{last}"
    elif kind == "stream":
        text = _text(output.get("text"))
    else:
        text = _best(data if isinstance(data, dict) else {}, collector)
    if text := _COLOURS.sub("", text).strip("\n"):
        collector.put(f"Output:\n{text}\n\n")


def _best(data: dict[str, Any], collector: TextCollector) -> str:
    """The text of an output that comes in several versions. What has no text counts."""
    for name in ("text/markdown", "text/latex", "text/plain", "text"):
        if text := _text(data.get(name)):
            has_picture = any(each.startswith("image/") for each in data)
            collector.count(UnreadThing.PICTURE, int(has_picture))
            return text
    if page := _text(data.get("text/html")):
        reader = html.HtmlReader("", collector.max_bytes, collector)
        reader.read(page)
        return "".join(reader.parts)
    for name in data:
        major = str(name).partition("/")[0]
        if major in _MEDIA or name in ("png", "jpeg", "svg"):
            collector.count(_MEDIA.get(major, UnreadThing.PICTURE))
            return ""
    if "application/json" in data:
        return json.dumps(data["application/json"], ensure_ascii=False)
    collector.count(UnreadThing.OTHER, int(any("/" in str(name) for name in data)))
    return ""


def _text(value: Any, between: str = "") -> str:
    if isinstance(value, list):
        return between.join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""
