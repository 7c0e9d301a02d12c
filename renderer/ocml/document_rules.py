"""The rules for a frame that depend on its document: the version, the profile, and the calls before it.

Both writers and the JSON reader use this; the text reader finds the same while it reads.
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
    """Takes the frames of one document in order. Holds the ids of calls, no bodies."""

    def __init__(self, document: DocumentHeader) -> None:
        self._is_version_1 = document.is_version_1
        self._pairing = Pairing(document.profile)

    def begun(self, frame: Frame) -> Iterator[CallFault]:
        """What is wrong with the next frame because of its header, and of how it ends in a document of version 1; refused or flagged."""
        if self._is_version_1 and _is_version_2(frame):
            self._is_version_1 = False
            yield CallFault(Code.PARSE_HEADER, "a version 2 feature in a transcript of another version", hides=False)
        yield from self._pairing.opened(frame.header)

    def ended(self, frame: Frame) -> CallFault | None:
        """Why the frame may not end as it does. If it may, it is remembered as a call."""
        return self._pairing.closed(frame.header, frame.terminator)


def check_written(transcript: Transcript) -> None:
    """Raise, as its class, the first problem at which a strict reading of the transcript would stop, but for what bodies hold."""
    rules = DocumentRules(document_header.of_transcript(transcript))
    for frame in transcript.frames:
        frame = replace(frame, header=canonical(frame.header))
        for fault in (*rules.begun(frame), rules.ended(frame)):
            if fault is not None and fault.is_refused:
                raise Problem(fault.code, fault.hint).error()


def _is_version_2(frame: Frame) -> bool:
    header = frame.header
    if frame.terminator is not Terminator.END or len(header.as_written()) > 1 or header.role in (Role.DEVELOPER, Role.TOOL):
        return True
    return frame.body.endswith("<")  # only a literal block can hold that
