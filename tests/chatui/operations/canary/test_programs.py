"""The canary's programs choose answers that end well, and distinguish a faulty product from a sound one."""

from dataclasses import replace

import pytest

from tests.support.canary_runs import OTHER, PAUSE, PROGRAM, REVOKED, TRUSTED, asked_for, most_asked_for, script, visited

pytestmark = pytest.mark.django_db

GOOD = script("good", b"x", shows=("word",))


def test_only_answers_that_end_well_without_a_pause_are_asked_for() -> None:
    bad = [
        script("paused", PAUSE, shows=("word",)),
        script("cut", b"x", shows=("word",), ends=("incomplete",)),
        script("aside", b"x", shows=("word",), is_aside=True),
        script("late", b"x", shows=("word",), withdrawn=("place",)),
        script("empty", b"x"),
    ]
    assert asked_for([*bad, GOOD]) == ["good"] and asked_for([GOOD] * 9) == ["good"] * most_asked_for()
    last = replace(GOOD, name="last")
    assert asked_for([*bad, *[GOOD] * 9, last])[-1] == "last", "whose reasoning is separate"


def test_a_product_that_refuses_the_others_is_sound_and_every_address_is_asked() -> None:
    viewers, problems, asked = visited({PROGRAM: 200})
    assert viewers == set() and problems == []
    requested = {each for program in asked.values() for each in program}
    for each in (
        "GET responses/resp_1",
        "DELETE responses/resp_1",
        "POST responses/compact",
        "GET conversations/conv_1/items",
        "DELETE conversations/conv_1",
    ):
        assert each in requested
    assert any("resp_1" in each for each in asked[OTHER])


@pytest.mark.parametrize("viewer", [REVOKED, OTHER, TRUSTED])
def test_a_product_that_answers_them_is_not(viewer: str) -> None:
    viewers, _, _ = visited({PROGRAM: 200, viewer: 200})
    assert viewers == {viewer}


def test_a_product_that_answers_nobody_proves_nothing() -> None:
    assert visited({})[1] != []
