"""The canary's programs choose answers that end well, and distinguish a faulty product from a sound one."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from chatui.operations.canary import programs
from chatui.operations.canary.browser import Deployment
from chatui.operations.canary.programs import OTHER, PROGRAM, REVOKED, TRUSTED, ProgramVisitor
from chatui.operations.canary.scripts import PAUSE, Script
from chatui.operations.canary.watch import Canary, Clock, LeakWatch
from tests.chatui.operations.canary.made import made

pytestmark = pytest.mark.django_db

GOOD = Script("good", (b"x",), shows=("word",))
STORED = b'{"id": "resp_1", "conversation": {"id": "conv_1"}}'


class Played:
    """A program that a product answers as a test wants it."""

    def __init__(self, viewer: str, statuses: Mapping[str, int]) -> None:
        self.viewer = viewer
        self._status = statuses.get(viewer, 404)
        self.requests: list[str] = []

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        self.requests.append(f"{method} {path.partition('?')[0]}")
        return httpx.Response(200 if "models" in path else self._status, content=STORED if self._status == 200 else b"{}")

    def talk(self, body: object) -> bool:
        return self._status == 200


def visited(statuses: Mapping[str, int]) -> tuple[LeakWatch, list[str], dict[str, Played]]:
    watch, problems = LeakWatch(Canary(), Canary(), {}), list[str]()
    deployment = Deployment("http://127.0.0.1:9", watch, Clock(5))
    fixture: Any = made()
    visit = ProgramVisitor(fixture, deployment, None, problems)  # type: ignore[arg-type]
    played = {viewer: Played(viewer, statuses) for viewer in (PROGRAM, TRUSTED, REVOKED, OTHER)}
    visit._ask_for(played, "model")  # type: ignore[arg-type]
    return watch, problems, played


def test_only_answers_that_end_well_without_a_pause_are_asked_for() -> None:
    bad = [
        Script("paused", (PAUSE,), shows=("word",)),
        Script("cut", (b"x",), shows=("word",), ends=("incomplete",)),
        Script("aside", (b"x",), shows=("word",), is_aside=True),
        Script("late", (b"x",), shows=("word",), withdrawn=("place",)),
        Script("empty", (b"x",)),
    ]
    assert programs.to_be_asked_for([*bad, GOOD]) == [GOOD] and len(programs.to_be_asked_for([GOOD] * 9)) == programs.ANSWERS
    last = replace(GOOD, name="last")
    assert programs.to_be_asked_for([*[GOOD] * 9, last])[-1] == last, "whose reasoning is separate"


def test_a_product_that_refuses_the_others_is_sound_and_every_address_is_asked() -> None:
    watch, problems, played = visited({PROGRAM: 200})
    assert watch.findings == [] and problems == []
    requested = {each for program in played.values() for each in program.requests}
    for each in (
        "GET responses/resp_1",
        "DELETE responses/resp_1",
        "POST responses/compact",
        "GET conversations/conv_1/items",
        "DELETE conversations/conv_1",
    ):
        assert each in requested
    assert json.loads(STORED)["id"] in str(played[OTHER].requests)


@pytest.mark.parametrize("viewer", [REVOKED, OTHER, TRUSTED])
def test_a_product_that_answers_them_is_not(viewer: str) -> None:
    watch, _, _ = visited({PROGRAM: 200, viewer: 200})
    assert {finding.viewer for finding in watch.findings} == {viewer}


def test_a_product_that_answers_nobody_proves_nothing() -> None:
    assert visited({})[1] != []
