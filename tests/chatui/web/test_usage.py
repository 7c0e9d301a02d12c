"""The usage pages: one's own for everybody, everybody's for those with the permission, and the export."""

import csv
from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client, TestCase
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.programs import ApiKey
from chatui.models.usage import ModelPrice, UsageEntry, UsageLimit
from chatui.models.user import User
from chatui.usage import limits
from tests.chatui.conftest import make_person, signed_in
from tests.support.environment import change
from tests.support.staff_pages import page_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def uma(db: None) -> User:
    """Staff who may see everybody's usage."""
    return make_person("uma", "view_usage", staff=True)


def line(person: User | None, **fields: Any) -> UsageEntry:
    given: dict[str, Any] = {"kind": "answer", "model": "big", "turns": 1, "input_tokens": 123_456, "output_tokens": 500} | fields
    return UsageEntry.objects.create(person=person, day=given.pop("day", timezone.now().date()), **given)


def test_a_person_sees_only_their_own_usage(ada: User, bela: User) -> None:
    line(ada, model="model-of-ada")
    line(bela, model="model-of-bela")
    page = signed_in(ada).get("/usage/").content.decode()
    assert "model-of-ada" in page and "123,456" in page and "You have no limits." in page
    assert "bela" not in page


def test_a_person_sees_the_limits_in_force_and_their_use(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"usage_contact": "Ask it@example.org."})
    today = timezone.now().date()
    UsageLimit.objects.create(day_turns=10, month_tokens=2_000_000)
    limits.clear_cache()
    UsageEntry.objects.create(person=ada, day=today, turns=8, input_tokens=400_000, output_tokens=100_000)
    page = signed_in(ada).get("/usage/").content.decode()
    assert "8 of 10 answers" in page and "500,000 of 2,000,000 tokens" in page and "Ask it@example.org." in page
    assert page.count('class="usage-near"') == 1


def test_everybodys_usage_is_grouped_as_chosen(ada: User, bela: User, uma: User) -> None:
    line(ada)
    line(bela, model="", is_estimate=True)
    client = signed_in(uma)
    page = client.get("/usage/everybody/").content.decode()
    assert "ada" in page and "bela" in page and "did not report all token counts: 1." in page
    by_model = client.get("/usage/everybody/", {"by": "model"}).content.decode()
    assert "big" in by_model and "unknown" in by_model and ">ada<" not in by_model
    before = client.get("/usage/everybody/", {"until": str(timezone.now().date() - timedelta(days=1))}).content.decode()
    assert ">ada<" not in before


def test_api_usage_is_listed_by_key_name(uma: User, ada: User) -> None:
    key = ApiKey.objects.create(owner=ada, name="The wiki", prefix="cui_abc", digest="a", made_by_name="ada")
    for key_id in (key.pk, None):
        line(ada, key_id=key_id)
    page = signed_in(uma).get("/usage/everybody/", {"by": "key"}).content.decode()
    assert "The wiki (cui_abc…)" in page and str(key.pk) not in page
    assert "this site" in page


def content_of(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


def test_the_export_is_streamed_day_by_day(uma: User, django_assert_max_num_queries: Any) -> None:
    days = [date(2026, 1, day) for day in range(1, 21)]
    for day in days:
        line(None, kind="title", turns=0, day=day)
    query = {"since": "2026-01-01", "until": "2026-01-31"}
    response: Any = signed_in(uma).post("/usage/everybody/file/", query)
    assert AuditEvent.objects.filter(action="usage export").count() == 1, "recorded before anything of it is read"
    pieces = iter(response.streaming_content)
    with django_assert_max_num_queries(4):
        assert next(pieces).startswith(b"day,person") and next(pieces).startswith(b"2026-01-01,")
    assert [piece.partition(b",")[0].decode() for piece in pieces] == [str(day) for day in days[1:]]


def test_the_export_has_every_line_is_logged_and_has_no_formulas(uma: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"currency": "EUR"})
    ModelPrice.objects.create(model="=1+1", since="2026-01-01", input_price=1, output_price=2)
    line(make_person("@eve"), model="=1+1", input_tokens=1_000_000, output_tokens=500_000)
    line(None, kind="title", turns=0)
    response = signed_in(uma).post("/usage/everybody/file/")
    rows = list(csv.DictReader(content_of(response).splitlines()))
    assert {row["person"] for row in rows} == {"'@eve", ""}
    [eve] = [row for row in rows if row["person"]]
    assert (eve["model"], eve["answers"], eve["input_tokens"], float(eve["cost_EUR"])) == ("'=1+1", "1", "1000000", 2.0)
    assert response.headers["Content-Disposition"].startswith('attachment; filename="usage-')
    assert AuditEvent.objects.filter(action="usage export").count() == 1


def test_a_cost_in_the_file_is_a_number_in_digits(uma: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"currency": "EUR"})
    ModelPrice.objects.create(model="cheap", since="2026-01-01", input_price="0.0001", output_price=0)
    line(None, model="cheap", input_tokens=1, output_tokens=0)
    [row] = csv.DictReader(content_of(signed_in(uma).post("/usage/everybody/file/")).splitlines())
    assert row["cost_EUR"].startswith("0.0000000001")


def test_money_is_shown_only_with_a_currency(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    ModelPrice.objects.create(model="big", since="2026-01-01", input_price=1000, output_price=0)
    line(ada)
    line(ada, model="free", input_tokens=77, output_tokens=0)
    assert "123.46" not in signed_in(ada).get("/usage/").content.decode()
    change(monkeypatch, {"currency": "EUR"})
    page = signed_in(ada).get("/usage/").content.decode()
    assert "123.46 EUR" in page and "because they have no price: 77 tokens" in page


LIMITS = "/manage/limits/"


@pytest.fixture
def lars(db: None) -> Client:
    """Staff who set limits, and see who has an account."""
    return signed_in(make_person("lars", "change_limits", "view_user", staff=True))


def test_a_limit_set_on_its_page_is_logged_and_applies_at_once(ada: User, lars: Client) -> None:
    assert not limits.limits_of(ada)
    with TestCase.captureOnCommitCallbacks(execute=True):
        assert lars.post(LIMITS, {"what": "limit", "day_turns": "3"}).status_code == 302
    assert limits.limits_of(ada).day_turns == 3
    assert lars.post(LIMITS, {"what": "limit", "day_turns": "4"}).status_code == 400, "there is one for everybody"
    assert AuditEvent.objects.get(action="usage limit created").detail == "day_turns 3: everybody"
    with TestCase.captureOnCommitCallbacks(execute=True):
        lars.post(f"{LIMITS}{UsageLimit.objects.get().pk}/", {"delete": "yes"})
    assert not limits.limits_of(ada) and AuditEvent.objects.filter(action="usage limit deleted").exists()


def test_a_persons_own_limit_replaces_those_of_groups_and_everybody(ada: User, bela: User, lars: Client) -> None:
    group = Group.objects.create(name="heavy")
    group.user_set.set([ada, bela])
    with TestCase.captureOnCommitCallbacks(execute=True):
        for sent in ({"day_turns": "3"}, {"day_turns": "50", "group": str(group.pk)}):
            assert lars.post(LIMITS, {"what": "limit", **sent}).status_code == 302
        for number in ("7", "8"):
            assert lars.post(page_of(ada, "limit"), {"day_turns": number}).status_code == 302, "set, then changed"
    assert (limits.limits_of(ada).day_turns, limits.limits_of(bela).day_turns) == (8, 50)
    line = AuditEvent.objects.get(action="usage limit changed")
    assert (line.owner_name, line.detail) == ("ada", "day_turns 8: ada")
    page = lars.get(LIMITS).content.decode()
    assert all(words in page for words in ("Everybody else", "heavy", "ada", "50 answers per day"))
    lars.post(f"{LIMITS}{UsageLimit.objects.get(person=ada).pk}/", {})
    limits.clear_cache()
    assert not limits.limits_of(ada), "a row without numbers exempts the person"


def test_limits_need_the_permission_and_people_are_not_named_without_another_one(ada: User) -> None:
    reader, blind = (make_person(name, right, staff=True) for name, right in (("rita", "view_usage"), ("bob", "change_limits")))
    assert signed_in(reader).get(LIMITS).status_code == 404
    assert signed_in(reader).post(LIMITS, {"what": "limit", "day_turns": "3"}).status_code == 404
    assert signed_in(blind).get(LIMITS).status_code == 200, "the twin"
    assert signed_in(blind).get(page_of(ada, "limit")).status_code == 404
    assert not UsageLimit.objects.exists()
    own = UsageLimit.objects.create(person=ada, day_turns=7)
    assert "ada" not in signed_in(blind).get(LIMITS).content.decode()
    for sent in ({"day_turns": "0"}, {"delete": "1"}):
        assert signed_in(blind).post(f"{LIMITS}{own.pk}/", sent).status_code == 404
    assert UsageLimit.objects.get().day_turns == 7


def test_a_price_is_logged_with_its_numbers_however_long_the_model_name(lars: Client) -> None:
    price = {"model": "m" * 200, "since": "2026-11-01", "input_price": "1.25", "cached_price": "0.5", "output_price": "4"}
    assert lars.post(LIMITS, {"what": "price", **price}).status_code == 302
    detail = AuditEvent.objects.get(action="model price created").detail
    assert detail.startswith("input_price 1.25, cached_price 0.5, output_price 4: mmm") and len(detail) == 200
    path = f"{LIMITS}prices/{ModelPrice.objects.get().pk}/"
    assert 'value="2026-11-01"' in lars.get(path).content.decode()
    assert lars.post(path, price | {"output_price": "5"}).status_code == 302 and ModelPrice.objects.get().output_price == 5
    assert lars.post(path, {"delete": "yes"}).status_code == 302 and not ModelPrice.objects.exists()
