"""Reads and writes OpenChatML as JSON (specification section 10), without loss.

A document is ``{"header": {…}, "messages": [{…}, …]}``. A message is a frame: ``role``, ``channel``, ``name``, ``to``, ``call_id``,
``intent``, ``content_type`` and ``constrain`` as in its header, ``content`` for its body, ``terminator`` if that is ``return``. A frame
that ends in ``<|call|>`` is a message with ``tool_call`` in place of ``to``, ``call_id``, ``constrain`` and ``content``.
``docs/openchatml.schema.json`` is its schema.

Two more things can be read: ``thinking`` on an assistant's message is an analysis frame before it (written on request only), and a
message with both ``content`` and ``tool_call`` is two frames on commentary, the visible text and then the call (never written).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from renderer.errors import ParseHeaderError, Problem
from renderer.frame_kinds import ANALYSIS
from renderer.frames import Channel, Frame, Role, Terminator, Transcript
from renderer.ocml import document_header, frame_header, json_reading
from renderer.ocml.document import Reading
from renderer.ocml.document_rules import check_written
from renderer.strict_json import JsonValue

__all__ = ["dump_json", "message_of", "parse_json", "read_leniently", "read_strictly", "to_values"]

# --- writing ----------------------------------------------------------------------------------------------------------------------


def dump_json(transcript: Transcript, *, fold_thinking: bool = False) -> str:
    """The canonical JSON of a document, ending in a line break. Raises if the document could not be written as text."""
    return json.dumps(to_values(transcript, fold_thinking=fold_thinking), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_values(transcript: Transcript, *, fold_thinking: bool = False) -> dict[str, JsonValue]:
    """The document as JSON values. ``fold_thinking``: an analysis frame becomes ``thinking`` of the assistant's next message."""
    document_header.write(transcript)
    check_written(transcript)
    header: dict[str, object] = {"version": transcript.version}
    if transcript.model is not None:
        header["model"] = transcript.model
    if transcript.settings:
        header["generation_settings"] = dict(transcript.settings)
    header.update(transcript.extra)
    messages: list[JsonValue] = list(_messages(transcript.frames, fold_thinking))
    return {"header": _json(header), "messages": messages}


def message_of(frame: Frame) -> dict[str, JsonValue]:
    """One frame as a message. Raises as ``ocml.dump_frame`` does."""
    frame_header.write(frame.header)
    if fault := frame_header.fault_of_terminator(frame.header, frame.terminator):
        raise Problem(fault.code, fault.hint).error()
    values: dict[str, JsonValue] = dict(frame_header.canonical(frame.header).as_written())
    if frame.terminator is not Terminator.CALL:
        values["content"] = frame.body
        if frame.terminator is Terminator.RETURN:
            values["terminator"] = "return"
        return values
    call: dict[str, JsonValue] = {"id": values.pop("call_id"), "recipient": values.pop("to")}
    if "constrain" in values:
        call["content_type"] = values.pop("constrain")
    return {**values, "tool_call": {**call, "arguments": frame.body}}


def _messages(frames: tuple[Frame, ...], fold_thinking: bool) -> Iterator[dict[str, JsonValue]]:
    thinking: Frame | None = None
    for frame in frames:
        takes = thinking is not None and frame.header.role == Role.ASSISTANT and frame.header.channel != Channel.ANALYSIS
        if thinking is not None and not takes:
            yield message_of(thinking)
        if fold_thinking and _is_plain_thought(frame):
            thinking = frame
            continue
        message = message_of(frame)
        if thinking is not None and takes:
            message["thinking"] = thinking.body
        thinking = None
        yield message
    if thinking is not None:
        yield message_of(thinking)


def _is_plain_thought(frame: Frame) -> bool:
    return frame.header == ANALYSIS and frame.terminator is Terminator.END and frame.body != ""


def _json(value: object) -> JsonValue:
    """A header value in plain containers. ``document_header.write`` has already refused what is not JSON."""
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ParseHeaderError("a value of a type that a document header cannot contain")


# --- reading ----------------------------------------------------------------------------------------------------------------------


def parse_json(text: str | bytes) -> Transcript:
    """Read a document strictly: by the same rules as its text.

    Raises:
        OpenChatMLError: the first rule that is broken, as the class for its code. ``location`` is where the JSON is invalid, or where the
            message begins; its ``frame`` counts messages.
    """
    return read_strictly(text).transcript


def read_strictly(text: str | bytes) -> Reading:
    """As ``parse_json``, but also returns the status of each frame; ``problems`` are those that were only flagged."""
    return json_reading.read(text, lenient=False)


def read_leniently(text: str | bytes) -> Reading:
    """Keep what can be kept, hide what cannot be understood, and report every problem. JSON that cannot be parsed, or that has a duplicate
    key, has no frames.

    Raises:
        FutureVersionError: the document has a major version that is not known yet. Nothing else is raised.
    """
    return json_reading.read(text, lenient=True)
