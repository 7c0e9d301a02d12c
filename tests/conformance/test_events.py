"""The events of OpenChatML text in pieces: the very events of each piece, and the same text cut elsewhere."""

import random
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

import pytest

from renderer.errors import OpenChatMLError
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.ocml.reader import Reader
from renderer.ocml.scanning import DocumentOpened, ProblemFound, ReaderEvent
from tests.conformance.cases import Case, cases, document_as_told, error_as_json, problem_as_json
from tests.fuzz.promises import bytes_of
from tests.support.cases import for_each

CASES = cases("events")


@for_each(CASES)
def test_each_piece_gives_its_events(case: Case) -> None:
    events, stopped = read_events(case, pieces_of(case))
    assert [[event_as_json(event) for event in found] for found in events] == case["events"]
    assert stopped == case["stopped"]


@for_each(CASES)
def test_cut_elsewhere_the_events_are_the_same_but_for_how_text_is_divided(case: Case) -> None:
    data = b"".join(pieces_of(case))
    expected = joined([event for found in case["events"] for event in found])
    chance = random.Random(len(data))
    for pieces in ([data], bytes_of(data), *(cut(data, chance) for _ in range(20))):
        events, stopped = read_events(case, pieces)
        assert joined([event_as_json(event) for found in events for event in found]) == expected
        assert stopped == case["stopped"]


def pieces_of(case: Case) -> list[bytes]:
    """The pieces as bytes."""
    return [bytes.fromhex(piece["hex"]) if isinstance(piece, dict) else piece.encode() for piece in case["pieces"]]


def cut(data: bytes, chance: random.Random) -> list[bytes]:
    """``data`` in pieces of 1 to 20 bytes."""
    ends = list(accumulate(chance.randint(1, 20) for _ in data))
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False) if begin < len(data)]


def read_events(case: Case, pieces: list[bytes]) -> tuple[list[list[ReaderEvent]], Case | None]:
    """The events of each piece and of the end, and what stopped the reading."""
    reader = Reader(lenient=case["reading"] == "lenient", fragment="fragment" in case)
    found = []
    steps: list[Callable[[], list[ReaderEvent]]] = [*(partial(reader.feed, piece) for piece in pieces), reader.finish]
    try:
        for step in steps:
            found += [step()]
    except OpenChatMLError as error:
        for later in (partial(reader.feed, b"<|end|>"), reader.finish):
            with pytest.raises(OpenChatMLError) as again:
                later()
            assert again.value is error
        return [*found, reader.events_before_error], error_as_json(error)
    return found, None


def event_as_json(event: ReaderEvent) -> Case:
    """An event in the words of a case."""
    match event:
        case DocumentOpened(document=document):
            return {"event": "document", "document": document_as_told(document)}
        case ProblemFound(problem=problem):
            return {"event": "problem", **problem_as_json(problem)}
        case FrameOpened(header=header, location=location):
            assert location is not None
            return {"event": "opened", **header.as_written(), "offset": location.offset}
        case FrameText(text=text):
            return {"event": "text", "text": text}
        case FrameWithdrawn():
            raise AssertionError("what is read from a document is never withdrawn")
        case FrameClosed(terminator=terminator, error=error):
            return {"event": "closed", "terminator": terminator.value[2:-2] if terminator else None, "error": error}


def joined(events: list[Case]) -> list[Case]:
    """The events with texts that follow each other as one."""
    out: list[dict[str, Any]] = []
    for event in events:
        if event["event"] == "text" and out and out[-1]["event"] == "text":
            out[-1] = {"event": "text", "text": out[-1]["text"] + event["text"]}
        else:
            out.append(event)
    return out
