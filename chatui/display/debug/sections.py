"""Splits reasoning at the section markers that some models write (specification section 7), so that the debug view can show headings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from renderer.frames import Channel, Frame
from renderer.gate import VisibleText, as_debug_text

MAX_SECTIONS = 200
"""The most sections of one frame. A model may write a marker after every word; the last section contains the rest unsplit."""

_MEANINGS = {
    "<|start_reason|>": noop("Step-by-step logic"),
    "<|start_reflect|>": noop("Self-critique"),
    "<|start_introspect|>": noop("Latent probes"),
}
_MARKER = re.compile("(" + "|".join(map(re.escape, _MEANINGS)) + ")")


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of a frame's text. ``marker`` is the marker before it, and ``heading`` its meaning; both are empty if there is none."""

    marker: str
    heading: str
    text: VisibleText = field(repr=False)


def sections(frame: Frame) -> tuple[Section, ...]:
    """The text of a frame, in order. Markers and texts together are the whole body, except for blanks before the first marker. Without
    markers, a single section."""
    if frame.header.channel != Channel.ANALYSIS:
        return (Section("", "", as_debug_text(frame.body)),)
    first, *pieces = _MARKER.split(frame.body, maxsplit=MAX_SECTIONS - 1)
    found = [Section("", "", as_debug_text(first))] if first.strip() or not pieces else []
    marked = zip(pieces[::2], pieces[1::2], strict=True)
    return (*found, *(Section(marker, gettext(_MEANINGS[marker]), as_debug_text(text)) for marker, text in marked))
