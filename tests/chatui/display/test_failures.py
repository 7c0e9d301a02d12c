"""Error messages for failed answers: one or two sentences with what users need, and nothing that a server wrote."""

from __future__ import annotations

from uuid import UUID

import pytest

from chatui.backends.base import ContextUse
from chatui.codes import ProductCode
from chatui.display.failures import Failure, cause_of, number, sentence
from chatui.models.turn import Turn
from tests.support.cases import for_each

TURN = UUID("01939c1e-0000-7000-8000-00004f2a91bc")


@pytest.mark.parametrize(
    ("seconds", "duration"),
    [(1, "1 second"), (20, "20 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7199, "120 minutes"), (7201, "3 hours")],
)
def test_a_busy_servers_retry_seconds_are_shown(seconds: int, duration: str) -> None:
    text = sentence(Failure(ProductCode.BACKEND_BUSY, TURN, retry_after=seconds))
    duration = "2 hours" if seconds == 7199 else duration
    assert text == f"The model server is busy and asked to wait {duration}. Try again after that."


def test_without_retry_seconds_no_number_is_shown() -> None:
    for seconds in (None, 0):
        failure = Failure(ProductCode.BACKEND_BUSY, TURN, retry_after=seconds)
        assert sentence(failure) == ProductCode.BACKEND_BUSY.sentence


def test_an_error_only_an_admin_can_fix_has_a_reference_number() -> None:
    assert number(TURN) == "4F2A-91BC"
    text = sentence(Failure(ProductCode.BACKEND_SETUP, TURN))
    assert text == "This model is not configured correctly. Tell an administrator. The failure number is 4F2A-91BC."


def test_a_too_long_question_shows_its_length_and_the_limit() -> None:
    use = ContextUse(24_680, 40_000)
    text = sentence(Failure(ProductCode.QUESTION_TOO_LONG, TURN, use, 40_000))
    assert text.endswith("It has 40,000 characters; about 24,000 would fit.")
    assert sentence(Failure(ProductCode.TIMEOUT, TURN, use, 40_000)) == ProductCode.TIMEOUT.sentence


@for_each(ProductCode)
def test_every_code_has_complete_sentences(code: ProductCode) -> None:
    text = sentence(Failure(code, TURN))
    assert text[0].isupper() and text.endswith(".") and len(text) < 180


@pytest.mark.parametrize(
    ("cause", "code", "expected"),
    [("HTTP 401", "E-X-BACKEND-SETUP", "vllm: HTTP 401"), ("", "E-X-LENGTH", "vllm: E-X-LENGTH"), ("", "", "vllm: cause unknown")],
)
def test_admins_get_the_cause_or_the_code_that_says_it(cause: str, code: str, expected: str) -> None:
    assert cause_of(Turn(choice="vllm/gpt-oss-20b", error_cause=cause, error_code=code)) == expected
