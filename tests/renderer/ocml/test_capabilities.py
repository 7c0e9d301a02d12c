"""The capabilities of a document are compared with the known ones, and extended when frames are added."""

from __future__ import annotations

import json

import pytest

from renderer.frames import Frame, Header
from renderer.ocml import document, interchange
from renderer.ocml import document_header as capabilities
from renderer.tokens import Token


@pytest.mark.parametrize(
    ("stated", "hints"),
    [
        (None, 0),
        ({}, 0),
        ({"roles": ["system", "functions.*", "functions.x"], "channels": ["final"], "tokens": ["<|start|>"], "streaming": []}, 0),
        ({"x": ["y"]}, 0),
        ({"roles": ["system", "developer", "user", "assistant", "tool"], "channels": ["analysis", "commentary", "final"]}, 0),
        ({"tokens": [*Token], "streaming": ["response.delta", "response.delta.flush", "response.cancel", "tool.cancel"]}, 0),
        ({"roles": ["functions."], "channels": [], "tokens": None}, 0),
        ({"roles": ["function.x"], "channels": ["*"], "tokens": ["<|start|>x"], "streaming": "response.delta"}, 4),
        ("all", 1),
        ({"roles": ["critic"]}, 1),
        ({"roles": "assistant"}, 1),
        ({"roles": [1], "channels": ["musings"], "tokens": ["<|think|>"], "streaming": ["response.undo"]}, 4),
    ],
)
def test_unknown_capabilities_are_flagged_and_nothing_is_refused(stated: object, hints: int) -> None:
    assert len(capabilities.hints({"capabilities": stated})) == hints
    assert not any("critic" in hint or "musings" in hint for hint in capabilities.hints({"capabilities": stated}))
    text = interchange.dump_json(document.parse("version: 2.2\n")).replace('"2.2"', f'"2.2", "capabilities": {json.dumps(stated)}')
    reading = interchange.read_strictly(text)
    assert [(problem.code, problem.is_refused) for problem in reading.problems] == [("E-PARSE-HEADER", False)] * hints
    assert document.read_strictly(document.dump(reading.transcript)).problems == reading.problems


def test_lists_are_extended_by_what_frames_use() -> None:
    header = {"x": 1, "capabilities": {"roles": ["functions.*", "user"], "channels": ["final"], "tokens": ["<|start|>"]}}
    frames = [Frame(Header("user"), ""), Frame(Header("assistant", "analysis"), ""), Frame(Header("assistant", "final"), "")]
    assert capabilities.with_used_names(header, frames) == {
        "x": 1,
        "capabilities": {"roles": ["functions.*", "user", "assistant"], "channels": ["final", "analysis"], "tokens": ["<|start|>"]},
    }
    assert header["capabilities"] == {"roles": ["functions.*", "user"], "channels": ["final"], "tokens": ["<|start|>"]}, "a new header"
    others: tuple[dict[str, object], ...] = ({}, {"capabilities": "all"}, {"capabilities": {"roles": "user"}}, {"capabilities": {}})
    for other in others:
        assert capabilities.with_used_names(other, frames) == other
