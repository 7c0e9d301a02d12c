"""JSON interchange: a round trip loses nothing, the schema is correct, and invalid input is refused with its location."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from renderer.errors import Code, Location
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import document as ocml
from renderer.ocml import interchange
from tests.fuzz.promises import check_json
from tests.renderer.examples import raw, transcripts
from tests.renderer.refusing import refused
from tests.support.places import ROOT

SCHEMA = json.loads((ROOT / "docs/openchatml.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def document(*messages: Any, **header: Any) -> str:
    return json.dumps({"header": {"version": "2.2", **header}, "messages": list(messages)})


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.slow
@given(transcripts())
def test_every_transcript_survives_json(transcript: Transcript) -> None:
    for folded in (False, True):
        text = interchange.dump_json(transcript, fold_thinking=folded)
        assert interchange.parse_json(text) == transcript
        assert interchange.parse_json(text.encode()) == transcript
        VALIDATOR.validate(json.loads(text))


@given(raw)
def test_reading_anything_gives_a_transcript_or_one_of_our_errors(data: bytes) -> None:
    check_json(data)
    check_json(document({"role": "user", "content": data.decode("utf-8", "replace")}).encode())


THOUGHT, ANSWER = Frame(Header("assistant", "analysis"), "Hm."), Frame(Header("assistant", "final"), "4.", Terminator.RETURN)


def test_thinking_is_written_only_where_it_is_asked_for() -> None:
    transcript = Transcript((Frame(Header("user"), "2+2?"), THOUGHT, ANSWER))
    assert "thinking" not in interchange.dump_json(transcript)
    messages = json.loads(interchange.dump_json(transcript, fold_thinking=True))["messages"]
    assert messages[1] == {"role": "assistant", "channel": "final", "content": "4.", "terminator": "return", "thinking": "Hm."}


@pytest.mark.parametrize(
    "frames",
    [
        (THOUGHT,),
        (THOUGHT, Frame(Header("user"), "x")),
        (Frame(Header("assistant", "analysis"), ""), ANSWER),
        (Frame(Header("assistant", "analysis", intent="debug"), "Hm."), ANSWER),
        (Frame(Header("assistant", "analysis"), "Hm.", Terminator.RETURN), ANSWER),
    ],
)
def test_thinking_that_folding_would_lose_is_not_folded(frames: tuple[Frame, ...]) -> None:
    text = interchange.dump_json(Transcript(frames), fold_thinking=True)
    assert "thinking" not in text
    assert interchange.parse_json(text).frames == frames


CALL = {"id": "1", "recipient": "functions.x", "content_type": "json", "arguments": "{}"}


def test_e_call_schema_an_id_is_used_once() -> None:
    with refused(Code.CALL_SCHEMA):
        interchange.parse_json(document({"role": "assistant", "tool_call": CALL}, {"role": "assistant", "tool_call": CALL}))


def test_e_parse_channel_missing_where_the_header_requires_channels() -> None:
    profiles = {"harmony": {"enabled": True, "require_channels": ["final"]}}
    message = {"role": "assistant", "content": "x"}
    assert interchange.parse_json(document(message)).frames[0].body == "x"
    with refused(Code.PARSE_CHANNEL_MISSING):
        interchange.parse_json(document(message, profiles=profiles))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"header": {"version": "2.2"}}',
        '{"header": {}, "messages": []}',
        '{"header": {"version": 2.2}, "messages": []}',
        '{"header": {"version": "3.0"}, "messages": []}',
        '{"header": {"version": "2.2"}, "messages": [], "more": 1}',
        '{"header": {"version": "2.2"}, "header": {"version": "2.2"}, "messages": []}',
        '{"header": {"version": "2.2"}, "messages": [{"role": "user", "content": "\\ud800"}]}',
        '{"header": {"version": "1.0"}, "messages": [{"role": "assistant", "channel": "analysis", "content": "x"}]}',
        "\ud800",
    ],
)
def test_e_parse_header_json_that_is_not_a_document(text: str) -> None:
    with refused(Code.PARSE_HEADER) as caught:
        interchange.parse_json(text)
    assert caught.value.location is not None and caught.value.code is Code.PARSE_HEADER


def test_json_is_written_with_its_letters_and_two_spaces_for_each_level() -> None:
    text = interchange.dump_json(Transcript((Frame(Header("user"), "é"),), model="ü"))
    header = '  "header": {\n    "version": "2.2",\n    "model": "ü"\n  },\n'
    message = '    {\n      "role": "user",\n      "content": "é"\n    }\n'
    assert text == f'{{\n{header}  "messages": [\n{message}  ]\n}}\n'


def test_a_message_stays_hidden_when_a_harmless_fault_follows_the_one_that_hides_it() -> None:
    harmless = {"role": "assistant", "channel": "final", "content": "x", "terminator": "call"}
    reading = interchange.read_leniently(document(harmless, {**harmless, "colour": "red"}))
    assert [done.error for done in reading.finished] == [Code.CALL_SCHEMA, Code.PARSE_HEADER]
    assert [may_see(done.frame.header, Audience.END_USER) for done in reading.finished] == [True, False]


@pytest.mark.parametrize("surrogate", [chr(code) for code in (0xD800, 0xDBFF, 0xDC00, 0xDFFF)])
def test_an_unpaired_surrogate_in_json_is_refused_at_its_place_or_replaced(surrogate: str) -> None:
    text = '{"header": {"version": "2.2"}, "messages": [\n{"role": "user", "content": "é' + surrogate + 'b"}]}'
    with refused(Code.PARSE_HEADER) as caught:
        interchange.parse_json(text)
    location = caught.value.location
    assert location is not None and (location.line, location.column, location.frame) == (2, 31, None)
    reading = interchange.read_leniently(text)
    assert [done.frame for done in reading.finished] == [Frame(Header("user"), "é\ufffdb")]
    assert [problem.location for problem in reading.problems] == [location]


@pytest.mark.parametrize(
    ("message", "bodies"),
    [
        ({"role": "user", "content": ["é"]}, ['["é"]']),
        ({"role": "assistant", "thinking": {"é": 1}, "content": "x"}, ['{"é": 1}', "x"]),
        ({"role": "assistant", "tool_call": {**CALL, "arguments": {"é": 1}}}, ['{"é": 1}']),
        ({"role": "assistant", "tool_call": "é"}, ['"é"']),
        (["é"], ['["é"]']),
    ],
)
def test_a_lenient_reading_keeps_values_of_a_wrong_type_hidden_and_as_they_are_written(message: Any, bodies: list[str]) -> None:
    frames = interchange.read_leniently(document(message)).transcript.frames
    assert [frame.body for frame in frames] == bodies
    assert not any(may_see(frame.header, Audience.END_USER) for frame in frames)


def test_a_problem_of_a_message_is_where_its_message_begins() -> None:
    for before in ('[\n {"role":"user","content":"é"},\n  ', '[{"role":"user","content":"x"}, ', "["):
        text = f'{{"header": {{"version": "2.2"}}, "messages": {before}'
        place = Location(len(text.encode()), text.count("\n") + 1, len(text) - text.rfind("\n"), before.count("role"))
        for written in (f'{text}{{"role":"robot"}}]}}', f'{text}{{"role":"robot"}}]}}'.encode()):
            assert interchange.read_leniently(written).problems[-1].location == place


def test_a_header_in_json_may_not_be_longer_than_one_in_text() -> None:
    longest = 64 * 1024 - len(ocml.dump(Transcript((), model="")).replace("''", ""))
    for length, is_allowed in ((longest, True), (longest + 1, False)):
        reading = interchange.read_leniently(document(model="m" * length))
        assert (reading.problems == ()) == (reading.document.model is not None) == is_allowed


def test_only_the_first_feature_of_version_2_is_reported() -> None:
    messages = [{"role": "developer", "content": "x"}, {"role": "assistant", "channel": "final", "content": "x"}]
    reading = interchange.read_leniently(document(*messages, version="1.0"))
    assert [(problem.code, problem.location and problem.location.frame) for problem in reading.problems] == [("E-PARSE-HEADER", 0)]
    assert [done.frame.header for done in reading.finished] == [Header("developer"), Header("assistant", "final")], "nothing is hidden"
