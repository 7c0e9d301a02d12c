"""The visible line about a tool that the model server executes: our own words, never its arguments or its results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chatui.backends.hosted.tools import HostedTools
from chatui.backends.responses.frames import Source
from renderer.frame_kinds import TOOL_LINE

_LINES = {
    "web_search_call": "Searching the web",
    "file_search_call": "Searching files of the model server",
    "code_interpreter_call": "Running code at the model server",
    "image_generation_call": "Making a picture at the model server",
}
_READING = "Reading a web page"
_OTHER = "Using a tool of the model server"
_NO_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "computer_call")
"""Calls that a client would have to execute, and nobody here does."""
_ANNOTATIONS = "annotations"
"""The kind to record for a server that cites pages without reporting a call."""
_MAX_LINES = 30


class ServerTools:
    """The lines of one sample. Without ``hosted`` there are none: what a server runs unasked is stored for staff, and not announced."""

    def __init__(self, hosted: HostedTools | None) -> None:
        self._hosted = hosted
        self._lines: dict[int, str] = {}
        self._annotations: dict[int, list[object]] = {}

    def line(self, number: int, item: Mapping[str, Any]) -> tuple[Source, str] | None:
        """The line for this item, once it is known to be a call of such a tool."""
        kind = item.get("type")
        if self._hosted is None or not isinstance(kind, str) or not kind.endswith("_call") or kind in _NO_CALLS:
            return None
        self._hosted.used(kind)
        if number in self._lines or len(self._lines) >= _MAX_LINES:
            return None
        self._lines[number] = _words(kind, item.get("action"))
        return Source(number, "line", TOOL_LINE), self._lines[number]

    def take_annotations(self, number: int, parts: Iterable[Mapping[str, Any]]) -> None:
        """Record the annotations of a message's parts. The last ones count."""
        if self._hosted is not None:
            self._annotations[number] = found = [part.get("annotations") for part in parts]
            if any(found):
                self._hosted.used(_ANNOTATIONS)  # whether or not the answer will be shown

    def cite(self, number: int) -> None:
        """The message is visible, and no part was hidden or withdrawn: the pages that it cites become sources."""
        if self._hosted is not None:
            for of_a_part in self._annotations.get(number, ()):
                self._hosted.cite(of_a_part)


def _words(kind: str, action: object) -> str:
    step = action.get("type") if isinstance(action, dict) else None
    if kind == "web_search_call" and step in ("open_page", "find_in_page", "open", "find"):
        return _READING
    return _LINES.get(kind, _OTHER)
