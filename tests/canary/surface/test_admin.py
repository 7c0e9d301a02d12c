"""The admin pages: nobody changes the audit log, gives more permissions than they have, or takes over an account with more."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db import IntegrityError, transaction

from chatui.audit_log.record import Visitor, record
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.canary.asking import ADDRESS, client_for
from tests.canary.conftest import ADMIN_PERMISSIONS, World
from tests.chatui.audit_log.triggers import without_triggers
from tests.chatui.conftest import PASSWORD, make_person

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def permission(name: str) -> Permission:
    return Permission.objects.get(codename=name, content_type__app_label__in=("chatui", "auth"))


def form_of(person: User, **changes: object) -> dict[str, object]:
    """The change form of an account as a browser would send it back."""
    form: dict[str, object] = {
        "username": person.username,
        "first_name": "",
        "last_name": "",
        "email": "",
        "groups": [str(group.pk) for group in person.groups.all()],
        "user_permissions": [str(item.pk) for item in person.user_permissions.all()],
    }
    form |= {name: "on" for name in ("is_active", "is_staff") if getattr(person, name)}
    return form | changes


@pytest.fixture
def line(grace: User) -> AuditEvent:
    return record("debug page", Visitor(grace, ADDRESS, "page"))


@pytest.mark.parametrize(
    "path", ["/audit/", "/admin/chatui/auditevent/", "/admin/chatui/auditevent/add/", "/admin/chatui/auditevent/{line}/change/"]
)
def test_no_request_changes_the_audit_log_whatever_the_permissions(path: str, line: AuditEvent) -> None:
    """Not even a Django superuser, which this product never creates."""
    root = User.objects.create_superuser("root", password=PASSWORD)
    client = client_for(root)
    path = path.format(line=line.pk)
    before = list(AuditEvent.objects.values())
    assert client.get(path).status_code == (200 if path == "/audit/" else 404), "the premise: the admin pages have no separate list for it"
    tricks: list[dict[str, object]] = [
        {},
        {"action": "delete_selected", "_selected_action": str(line.pk), "post": "yes", "select_across": "1"},
        {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-0-id": str(line.pk), "form-0-action": "nothing", "_save": "Save"},
        {"action": "nothing happened", "number": "7", "code": "", "actor_name": "mallory", "post": "yes", "_save": "Save", "_popup": "1"},
    ]
    for trick in tricks:
        client.post(path, trick)
        client.generic("PUT", path, "x=y")
        client.delete(path)
    assert list(AuditEvent.objects.values()) == before


def test_audit_lines_cannot_be_updated_in_bulk_and_numbers_are_unique(line: AuditEvent) -> None:
    with pytest.raises(TypeError):
        AuditEvent.objects.filter(pk=line.pk).update(actor_name="mallory")
    with pytest.raises(TypeError):
        AuditEvent.objects.filter(pk=line.pk).delete()
    with without_triggers(), pytest.raises(IntegrityError), transaction.atomic():
        AuditEvent.objects.bulk_create([AuditEvent(number=line.number, at=line.at, action="x", way="x", previous_hash="", hash="")])


def test_a_deleted_account_leaves_its_lines_in_the_log(olga: User, line: AuditEvent) -> None:
    mallory = make_person("mallory")
    record("debug page", Visitor(mallory, ADDRESS, "page"), code="E-PERM-VISIBILITY")
    client_for(olga).post(f"/admin/chatui/user/{mallory.pk}/delete/", {"name": "mallory"})
    assert not User.objects.filter(username="mallory").exists(), "the premise: it was deleted"
    assert AuditEvent.objects.filter(actor_name="mallory", code="E-PERM-VISIBILITY").exists()


@pytest.mark.parametrize("query", ["folders__instructions__startswith=A", "folders__name=Work", "conversations__folder__name=Work"])
def test_no_filter_of_the_account_list_queries_what_people_wrote(query: str, world: World) -> None:
    client = client_for(world.people["admin"])
    assert client.get("/admin/chatui/user/").status_code == 200
    assert client.get(f"/admin/chatui/user/?{query}").status_code in (302, 400)


def test_the_opt_in_page_shows_nothing_of_somebody_elses_conversation(world: World) -> None:
    """Before the opt-in there is no line in the audit log, so the page shows none of the person's words either."""
    page = client_for(world.people["both"]).get(f"/c/{world.planted.conversation.pk}/debug/").content.decode()
    assert "Before you open this view" in page and "A visible title" not in page


def test_messages_turns_and_debug_requests_are_not_in_the_admin_pages() -> None:
    assert not {"Message", "Turn", "DebugRequest", "ActiveLeaf", "Folder", "FirstAccountCode", "Session", "LogEntry"} & {
        model.__name__ for model in admin.site._registry
    }


def test_staff_can_grant_permissions_they_hold(olga: User) -> None:
    other = make_person("other")
    client_for(olga).post(f"/admin/chatui/user/{other.pk}/change/", form_of(other, user_permissions=[str(permission("view_user").pk)]))
    assert other.user_permissions.get() == permission("view_user")


@pytest.mark.parametrize("name", ["view_hidden_channels", "view_any_conversation", "view_auditevent"])
@pytest.mark.parametrize("target", ["another", "oneself"])
def test_nobody_grants_a_permission_they_do_not_hold(name: str, target: str, olga: User) -> None:
    person = olga if target == "oneself" else make_person("other", staff=True)
    held = [str(item.pk) for item in person.user_permissions.all()]
    client = client_for(olga)
    client.post(f"/admin/chatui/user/{person.pk}/change/", form_of(person, user_permissions=[*held, str(permission(name).pk)]))
    group = Group.objects.create(name="more")
    group.permissions.add(permission(name))
    client.post(f"/admin/chatui/user/{person.pk}/change/", form_of(person, groups=[str(group.pk)]))
    own = Group.objects.create(name="own")
    own.permissions.add(permission("view_user"))
    client.post(
        f"/admin/auth/group/{own.pk}/change/", {"name": "own", "permissions": [str(permission("view_user").pk), str(permission(name).pk)]}
    )
    client.post("/admin/auth/group/add/", {"name": "new", "permissions": [str(permission(name).pk)]})
    client.post(f"/admin/chatui/user/{person.pk}/change/", form_of(person, groups=[str(own.pk)]))
    fresh = User.objects.get(pk=person.pk)
    assert not fresh.has_perm(f"chatui.{name}")


@pytest.mark.parametrize("field", ["is_superuser", "password", "last_login", "id"])
def test_fields_missing_from_the_form_cannot_be_sent(field: str, olga: User) -> None:
    other = make_person("other")
    before = getattr(other, field)
    client_for(olga).post(f"/admin/chatui/user/{other.pk}/change/", form_of(other, **{field: "1"}))
    other.refresh_from_db()
    assert getattr(other, field) == before


STATES = ["active", "deactivated", "no longer staff", "deactivated superuser"]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("way", ["password", "change", "delete"])
def test_nobody_takes_over_an_account_with_more_permissions(way: str, state: str, olga: User, grace: User) -> None:
    """A deactivated account has no permissions, until somebody gives it a new password and activates it again."""
    grace.is_active = "deactivated" not in state
    grace.is_staff = state != "no longer staff"
    grace.is_superuser = "superuser" in state
    grace.save()
    path = f"/admin/chatui/user/{grace.pk}/{way}/"
    sent: dict[str, object] = {
        "password1": "mallory's own word",
        "password2": "mallory's own word",
        "usable_password": "true",
        "post": "yes",
    }
    response = client_for(olga).post(path, form_of(grace, is_active="on", is_staff="on") | sent)
    assert response.status_code == 403
    grace.refresh_from_db()
    assert grace.check_password(PASSWORD) and grace.is_active == ("deactivated" not in state)


def test_nor_one_with_more_permissions_through_a_group(olga: User) -> None:
    group = Group.objects.create(name="debuggers")
    group.permissions.add(permission("view_hidden_channels"))
    for number, is_active in enumerate((True, False)):
        person = make_person(f"member{number}", staff=True)
        person.groups.add(group)
        User.objects.filter(pk=person.pk).update(is_active=is_active)
        person.refresh_from_db()
        for way in ("change", "password", "delete"):
            assert client_for(olga).post(f"/admin/chatui/user/{person.pk}/{way}/", form_of(person) | {"post": "yes"}).status_code == 403, (
                way
            )


def test_an_account_without_more_permissions_can_be_managed(olga: User) -> None:
    other = make_person("other", "view_user")
    User.objects.filter(pk=other.pk).update(is_active=False)
    client_for(olga).post(f"/admin/chatui/user/{other.pk}/change/", form_of(other, is_active="on"))
    page = client_for(olga).post(f"/admin/chatui/user/{other.pk}/password/")
    other.refresh_from_db()
    assert other.is_active and "/password/link/" in page.content.decode()


def test_group_managers_cannot_change_a_group_with_more_permissions(olga: User) -> None:
    """Saving it would silently remove the permissions that the form does not offer."""
    group = Group.objects.create(name="debuggers")
    group.permissions.add(permission("view_hidden_channels"))
    client_for(olga).post(f"/admin/auth/group/{group.pk}/change/", {"name": "debuggers", "permissions": []})
    assert group.permissions.get() == permission("view_hidden_channels")


def test_managing_accounts_gives_no_access_to_conversations(olga: User, world: World) -> None:
    client = client_for(olga)
    owner = world.people["owner"]
    assert owner is not None and set(ADMIN_PERMISSIONS) <= {name.partition(".")[2] for name in olga.get_all_permissions()}
    for path in ("change", "history", "delete"):
        page = client.get(f"/admin/chatui/user/{owner.pk}/{path}/").content.decode()
        assert "ada" in page and "A visible title" not in page and not world.canary.found(page)
    assert Conversation.objects.filter(owner=owner).exists()
