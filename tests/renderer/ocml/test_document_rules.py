"""A document that breaks a rule for several frames is not written, neither as text nor as JSON, and is not read as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderer.errors import OpenChatMLError, ParseHeaderError
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import calls, document, interchange
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT
from renderer.ocml.frame_header import spelled
from tests.support.cases import for_each

CALL = Frame(Header("assistant", "commentary", "functions.x", "c1"), "{}", Terminator.CALL)
REPLY = Frame(Header("tool", "commentary", "assistant", "c1", "functions.x"), "{}")
LEGACY_REPLY = Frame(Header("functions.x", "commentary", "assistant", "c1"), "{}")


def profiles(**rules: Any) -> dict[str, object]:
    return {"profiles": {"harmony": {"enabled": True, **rules}}}


@for_each(
    [
        (Transcript((CALL, CALL)), "E-CALL-SCHEMA"),
        (Transcript((CALL, REPLY, CALL)), "E-CALL-SCHEMA"),
        (Transcript((Frame(Header("assistant"), "x"),), extra=profiles(require_channels=["final"])), "E-PARSE-CHANNEL-MISSING"),
        (Transcript((Frame(Header("assistant", "final"), "x"),), extra=profiles(require_channels=["analysis"])), "E-PARSE-HEADER"),
        (Transcript((CALL,), extra=profiles(tool_calls_in=["analysis"])), "E-CALL-SCHEMA"),
        (Transcript((Frame(Header("developer"), "x"),), version="1.0"), "E-PARSE-HEADER"),
        (Transcript((Frame(Header("assistant", "final"), "x"),), version="1.0"), "E-PARSE-HEADER"),
        (Transcript((Frame(Header("user"), "x", Terminator.RETURN),), version="1.0"), "E-PARSE-HEADER"),
        (Transcript((Frame(Header("user"), "x"), Frame(Header("user"), "x<")), version="1.0"), "E-PARSE-HEADER"),
    ]
)
def test_what_a_strict_reading_would_refuse_is_not_written(transcript: Transcript, code: str) -> None:
    for write in (document.dump, interchange.dump_json, lambda it: interchange.dump_json(it, fold_thinking=True)):
        with pytest.raises(OpenChatMLError) as caught:
            write(transcript)
        assert caught.value.code == code
    header = {"version": transcript.version, **transcript.extra}
    text = json.dumps({"header": header, "messages": [interchange.message_of(frame) for frame in transcript.frames]})
    with pytest.raises(OpenChatMLError) as caught:
        interchange.parse_json(text)
    assert caught.value.code == code


@for_each(
    [
        Transcript((CALL, REPLY)),
        Transcript((CALL, REPLY, REPLY)),
        Transcript((REPLY,)),
        Transcript((Frame(Header("assistant", "final", "functions.x"), "x"),)),
        Transcript((Frame(Header("user"), "x <"), Frame(Header("assistant", "final"), "x", Terminator.RETURN))),
        Transcript(tuple(Frame(Header(role), "x") for role in ("system", "user", "assistant")), version="1.0"),
        Transcript((Frame(Header("user"), "<x"),), version="1.0"),
    ]
)
def test_what_a_strict_reading_accepts_or_only_flags_is_written(transcript: Transcript) -> None:
    assert document.parse(document.dump(transcript)) == transcript
    assert interchange.parse_json(interchange.dump_json(transcript)) == transcript


def test_a_legacy_reply_is_a_feature_of_version_2_and_is_written_as_a_reply_of_the_tool() -> None:
    assert document.parse(document.dump(Transcript((CALL, LEGACY_REPLY)))) == Transcript((CALL, REPLY))
    assert interchange.parse_json(interchange.dump_json(Transcript((CALL, LEGACY_REPLY)))) == Transcript((CALL, REPLY))
    with pytest.raises(OpenChatMLError):
        document.dump(Transcript((Frame(Header("functions.x"), "{}"),), version="1.0"))


def test_only_the_first_feature_of_version_2_is_reported() -> None:
    messages = [{"role": "developer", "content": "x"}, {"role": "assistant", "channel": "final", "content": "x"}]
    reading = interchange.read_leniently(json.dumps({"header": {"version": "1.0"}, "messages": messages}))
    assert [(problem.code, problem.location and problem.location.frame) for problem in reading.problems] == [("E-PARSE-HEADER", 0)]
    assert [done.error for done in reading.finished] == ["E-PARSE-HEADER", None]
    assert [spelled(done.frame.header) for done in reading.finished] == ["developer", "assistant<|channel|>final"], "nothing is hidden"


@for_each(
    [
        Transcript((), version="3.0"),
        Transcript((), version="2"),
        Transcript((), extra={"model": "x"}),
        Transcript((), extra={"version": "2.2"}),
        Transcript((), extra={"a": float("nan")}),
        Transcript((), extra={"a": (1, 2)}),
        Transcript((), extra={"a": {1: 2}}),
        Transcript((), model="\ud800"),
        Transcript((), settings={"a": "x" * DOCUMENT_HEADER_LIMIT}),
    ]
)
def test_a_header_that_cannot_be_written_as_text_is_not_written_as_json_either(transcript: Transcript) -> None:
    for write in (document.dump, interchange.dump_json, interchange.to_values):
        with pytest.raises(ParseHeaderError):
            write(transcript)


def test_a_header_in_json_may_not_be_longer_than_one_in_text() -> None:
    longest = DOCUMENT_HEADER_LIMIT - len(document.dump(Transcript((), model="")).replace("''", ""))
    for length, is_allowed in ((longest, True), (longest + 1, False)):
        text = json.dumps({"header": {"version": "2.2", "model": "m" * length}, "messages": []})
        assert (interchange.read_leniently(text).problems == ()) == is_allowed
        assert (interchange.read_leniently(text).document.model is not None) == is_allowed


@for_each(
    [
        Frame(Header("robot"), "x"),
        Frame(Header("tool"), "x"),
        Frame(Header("assistant", "finale"), "x"),
        Frame(Header("user", name="a b"), "x"),
        Frame(Header("user", name="n" * 5000), "x"),
        Frame(Header("assistant"), "x", Terminator.CALL),
        Frame(Header("user", recipient="functions.x", call_id="c1"), "x", Terminator.CALL),
        Frame(Header("assistant", recipient="user", call_id="c1"), "x", Terminator.CALL),
    ]
)
def test_a_frame_that_cannot_be_written_as_text_is_no_message_either(frame: Frame) -> None:
    for write in (document.dump_frame, interchange.message_of):
        with pytest.raises(OpenChatMLError):
            write(frame)


@for_each(["content", "thinking", "name"])
def test_half_a_surrogate_pair_in_a_value_is_reported_and_hides_the_frame(key: str) -> None:
    message = {"role": "assistant", "channel": "final", "content": "x", key: "a\ud83db"}
    text = json.dumps({"header": {"version": "2.2"}, "messages": [message]})
    with pytest.raises(ParseHeaderError, match="unpaired surrogate"):
        interchange.parse_json(text)
    reading = interchange.read_leniently(text)
    assert reading.problems[0].hint == "an unpaired surrogate"
    assert not any(may_see(done.frame.header, Audience.END_USER) for done in reading.finished)
    assert key == "name" or any(done.frame.body == "a\ufffdb" for done in reading.finished)


def test_a_call_to_nobody_has_no_rules_for_its_arguments() -> None:
    assert list(calls.body_faults(Frame(Header("assistant"), "x", Terminator.CALL))) == []
