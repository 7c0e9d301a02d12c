"""What the readers of OpenChatML promise for any input: ``check`` raises AssertionError if one of these is broken.

1. Reading gives a result or one of our errors, never anything else.
2. The events are the same, places included, for every way of cutting the input; single bytes included.
3. The first refused problem of a lenient reading is the one at which a strict reading stops; there is none if that accepts the input.
4. A transcript that was read strictly and can be written round-trips, as text and as JSON; writing it again gives the same.
5. Making a lenient reading writable shows nobody more than before; the result can be written.
6. No error quotes the text.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from renderer.errors import OpenChatMLError, Problem
from renderer.events import FrameOpened, FrameText
from renderer.frames import Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import document, interchange
from renderer.ocml.reader import Reader
from renderer.ocml.scanning import ProblemFound


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a reader returned: its events (adjacent texts joined, opened frames with their location), and the problem that stopped it."""

    events: tuple[Any, ...]
    stopped: Problem | None


def read_pieces(pieces: Sequence[str] | Sequence[bytes], *, lenient: bool = False, fragment: bool = False) -> ReadResult:
    """Everything that a reader returns for these pieces."""
    reader, events = Reader(lenient=lenient, fragment=fragment), list[Any]()
    try:
        for piece in pieces:
            events += reader.feed(piece)
        events += reader.finish()
    except OpenChatMLError as error:
        return ReadResult(joined([*events, *reader.events_before_error]), error.problem)
    return ReadResult(joined(events), None)


def joined(events: Sequence[Any]) -> tuple[Any, ...]:
    """The events, with adjacent texts joined."""
    out: list[Any] = []
    for event in events:
        if isinstance(event, FrameText) and out and isinstance(out[-1], FrameText):
            out[-1] = FrameText(out[-1].text + event.text)
        else:
            out.append((event, event.location) if isinstance(event, FrameOpened) else event)
    return tuple(out)


def bytes_of(data: bytes) -> list[bytes]:
    """Each byte by itself."""
    return [data[at : at + 1] for at in range(len(data))]


def cuts(data: bytes, seed: int) -> list[list[bytes]]:
    """Ways to cut ``data``: into single bytes, and at a few places that the seed chooses."""
    chance = random.Random(seed)
    at = [0, *sorted(chance.randrange(len(data) + 1) for _ in range(3)), len(data)]
    return [bytes_of(data), [data[begin:end] for begin, end in pairwise(at)]]


def check(data: bytes) -> None:
    """Check all promises for this input."""
    for fragment in (False, True):
        strict, lenient = (read_pieces([data], lenient=lenient, fragment=fragment) for lenient in (False, True))
        for pieces in cuts(data, len(data)):
            assert read_pieces(pieces, fragment=fragment) == strict, "cutting changed a strict reading"
            assert read_pieces(pieces, lenient=True, fragment=fragment) == lenient, "cutting changed a lenient reading"
        found = [event.problem for event in lenient.events if isinstance(event, ProblemFound) and event.problem.is_refused]
        if lenient.stopped is not None:
            # Problems that the same call found before it are lost with it.
            assert "major version" in lenient.stopped.hint, "a lenient reading stopped"
            assert strict.stopped is not None, "a strict reading accepts what a lenient one refuses"
        else:
            assert strict.stopped == (found[0] if found else None), "strict and lenient readings differ about what is wrong"
        _check_values(data, fragment)
    check_json(data)


def check_json(data: bytes) -> None:
    """Check the promises about JSON; the input may be something else."""
    try:
        transcript = interchange.parse_json(data)
    except OpenChatMLError:
        return
    _check_round_trip(transcript)


def _check_values(data: bytes, fragment: bool) -> None:
    report = document.check(data, fragment=fragment)
    try:
        transcript = document.parse(data, fragment=fragment)
    except OpenChatMLError as error:
        assert not report.is_accepted, "a report calls valid what a strict reading refuses"
        assert str(error).isascii()
    else:
        assert report.is_accepted, "a report calls invalid what a strict reading takes"
        _check_round_trip(transcript)
    try:
        reading = document.read_leniently(data, fragment=fragment)
    except OpenChatMLError:
        return
    for item in reading.finished:
        written = document.writable(item.frame)
        assert may_see(item.frame.header, Audience.END_USER) or not may_see(written.header, Audience.END_USER), "what was hidden shows"
        assert document.parse_frame(document.dump_frame(written)) == written, "what was made writable does not come back"


def _check_round_trip(transcript: Transcript) -> None:
    try:
        text = document.dump(transcript)
    except OpenChatMLError:
        return
    assert document.parse(text) == transcript, "a transcript does not come back from its text"
    assert document.dump(document.parse(text)) == text, "what was written is written differently"
    for folded in (False, True):
        assert interchange.parse_json(interchange.dump_json(transcript, fold_thinking=folded)) == transcript, "JSON lost something"
