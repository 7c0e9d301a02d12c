"""Administration: nobody changes the audit log, gives more permissions than they have, or takes over an account with more."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import IntegrityError, transaction

from chatui.audit_log.record import Visitor, record
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import administration
from tests.canary.asking import ADDRESS, client_for
from tests.canary.conftest import ADMIN_PERMISSIONS, World
from tests.chatui.audit_log.triggers import without_triggers
from tests.chatui.conftest import PASSWORD, make_person
from tests.support.staff_pages import page_of, save_details, save_rights

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def permission(name: str) -> Permission:
    return Permission.objects.get(codename=name, content_type__app_label__in=("chatui", "auth"))


@pytest.fixture
def line(grace: User) -> AuditEvent:
    return record("debug page", Visitor(grace, ADDRESS, "page"))


@pytest.mark.parametrize("path", ["/audit/", "/manage/looks/"])
def test_no_request_changes_the_audit_log_whatever_the_permissions(path: str, line: AuditEvent) -> None:
    """Not even a Django superuser, which this product never creates."""
    root = User.objects.create_superuser("root", password=PASSWORD)
    client = client_for(root)
    before = list(AuditEvent.objects.values())
    assert client.get(path).status_code == 200, "the premise"
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


def test_no_words_about_people_search_what_they_wrote(world: World) -> None:
    """A list that can be searched by a column reveals the column, one letter at a time, without a line in the audit log."""
    client = client_for(world.people["admin"])
    everybody = client.get("/manage/people/").context["found"].paginator.count
    assert everybody > 3, "the premise"
    for query in ("?folders__instructions__startswith=A", "?conversations__title__startswith=A", "?show=conversations"):
        assert client.get(f"/manage/people/{query}").context["found"].paginator.count == everybody, query
    assert client.get("/manage/people/?q=A visible title").context["found"].paginator.count == 0


def test_the_opt_in_page_shows_nothing_of_somebody_elses_conversation(world: World) -> None:
    """Before the opt-in there is no line in the audit log, so the page shows none of the person's words either."""
    page = client_for(world.people["both"]).get(f"/c/{world.planted.conversation.pk}/debug/").content.decode()
    assert "Before you open this view" in page and "A visible title" not in page


def test_staff_can_grant_permissions_they_hold(olga: User) -> None:
    other = make_person("other")
    save_rights(client_for(olga), other, permissions=[permission("view_user").pk])
    assert other.user_permissions.get() == permission("view_user")


@pytest.mark.parametrize("name", ["view_hidden_channels", "view_any_conversation", "view_auditevent"])
@pytest.mark.parametrize("target", ["another", "oneself"])
def test_nobody_grants_a_permission_they_do_not_hold(name: str, target: str, olga: User) -> None:
    person = olga if target == "oneself" else make_person("other", staff=True)
    held = [item.pk for item in person.user_permissions.all()]
    client = client_for(olga)
    save_rights(client, person, permissions=[*held, permission(name).pk])
    group = Group.objects.create(name="more")
    group.permissions.add(permission(name))
    save_rights(client, person, groups=[group.pk])
    client.post("/manage/people/", {"what": "add", "group": str(group.pk), "person": str(person.pk)})
    client.post(f"/manage/groups/{group.pk}/", {"member": "in", "person": str(person.pk)})
    own = Group.objects.create(name="own")
    own.permissions.add(permission("view_user"))
    role = next(role.key for role in administration.ROLES if f"chatui.{name}" in role.permissions)
    for path, group_name in ((f"/manage/groups/{own.pk}/", "own"), ("/manage/groups/", "new")):
        client.post(path, {"name": group_name, "permissions": [permission("view_user").pk, permission(name).pk]})
        client.post(path, {"name": group_name, "roles": [role]})
    for row in Group.objects.exclude(pk=group.pk):
        save_rights(client, person, groups=[row.pk])
    fresh = User.objects.get(pk=person.pk)
    assert not fresh.has_perm(f"chatui.{name}")


@pytest.mark.parametrize("field", ["is_superuser", "password", "last_login", "id", "is_heir", "instructions"])
def test_fields_missing_from_the_form_cannot_be_sent(field: str, olga: User) -> None:
    other = make_person("other")
    before = getattr(other, field)
    save_details(client_for(olga), other, **{field: "1"})
    save_rights(client_for(olga), other, **{field: "1"})
    other.refresh_from_db()
    assert getattr(other, field) == before


STATES = ["active", "deactivated", "no longer staff", "deactivated superuser"]
WAYS = ("details", "groups", "password", "close", "open", "sessions", "factor", "key", "erase")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("way", WAYS)
def test_nobody_takes_over_an_account_with_more_permissions(way: str, state: str, olga: User, grace: User) -> None:
    """A deactivated account has no permissions, until somebody gives it a new password and activates it again."""
    grace.is_active = "deactivated" not in state
    grace.is_staff = state != "no longer staff"
    grace.is_superuser = "superuser" in state
    grace.save()
    before = User.objects.filter(pk=grace.pk).values().get()
    response = client_for(olga).post(page_of(grace, way), {"username": "mallory", "name": grace.username, "void": "yes", "is_staff": "on"})
    assert response.status_code == 404
    client_for(olga).post("/manage/people/", {"what": "open", "person": str(grace.pk)})
    assert User.objects.filter(pk=grace.pk).values().get() == before


def test_nor_one_with_more_permissions_through_a_group(olga: User) -> None:
    group = Group.objects.create(name="debuggers")
    group.permissions.add(permission("view_hidden_channels"))
    for number, is_active in enumerate((True, False)):
        person = make_person(f"member{number}", staff=True)
        person.groups.add(group)
        User.objects.filter(pk=person.pk).update(is_active=is_active)
        person.refresh_from_db()
        for way in WAYS:
            assert client_for(olga).post(page_of(person, way), {"name": person.username}).status_code == 404, way


def test_an_account_without_more_permissions_can_be_managed(olga: User) -> None:
    other = make_person("other", "view_user")
    User.objects.filter(pk=other.pk).update(is_active=False)
    client_for(olga).post(page_of(other, "open"))
    page = client_for(olga).post(page_of(other, "password"))
    other.refresh_from_db()
    assert other.is_active and "/password/link/" in page.content.decode()


def test_managing_accounts_gives_no_access_to_conversations(olga: User, world: World) -> None:
    client = client_for(olga)
    owner = world.people["owner"]
    assert owner is not None and set(ADMIN_PERMISSIONS) <= {name.partition(".")[2] for name in olga.get_all_permissions()}
    for way in ("", "close", "password", "erase"):
        page = client.get(page_of(owner, way)).content.decode()
        assert "ada" in page and "A visible title" not in page and not world.canary.found(page)
    assert Conversation.objects.filter(owner=owner).exists()
