"""Error messages for failed answers: one or two sentences with what users need, and nothing that a server wrote."""

from uuid import UUID

import pytest

from chatui.backends.base import ContextUse
from chatui.codes import Cause, ProductCode
from chatui.models.turn import Turn
from tests.support.cases import for_each
from tests.support.failed_answers import has_failed, notice, sentence

TURN = UUID("01939c1e-0000-7000-8000-00004f2a91bc")


@pytest.mark.parametrize(
    ("seconds", "duration"),
    [(1, "1 second"), (119, "119 seconds"), (120, "2 minutes"), (7201, "3 hours")],
)
def test_a_busy_servers_retry_seconds_are_shown(seconds: int, duration: str) -> None:
    text = sentence(ProductCode.BACKEND_BUSY, retry_after=seconds)
    assert text == f"The model server is busy and asked to wait {duration}. Try again after that."


def test_without_retry_seconds_no_number_is_shown() -> None:
    for seconds in (None, 0):
        assert sentence(ProductCode.BACKEND_BUSY, retry_after=seconds) == ProductCode.BACKEND_BUSY.sentence


@for_each(ProductCode)
def test_everything_that_failed_has_a_number_and_nothing_else(code: ProductCode) -> None:
    """An answer that was cut at a limit has not failed, nor has one that is complete or was stopped."""
    failed = notice(Turn(id=TURN, state="failed", error_code=code.value, error_cause=""))
    is_cut = code in (ProductCode.LENGTH, ProductCode.CONTEXT_FULL)
    assert failed.number == ("" if is_cut else "4F2A-91BC") and code.value not in failed.sentence
    assert [notice(Turn(id=TURN, state=state, error_code=code.value, error_cause="")).number for state in ("completed", "stopped")] == [
        "",
        "",
    ]


@for_each(Cause)
def test_a_retry_is_offered_only_where_it_can_help(cause: Cause) -> None:
    turn = Turn(id=TURN, state="failed", error_code="E-X-BACKEND", error_cause=cause.log_text("HTTP 500"))
    assert notice(turn).can_retry is cause.may_pass
    assert {Cause.KEY_REFUSED.may_pass, Cause.CONTEXT_EXCEEDED.may_pass, Cause.BUSY.may_pass} == {True, False}


def test_the_numbers_that_a_person_reads_are_not_lost_to_an_admin() -> None:
    busy = Turn(id=TURN, state="failed", error_code="E-X-BACKEND-BUSY", error_cause=Cause.BUSY.log_text("HTTP 429"), retry_after=20)
    assert "20 seconds" in notice(busy).cause.sentence


def test_a_too_long_question_shows_its_length_and_the_limit() -> None:
    use = ContextUse(24_680, 40_000)
    text = sentence(ProductCode.QUESTION_TOO_LONG, use, 40_000)
    assert text.endswith("It has 40,000 characters; about 24,000 would fit.")
    assert sentence(ProductCode.TIMEOUT, use, 40_000) == ProductCode.TIMEOUT.sentence


@pytest.mark.parametrize(
    ("stored", "code", "failed"),
    [
        ("key-refused: HTTP 401", "E-X-BACKEND-SETUP", True),
        ("quota-used-up: HTTP 429", "E-X-BACKEND-SETUP", True),
        ("loading: HTTP 503", "E-X-BACKEND-BUSY", True),
        ("busy: HTTP 429", "E-X-BACKEND-BUSY", False),
        ("HTTP 429", "E-X-BACKEND-BUSY", False),  # of an earlier release
        ("", "E-X-LENGTH", False),
        ("", "E-X-CONTEXT-FULL", False),
        ("context-exceeded: HTTP 400", "E-X-BACKEND-REFUSED", True),
        ("of-a-later-release: HTTP 1", "E-X-OF-A-LATER-RELEASE", True),
    ],
)
def test_cut_answers_and_busy_servers_are_not_failures(stored: str, code: str, failed: bool) -> None:
    assert has_failed("failed", code, stored) is failed
    assert not any(has_failed(state, code, stored) for state in ("completed", "stopped"))
