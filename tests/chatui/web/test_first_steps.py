"""The first page leads whoever installed the product to a model server and to other people, and nobody else."""

from __future__ import annotations

import pytest

from chatui.models.sign_in import Invitation
from chatui.models.user import User
from tests.chatui.conftest import make_person, signed_in
from tests.support.several import Configure
from tests.support.several import configure as configure

pytestmark = pytest.mark.django_db

CONNECT, INVITE = "Connect a model server", "Only you have an account here so far."
SERVER = '[[backend]]\nname="a"\nkind="chat"\nurl="http://127.0.0.1:9"\n'


def first_page(person: User) -> tuple[bool, bool]:
    page = signed_in(person).get("/").content.decode()
    return CONNECT in page, INVITE in page


def test_an_administrator_is_led_to_a_server_then_to_people(configure: Configure) -> None:
    olga = make_person("olga", "view_storedbackend", "add_storedbackend", "view_user", "add_user", staff=True)
    assert first_page(olga) == (True, False)
    configure(SERVER)
    assert first_page(olga) == (False, True)
    make_person("bela")
    assert first_page(olga) == (False, False)


def test_an_invitation_is_enough_to_be_no_longer_alone(configure: Configure) -> None:
    configure(SERVER)
    olga = make_person("olga", "view_user", "add_user", staff=True)
    assert first_page(olga) == (False, True)
    signed_in(olga).post("/manage/people/invite/", {"people": "bela@example.org", "days": "7"})
    assert Invitation.objects.exists() and first_page(olga) == (False, False)


ALL = ("view_storedbackend", "add_storedbackend", "view_user", "add_user")


@pytest.mark.parametrize(("permissions", "is_staff"), [((), False), (ALL, False), ((), True)])
def test_nobody_else_is_led_anywhere(permissions: tuple[str, ...], is_staff: bool, configure: Configure) -> None:
    person = make_person("ada", *permissions, staff=is_staff)
    assert first_page(person) == (False, False)
    configure(SERVER)
    assert first_page(person) == (False, False)
