"""The conformance cases from the files in this directory, and our own values in their form."""

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


def header_of(case: Case) -> Header:
    """The frame header that a case describes."""
    names = {"role", "channel", "call_id", "name", "intent", "content_type", "constrain"}
    return Header(**{key: value for key, value in case.items() if key in names}, recipient=case.get("to"))


def frame_of(case: Case) -> Frame:
    """The frame that a case describes."""
    return Frame(header_of(case), case["body"], Terminator(f"<|{case['terminator']}|>"))


def frames_of(cases: list[Case]) -> tuple[Frame, ...]:
    """The frames that the cases describe."""
    return tuple(map(frame_of, cases))


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


def frame_as_json(frame: Frame) -> Case:
    """A frame: its header, body and terminator."""
    return {**frame.header.as_written(), "body": frame.body, "terminator": frame.terminator.value[2:-2]}


def finished_as_json(item: Finished) -> Case:
    """A frame with the problems found when it was read."""
    fields = frame_as_json(item.frame)
    fields |= {"error": item.error, "visible": may_see(item.frame.header, Audience.END_USER)}
    return fields if item.complete else {**fields, "terminator": None}


def location_as_json(location: Location | None) -> Case:
    """A location."""
    assert location is not None
    return {"offset": location.offset, "line": location.line, "column": location.column, "frame": location.frame}


def problem_as_json(problem: Problem) -> Case:
    """A problem that does not stop the reading."""
    return {"code": problem.code, "refused": problem.is_refused, **location_as_json(problem.location)}


def error_as_json(error: OpenChatMLError) -> Case:
    """An error that stopped a reading."""
    return {"code": error.code, **location_as_json(error.location)}
