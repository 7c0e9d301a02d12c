"""Roles on a person's page: each in one click, Administrator after a page that says what it means, and never more than the giver has."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission

from chatui.models.audit import AuditEvent
from chatui.models.user import User
from chatui.permissions import administration
from tests.chatui.conftest import make_person, signed_in
from tests.support.html_text import collapsed

pytestmark = pytest.mark.django_db

ALL = tuple(name.partition(".")[2] for name in administration.DESCRIPTIONS)
PEOPLE = tuple(name for name in ALL if name.endswith(("_user", "_group")))


@pytest.fixture
def kim() -> User:
    """An administrator, as the first account is."""
    return make_person("kim", *ALL, staff=True)


def sent(staff: User, person: User, role: str, given: str = "on", **more: str) -> Any:
    return signed_in(staff).post(f"/manage/people/{person.pk}/role/", {"role": role, "given": given} | more)


def held(person: User) -> set[str]:
    return set(map(administration.name_of, person.user_permissions.select_related("content_type")))


def buttons(staff: User, person: User) -> dict[str, str]:
    page = collapsed(signed_in(staff).get(f"/manage/people/{person.pk}/").content.decode())
    rows = re.findall(r'id="role-(\w+)">.*?</span><span [^>]*>.*?</span>(.*?)</li>', page)
    return {key: re.sub(r"<[^>]*>", "", row).strip() for key, row in rows}


def test_each_role_is_given_and_taken_in_one_click(kim: User, ada: User) -> None:
    offered = {"administrator": "Give it…"} | {role.key: "Give it" for role in administration.ROLES}
    assert buttons(kim, ada) == offered
    for role in administration.ROLES:
        assert sent(kim, ada, role.key).status_code == 302
        ada.refresh_from_db()
        assert held(ada) == role.permissions and ada.is_staff, "it takes effect for staff only"
        assert buttons(kim, ada)[role.key] == "Take it away"
        assert sent(kim, ada, role.key, "off").status_code == 302 and not held(ada)
    assert buttons(kim, ada) == offered
    details = AuditEvent.objects.filter(action="account changed", owner_name="ada").values_list("detail", flat=True)
    assert "may now: Read and export the audit log" in details and "may not any more: Read and export the audit log" in details


def test_an_administrator_has_what_the_giver_has_after_a_page_that_says_so(kim: User, ada: User) -> None:
    asked = sent(kim, ada, "administrator")
    page = collapsed(unescape(asked.content.decode()))
    assert asked.status_code == 200 and not held(ada), "nothing is given yet"
    assert "hidden channels, where models write their reasoning, and the conversations of other people" in page
    assert all(role.sentence in page for role in administration.ROLES)
    assert sent(kim, ada, "administrator", sure="yes").status_code == 302
    ada = User.objects.get(pk=ada.pk)
    assert held(ada) == set(administration.DESCRIPTIONS) and ada.is_staff and not ada.is_superuser
    assert signed_in(ada).get("/manage/people/").status_code == 200
    assert sent(kim, ada, "administrator", "off").status_code == 302 and not held(ada)


def test_nobody_gives_more_than_they_have(kim: User, ada: User) -> None:
    helper = make_person("helper", *PEOPLE, staff=True)
    assert buttons(helper, ada) == {"people": "Give it"}, "all that they have is one role"
    assert [sent(helper, ada, key, sure="yes").status_code for key in ("administrator", "debug", "x", "")] == [404] * 4
    assert sent(helper, ada, "people", "maybe").status_code == 404 and not held(ada)
    half = make_person("half", *PEOPLE, "view_auditevent", "view_hidden_channels", staff=True)
    assert set(buttons(half, ada)) == {"administrator", "people", "audit"}
    page = sent(half, ada, "administrator").content.decode()
    assert "An administrator can open hidden channels" in page and "conversations of other" not in page
    assert sent(half, ada, "administrator", sure="yes").status_code == 302 and len(held(ada)) == len(PEOPLE) + 2
    assert sent(kim, kim, "people").status_code == 404 and sent(ada, kim, "people", "off").status_code == 404
    root = User.objects.create_superuser("root")
    other = make_person("other")
    assert sent(root, other, "administrator", sure="yes").status_code == 302
    other = User.objects.get(pk=other.pk)
    assert held(other) == set(administration.DESCRIPTIONS) and not other.is_superuser


def test_the_last_who_manages_accounts_keeps_the_role_and_a_role_of_a_group_is_not_taken_here(ada: User) -> None:
    root = User.objects.create_superuser("root", is_active=False)
    assert root.pk
    group = Group.objects.create(name="readers")
    group.permissions.set(Permission.objects.filter(codename="view_auditevent"))
    ada.groups.add(group)
    kim = make_person("kim", *ALL, staff=True)
    assert buttons(kim, ada)["audit"] == "Give it", "it has no effect for somebody who is not staff"
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    assert buttons(kim, ada)["audit"] == "given by a group"
    page = signed_in(kim).get(f"/manage/people/{ada.pk}/").content.decode()
    assert page.count('<details class="manage-details">') == 1, "single permissions are behind Details"
    Group.objects.all().delete()
    assert 'name="groups"' not in signed_in(kim).get(f"/manage/people/{ada.pk}/").content.decode(), "no heading without groups"
    assert signed_in(kim).post(f"/manage/people/{ada.pk}/groups/", {"is_staff": "on"}).status_code == 302


def test_a_superuser_ends_another_one_whose_groups_and_permissions_stay(root: User) -> None:
    other = make_person("other", "view_user", staff=True)
    other.groups.add(group := Group.objects.create(name="readers"))
    User.objects.filter(pk=other.pk).update(is_superuser=True)
    offered = f'action="/manage/people/{other.pk}/superuser/"'
    assert offered in signed_in(root).get(f"/manage/people/{other.pk}/").content.decode()
    assert signed_in(root).post(f"/manage/people/{other.pk}/superuser/").status_code == 302
    other.refresh_from_db()
    assert not other.is_superuser and other.is_staff and held(other) == {"chatui.view_user"} and [*other.groups.all()] == [group]
    assert offered not in signed_in(root).get(f"/manage/people/{other.pk}/").content.decode()
    assert AuditEvent.objects.filter(action="account changed", owner_name="other", detail="is not superuser any more").exists()


def test_nobody_else_ends_a_superuser_and_none_their_own(kim: User, root: User) -> None:
    for staff in (kim, root):
        assert signed_in(staff).post(f"/manage/people/{root.pk}/superuser/").status_code == 404
        assert "/superuser/" not in signed_in(staff).get(f"/manage/people/{root.pk}/").content.decode()
    root.refresh_from_db()
    assert root.is_superuser
