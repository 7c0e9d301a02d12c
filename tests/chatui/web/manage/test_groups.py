"""The admin pages of groups: requiring a second factor of members, who may do so, and the audit log of changes."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from chatui.accounts import people, second_factor
from chatui.models.audit import AuditEvent
from chatui.models.sign_in import RequiredFactor, SecondFactor
from chatui.models.user import User
from chatui.permissions import administration
from tests.chatui.conftest import PASSWORD, make_person, signed_in
from tests.support.environment import change
from tests.support.people import are_linked

pytestmark = pytest.mark.django_db

RIGHTS = ("view_user", "view_group", "change_group")


@pytest.fixture
def kim() -> User:
    """Staff who manage groups."""
    return make_person("kim", *RIGHTS, staff=True)


@pytest.fixture
def careful(ada: User, bela: User) -> Group:
    """A group with Ada and Bela, who has a second factor."""
    group = Group.objects.create(name="careful")
    group.user_set.add(ada, bela)
    factor = SecondFactor.objects.create(user=bela)
    SecondFactor.objects.filter(pk=factor.pk).update(confirmed_at=factor.user.date_joined)
    return group


def path_of(group: Group) -> str:
    return f"/manage/groups/{group.pk}/"


def demand(client: Client, group: Group, **fields: str) -> int:
    return client.post(path_of(group), {"required": "on"} | fields).status_code


def audit_lines() -> list[tuple[str, str, str]]:
    return list(AuditEvent.objects.order_by("number").values_list("action", "owner_name", "detail"))


def test_a_required_second_factor_is_requested_at_the_next_sign_in(kim: User, careful: Group, ada: User) -> None:
    client = signed_in(kim)
    page = client.get(path_of(careful)).content.decode().partition('id="members-heading"')[0]
    assert "Members who have none, and would have to set one up at their next sign-in:" in page
    assert "<bdi>ada</bdi>" in page and "<bdi>bela</bdi>" not in page
    assert "require one of others" in page, "a person without a factor is warned before"
    assert demand(client, careful) == 302
    assert audit_lines() == [("group changed", "group careful", "needs a second factor now")]
    assert second_factor.is_required(ada) and "Second factor required" in client.get("/manage/groups/").content.decode()
    assert [found.needs_second_factor for found in people.page("ada").object_list] == [True]
    browser = Client()
    assert browser.post("/sign-in/", {"username": "ada", "password": PASSWORD})["Location"] == "/sign-in/code/"
    assert demand(client, careful) == 302 and len(audit_lines()) == 1, "an unchanged state is not logged again"
    assert not are_linked(kim, ada)
    assert client.post(path_of(careful), {"required": "off"}).status_code == 302
    assert audit_lines()[-1] == ("group changed", "group careful", "needs no second factor any more")
    assert not second_factor.is_required(ada) and not RequiredFactor.objects.exists()
    assert are_linked(kim, ada), "somebody who removes the requirement could sign in with a password alone"


def test_staff_can_sign_out_members_without_one_and_nobody_else(kim: User, careful: Group, ada: User, bela: User) -> None:
    careful.user_set.add(kim)
    member, other_client, client = signed_in(ada), signed_in(bela), signed_in(kim)
    assert "You are one of them" in client.get(path_of(careful)).content.decode()
    assert demand(client, careful, sessions="on") == 302
    assert member.get("/").status_code == 302 and other_client.get("/").status_code == 200
    assert client.get(path_of(careful)).status_code == 200, "not their own session"
    assert [line[:2] for line in audit_lines()] == [("group changed", "group careful"), ("end session", "ada")]


def test_only_those_who_may_change_the_group_can_require_one(careful: Group) -> None:
    careful.permissions.set(Permission.objects.filter(codename="view_auditevent"))
    reader = make_person("reader", "view_user", "view_group", staff=True)
    lesser = make_person("lesser", *RIGHTS, staff=True)
    equal = make_person("equal", *RIGHTS, "view_auditevent", staff=True)
    outside = make_person("outside", "change_group", "view_group", staff=True)
    blind = make_person("blind", "view_user", staff=True)
    for person in (reader, lesser):
        client = signed_in(person)
        assert "You cannot change this group" in client.get(path_of(careful)).content.decode()
        assert demand(client, careful) == 404 and not RequiredFactor.objects.exists()
    for person in (outside, blind):
        client = signed_in(person)
        assert {client.get(path).status_code for path in ("/manage/groups/", path_of(careful))} == {404}
        assert demand(client, careful) == 404
    assert "/manage/groups/" not in signed_in(blind).get("/manage/people/").content.decode()
    assert demand(signed_in(equal), careful) == 302 and RequiredFactor.objects.exists()


def test_even_a_group_without_permissions_needs_the_permission_to_change(careful: Group) -> None:
    for person in (
        make_person("reader", "view_user", "view_group", staff=True),
        make_person("outside", "change_group", "view_group", staff=True),
        make_person("former", *RIGHTS),
    ):
        assert not administration.may_change_group(person, careful)
        assert demand(signed_in(person), careful) == 404 and not RequiredFactor.objects.exists()


def test_a_requirement_of_the_operator_cannot_be_changed_here(kim: User, careful: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"second_factor_groups": ["careful"]})
    page = signed_in(kim).get(path_of(careful)).content.decode()
    assert "CHATUI_SECOND_FACTOR_GROUPS" in page and "Stop requiring" not in page


def test_staff_sign_out_nobody_with_more_permissions(kim: User, careful: Group, ada: User) -> None:
    root = User.objects.create_superuser("root", password=PASSWORD)
    careful.user_set.add(root)
    member, root_client, client, words = signed_in(ada), signed_in(root), signed_in(kim), "stay signed in"
    assert words in client.get(path_of(careful)).content.decode()
    assert words not in root_client.get(path_of(careful)).content.decode(), "root may sign everybody out"
    assert demand(client, careful, sessions="on") == 302
    assert root_client.get("/settings/").status_code == 200 and member.get("/settings/").status_code == 302
    assert second_factor.is_required(root), "root is asked at the next sign-in"


def test_a_requirement_is_lifted_only_by_an_explicit_form(kim: User, careful: Group) -> None:
    client = signed_in(kim)
    assert demand(client, careful) == 302
    assert [client.post(path_of(careful), fields).status_code for fields in ({}, {"required": ""}, {"required": "no"})] == [404] * 3
    assert RequiredFactor.objects.filter(group=careful).exists()
    assert demand(client, careful, required="off") == 302 and not RequiredFactor.objects.exists()
