"""Every change of rights by staff, on any page of Administration, is in the audit log, in words, without secrets."""

import re
from collections.abc import Mapping

import pytest
from django.contrib.auth.models import Group, Permission
from django.db.models import Model
from django.test import Client

from chatui.audit_log.record import Visitor, record
from chatui.models.audit import AuditEvent
from chatui.models.model_servers import StoredBackend
from chatui.models.user import User
from chatui.permissions import administration
from tests.canary.asking import ADDRESS, client_for
from tests.canary.surface.test_admin import permission
from tests.chatui.conftest import PASSWORD, make_person, refuse_log
from tests.support.staff_pages import page_of, save_details, save_rights

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> User:
    """Has all permissions, so that nothing is refused; this product never creates such an account."""
    return User.objects.create_superuser("root", password=PASSWORD)


@pytest.fixture
def admin_pages(root: User) -> Client:
    return client_for(root)


def recorded(about: str) -> list[tuple[str, str]]:
    """The log's lines about an account or group, oldest first; each line is checked completely."""
    lines = list(AuditEvent.objects.filter(owner_name=about).order_by("number"))
    for line in lines:
        assert (line.way, line.actor_name, line.address, line.code, line.conversation_id) == ("admin", "root", ADDRESS, "", None)
    return [(line.action, line.detail) for line in lines]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"username": "another"}, "is called another now"),
        ({"first_name": "An", "last_name": "Other"}, "has the name An Other now"),
        ({"email": "other@example.org"}, "has another e-mail address now"),
    ],
)
def test_a_correction_of_an_account(changes: Mapping[str, str], expected: str, admin_pages: Client) -> None:
    assert save_details(admin_pages, make_person("other"), **changes).status_code == 302
    assert recorded("other") == [("account changed", expected)]


def test_staff_status_and_closing(admin_pages: Client) -> None:
    other = make_person("other")
    save_rights(admin_pages, other, is_staff="on")
    admin_pages.post(page_of(other, "close"))
    assert recorded("other") == [("account changed", "is staff now"), ("account closed", "by staff")]


def test_granted_and_revoked_permissions_are_logged_one_by_one_in_words(admin_pages: Client) -> None:
    other = make_person("other", "view_hidden_channels")
    save_rights(admin_pages, other, permissions=[permission(name).pk for name in ("view_auditevent", "view_any_conversation")])
    assert recorded("other") == [
        ("account changed", f"may now: {administration.DESCRIPTIONS['chatui.view_any_conversation']}"),
        ("account changed", f"may now: {administration.DESCRIPTIONS['chatui.view_auditevent']}"),
        ("account changed", f"may not any more: {administration.DESCRIPTIONS['chatui.view_hidden_channels']}"),
    ]


def test_groups_joined_and_left(admin_pages: Client) -> None:
    other = make_person("other")
    first, second = (Group.objects.create(name=name) for name in ("first", "second"))
    other.groups.add(first)
    save_rights(admin_pages, other, groups=[second.pk])
    assert recorded("other") == [("account changed", "joined group second"), ("account changed", "left group first")]


def test_a_new_account(admin_pages: Client) -> None:
    assert admin_pages.post("/manage/people/new/", {"username": "newcomer"}).status_code == 302
    assert recorded("newcomer") == [("account created", "")]


@pytest.mark.parametrize(("sent", "expected"), [({}, ""), ({"void": "yes"}, "the old password does not work any more")])
def test_a_password_link_is_logged_without_the_link(sent: Mapping[str, str], expected: str, admin_pages: Client) -> None:
    other = make_person("other")
    page = admin_pages.post(page_of(other, "password"), sent).content.decode()
    assert recorded("other") == [("make password link", expected)]
    token = page.partition("/password/link/")[2].split("/")[1]
    row = str(list(AuditEvent.objects.values()))
    assert len(token) == 48 and token not in row and "md5$" not in row


def test_deleting_one_account(admin_pages: Client) -> None:
    other = make_person("other", "view_auditevent", staff=True)
    key = other.pk
    assert admin_pages.post(page_of(other, "erase"), {"name": "other"}).status_code == 200
    assert not User.objects.filter(pk=key).exists()
    [(action, detail)] = recorded("other")
    assert action == "account erased" and detail.startswith(f"id {key}: 0 conversations, ") and not re.search(r" [1-9]", detail)


def test_a_group_from_creation_to_deletion(admin_pages: Client) -> None:
    words = administration.DESCRIPTIONS
    reads, opens = permission("view_auditevent"), permission("view_hidden_channels")
    assert admin_pages.post("/manage/groups/", {"name": "readers", "permissions": [str(reads.pk)]}).status_code == 302
    group = Group.objects.get()
    make_person("other").groups.add(group)
    admin_pages.post(f"/manage/groups/{group.pk}/", {"name": "readers", "permissions": [str(opens.pk)]})
    admin_pages.post(f"/manage/groups/{group.pk}/delete/")
    assert not Group.objects.exists()
    assert recorded("group readers") == [
        ("group created", ""),
        ("group changed", f"may now: {words['chatui.view_auditevent']}"),
        ("group changed", f"may now: {words['chatui.view_hidden_channels']}"),
        ("group changed", f"may not any more: {words['chatui.view_auditevent']}"),
        ("group deleted", f"members: 1, {words['chatui.view_hidden_channels']}"),
    ]


@pytest.mark.parametrize("way", ["details", "groups", "password", "erase", "new", "many", "group", "group is deleted"])
def test_without_an_audit_line_nothing_changes(way: str, admin_pages: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_person("other")
    group = Group.objects.create(name="group")
    ways: dict[str, tuple[str, dict[str, object]]] = {
        "details": (page_of(other, "details"), {"username": "another"}),
        "groups": (page_of(other, "groups"), {"is_staff": "on"}),
        "new": ("/manage/people/new/", {"username": "newcomer"}),
        "password": (page_of(other, "password"), {"void": "yes"}),
        "erase": (page_of(other, "erase"), {"name": "other"}),
        "many": ("/manage/people/", {"what": "close", "sure": "yes", "person": str(other.pk)}),
        "group": (f"/manage/groups/{group.pk}/", {"name": "group", "permissions": [str(permission("view_auditevent").pk)]}),
        "group is deleted": (f"/manage/groups/{group.pk}/delete/", {}),
    }

    def state() -> object:
        return list(User.objects.order_by("pk").values("username", "is_staff", "is_active", "password")), list(
            Group.objects.values("name", "permissions")
        )

    before = state()
    path, sent = ways[way]
    with monkeypatch.context() as patch:
        refuse_log(patch)
        assert admin_pages.post(path, sent).status_code == 500  # type: ignore[arg-type]
    assert state() == before
    assert admin_pages.post(path, sent).status_code in (200, 302)  # type: ignore[arg-type]
    assert state() != before, "the premise: what can be recorded is done"


def test_the_offered_permissions_are_exactly_the_effective_ones() -> None:
    there = {f"{row.content_type.app_label}.{row.codename}" for row in Permission.objects.select_related("content_type")}
    assert set(administration.DESCRIPTIONS) <= there
    opens = {f"chatui.{name}" for model in _models() for name, _ in model._meta.permissions}
    for model in (User, Group, StoredBackend):
        options = model._meta
        opens |= {f"{options.app_label}.{verb}_{options.model_name}" for verb in options.default_permissions}
    assert opens | {"chatui.view_auditevent"} == set(administration.DESCRIPTIONS)


def _models() -> list[type[Model]]:
    from django.apps import apps

    return list(apps.get_app_config("chatui").get_models())


def test_a_line_about_an_account_names_who_changed_whom(olga: User) -> None:
    other = make_person("other")
    save_rights(client_for(olga), other, permissions=[permission("view_user").pk])
    line = AuditEvent.objects.get()
    assert (line.actor, line.actor_name, line.owner_name, line.action) == (olga, "olga", "other", "account changed")
    assert record("premise", Visitor(olga, "", "page")).number == 2
