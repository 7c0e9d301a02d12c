"""Groups named in settings: missing ones are reported, existing ones cannot be renamed or deleted, and pages show what each grants."""

import logging
from pathlib import Path

import pytest
from django.contrib.auth.models import Group

from chatui import instructions
from chatui.accounts import groups as accounts_groups
from chatui.audit_log.record import Visitor
from chatui.models.model_servers import StoredBackend
from chatui.models.user import User
from chatui.permissions import shares
from chatui.permissions.access import NotFoundError
from tests.chatui.conftest import make_person, signed_in
from tests.support.environment import change
from tests.support.new_process import forget
from tests.support.staff_pages import save_rights
from tests.support.system_checks import said

pytestmark = pytest.mark.django_db

PATH = "/manage/groups/"

SETTINGS: dict[str, object] = {
    "second_factor_groups": ["writers"],
    "share_groups": ["writers", "gone"],
    "summary_groups": ["readers"],
    "group_answers_at_once": {"readers": 3},
    "tools": {"fetch": ("writers", "lost"), "clock": ("lost",)},
}


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Group]:
    """Two groups named in settings, and another one."""
    place = tmp_path / "groups.toml"
    place.write_text('[groups]\nreaders = "Never mention MARMALADE."\nghosts = "Boo."\n')
    forget(instructions)
    change(monkeypatch, SETTINGS | {"group_instructions_file": place})
    return [Group.objects.create(name=name) for name in ("readers", "writers", "free")]


@pytest.fixture
def boss(db: None) -> User:
    """A superuser."""
    User.objects.create_superuser("boss", password="correct horse battery")
    return User.objects.get(username="boss")


@pytest.mark.usefixtures("groups")
def test_missing_groups_are_reported_at_startup_by_check_and_on_the_pages(boss: User, caplog: pytest.LogCaptureFixture) -> None:
    expected = [("CHATUI_SHARE_GROUPS", "gone"), ("CHATUI_GROUP_INSTRUCTIONS_FILE", "ghosts"), ("CHATUI_TOOLS", "lost")]
    assert [(naming.setting, naming.group) for naming in accounts_groups.missing()] == expected
    with caplog.at_level(logging.WARNING):
        accounts_groups.log_missing()
    assert "CHATUI_SHARE_GROUPS names the group 'gone', which does not exist: it lets nobody create share links" in caplog.text
    assert [(problem.id, problem.msg.split(":")[0]) for problem in said("W018", "W052", "W054", "W058")] == [
        ("chatui.W058", setting) for setting, _ in expected
    ]
    for path in ("/manage/", "/manage/settings/"):
        page = signed_in(boss).get(path).content.decode()
        assert all(f"{setting} names the group “{group}”, which does not exist." in page for setting, group in expected)
        assert "MARMALADE" not in page


@pytest.mark.usefixtures("groups")
def test_staff_without_access_to_settings_are_not_told(boss: User) -> None:
    kim = make_person("kim", "view_user", "view_group", staff=True)
    assert "does not exist" not in signed_in(kim).get("/manage/").content.decode() and boss.is_superuser


def test_a_group_named_in_a_setting_cannot_be_renamed_or_deleted(groups: list[Group], boss: User) -> None:
    readers, _writers, free = groups
    client = signed_in(boss)
    refused = client.post(f"{PATH}{readers.pk}/", {"name": "pupils"})
    page = refused.content.decode()
    assert refused.status_code == 400 and "A setting refers to this group" in page
    assert all(name in page for name in ("CHATUI_SUMMARY_GROUPS", "CHATUI_GROUP_INSTRUCTIONS_FILE", "CHATUI_GROUP_ANSWERS_AT_ONCE"))
    assert client.post(f"{PATH}{readers.pk}/", {"name": "readers", "roles": ["audit"]}).status_code == 302, "anything else can be changed"
    assert "CHATUI_SUMMARY_GROUPS" in client.post(f"{PATH}{readers.pk}/delete/").content.decode()
    with pytest.raises(NotFoundError):
        accounts_groups.delete(Visitor(boss, "192.0.2.7", "admin"), readers.pk)
    assert Group.objects.filter(name="readers").exists()
    assert client.post(f"{PATH}{free.pk}/", {"name": "freed"}).status_code == 302
    assert client.post(f"{PATH}{free.pk}/delete/").status_code == 302
    assert not Group.objects.filter(pk=free.pk).exists()


def test_a_group_that_restricts_a_model_server_cannot_be_deleted(groups: list[Group], boss: User) -> None:
    free, row = groups[2], StoredBackend.objects.create(name="dear", url="http://127.0.0.1:9")
    row.groups.add(free)
    page = signed_in(boss).post(f"{PATH}{free.pk}/delete/").content.decode()
    assert "dear" in page and row.groups.get() == free, "without any group it would be everybody's"


def test_only_a_superuser_gives_a_group_with_members_a_name_from_settings(groups: list[Group], boss: User) -> None:
    kim, free = make_person("kim", "view_user", "view_group", "change_group", staff=True), groups[2]
    kim.groups.add(free)
    path = f"{PATH}{free.pk}/"
    assert "CHATUI_SHARE_GROUPS" in signed_in(kim).post(path, {"name": "gone"}).content.decode()
    free.refresh_from_db()
    assert free.name == "free" and not shares.may_share(kim)
    assert signed_in(kim).post(path, {"name": "freed"}).status_code == 302, "the premise: she may rename it"
    assert signed_in(boss).post(path, {"name": "gone"}).status_code == 302 and shares.may_share(kim)


@pytest.mark.parametrize("joins", [True, False])
def test_nobody_changes_their_own_groups(groups: list[Group], boss: User, joins: bool) -> None:
    _readers, writers, _free = groups
    kim = make_person("kim", "view_user", "change_user", "view_group", "change_group", staff=True)
    for person in (kim, boss):
        person.groups.set([] if joins else [writers])
        assert save_rights(signed_in(person), person, groups=[writers.pk] if joins else []).status_code == 404
        assert person.groups.filter(pk=writers.pk).exists() is not joins
    other = make_person("other")
    assert save_rights(signed_in(kim), other, groups=[writers.pk]).status_code == 302
    assert other.groups.get() == writers, "of others she decides"


def test_the_pages_of_groups_show_what_each_has_without_texts(groups: list[Group]) -> None:
    readers, writers, free = groups
    client = signed_in(make_person("kim", "view_user", "view_group", staff=True))
    has = ("May create share links", "Gets summaries of the thinking", "Has its own instructions for the model")
    for group, expected in ((readers, (False, True, True)), (writers, (True, False, False)), (free, (False, False, False))):
        page = client.get(f"/manage/groups/{group.pk}/").content.decode()
        assert tuple(words in page for words in has) == expected and "MARMALADE" not in page
    assert all(words in client.get("/manage/groups/").content.decode() for words in has)


def test_a_file_with_a_mistake_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    change(monkeypatch, {"group_instructions_file": tmp_path / "none.toml"})
    assert said("E053")
