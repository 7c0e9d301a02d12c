"""The rules for a frame that depend on its document: the version, the profile, and the calls before it.

Both writers and the JSON reader use this; the text reader applies the same rules while it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from renderer.errors import Code, Problem
from renderer.frames import Frame, Role, Terminator, Transcript
from renderer.ocml import document_header
from renderer.ocml.calls import CallFault, Pairing
from renderer.ocml.document_header import DocumentHeader
from renderer.ocml.frame_header import canonical


class DocumentRules:
    """Takes the frames of one document in order. Stores the ids of calls, but no bodies."""

    def __init__(self, document: DocumentHeader) -> None:
        self._is_version_1 = document.is_version_1
        self._pairing = Pairing(document.profile)

    def at_start(self, frame: Frame) -> Iterator[CallFault]:
        """The errors in the next frame's header and, in a document of version 1, in its end; refused or flagged."""
        if self._is_version_1 and _is_version_2(frame):
            self._is_version_1 = False
            yield CallFault(Code.PARSE_HEADER, "a version 2 feature in a transcript of another version", hides=False)
        yield from self._pairing.opened(frame.header)

    def at_end(self, frame: Frame) -> CallFault | None:
        """The error in how the frame ends, if any. Otherwise the frame is recorded if it is a call."""
        return self._pairing.closed(frame.header, frame.terminator)


def check_written(transcript: Transcript) -> None:
    """Raise the first problem that strict reading would refuse, except in the content of bodies."""
    rules = DocumentRules(document_header.of_transcript(transcript))
    for frame in transcript.frames:
        frame = replace(frame, header=canonical(frame.header))
        for fault in (*rules.at_start(frame), rules.at_end(frame)):
            if fault is not None and fault.is_refused:
                raise Problem(fault.code, fault.hint).error()


def _is_version_2(frame: Frame) -> bool:
    header = frame.header
    if frame.terminator is not Terminator.END or len(header.as_written()) > 1 or header.role in (Role.DEVELOPER, Role.TOOL):
        return True
    return frame.body.endswith("<")  # only a literal block can contain that
