"""HIP-1: Harmony text to frames and back, with the side record and without; and the same text in pieces."""

import itertools
import json

import pytest

from renderer.errors import OpenChatMLError
from renderer.harmony import hip1
from renderer.harmony.hip1 import SideRecord
from renderer.harmony.pieces import Marker, Piece, pieces_of_text
from renderer.harmony.reader import HarmonyReader
from renderer.ocml.document import Reading
from tests.conformance.cases import Case, cases, finished_as_json, frame_as_json, frames_of
from tests.support.cases import for_each
from tests.support.harmony import fold


@for_each(cases("hip1-read"))
def test_harmony_text_is_read(case: Case) -> None:
    if "error" in case:
        with pytest.raises(OpenChatMLError) as caught:
            read(case)
        assert caught.value.code == case["error"]
        return
    assert [finished_as_json(item) for item in read(case).finished] == case["frames"]


@for_each([case for case in cases("hip1-read") if "record" not in case])
def test_cutting_the_text_between_markers_changes_nothing(case: Case) -> None:
    pieces = pieces_of_text(case["harmony"])
    characters: list[Piece] = [part for piece in pieces for part in ([piece] if isinstance(piece, Marker) else piece)]
    assert fold(characters, reader(case)) == fold(pieces, reader(case))


@for_each(cases("hip1-write"))
def test_harmony_text_is_written_and_comes_back_with_its_record(case: Case) -> None:
    frames = frames_of(case["frames"])
    if "error" in case:
        with pytest.raises(OpenChatMLError) as caught:
            hip1.to_text(frames)
        assert caught.value.code == case["error"]
        return
    text, record = hip1.to_text(frames, document=case.get("document"))
    assert text == case["harmony"]
    assert json.loads(record.to_json()) == case["record"]
    back = hip1.from_text(case["harmony"], record=SideRecord.from_json(json.dumps(case["record"])))
    assert [frame_as_json(frame) for frame in back.frames] == case["frames"]


def read(case: Case) -> Reading:
    """The case's text, read."""
    record = SideRecord.from_json(json.dumps(case["record"])) if "record" in case else None
    return hip1.from_text(case["harmony"], record=record, conversation=case.get("conversation", False))


def reader(case: Case) -> HarmonyReader:
    """A reader that numbers calls."""
    numbers = itertools.count(1)
    return HarmonyReader(lambda: f"call_{next(numbers)}", conversation=case.get("conversation", False))
