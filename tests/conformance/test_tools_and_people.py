"""Tool calls and replies, what a model sees again, and who may see what."""

from itertools import product

import pytest

from renderer.errors import Code, OpenChatMLError
from renderer.frames import Frame
from renderer.gate import Audience, may_see, show
from renderer.history import frames_for_prompt
from renderer.ocml import calls
from tests.conformance.cases import Case, cases, frame_as_json, frame_of, frames_of, header_of, kind, name_of
from tests.renderer.refusing import refused
from tests.support.cases import for_each


@for_each(cases("calls"))
def test_a_call_is_read_to_be_carried_out(case: Case) -> None:
    if "error" in case:
        with pytest.raises(OpenChatMLError) as caught:
            calls.read_call(frame_of(case["frame"]))
        assert caught.value.code == case["error"]
        return
    call = calls.read_call(frame_of(case["frame"]))
    fields = {"tool": call.tool, "call_id": call.call_id, "arguments": call.arguments, "deadline_ms": call.deadline_ms}
    assert fields == case["call"]


@for_each(cases("replies"))
def test_a_reply_is_read(case: Case) -> None:
    reply = calls.read_reply(frame_of(case["frame"]))
    fields = {"tool": reply.tool, "call_id": reply.call_id, "is_envelope": reply.envelope is not None, "error": reply.error}
    assert fields == case["reply"]
    if reply.error is None:
        reply.raise_for_error()
        return
    with pytest.raises(OpenChatMLError) as caught:
        reply.raise_for_error()
    assert caught.value.code == case["reply"]["error"]


@for_each(cases("sampled-again"))
def test_what_a_model_sees_again(case: Case) -> None:
    assert [frame_as_json(frame) for frame in frames_for_prompt(frames_of(case["frames"]))] == case["seen_again"]


def test_an_end_user_sees_what_is_listed_and_nothing_else() -> None:
    table = kind("visibility")
    names = list(table["values"])
    everything = [
        {name: value for name, value in zip(names, values, strict=True) if value is not None}
        for values in product(*table["values"].values())
    ]
    assert len(everything) == 1440
    assert all(listed in everything for listed in table["visible"])
    for case in everything:
        check_visibility(case, visible=case in table["visible"])


@pytest.mark.parametrize("case", cases("visibility"), ids=name_of)
def test_other_attributes_do_not_decide(case: Case) -> None:
    check_visibility(case["header"], visible=case["visible"])


def check_visibility(case: Case, *, visible: bool) -> None:
    """Hold the gate to one line: who sees it, and that a request for what is hidden is E-PERM-VISIBILITY, in words that quote nothing."""
    frame = Frame(header_of(case), "SECRET")
    assert may_see(frame.header, Audience.END_USER) is visible, case
    assert show(frame, Audience.DEBUG) == "SECRET"
    if visible:
        assert show(frame, Audience.END_USER) == "SECRET"
        return
    with refused(Code.PERM_VISIBILITY) as caught:
        show(frame, Audience.END_USER)
    assert caught.value.code is Code.PERM_VISIBILITY
    assert "SECRET" not in f"{caught.value}{caught.value.sentence}"
