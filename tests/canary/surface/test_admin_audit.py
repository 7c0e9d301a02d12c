"""Every change of rights by staff, on any admin page, is in the audit log, in words, without secrets."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db.models import Model
from django.test import Client

from chatui.accounts import sign_in
from chatui.admin.records import GuardedAdmin
from chatui.audit_log.record import Visitor, record
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from chatui.permissions import administration
from tests.canary.asking import ADDRESS, client_for
from tests.canary.surface.test_admin import form_of, permission
from tests.chatui.conftest import PASSWORD, make_person

pytestmark = pytest.mark.django_db

NEW_PASSWORD = "correct horse staple"
PASSWORDS = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD, "usable_password": "true"}


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


def change(admin_pages: Client, person: User, **changes: object) -> None:
    form = {name: value for name, value in form_of(person, **changes).items() if value is not None}
    assert admin_pages.post(f"/admin/chatui/user/{person.pk}/change/", form).status_code == 302


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"is_staff": "on"}, ["is staff now"]),
        ({"is_active": None}, ["is not active any more"]),
        ({"username": "another"}, ["is called another now"]),
        ({"is_staff": "on", "is_active": None}, ["is staff now", "is not active any more"]),
        ({"email": "other@example.org"}, ["has another e-mail address now"]),
    ],
)
def test_a_change_of_account_flags(changes: Mapping[str, object], expected: list[str], admin_pages: Client) -> None:
    other = make_person("other")
    change(admin_pages, other, **changes)
    closed = [("account closed", "by staff")] if "is_active" in changes else []
    assert recorded("other") == closed + [("account changed", words) for words in expected]


def test_granted_and_revoked_permissions_are_logged_one_by_one_in_words(admin_pages: Client) -> None:
    other = make_person("other", "view_hidden_channels")
    change(admin_pages, other, user_permissions=[str(permission(name).pk) for name in ("view_auditevent", "view_any_conversation")])
    assert recorded("other") == [
        ("account changed", f"may now: {administration.DESCRIPTIONS['chatui.view_any_conversation']}"),
        ("account changed", f"may now: {administration.DESCRIPTIONS['chatui.view_auditevent']}"),
        ("account changed", f"may not any more: {administration.DESCRIPTIONS['chatui.view_hidden_channels']}"),
    ]


def test_groups_joined_and_left(admin_pages: Client) -> None:
    other = make_person("other")
    first, second = (Group.objects.create(name=name) for name in ("first", "second"))
    other.groups.add(first)
    change(admin_pages, other, groups=[str(second.pk)])
    assert recorded("other") == [("account changed", "joined group second"), ("account changed", "left group first")]


def test_saving_without_a_change_leaves_no_line(admin_pages: Client) -> None:
    change(admin_pages, make_person("other", "view_auditevent", staff=True))
    assert not AuditEvent.objects.exists()


def test_a_new_account(admin_pages: Client) -> None:
    assert admin_pages.post("/admin/chatui/user/add/", {"username": "newcomer"} | PASSWORDS).status_code == 302
    assert recorded("newcomer") == [("account created", "")]


@pytest.mark.parametrize(("sent", "expected"), [({}, ""), ({"void": "yes"}, "the old password does not work any more")])
def test_a_password_link_is_logged_without_the_link(sent: Mapping[str, str], expected: str, admin_pages: Client) -> None:
    other = make_person("other")
    page = admin_pages.post(f"/admin/chatui/user/{other.pk}/password/", sent).content.decode()
    assert recorded("other") == [("make password link", expected)]
    token = page.partition("/password/link/")[2].split("/")[1]
    row = str(list(AuditEvent.objects.values()))
    assert len(token) == 48 and token not in row and "md5$" not in row


def test_deleting_one_account(admin_pages: Client) -> None:
    other = make_person("other", "view_auditevent", staff=True)
    key = other.pk
    assert admin_pages.post(f"/admin/chatui/user/{key}/delete/", {"name": "other"}).status_code == 302
    assert not User.objects.filter(pk=key).exists()
    counted = "0 conversations, 0 folders, 0 messages, 0 turns, 0 files, 0 share links, 0 debug requests"
    assert recorded("other") == [("account erased", f"id {key}: {counted}")]


def test_accounts_cannot_be_deleted_in_bulk(admin_pages: Client) -> None:
    people = [make_person(f"person{number}") for number in range(3)]
    sent = {"action": "delete_selected", "_selected_action": [str(person.pk) for person in people], "post": "yes"}
    admin_pages.post("/admin/chatui/user/", sent)
    assert User.objects.filter(username__startswith="person").count() == 3 and not AuditEvent.objects.exists()


def test_a_group_from_creation_to_deletion(admin_pages: Client) -> None:
    words = administration.DESCRIPTIONS
    reads, opens = permission("view_auditevent"), permission("view_hidden_channels")
    assert admin_pages.post("/admin/auth/group/add/", {"name": "readers", "permissions": [str(reads.pk)]}).status_code == 302
    group = Group.objects.get()
    make_person("other").groups.add(group)
    admin_pages.post(f"/admin/auth/group/{group.pk}/change/", {"name": "readers", "permissions": [str(opens.pk)]})
    admin_pages.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"})
    assert not Group.objects.exists()
    assert recorded("group readers") == [
        ("group created", ""),
        ("group changed", f"may now: {words['chatui.view_auditevent']}"),
        ("group changed", f"may now: {words['chatui.view_hidden_channels']}"),
        ("group changed", f"may not any more: {words['chatui.view_auditevent']}"),
        ("group deleted", f"members: 1, {words['chatui.view_hidden_channels']}"),
    ]


def test_deleting_groups_in_bulk(admin_pages: Client) -> None:
    groups = [Group.objects.create(name=f"g{number}") for number in range(2)]
    admin_pages.post(
        "/admin/auth/group/", {"action": "delete_selected", "_selected_action": [str(group.pk) for group in groups], "post": "yes"}
    )
    assert not Group.objects.exists()
    assert [recorded(f"group g{number}") for number in range(2)] == [[("group deleted", "members: 0")]] * 2


@pytest.mark.parametrize("way", ["change", "add", "password", "delete", "delete many", "group"])
def test_without_an_audit_line_nothing_changes(way: str, admin_pages: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_person("other")
    group = Group.objects.create(name="group")
    ways: dict[str, tuple[str, Mapping[str, object]]] = {
        "change": (f"chatui/user/{other.pk}/change/", form_of(other, is_staff="on")),
        "add": ("chatui/user/add/", {"username": "newcomer"} | PASSWORDS),
        "password": (f"chatui/user/{other.pk}/password/", {"void": "yes"}),
        "delete": (f"chatui/user/{other.pk}/delete/", {"name": "other"}),
        "delete many": ("auth/group/", {"action": "delete_selected", "_selected_action": [str(group.pk)], "post": "yes"}),
        "group": (f"auth/group/{group.pk}/change/", {"name": "group", "permissions": [str(permission("view_auditevent").pk)]}),
    }

    def state() -> object:
        return list(User.objects.order_by("pk").values("username", "is_staff", "password")), list(
            Group.objects.values("name", "permissions")
        )

    def disk_is_full(*args: object, **kwargs: object) -> None:
        raise OSError("no space left")

    before = state()
    path, sent = ways[way]
    with monkeypatch.context() as patch:
        patch.setattr("chatui.audit_log.record._append", disk_is_full)
        assert admin_pages.post(f"/admin/{path}", sent).status_code == 500  # type: ignore[arg-type]
    assert state() == before
    assert admin_pages.post(f"/admin/{path}", sent).status_code == (200 if way == "password" else 302)  # type: ignore[arg-type]
    assert state() != before, "the premise: what can be recorded is done"


def test_the_admin_offers_meaningful_permissions_under_headings_in_words(admin_pages: Client) -> None:
    other = make_person("other")
    for page in (f"chatui/user/{other.pk}/change", "auth/group/add"):
        text = admin_pages.get(f"/admin/{page}/").content.decode()
        for heading, names in administration.GROUPS.items():
            assert heading in text
            assert all(words.partition(" (")[0] in text for words in names.values())
        assert "Can add message" not in text and "debug request" not in text and "active leaf" not in text


def test_the_offered_permissions_are_exactly_the_effective_ones() -> None:
    there = {f"{row.content_type.app_label}.{row.codename}" for row in Permission.objects.select_related("content_type")}
    assert set(administration.DESCRIPTIONS) <= there
    opens = {f"chatui.{name}" for model in _models() for name, _ in model._meta.permissions}
    for shown in admin.site._registry.values():
        if not isinstance(shown, GuardedAdmin):
            options = shown.model._meta
            opens |= {f"{options.app_label}.{verb}_{options.model_name}" for verb in options.default_permissions}
    assert opens | {"chatui.view_auditevent"} == set(administration.DESCRIPTIONS)


def _models() -> list[type[Model]]:
    from django.apps import apps

    return list(apps.get_app_config("chatui").get_models())


def test_the_first_account_gets_exactly_the_meaningful_permissions() -> None:
    sign_in.new_code()
    person = sign_in.create("first", PASSWORD)
    assert person is not None and person.get_all_permissions() == set(administration.DESCRIPTIONS)


def test_times_in_the_admin_are_labelled_utc(admin_pages: Client) -> None:
    other = make_person("other")
    client_for(other).get("/")
    page = admin_pages.get(f"/admin/chatui/user/{other.pk}/change/").content.decode()
    assert f"{other.date_joined:%-d %b %Y, %H:%M} UTC" in page


def test_the_admin_links_to_the_audit_log_for_those_permitted(admin_pages: Client, sam: User) -> None:
    assert 'href="/audit/"' in admin_pages.get("/admin/").content.decode()
    assert 'href="/audit/"' not in client_for(sam).get("/admin/").content.decode()


def test_a_line_about_an_account_names_who_changed_whom(olga: User) -> None:
    other = make_person("other")
    client_for(olga).post(f"/admin/chatui/user/{other.pk}/change/", form_of(other, user_permissions=[str(permission("view_user").pk)]))
    line = AuditEvent.objects.get()
    assert (line.actor, line.actor_name, line.owner_name, line.action) == (olga, "olga", "other", "account changed")
    assert record("premise", Visitor(olga, "", "page")).number == 2
