"""No two accounts have names that look alike, in whatever way an account is created or renamed."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client

from chatui.accounts import sign_in
from chatui.models.user import LOOKS_TAKEN, User
from chatui.skeletons import folded_skeleton, skeleton
from tests.chatui.conftest import PASSWORD, make_person, signed_in
from tests.support.staff_pages import PEOPLE, page_of, save_details

ALIKE = [
    ("olga", "оlga"),  # a Cyrillic o
    ("olga", "OLGA"),
    ("olga", "ｏｌｇａ"),
    ("olga", "ol\u200bga"),
    ("olga", "ol\u00adga"),
    ("olga", "OIga"),  # a capital i
    ("olga", "o1ga"),
    ("Ian", "ian"),
    ("paypal", "раураl"),
    ("bela", "ΒELA"),  # a Greek capital beta
    ("bob", "b0b"),
    ("amanda", "arnanda"),
    ("straße", "STRASSE"),
    ("éva", "e\u0301va"),
    ("ada", "ada\ufe0f"),
    ("grace", "𝐠race"),
]
APART = [("ada", "bela"), ("éva", "eva"), ("ian", "lan"), ("ada.l", "adal"), ("ольга", "olga"), ("ada", "ada2"), ("山田", "山本")]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_look_alike_have_a_skeleton_in_common(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other) or folded_skeleton(one) == folded_skeleton(other)


@pytest.mark.parametrize(("one", "other"), APART)
def test_names_that_look_different_have_none(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other) and folded_skeleton(one) != folded_skeleton(other)


NEW = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}


@pytest.fixture
def olga(db: None) -> User:
    return make_person("olga", "add_user", "change_user", "view_user", staff=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["оlga", "OLGA"])
def test_administration_says_that_a_name_is_taken(name: str, olga: User) -> None:
    client = signed_in(olga)
    assert client.post(f"{PEOPLE}new/", {"username": "bela"}).status_code == 302, "the premise: others are created"
    for path in (f"{PEOPLE}new/", page_of(User.objects.get(username="bela"), "details")):
        page = client.post(path, {"username": name})
        # Django's own sentence, where it finds the same name itself, will do.
        assert page.status_code == 400 and any(words in page.content.decode() for words in (str(LOOKS_TAKEN), "already exists")), path
    assert User.objects.count() == 2


def test_a_person_keeps_their_own_name_and_may_change_its_capitals(olga: User) -> None:
    make_person("bela")
    person = User.objects.get(username="bela")
    for name in ("bela", "Bela"):
        assert save_details(signed_in(olga), person, username=name).status_code == 302
    assert User.objects.get(pk=person.pk).username == "Bela"


@pytest.mark.parametrize("way", ["create_user", "create_superuser"])
def test_the_manager_refuses_with_a_message(way: str, olga: User) -> None:
    with pytest.raises(ValidationError, match="looks like it"):
        getattr(User.objects, way)("оlga", password=PASSWORD)


def test_createsuperuser_refuses_with_a_message(olga: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    with pytest.raises(CommandError, match="looks like it"):
        call_command("createsuperuser", interactive=False, username="оlga", email="olga@example.org")


@pytest.mark.django_db
@pytest.mark.parametrize("password", ["short", "rootrootrootroot"])
def test_createsuperuser_takes_no_weak_password_without_a_terminal(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", password)
    with pytest.raises(CommandError, match="password"):
        call_command("createsuperuser", interactive=False, username="root", email="root@example.org")
    assert not User.objects.exists()
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", interactive=False, username="root", email="root@example.org", verbosity=0)
    assert User.objects.get().check_password(PASSWORD)


def _save(name: str) -> Any:
    person = make_person("bela")
    person.username = name
    person.save()


WAYS = {
    "save a new row": lambda name: User(username=name).save(),
    "save a changed row": _save,
    "bulk create": lambda name: User.objects.bulk_create([User(username=name)]),
    "update": lambda name: make_person("bela") and User.objects.filter(username="bela").update(username=name),
    "get or create": lambda name: User.objects.get_or_create(username=name),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_database_refuses_names_that_forms_and_managers_accept(way: str, olga: User) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        WAYS[way]("оlga")
    WAYS[way]("carol")


def test_the_first_account_has_no_other_to_look_like(db: None) -> None:
    code = sign_in.new_code()
    response = Client().post("/setup/", {"username": "ада", "password1": PASSWORD, "password2": PASSWORD, "code": code})
    assert response.status_code == 302 and User.objects.get().name_skeleton == skeleton("ада")
