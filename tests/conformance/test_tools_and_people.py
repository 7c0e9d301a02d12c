"""Tool calls and replies, what a model sees again, and who may see what."""

from __future__ import annotations

from itertools import product

import pytest

from renderer.errors import Code, OpenChatMLError, VisibilityError
from renderer.frames import Frame
from renderer.gate import Audience, may_see, show
from renderer.history import frames_for_prompt
from renderer.ocml import calls
from tests.conformance.cases import Case, cases, frame_as_told, frame_of, frames_of, header_of, kind, name_of
from tests.support.cases import for_each


@for_each(cases("calls"))
def test_a_call_is_read_to_be_carried_out(case: Case) -> None:
    if "error" in case:
        with pytest.raises(OpenChatMLError) as caught:
            calls.read_call(frame_of(case["frame"]))
        assert caught.value.code == case["error"]
        return
    call = calls.read_call(frame_of(case["frame"]))
    told = {"tool": call.tool, "call_id": call.call_id, "arguments": call.arguments, "deadline_ms": call.deadline_ms}
    assert told == case["call"]


@for_each(cases("replies"))
def test_a_reply_is_read(case: Case) -> None:
    reply = calls.read_reply(frame_of(case["frame"]))
    told = {"tool": reply.tool, "call_id": reply.call_id, "is_envelope": reply.envelope is not None, "error": reply.error}
    assert told == case["reply"]
    if reply.error is None:
        reply.raise_for_error()
        return
    with pytest.raises(OpenChatMLError) as caught:
        reply.raise_for_error()
    assert caught.value.code == case["reply"]["error"]


@for_each(cases("sampled-again"))
def test_what_a_model_sees_again(case: Case) -> None:
    assert [frame_as_told(frame) for frame in frames_for_prompt(frames_of(case["frames"]))] == case["seen_again"]


def test_an_end_user_sees_what_is_listed_and_nothing_else() -> None:
    table = kind("visibility")
    names = list(table["values"])
    everything = [
        {name: value for name, value in zip(names, values, strict=True) if value is not None}
        for values in product(*table["values"].values())
    ]
    assert len(everything) == 1440
    assert all(listed in everything for listed in table["visible"])
    for told in everything:
        sees_as_told(told, visible=told in table["visible"])


@pytest.mark.parametrize("case", cases("visibility"), ids=name_of)
def test_other_attributes_do_not_decide(case: Case) -> None:
    sees_as_told(case["header"], visible=case["visible"])


def sees_as_told(told: Case, *, visible: bool) -> None:
    """Hold the gate to one line: who sees it, and that to ask for what is hidden is E-PERM-VISIBILITY, in words that quote nothing."""
    frame = Frame(header_of(told), "SECRET")
    assert may_see(frame.header, Audience.END_USER) is visible, told
    assert show(frame, Audience.DEBUG) == "SECRET"
    if visible:
        assert show(frame, Audience.END_USER) == "SECRET"
        return
    with pytest.raises(VisibilityError) as caught:
        show(frame, Audience.END_USER)
    assert caught.value.code is Code.PERM_VISIBILITY
    assert "SECRET" not in f"{caught.value}{caught.value.sentence}"
