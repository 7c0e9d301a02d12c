"""Parses tool calls and replies from frames, with the rules for them (specification section 8).

Nothing is executed here. ``read_call`` and ``read_reply`` raise errors; ``Pairing`` and ``body_faults`` report them, for documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from renderer import strict_json
from renderer.errors import Code, OpenChatMLError, Problem
from renderer.events import violates_constraint
from renderer.frame_kinds import may_answer
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.ocml.document_header import DocumentHeader, Profile
from renderer.ocml.frame_header import HeaderFault, fault_of_terminator
from renderer.strict_json import JsonError, JsonValue

TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The name of a tool that is called must match this in full."""

FUNCTIONS = "functions."
BUILT_INS = frozenset({"browser", "python"})
DEADLINE_LIMIT_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. ``arguments`` is the body's JSON object without ``deadline_ms``, or the body itself if it is not JSON."""

    tool: str
    call_id: str
    arguments: JsonValue = field(repr=False)
    deadline_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A tool's reply. ``envelope`` is the body's JSON object of section 8.2, or None if the body is not such an envelope."""

    tool: str | None
    call_id: str | None
    envelope: dict[str, JsonValue] | None = field(repr=False)

    @property
    def error(self) -> Code | None:
        """The tool error that an envelope with ``"ok": false`` names, or None."""
        if self.envelope is None or self.envelope.get("ok") is not False:
            return None
        error = self.envelope.get("error")
        code = error.get("code") if isinstance(error, dict) else error
        return next((known for known in (Code.TOOL_TIMEOUT, Code.TOOL_CANCELLED) if code == known), None)

    def raise_for_error(self) -> None:
        """Raise E-TOOL-TIMEOUT or E-TOOL-CANCELLED if the reply reports one."""
        if self.error is not None:
            raise Problem(self.error, _TOOL_ERROR_HINTS[self.error]).error()


def read_call(frame: Frame, document: DocumentHeader | None = None) -> Call:
    """The call in a frame that ends in ``<|call|>``, to be carried out. ``document``: the header of its document, if it is from one.

    Raises:
        OpenChatMLError: it is not a call, it has an intent (as a frame with a fault has in a lenient reading), the document allows no such
        call, the tool's name is not allowed, the arguments are not an object, or the deadline is not a number of milliseconds from 1 to a
        day. The body is declared as JSON and is not. There is no ``to=`` or no ``call_id=``.
    """
    header, document = frame.header, document or DocumentHeader()
    if frame.terminator is not Terminator.CALL or header.intent is not None or document.is_version_1:
        raise OpenChatMLError("the frame is not a call", code=Code.CALL_SCHEMA)
    if fault := fault_of_terminator(header, frame.terminator):
        raise fault.problem().error()
    if violates_constraint(frame):
        raise OpenChatMLError("the body is not valid JSON, although its header says so", code=Code.BODY_CONSTRAINT_VIOLATION)
    faults = [*Pairing(document.profile).opened(header), *_call_faults(frame)]
    tool, call_id = header.recipient or "", header.call_id or ""
    if not TOOL_NAME.fullmatch(tool):
        raise OpenChatMLError("the tool name is not valid", code=Code.CALL_SCHEMA)
    if faults:
        raise faults[0].problem().error()
    arguments = _json_or_none(frame) if _is_json_call(frame) else frame.body
    deadline = _milliseconds(arguments.pop("deadline_ms", None)) if isinstance(arguments, dict) else None
    return Call(tool, call_id, arguments, deadline)


def read_reply(frame: Frame) -> Reply:
    """A tool's reply, with any body."""
    value = _json_or_none(frame) if frame.body.lstrip()[:1] == "{" else None
    return Reply(frame.header.name, frame.header.call_id, value if isinstance(value, dict) and "ok" in value else None)


class Pairing:
    """Checks the calls, replies and channels of a document, frame by frame. Stores the ids of calls, but no bodies."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._recipients: dict[str, str] = {}
        self._answered: set[str] = set()

    def opened(self, header: Header) -> Iterator[HeaderFault]:
        """The errors known when a frame with this header begins."""
        if header.role == Role.ASSISTANT:
            yield from self._channel_faults(header)
        elif header.role == Role.TOOL:
            yield from self._reply_faults(header)

    def closed(self, header: Header, terminator: Terminator) -> HeaderFault | None:
        """Remember a call when its frame ends, so that its id is not used twice and its reply is recognized."""
        if terminator is not Terminator.CALL:
            return None
        if fault := fault_of_terminator(header, terminator):
            return fault
        call_id = header.call_id or ""
        if call_id in self._recipients:
            # It hides nothing: what one message may show must not depend on whether another was understood.
            return HeaderFault(Code.CALL_SCHEMA, "the call id was already used by an earlier call", hides=False)
        self._recipients[call_id] = header.recipient or ""
        return None

    def _channel_faults(self, header: Header) -> Iterator[HeaderFault]:
        profile, channel, recipient = self._profile, header.channel, header.recipient
        if profile.require_channels is not None and channel not in profile.require_channels:
            if channel is None:
                yield HeaderFault(Code.PARSE_CHANNEL_MISSING, "the profile requires a channel, and the message has none")
            else:
                yield HeaderFault(Code.PARSE_HEADER, "the profile does not allow this channel")
        if recipient is None:
            return
        if recipient.startswith(FUNCTIONS):
            allowed = profile.tool_calls_in
            if channel not in (allowed or {Channel.COMMENTARY.value}):
                hint, is_refused = "function calls are not allowed on this channel", allowed is not None
                yield HeaderFault(Code.CALL_SCHEMA, hint, hides=False, is_refused=is_refused)
        elif recipient.split(".")[0] in BUILT_INS and profile.builtins_in is not None and channel not in profile.builtins_in:
            yield HeaderFault(Code.CALL_SCHEMA, "this built-in tool cannot be called on this channel", hides=False)

    def _reply_faults(self, header: Header) -> Iterator[HeaderFault]:
        call_id = header.call_id
        if call_id is None:
            yield _flagged("a reply that does not say which call it answers")
        elif call_id not in self._recipients:
            yield _flagged("a reply without a call")
        elif call_id in self._answered:
            yield _flagged("a second reply to one call")
        else:
            self._answered.add(call_id)
            if not may_answer(header.name, self._recipients[call_id]):
                yield _flagged("a reply from a different tool than the one that was called")


def body_faults(frame: Frame) -> Iterator[HeaderFault]:
    """The errors in the body of a complete frame."""
    if violates_constraint(frame):
        yield HeaderFault(Code.BODY_CONSTRAINT_VIOLATION, "the body does not match its constraint", hides=False)
    if frame.terminator is Terminator.CALL:
        yield from _call_faults(frame)
    elif frame.header.role == Role.TOOL and ("E-TOOL-" in frame.body or "\\u" in frame.body):  # JSON may write a letter as an escape
        code = read_reply(frame).error
        if code is not None:
            yield HeaderFault(code, _TOOL_ERROR_HINTS[code], hides=False, is_refused=False)


_TOOL_ERROR_HINTS = {
    Code.TOOL_TIMEOUT: "a reply reports that its tool took too long",
    Code.TOOL_CANCELLED: "a reply reports that its call was cancelled",
}


def _call_faults(frame: Frame) -> Iterator[HeaderFault]:
    if not _is_json_call(frame):
        return
    value = _json_or_none(frame)
    if not isinstance(value, dict):
        if not violates_constraint(frame):
            yield _flagged("the arguments of a call are not a JSON object")
        return
    if not strict_json.is_json(frame.body, exact=True):
        yield HeaderFault(Code.CALL_SCHEMA, "the arguments of a call have a duplicate key or a number that cannot be represented exactly")
    if "tool_calls" in value:
        yield HeaderFault(Code.CALL_SCHEMA, "the call body also contains tool_calls")
    if "deadline_ms" in value and _milliseconds(value["deadline_ms"]) is None:
        yield _flagged("deadline_ms is not a number of milliseconds from 1 to a day")


def _milliseconds(value: JsonValue) -> int | None:
    """An integer from 1 to a day, in any notation: not every JSON parser distinguishes 1000.0 from 1000."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= DEADLINE_LIMIT_MS or value != int(value):
        return None
    return int(value)


def _is_json_call(frame: Frame) -> bool:
    """Whether the call's body must be JSON: the header declares it, or it calls a function, whose arguments are always JSON."""
    header = frame.header
    if header.constrain is not None:
        return header.constrain.lower() == "json"
    return header.content_type == "json" or (header.recipient or "").startswith(FUNCTIONS)


def _json_or_none(frame: Frame) -> JsonValue:
    try:
        return strict_json.loads(frame.body)
    except JsonError:
        return None


def _flagged(hint: str) -> HeaderFault:
    return HeaderFault(Code.CALL_SCHEMA, hint, hides=False, is_refused=False)
