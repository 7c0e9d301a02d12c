"""A document that breaks a rule for several frames is not written, neither as text nor as JSON, and is not read as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderer.errors import OpenChatMLError
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.ocml import document, interchange
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
