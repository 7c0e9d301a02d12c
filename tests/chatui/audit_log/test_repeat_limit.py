"""Limits on lines of repeated actions: the first ones are listed, and a line says from when on the others are only counted."""

from __future__ import annotations

import time

import pytest

from chatui.audit_log.aggregation import REPORTED_COUNTS, WINDOW_SECONDS, RepeatedAction
from chatui.audit_log.record import SHELL
from chatui.limits import CACHE_ERRORS, Throttle
from chatui.models.audit import AuditEvent

pytestmark = pytest.mark.django_db


def details() -> list[str]:
    return list(AuditEvent.objects.order_by("number").values_list("detail", flat=True))


def test_further_repetitions_of_one_key_are_only_counted() -> None:
    action = RepeatedAction("knock", per_key=2, total=10)
    for _ in range(6):
        action.record(SHELL, "ada", "ada", "wrong password")
    assert details() == ["wrong password", "wrong password", "wrong password, further ones are only counted"]
    action.record(SHELL, "bela", "bela")
    assert details()[3:] == [""], "another key is listed"
    assert set(AuditEvent.objects.values_list("action", "owner_name")) == {("knock", "ada"), ("knock", "bela")}


def test_large_counts_of_one_key_are_reported() -> None:
    action = RepeatedAction("knock", per_key=1, total=10)
    for _ in range(REPORTED_COUNTS[0] + 1):
        action.record(SHELL, "ada")
    assert details() == ["", "further ones are only counted", "100 times within the hour"]


def test_all_keys_together_have_a_limit() -> None:
    action = RepeatedAction("knock", per_key=2, total=3)
    for number in range(6):
        action.record(SHELL, f"person{number}")
    assert details() == ["", "", "", "further ones, of anybody, are not listed"]


def test_repetitions_that_are_only_counted_do_not_use_up_the_limit_for_all() -> None:
    action = RepeatedAction("knock", per_key=1, total=3)
    for _ in range(20):
        action.record(SHELL, "ada")
    action.record(SHELL, "bela")
    assert details() == ["", "further ones are only counted", ""]


def test_actions_are_counted_separately() -> None:
    for name in ("knock", "knock twice"):
        RepeatedAction(name, per_key=1, total=1).record(SHELL, "ada")
    assert details() == ["", ""]


def test_after_an_hour_repetitions_are_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.time()
    passed = [0.0]
    monkeypatch.setattr(time, "time", lambda: start + passed[0])
    action = RepeatedAction("knock", per_key=1, total=2)
    for seconds in (0, 1, WINDOW_SECONDS - 1, WINDOW_SECONDS + 1):
        passed[0] = seconds
        action.record(SHELL, "ada")
    assert details() == ["", "further ones are only counted", ""]


def test_while_repetitions_cannot_be_counted_each_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the cache may not hide what people do."""
    action = RepeatedAction("knock", per_key=1, total=1)

    def unreachable(*arguments: object) -> int:
        raise next(iter(CACHE_ERRORS))

    monkeypatch.setattr(Throttle, "count", unreachable)
    for _ in range(3):
        action.record(SHELL, "ada", "ada", "wrong password")
    assert details() == ["wrong password"] * 3


def test_large_counts_are_not_reported_beyond_the_limit_for_all() -> None:
    action, other = RepeatedAction("knock", per_key=1, total=2), RepeatedAction("ring", per_key=0, total=5)
    for _ in range(REPORTED_COUNTS[0] + 1):
        action.record(SHELL, "ada", detail="x")
    assert details() == ["x", "x, further ones are only counted", "x, further ones, of anybody, are not listed"]
    other.record(SHELL, "ada")
    assert details()[3:] == ["further ones are only counted"]
