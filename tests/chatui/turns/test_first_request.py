"""The first request of a turn: the settings of the model server, of the operator and of a program together."""

from datetime import date
from types import MappingProxyType
from typing import Any

import pytest

from chatui.backends.spec import BackendSpec
from chatui.model_servers import connected
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import shares as summaries
from chatui.turns.asks import FunctionOffer, ProgramAsk
from chatui.turns.opening import first_request, spec_for
from chatui.turns.running_turn import RunningTurn
from chatui.turns.streams.program import ProgramStream
from renderer.frames import Frame, Header, Role
from tests.support.environment import change
from tests.support.recorded_frames import unstored

SPEC = BackendSpec(
    name="one",
    url="http://127.0.0.1:9",
    models=("m", "n"),
    sampling={"temperature": 0.5},
    model_sampling={"n": {"top_p": 0.9}},
)
QUESTION = Frame(Header(Role.USER), "What is 2 + 2?")
CUT = Frame(Header(Role.ASSISTANT), "Two and")


def job(of_program: dict[str, Any] | None = None, **fields: Any) -> RunningTurn:
    """A turn; with ``of_program``, of a program that asks for this."""
    program = ProgramAsk(ProgramStream(), **of_program) if of_program is not None else None
    return unstored("one/n", program=program, frames=(QUESTION,), today=date(2026, 1, 2), **fields)


def test_a_request_has_the_turns_history_and_the_servers_settings() -> None:
    counted = MappingProxyType({QUESTION: 7})
    request = first_request(job(cut_answer=CUT, counted=counted), SPEC)
    assert (request.frames, request.model, request.effort, request.today) == ((QUESTION,), "n", "high", date(2026, 1, 2))
    assert (dict(request.sampling), request.cut_answer, request.counted) == ({"temperature": 0.5, "top_p": 0.9}, CUT, counted)
    assert not request.tools and not request.must_call and not request.must_fit


def test_a_program_chooses_first_then_the_header_of_an_import_then_the_operator() -> None:
    asked = job({"sampling": {"temperature": 1.0}}, sampling={"temperature": 0.7, "top_p": 0.4})
    assert dict(first_request(asked, SPEC).sampling) == {"temperature": 1.0, "top_p": 0.4}


@pytest.mark.parametrize(("stored", "sent"), [("low", "low"), ("medium", "medium"), ("high", "high"), ("", "medium"), ("max", "medium")])
def test_an_unknown_effort_counts_as_medium(stored: str, sent: str) -> None:
    assert first_request(unstored(effort=stored), SPEC).effort == sent


@pytest.mark.parametrize(("summaries", "wants"), [("none", False), ("model", False), ("server", True)])
def test_only_a_server_whose_summaries_are_trusted_is_asked_for_them(summaries: str, wants: bool) -> None:
    assert first_request(job(), SPEC.model_copy(update={"summaries": summaries})).wants_summary is wants


@pytest.mark.parametrize(
    ("of_server", "of_operator", "of_program", "most"),
    [(0, 0, None, None), (0, 50, None, 50), (70, 50, None, 70), (0, 0, 9, 9), (0, 50, 9, 9), (0, 50, 90, 50), (70, 50, 60, 60)],
)
def test_the_lowest_limit_of_an_answer_applies(
    of_server: int, of_operator: int, of_program: int | None, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"max_answer_tokens": of_operator})
    spec = SPEC.model_copy(update={"max_answer_tokens": of_server})
    assert first_request(job({"max_tokens": of_program}), spec).max_tokens == most
    if of_program is None:
        assert first_request(job(), spec).max_tokens == most


def test_a_program_changes_only_what_it_sends() -> None:
    request = first_request(job({"sampling": {"temperature": 0.0}, "must_fit": True, "offer": FunctionOffer(must_call=True)}), SPEC)
    assert dict(request.sampling) == {"temperature": 0.0, "top_p": 0.9}
    assert request.must_fit and request.must_call
    assert (request.frames, request.model, request.effort) == ((QUESTION,), "n", "high")
    assert not first_request(job({"must_fit": False}), SPEC).must_fit


@pytest.mark.parametrize("is_member", [True, False])
@pytest.mark.parametrize("mode", ["none", "built-in", "model", "server"])
def test_nothing_of_summaries_is_left_for_people_who_get_none(mode: str, is_member: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = SPEC.model_copy(update={"summaries": mode, "summarizer": "one/m"})
    monkeypatch.setattr(connected, "spec_of", lambda choice: spec if choice == "one/n" else None)
    monkeypatch.setattr(summaries, "may_have_summaries", lambda person: is_member)
    found = spec_for(Turn(choice="one/n", asked_by=User(username="ada")))
    if is_member or mode == "none":
        assert found == spec
    else:
        assert (found.summaries, found.summarizer) == ("none", "")
        assert found.name == spec.name and found.url == spec.url
