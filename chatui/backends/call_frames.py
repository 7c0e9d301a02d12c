"""Converts a tool call that arrived as JSON into one complete frame, hidden if the call cannot be executed."""

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

    If the tool's name is invalid, the frame is not a call, and is stored for staff only. If the arguments are not a JSON object, the call
    is never executed and the model is told why; its header does not claim that they are JSON.
    """
    if not _TOOL_NAME.fullmatch(name):
        return [FrameOpened(BROKEN), FrameText(arguments), FrameClosed(Terminator.END, Code.CALL_SCHEMA)]
    recipient = f"functions.{name.removeprefix('functions.')}"
    is_object = _is_object(arguments)
    header = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient=recipient, call_id=call_id, constrain="json" if is_object else None)
    return [FrameOpened(header), FrameText(arguments), _end(error, is_object=is_object)]


def _end(error: ErrorCode | None, *, is_object: bool) -> FrameClosed:
    if error is None or (error is ProductCode.LENGTH and is_object):
        return FrameClosed(Terminator.CALL, None if is_object else Code.CALL_SCHEMA)
    return FrameClosed(None, error)


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
