"""Converts a tool call that arrived as JSON into one whole frame, which is hidden if the call could not be run."""

from __future__ import annotations

import json
import re

from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import BROKEN
from renderer.frames import Channel, Header, Role, Terminator

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def call_frame(call_id: str, name: str, arguments: str, error: ErrorCode | None) -> list[RawEvent]:
    """``call_id`` fits a header already. ``error``: how the sample ended, if not well.

    A call whose tool has no possible name, or whose arguments are no JSON object, is kept for staff and never carried out.
    """
    if not _TOOL_NAME.fullmatch(name):
        return [FrameOpened(BROKEN), FrameText(arguments), FrameClosed(Terminator.END, Code.CALL_SCHEMA)]
    recipient = f"functions.{name.removeprefix('functions.')}"
    header = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient=recipient, call_id=call_id, constrain="json")
    return [FrameOpened(header), FrameText(arguments), _end(arguments, error)]


def _end(arguments: str, error: ErrorCode | None) -> FrameClosed:
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        is_object = False
    if error in (None, ProductCode.LENGTH) and is_object:
        return FrameClosed(Terminator.CALL)
    return FrameClosed(None, error) if error else FrameClosed(Terminator.END, Code.CALL_SCHEMA)
