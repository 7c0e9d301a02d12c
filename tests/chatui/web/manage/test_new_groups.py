"""Groups are made on the administration pages by whoever may add them, with no permission that they do not have, and that is recorded."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission

from chatui.models import AuditEvent
from tests.chatui.conftest import make_person, signed_in

pytestmark = pytest.mark.django_db

PATH = "/manage/groups/"
RIGHTS = ("view_user", "view_group", "add_group")


def key_of(codename: str) -> int:
    return Permission.objects.get(codename=codename).pk


def test_a_group_is_made_with_permissions_of_its_maker() -> None:
    client = signed_in(make_person("kim", *RIGHTS, staff=True))
    page = client.get(PATH).content.decode()
    assert "Make the group" in page and "See accounts on the admin pages" in page and "See hidden channels" not in page
    answer = client.post(PATH, {"name": " readers ", "permissions": [key_of("view_user")]})
    made = Group.objects.get()
    assert answer["Location"] == f"{PATH}{made.pk}/?done=changed" and made.name == "readers"
    assert [each.codename for each in made.permissions.all()] == ["view_user"]
    lines = list(AuditEvent.objects.order_by("number").values_list("action", "owner_name", "detail"))
    assert lines == [
        ("group created", "group readers", ""),
        ("group changed", "group readers", "may now: See accounts on the admin pages"),
    ]


@pytest.mark.parametrize("name", ["", "  ", "READERS", "a\u202eb", "x" * 151])
def test_a_name_that_is_none_or_taken_makes_no_group(name: str) -> None:
    Group.objects.create(name="readers")
    answer = signed_in(make_person("kim", *RIGHTS, staff=True)).post(PATH, {"name": name})
    assert answer.status_code == 200 and Group.objects.count() == 1 and "field-wrong" in answer.content.decode()


def test_nobody_gives_a_group_what_they_do_not_have() -> None:
    client = signed_in(make_person("kim", *RIGHTS, staff=True))
    for codename in ("view_hidden_channels", "change_user", "add_message"):
        assert client.post(PATH, {"name": "lookers", "permissions": [key_of(codename)]}).status_code == 200
    assert not Group.objects.exists() and not AuditEvent.objects.filter(action="group created").exists()


def test_whoever_may_only_see_groups_makes_none() -> None:
    client = signed_in(make_person("reader", "view_user", "view_group", "change_group", staff=True))
    assert "Make the group" not in client.get(PATH).content.decode()
    assert client.post(PATH, {"name": "readers"}).status_code == 404 and not Group.objects.exists()
