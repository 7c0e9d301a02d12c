"""Sums of the ledger: by day, person, group, model and key, and what they cost."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group

from chatui.models.usage import ModelPrice, UsageEntry
from chatui.models.user import User
from chatui.usage import reports
from chatui.usage.reports import By, Days

pytestmark = pytest.mark.django_db

DAY = date(2026, 11, 21)
DAYS = Days(DAY - timedelta(days=9), DAY)


def line(person: User | None, day: date = DAY, **fields: Any) -> UsageEntry:
    given = {"kind": "answer", "model": "big", "turns": 1, "input_tokens": 1000, "output_tokens": 500} | fields
    return UsageEntry.objects.create(person=person, day=day, **given)


def by(by: By | None, person: User | None = None, days: Days = DAYS) -> dict[object, tuple[int, int]]:
    return {row.name: (row.turns, row.tokens) for row in reports.summed(reports.lines_of(days, person), days, by)}


def test_sums_are_by_person_day_model_and_kind(ada: User, bela: User) -> None:
    line(ada)
    line(ada, DAY - timedelta(days=1), model="small", output_tokens=0)
    line(bela, turns=0, kind="title", input_tokens=7, output_tokens=3)
    line(ada, DAY - timedelta(days=10))
    assert by(By.PERSON) == {"ada": (2, 2500), "bela": (0, 10)}
    assert by(By.DAY) == {DAY - timedelta(days=1): (1, 1000), DAY: (1, 1510)}
    assert by(By.MODEL) == {"big": (1, 1510), "small": (1, 1000)}
    assert by(By.KIND) == {"answer": (2, 2500), "title": (0, 10)}
    assert by(None, ada) == {None: (2, 2500)}
    assert by(None, days=Days(date(2020, 1, 1), date(2020, 1, 2))) == {None: (0, 0)}


def test_a_person_in_two_groups_counts_in_both_and_once_in_the_sum(ada: User, bela: User) -> None:
    ada.groups.set([Group.objects.create(name="staff"), Group.objects.create(name="research")])
    line(ada)
    line(bela)
    assert by(By.GROUP) == {"staff": (1, 1500), "research": (1, 1500), None: (1, 1500)}
    assert by(None) == {None: (2, 3000)}


def test_the_lines_of_an_erased_person_stay_without_their_name(ada: User) -> None:
    line(ada)
    ada.delete()
    assert by(By.PERSON) == {None: (1, 1500)}


def test_each_day_has_the_price_that_held_then(ada: User) -> None:
    ModelPrice.objects.create(model="big", since=date(2026, 1, 1), input_price=1, output_price=10)
    ModelPrice.objects.create(model="big", since=DAY, input_price=2, cached_price=Decimal("0.5"), output_price=20)
    line(ada, DAY - timedelta(days=1), input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000)
    line(ada, DAY, input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000)
    line(ada, DAY, model="small", input_tokens=5, output_tokens=6)
    [total] = reports.summed(reports.lines_of(DAYS), DAYS, None)
    assert total.cost == Decimal(1 + 1) + Decimal("1.2") + Decimal("0.2") + 2
    assert total.unpriced == 11


def test_without_any_price_there_is_no_cost(ada: User) -> None:
    line(ada)
    [total] = reports.summed(reports.lines_of(DAYS), DAYS, None)
    assert (total.cost, total.unpriced) == (None, 1500)
