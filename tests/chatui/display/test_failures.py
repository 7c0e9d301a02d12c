"""Error messages for failed answers: one or two sentences with what users need, and nothing that a server wrote."""

from __future__ import annotations

from uuid import UUID

import pytest

from chatui.backends.base import ContextUse
from chatui.codes import Cause, ProductCode
from chatui.display.failures import Failure, cause_of, notice_of, sentence
from chatui.models.turn import FailedAnswer, Turn
from tests.support.cases import for_each

TURN = UUID("01939c1e-0000-7000-8000-00004f2a91bc")


@pytest.mark.parametrize(
    ("seconds", "duration"),
    [(1, "1 second"), (20, "20 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7199, "120 minutes"), (7201, "3 hours")],
)
def test_a_busy_servers_retry_seconds_are_shown(seconds: int, duration: str) -> None:
    text = sentence(Failure(ProductCode.BACKEND_BUSY, retry_after=seconds))
    duration = "2 hours" if seconds == 7199 else duration
    assert text == f"The model server is busy and asked to wait {duration}. Try again after that."


def test_without_retry_seconds_no_number_is_shown() -> None:
    for seconds in (None, 0):
        failure = Failure(ProductCode.BACKEND_BUSY, retry_after=seconds)
        assert sentence(failure) == ProductCode.BACKEND_BUSY.sentence


@for_each(ProductCode)
def test_everything_that_failed_has_a_number_and_nothing_else(code: ProductCode) -> None:
    """An answer that was cut at a limit has not failed, nor has one that is complete or was stopped."""
    failed = notice_of(Turn(id=TURN, state="failed", error_code=code.value, error_cause=""), 0)
    is_cut = code in (ProductCode.LENGTH, ProductCode.CONTEXT_FULL)
    assert failed.number == ("" if is_cut else "4F2A-91BC") and code.value not in failed.sentence
    assert [
        notice_of(Turn(id=TURN, state=state, error_code=code.value, error_cause=""), 0).number for state in ("completed", "stopped")
    ] == ["", ""]


@for_each(Cause)
def test_a_retry_is_offered_only_where_it_can_help(cause: Cause) -> None:
    turn = Turn(id=TURN, state="failed", error_code="E-X-BACKEND", error_cause=cause.told("HTTP 500"))
    assert notice_of(turn, 0).can_retry is cause.may_pass
    assert {Cause.KEY_REFUSED.may_pass, Cause.CONTEXT_EXCEEDED.may_pass, Cause.BUSY.may_pass} == {True, False}


@for_each(Cause)
def test_every_cause_has_complete_sentences_and_sends_no_administrator_to_one(cause: Cause) -> None:
    turn = Turn(id=TURN, choice="vllm", state="failed", error_code="E-X-BACKEND-SETUP", error_cause=cause.told("HTTP 500"))
    shown = notice_of(turn, 0).cause
    said = f"{cause.sentence} {cause.advice}"
    assert cause.advice.endswith(".") and (cause is Cause.OTHER or cause.sentence.endswith("."))
    assert "administrator" not in said.lower() and len(said) < 260
    assert shown.evidence == "vllm: HTTP 500"
    assert cause is Cause.OTHER or (shown.sentence, shown.advice) == (cause.sentence, cause.advice)


def test_the_numbers_that_a_person_reads_are_not_lost_to_an_admin() -> None:
    busy = Turn(id=TURN, state="failed", error_code="E-X-BACKEND-BUSY", error_cause=Cause.BUSY.told("HTTP 429"), retry_after=20)
    assert "20 seconds" in notice_of(busy, 0).cause.sentence


def test_a_too_long_question_shows_its_length_and_the_limit() -> None:
    use = ContextUse(24_680, 40_000)
    text = sentence(Failure(ProductCode.QUESTION_TOO_LONG, use, 40_000))
    assert text.endswith("It has 40,000 characters; about 24,000 would fit.")
    assert sentence(Failure(ProductCode.TIMEOUT, use, 40_000)) == ProductCode.TIMEOUT.sentence


@for_each(ProductCode)
def test_every_code_has_complete_sentences(code: ProductCode) -> None:
    text = sentence(Failure(code))
    assert text[0].isupper() and text.endswith(".") and len(text) < 180


@pytest.mark.parametrize(
    ("stored", "code", "expected"),
    [
        ("key-refused: HTTP 401", "E-X-BACKEND-SETUP", f"vllm: {Cause.KEY_REFUSED.sentence} (HTTP 401)"),
        ("silent", "E-X-TIMEOUT", f"vllm: {Cause.SILENT.sentence}"),
        ("HTTP 500", "E-X-BACKEND", f"vllm: {Cause.FAILED.sentence} (HTTP 500)"),  # of an earlier release
        ("", "E-X-LENGTH", f"vllm: {Cause.LENGTH.sentence}"),
        ("", "E-X-WITHHELD", f"vllm: {ProductCode.WITHHELD.sentence}"),
        ("of-a-later-release: HTTP 1", "E-X-OF-A-LATER-RELEASE", "vllm: of-a-later-release: HTTP 1"),
    ],
)
def test_admins_read_the_cause_as_a_sentence_and_its_evidence(stored: str, code: str, expected: str) -> None:
    assert cause_of(FailedAnswer(choice="vllm/gpt-oss-20b", error_cause=stored, error_code=code)) == expected
