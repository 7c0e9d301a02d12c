"""The JSON of section 10 both ways, and transcripts written as text; what is refused on the way, and what comes back."""

import json

import pytest
from jsonschema import Draft202012Validator

from renderer.errors import OpenChatMLError
from renderer.ocml import document, interchange
from tests.conformance.cases import (
    HERE,
    Case,
    cases,
    document_as_told,
    error_as_json,
    finished_as_json,
    frame_as_json,
    problem_as_json,
    transcript_of,
)
from tests.support.cases import for_each

SCHEMA = Draft202012Validator(json.loads((HERE.parents[1] / "docs/openchatml.schema.json").read_text(encoding="utf-8")))


@for_each(cases("json-read"))
def test_json_is_read(case: Case) -> None:
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["json"].encode()
    if not case["accepted"]:
        with pytest.raises(OpenChatMLError) as caught:
            interchange.parse_json(data)
        assert error_as_json(caught.value) == case["error"]
        return
    transcript = interchange.parse_json(data)
    problems = interchange.read_strictly(data).problems
    assert [problem_as_json(problem) for problem in problems] == case.get("problems", [])
    assert interchange.read_leniently(data).transcript == transcript
    assert interchange.read_leniently(data).problems == problems
    assert document_as_told(transcript) == case["document"]
    assert [frame_as_json(frame) for frame in transcript.frames] == case["frames"]
    for folded in (False, True):
        assert interchange.parse_json(interchange.dump_json(transcript, fold_thinking=folded)) == transcript
    assert document.parse(document.dump(transcript)) == transcript


@for_each([case for case in cases("json-read") if "lenient" in case])
def test_json_is_read_leniently(case: Case) -> None:
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["json"]
    if case["lenient"]["document"] is None:
        with pytest.raises(OpenChatMLError) as caught:
            interchange.read_leniently(data)
        assert [{**error_as_json(caught.value), "refused": True}] == case["lenient"]["problems"] and not case["lenient"]["frames"]
        return
    reading = interchange.read_leniently(data)
    assert all(item.frame.body.encode() is not None for item in reading.finished), "every body can be stored"
    problems = [problem_as_json(problem) for problem in reading.problems]
    assert next(problem for problem in problems if problem["refused"]) == {**case["error"], "refused": True}
    assert {
        "document": document_as_told(reading.transcript),
        "frames": [finished_as_json(item) for item in reading.finished],
        "problems": problems,
    } == case["lenient"]


@for_each([case for case in cases("json-read") if "schema" in case])
def test_the_schema_says_the_same_as_far_as_a_schema_can(case: Case) -> None:
    assert SCHEMA.is_valid(json.loads(case["json"].removeprefix("\ufeff"))) == case["schema"]


@for_each(cases("json-write"))
def test_json_is_written(case: Case) -> None:
    transcript, folded = transcript_of(case), case.get("fold_thinking", False)
    if "error" in case:
        with pytest.raises(OpenChatMLError) as caught:
            interchange.dump_json(transcript, fold_thinking=folded)
        assert caught.value.code == case["error"]
        return
    text = interchange.dump_json(transcript, fold_thinking=folded)
    assert json.loads(text) == case["json"]
    assert SCHEMA.is_valid(case["json"])
    assert interchange.dump_json(interchange.parse_json(text), fold_thinking=folded) == text


@for_each(cases("text-write"))
def test_text_is_written(case: Case) -> None:
    transcript = transcript_of(case)
    if "error" in case:
        with pytest.raises(OpenChatMLError) as caught:
            document.dump(transcript)
        assert caught.value.code == case["error"]
        return
    text = document.dump(transcript)
    assert text == case["text"]
    if "refused" in case:
        with pytest.raises(OpenChatMLError) as caught:
            document.parse(text)
        assert caught.value.code == case["refused"]
        return
    assert document.dump(document.parse(text)) == text
    assert document_as_told(document.parse(text)) == document_as_told(transcript)
