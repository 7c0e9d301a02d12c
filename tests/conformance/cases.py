"""The conformance cases as they lie beside this file, and our own values in their words."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from renderer.errors import Location, OpenChatMLError, Problem
from renderer.events import Finished
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml.document_header import DocumentHeader

HERE = Path(__file__).parent
Case = dict[str, Any]


@cache
def manifest() -> dict[str, Any]:
    """What kinds of cases there are, and in which files."""
    read: dict[str, Any] = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
    return read


@cache
def kind(name: str) -> dict[str, Any]:
    """The file of one kind."""
    read: dict[str, Any] = json.loads((HERE / manifest()["kinds"][name]["file"]).read_text(encoding="utf-8"))
    return read


def cases(name: str) -> list[Case]:
    """The cases of one kind."""
    found: list[Case] = kind(name)["cases"]
    return found


def name_of(case: Case) -> str:
    """For pytest."""
    return str(case["name"])


# --- a case's words, as our values ------------------------------------------------------------------------------------------------


def header_of(told: Case) -> Header:
    """The frame header that a case tells of."""
    names = {"role", "channel", "call_id", "name", "intent", "content_type", "constrain"}
    return Header(**{key: value for key, value in told.items() if key in names}, recipient=told.get("to"))


def frame_of(told: Case) -> Frame:
    """The frame that a case tells of."""
    return Frame(header_of(told), told["body"], Terminator(f"<|{told['terminator']}|>"))


def frames_of(told: list[Case]) -> tuple[Frame, ...]:
    """The frames that a case tells of."""
    return tuple(map(frame_of, told))


def transcript_of(case: Case) -> Transcript:
    """The transcript that a case is about; without a header it is of version 2.2."""
    rest = dict(case.get("document", {}))
    version, model, settings = rest.pop("version", "2.2"), rest.pop("model", None), rest.pop("generation_settings", {})
    return Transcript(frames_of(case["frames"]), version, model, settings, rest)


# --- our values, in a case's words ------------------------------------------------------------------------------------------------


def document_as_told(header: DocumentHeader | Transcript) -> Case:
    """A document header."""
    known = {"version": header.version, "model": header.model, "generation_settings": header.settings or None}
    return {**{key: value for key, value in known.items() if value is not None}, **header.extra}


def frame_as_told(frame: Frame) -> Case:
    """A frame: its header, body and terminator."""
    return {**frame.header.as_written(), "body": frame.body, "terminator": frame.terminator.value[2:-2]}


def finished_as_told(item: Finished) -> Case:
    """A frame with what reading it told."""
    told = frame_as_told(item.frame)
    told |= {"error": item.error, "visible": may_see(item.frame.header, Audience.END_USER)}
    return told if item.complete else {**told, "terminator": None}


def location_as_json(location: Location | None) -> Case:
    """A location."""
    assert location is not None
    return {"offset": location.offset, "line": location.line, "column": location.column, "frame": location.frame}


def problem_as_told(problem: Problem) -> Case:
    """A problem of a reading that goes on."""
    return {"code": problem.code, "refused": problem.is_refused, **location_as_json(problem.location)}


def error_as_told(error: OpenChatMLError) -> Case:
    """An error that stopped a reading."""
    assert type(error) is not OpenChatMLError, "each code has a class of its own"
    return {"code": error.code, **location_as_json(error.location)}
