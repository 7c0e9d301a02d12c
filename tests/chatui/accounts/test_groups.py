"""Who is admitted, and the groups that a provider manages."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission

from chatui.models.audit import AuditEvent
from chatui.models.user import User
from tests.chatui.accounts.conftest import configure, sign_in_with_provider
from tests.chatui.accounts.scripted_provider import ScriptedProvider

TABLE: dict[str, Any] = {"groups": {"/team/a": "research", "x,y": ["research", "tools"], "ops": "debuggers"}, "staff": ["ops"]}


@pytest.fixture
def groups(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three managed groups, and one that nobody outside knows."""
    configure(monkeypatch, provider.table(**TABLE))
    for name in ("research", "tools", "debuggers", "own"):
        Group.objects.create(name=name)


def names() -> set[str]:
    return set(User.objects.get(username="ada.l").groups.values_list("name", flat=True))


def details() -> list[str]:
    return list(AuditEvent.objects.filter(action="account changed").order_by("number").values_list("detail", flat=True))


@pytest.mark.usefixtures("groups")
def test_managed_groups_are_added_and_removed_and_others_stay(provider: ScriptedProvider) -> None:
    provider.person["groups"] = ["x,y", "x", "y", "own", "admin"]
    sign_in_with_provider(provider)
    assert names() == {"research", "tools"}, "by exact value, never split, never by a name of ours"
    User.objects.get(username="ada.l").groups.add(Group.objects.get(name="own"))
    provider.person["groups"] = ["/team/a"]
    sign_in_with_provider(provider)
    assert names() == {"research", "own"}
    provider.person["groups"] = ["x,y", "/team/a\0", "x\0"]
    sign_in_with_provider(provider)
    assert names() == {"research", "tools", "own"}, "a name that cannot be stored is that of no group, and says nothing of the others"
    provider.person["groups"] = []
    sign_in_with_provider(provider)
    assert names() == {"own"}, "an empty claim removes"
    assert details() == [
        "joined group research, says company",
        "joined group tools, says company",
        "left group tools, says company",
        "joined group tools, says company",
        "left group research, says company",
        "left group tools, says company",
    ]


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize("claim", [None, {"no": "list"}, [1, 2], 7])
def test_a_missing_or_unreadable_claim_changes_nothing_and_is_recorded(
    claim: object, provider: ScriptedProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.person["groups"] = ["/team/a"]
    sign_in_with_provider(provider)
    provider.person["groups"] = claim
    if claim is None:
        del provider.person["groups"]
    sign_in_with_provider(provider)
    assert names() == {"research"} and AuditEvent.objects.filter(action="groups not said").count() == 1
    assert "sent no groups of a person" in caplog.text and "ada.l" not in caplog.text


@pytest.mark.usefixtures("groups")
def test_staff_status_and_the_debug_permission_follow_a_group(provider: ScriptedProvider) -> None:
    Group.objects.get(name="debuggers").permissions.add(Permission.objects.get(codename="view_hidden_channels"))
    provider.person["groups"] = ["ops"]
    client, _ = sign_in_with_provider(provider)
    person = User.objects.get(username="ada.l")
    assert person.is_staff and person.has_perm("chatui.view_hidden_channels") and not person.is_superuser
    assert client.get("/manage/").status_code == 200
    provider.person["groups"] = ["something else"]
    sign_in_with_provider(provider)
    person = User.objects.get(username="ada.l")
    assert not person.is_staff and not person.has_perm("chatui.view_hidden_channels")
    assert client.get("/manage/").status_code == 404, "also in the session that was there before"
    assert "is staff now, says company" in details() and "is not staff any more, says company" in details()


def test_no_claim_makes_a_superuser(provider: ScriptedProvider) -> None:
    provider.person |= {"is_superuser": True, "is_staff": True, "groups": ["superuser"]}
    sign_in_with_provider(provider)
    person = User.objects.get(username="ada.l")
    assert not person.is_superuser and not person.is_staff


def test_groups_may_be_nested_in_objects(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    Group.objects.create(name="research")
    configure(monkeypatch, provider.table(groups_claim=["realm_access", "roles"], groups={"r": "research"}))
    provider.person["realm_access"] = {"roles": ["r", "x\0"]}
    sign_in_with_provider(provider)
    assert names() == {"research"}


@pytest.mark.parametrize(
    ("rule", "person", "enters"),
    [
        ({"enter_groups": ["staff"]}, {"groups": ["staff", "x"]}, True),
        ({"enter_groups": ["staff"]}, {"groups": ["x"]}, False),
        ({"enter_groups": ["staff"]}, {"groups": []}, False),
        ({"enter_groups": ["staff"]}, {}, False),
        ({"enter_domains": ["example.org"]}, {"email": "a@Example.org", "email_verified": True}, True),
        ({"enter_domains": ["example.org"]}, {"email": "a@example.org"}, False),
        ({"enter_domains": ["example.org"]}, {"email": "a@example.org", "email_verified": "false"}, False),
        ({"enter_domains": ["example.org"]}, {"email": "a@example.org@evil.example", "email_verified": True}, False),
        ({"enter_domains": ["example.org"]}, {"email": "a@sub.example.org", "email_verified": True}, False),
        ({"enter_domains": ["example.org"], "addresses_are_verified": True}, {"email": "a@example.org"}, True),
        ({"enter_domains": ["example.org"], "enter_groups": ["staff"]}, {"groups": ["staff"]}, False),
        ({"sign_up": False, "who_may_enter": "everybody"}, {}, False),
    ],
)
def test_who_is_admitted(
    rule: dict[str, Any], person: dict[str, Any], enters: bool, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, provider.table(**{"who_may_enter": "listed"} | rule))
    provider.person |= person
    client, answer = sign_in_with_provider(provider)
    assert answer.status_code == (302 if enters else 403) and User.objects.filter(username="ada.l").exists() == enters
    assert (client.get("/").status_code == 200) == enters
    if not enters:
        assert "E-X-SIGN-IN-REFUSED" in answer.content.decode()
