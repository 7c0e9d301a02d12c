"""Creating groups in the admin pages: by those who may add them, without permissions that they lack, and audited."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Group, Permission

from chatui.accounts import groups
from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.user import User
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
    assert "Create group" in page and "See accounts" in page and "See hidden channels" not in page
    answer = client.post(PATH, {"name": " readers ", "permissions": [key_of("view_user")]})
    group = Group.objects.get()
    assert answer["Location"].startswith(f"{PATH}{group.pk}/?done=") and group.name == "readers"
    assert "The group readers is created." in client.get(answer["Location"]).content.decode()
    assert [each.codename for each in group.permissions.all()] == ["view_user"]
    lines = list(AuditEvent.objects.order_by("number").values_list("action", "owner_name", "detail"))
    assert lines == [
        ("group created", "group readers", ""),
        ("group changed", "group readers", "may now: See accounts"),
    ]


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


def test_a_group_filled_by_sign_in_needs_the_permission_to_manage_members(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its creator grants its permissions to everybody whom the sign-in service adds."""
    file = tmp_path / "sign-in.toml"
    file.write_text(SIGN_IN, encoding="utf-8")
    change(monkeypatch, {"sign_in_file": file})
    maker, keeper = make_person("kim", *RIGHTS, staff=True), make_person("kay", *RIGHTS, "change_user", staff=True)
    sent = {"name": "engineers", "permissions": [key_of("view_user")]}
    refused = signed_in(maker).post(PATH, sent)
    assert refused.status_code == 200 and "A sign-in service adds people to the group of this name," in refused.content.decode()
    with pytest.raises(NotFoundError):
        groups.create(Visitor(maker, "192.0.2.7", "admin"), "engineers", [])
    assert not Group.objects.exists() and not AuditEvent.objects.filter(action="group created").exists()
    assert signed_in(maker).post(PATH, sent | {"name": "others"}).status_code == 302, "the premise: any other name"
    assert signed_in(keeper).post(PATH, sent).status_code == 302 and Group.objects.filter(name="engineers").exists()


KEEPER = (*RIGHTS, "change_group", "delete_group")


def codenames(group: Group) -> set[str]:
    return set(group.permissions.values_list("codename", flat=True))


def test_a_role_gives_all_of_its_permissions_and_single_ones_come_on_top() -> None:
    root = signed_in(User.objects.create_superuser("root"))
    sent = {"name": "helpers", "roles": ["people", "audit"], "permissions": [key_of("export_ratings")]}
    assert root.post(PATH, sent).status_code == 302
    group = Group.objects.get()
    accounts = {f"{verb}_{noun}" for verb in ("view", "add", "change", "delete") for noun in ("user", "group")}
    assert codenames(group) == accounts | {"view_auditevent", "export_ratings"}
    page = root.get(f"{PATH}{group.pk}/")
    form = page.context["form"]
    assert form.initial["roles"] == ["people", "audit"] and form.initial["permissions"] == [key_of("export_ratings")]
    text = page.content.decode()
    assert "Sees, invites, changes, closes and erases accounts" in text and "Erase accounts" in text, (
        "in one sentence, and singly in Details"
    )
    assert root.post(f"{PATH}{group.pk}/", {"name": "helpers", "permissions": [key_of("view_user")]}).status_code == 302
    assert codenames(group) == {"view_user"}, "a role that is not ticked any more is gone"


def test_a_role_is_offered_only_to_those_who_have_all_of_it() -> None:
    kim = signed_in(make_person("kim", *KEEPER, "view_hidden_channels", "view_any_conversation", staff=True))
    page = kim.get(PATH).content.decode()
    assert "May debug" in page and "Helps people" not in page and "Reads the audit log" not in page
    assert kim.post(PATH, {"name": "more", "roles": ["people"]}).status_code == 200 and not Group.objects.exists()
    assert kim.post(PATH, {"name": "lookers", "roles": ["debug"]}).status_code == 302, "the twin"


def test_nobody_changes_or_deletes_a_group_with_more_permissions_and_hidden_ones_stay() -> None:
    client, group = signed_in(make_person("kim", *KEEPER, staff=True)), Group.objects.create(name="lookers")
    group.permissions.add(key_of("view_hidden_channels"))
    assert client.post(f"{PATH}{group.pk}/", {"name": "others"}).status_code == 404
    assert client.post(f"{PATH}{group.pk}/delete/").status_code == client.get(f"{PATH}{group.pk}/delete/").status_code == 404
    group.permissions.set([key_of("view_user")])
    uncatalogued = Permission.objects.get(codename="view_permission")
    group.permissions.add(uncatalogued)
    User.objects.get(username="kim").user_permissions.add(uncatalogued)
    assert client.post(f"{PATH}{group.pk}/", {"name": "others"}).status_code == 302
    assert codenames(group) == {"view_permission"}, "what the form does not offer, it does not take"
    assert client.post(f"{PATH}{group.pk}/delete/").status_code == 302 and not Group.objects.exists()
    assert AuditEvent.objects.get(action="group deleted").owner_name == "group others"


def test_a_group_that_makes_the_last_account_manager_stays() -> None:
    keepers = Group.objects.create(name="keepers")
    keepers.permissions.set(Permission.objects.filter(codename__in=(*KEEPER, "change_user")))
    kim = make_person("kim", staff=True)
    kim.groups.add(keepers)
    for path, sent in ((f"{PATH}{keepers.pk}/", {"name": "keepers"}), (f"{PATH}{keepers.pk}/delete/", {})):
        answer = signed_in(kim).post(path, sent)
        assert answer.status_code == 409 and "nobody else could manage accounts" in answer.content.decode()
    assert codenames(keepers) == {*KEEPER, "change_user"}
    assert AuditEvent.objects.filter(action="group not changed", owner_name="group keepers").count() == 2
