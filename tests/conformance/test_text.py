"""OpenChatML text: read strictly, leniently, written again, and cut at every byte."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest

from renderer.errors import OpenChatMLError
from renderer.ocml import document
from tests.conformance.cases import HERE, document_as_told, error_as_json, finished_as_json, problem_as_json
from tests.fuzz.promises import bytes_of, read_pieces
from tests.support.cases import for_each

TEXT = HERE / "text"
NAMES = sorted(path.stem for path in TEXT.glob("*.ocml"))
KEYS = {"shows", "source", "accepted", "canonical", "document", "frames", "problems"}
OPTIONAL = {"fragment", "written"}
EVERY_BYTE = 3000
"""Of longer cases not every place is cut."""
APART = 29
"""So many bytes are between two cuts: more than the longest token and the longest character have."""


@cache
def case_of(name: str) -> dict[str, Any]:
    """What the case says."""
    case: dict[str, Any] = json.loads((TEXT / f"{name}.json").read_text(encoding="utf-8"))
    return case


def given(name: str) -> bytes:
    """The case's input."""
    return (TEXT / f"{name}.ocml").read_bytes()


def test_there_are_cases_and_each_says_what_it_shows() -> None:
    assert len(NAMES) >= 280
    assert sorted(path.stem for path in TEXT.glob("*.json")) == NAMES
    for name in NAMES:
        case = case_of(name)
        assert set(case) - OPTIONAL == KEYS, name
        assert case["shows"].endswith(".") and case["source"], name
        assert case["accepted"] or not (case["canonical"] or "written" in case), name
        assert not (case["canonical"] and "written" in case), name


@for_each(NAMES)
def test_a_strict_reading(name: str) -> None:
    case, fragment = case_of(name), "fragment" in case_of(name)
    if case["accepted"]:
        assert reading_as_json(document.read_strictly(given(name), fragment=fragment)) == expected(case)
        return
    with pytest.raises(OpenChatMLError) as caught:
        document.parse(given(name), fragment=fragment)
    first = next(problem for problem in case["problems"] if problem["refused"])
    assert {**error_as_json(caught.value), "refused": True} == first


@for_each(NAMES)
def test_a_lenient_reading(name: str) -> None:
    case, fragment = case_of(name), "fragment" in case_of(name)
    if case["document"] is None:
        with pytest.raises(OpenChatMLError):
            document.read_leniently(given(name), fragment=fragment)
    else:
        assert reading_as_json(document.read_leniently(given(name), fragment=fragment)) == expected(case)
    report = document.check(given(name), fragment=fragment)
    assert [problem_as_json(problem) for problem in report.problems] == case["problems"]
    assert (report.is_accepted, report.frames) == (case["accepted"], len(case["frames"]))
    assert report.is_clean == (case["problems"] == [])


@for_each([name for name in NAMES if case_of(name)["canonical"] or "written" in case_of(name)])
def test_what_was_read_is_written_in_the_one_way(name: str) -> None:
    written = document.dump(document.parse(given(name), fragment="fragment" in case_of(name)))
    assert written.encode() == (given(name) if case_of(name)["canonical"] else case_of(name)["written"].encode())
    assert document.dump(document.parse(written)) == written


@pytest.mark.slow
@for_each(product(NAMES, [False, True]))
def test_cutting_changes_nothing(name: str, lenient: bool) -> None:
    data, fragment = given(name), "fragment" in case_of(name)
    whole = read_pieces([data], lenient=lenient, fragment=fragment)
    assert read_pieces(bytes_of(data), lenient=lenient, fragment=fragment) == whole
    for pieces in cut_once_everywhere(data):
        assert read_pieces(pieces, lenient=lenient, fragment=fragment) == whole, [len(piece) for piece in pieces]


def cut_once_everywhere(data: bytes) -> Iterator[list[bytes]]:
    """Pieces of ``APART`` bytes, from each beginning: at every place there is one cut, in one of the ways, far from the next."""
    for first in range(1, min(APART, len(data)) + 1, 1 + len(data) // EVERY_BYTE):
        at = [0, *range(first, len(data), APART), len(data)]
        yield [data[begin:end] for begin, end in pairwise(at)]


def reading_as_json(reading: document.Reading) -> dict[str, Any]:
    """A reading in the words of a case."""
    return {
        "document": document_as_told(reading.document),
        "frames": [finished_as_json(item) for item in reading.finished],
        "problems": [problem_as_json(problem) for problem in reading.problems],
    }


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """The part of a case that a reading is compared with."""
    return {key: case[key] for key in ("document", "frames", "problems")}
