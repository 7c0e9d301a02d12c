"""Creating groups in the admin pages: by those who may add them, without permissions that they lack, and audited."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import Group, Permission

from chatui.accounts import groups
from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.permissions.access import NotFoundError
from tests.chatui.conftest import make_person, signed_in
from tests.support.environment import change

pytestmark = pytest.mark.django_db

PATH = "/manage/groups/"
RIGHTS = ("view_user", "view_group", "add_group")


def key_of(codename: str) -> int:
    return Permission.objects.get(codename=codename).pk


def test_a_group_is_created_with_permissions_of_its_creator() -> None:
    client = signed_in(make_person("kim", *RIGHTS, staff=True))
    page = client.get(PATH).content.decode()
    assert "Create group" in page and "See accounts on the admin pages" in page and "See hidden channels" not in page
    answer = client.post(PATH, {"name": " readers ", "permissions": [key_of("view_user")]})
    group = Group.objects.get()
    assert answer["Location"] == f"{PATH}{group.pk}/?done=changed" and group.name == "readers"
    assert [each.codename for each in group.permissions.all()] == ["view_user"]
    lines = list(AuditEvent.objects.order_by("number").values_list("action", "owner_name", "detail"))
    assert lines == [
        ("group created", "group readers", ""),
        ("group changed", "group readers", "may now: See accounts on the admin pages"),
    ]


@pytest.mark.parametrize("name", ["", "  ", "READERS", "a\u202eb", "x" * 151])
def test_an_invalid_or_taken_name_creates_no_group(name: str) -> None:
    Group.objects.create(name="readers")
    answer = signed_in(make_person("kim", *RIGHTS, staff=True)).post(PATH, {"name": name})
    assert answer.status_code == 200 and Group.objects.count() == 1 and "field-wrong" in answer.content.decode()


def test_nobody_gives_a_group_permissions_they_lack() -> None:
    client = signed_in(make_person("kim", *RIGHTS, staff=True))
    for codename in ("view_hidden_channels", "change_user", "add_message"):
        assert client.post(PATH, {"name": "lookers", "permissions": [key_of(codename)]}).status_code == 200
    assert not Group.objects.exists() and not AuditEvent.objects.filter(action="group created").exists()


def test_viewing_groups_does_not_allow_creating_them() -> None:
    client = signed_in(make_person("reader", "view_user", "view_group", "change_group", staff=True))
    assert "Create group" not in client.get(PATH).content.decode()
    assert client.post(PATH, {"name": "readers"}).status_code == 404 and not Group.objects.exists()


SIGN_IN = """
[[provider]]
key = "company"
name = "Example Ltd"
issuer = "https://login.example.org"
client_id = "chatui"
who_may_enter = "everybody"
groups = {"eng" = "engineers"}
"""


@pytest.mark.parametrize("page", [PATH, "/admin/auth/group/add/"])
def test_a_group_filled_by_sign_in_needs_the_permission_to_manage_members(
    page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its creator grants its permissions to everybody whom the sign-in service adds."""
    file = tmp_path / "sign-in.toml"
    file.write_text(SIGN_IN, encoding="utf-8")
    change(monkeypatch, {"sign_in_file": file})
    maker, keeper = make_person("kim", *RIGHTS, staff=True), make_person("kay", *RIGHTS, "change_user", staff=True)
    sent = {"name": "engineers", "permissions": [key_of("view_user")]}
    refused = signed_in(maker).post(page, sent)
    assert refused.status_code == 200 and "A sign-in service adds people to the group of this name," in refused.content.decode()
    with pytest.raises(NotFoundError):
        groups.create(Visitor(maker, "192.0.2.7", "admin"), "engineers", [])
    assert not Group.objects.exists() and not AuditEvent.objects.filter(action="group created").exists()
    assert signed_in(maker).post(page, sent | {"name": "others"}).status_code == 302, "the premise: any other name"
    assert signed_in(keeper).post(page, sent).status_code == 302 and Group.objects.filter(name="engineers").exists()


@pytest.mark.parametrize("name", ["READERS", "a\u202eb"])
def test_the_django_admin_refuses_confusable_names_too(name: str) -> None:
    Group.objects.create(name="readers")
    answer = signed_in(make_person("kim", *RIGHTS, staff=True)).post("/admin/auth/group/add/", {"name": name})
    assert "A group with this name already exists" in answer.content.decode() and Group.objects.count() == 1
