"""Every conformance case, read by our implementation: strictly, leniently, written again, and cut at every byte."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from renderer.errors import OpenChatMLError, Problem
from renderer.events import Finished
from renderer.gate import Audience, may_see
from renderer.ocml import document
from tests.fuzz.promises import bytes_of, hear

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.ocml"))
KEYS = {"shows", "source", "fragment", "valid", "canonical", "document", "frames", "problems"}
EVERY_BYTE = 3000
"""Longer cases are cut at this many places only."""


@cache
def told(name: str) -> dict[str, Any]:
    """What the case says."""
    case: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return case


def given(name: str) -> bytes:
    """The case's input."""
    return (HERE / f"{name}.ocml").read_bytes()


def test_there_are_cases_and_each_says_what_it_shows() -> None:
    assert len(NAMES) >= 162
    assert sorted(path.stem for path in HERE.glob("*.json")) == NAMES
    for name in NAMES:
        case = told(name)
        assert set(case) <= KEYS and set(case) | {"fragment"} == KEYS, name
        assert case["shows"].endswith(".") and case["source"], name


@pytest.mark.parametrize("name", NAMES)
def test_a_strict_reading(name: str) -> None:
    case, fragment = told(name), "fragment" in told(name)
    if case["valid"]:
        reading = document.read_strictly(given(name), fragment=fragment)
        assert as_told(reading) == expected(case)
        return
    with pytest.raises(OpenChatMLError) as caught:
        document.parse(given(name), fragment=fragment)
    first = next(problem for problem in case["problems"] if problem["refused"])
    assert problem_as_told(caught.value.problem) == first
    assert caught.value.code == first["code"]
    assert type(caught.value) is not OpenChatMLError


@pytest.mark.parametrize("name", NAMES)
def test_a_lenient_reading(name: str) -> None:
    case, fragment = told(name), "fragment" in told(name)
    if case["document"] is None:
        with pytest.raises(OpenChatMLError):
            document.read_leniently(given(name), fragment=fragment)
    else:
        assert as_told(document.read_leniently(given(name), fragment=fragment)) == expected(case)
    report = document.check(given(name), fragment=fragment)
    assert [problem_as_told(problem) for problem in report.problems] == case["problems"]
    assert (report.is_accepted, report.frames) == (case["valid"], len(case["frames"]))


@pytest.mark.parametrize("name", [name for name in NAMES if told(name)["canonical"]])
def test_what_is_canonical_is_written_the_same(name: str) -> None:
    assert document.dump(document.parse(given(name))).encode() == given(name)


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
@pytest.mark.parametrize("name", NAMES)
def test_cutting_changes_nothing(name: str, lenient: bool) -> None:
    data, fragment = given(name), "fragment" in told(name)
    whole = hear([data], lenient=lenient, fragment=fragment)
    assert hear(bytes_of(data), lenient=lenient, fragment=fragment) == whole
    for at in range(0, len(data), 1 + len(data) // EVERY_BYTE * 100):
        assert hear([data[:at], data[at:]], lenient=lenient, fragment=fragment) == whole, at


def as_told(reading: document.Reading) -> dict[str, Any]:
    """A reading in the words of a case."""
    header = reading.document
    known = {"version": header.version, "model": header.model, "generation_settings": header.settings or None}
    return {
        "document": {**{key: value for key, value in known.items() if value is not None}, **header.extra},
        "frames": [frame_as_told(item) for item in reading.finished],
        "problems": [problem_as_told(problem) for problem in reading.problems],
    }


def frame_as_told(item: Finished) -> dict[str, Any]:
    """A frame in the words of a case."""
    return {
        **item.frame.header.as_written(),
        "body": item.frame.body,
        "terminator": item.frame.terminator.value[2:-2] if item.complete else None,
        "error": item.error,
        "visible": may_see(item.frame.header, Audience.END_USER),
    }


def problem_as_told(problem: Problem) -> dict[str, Any]:
    """A problem in the words of a case."""
    place = problem.place
    assert place is not None
    where = {"offset": place.offset, "line": place.line, "column": place.column, "frame": place.frame}
    return {"code": problem.code, "refused": problem.is_refused, **where}


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """The part of a case that a reading is compared with."""
    return {key: case[key] for key in ("document", "frames", "problems")}
