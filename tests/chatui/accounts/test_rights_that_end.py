"""Rights end with their reason: what is left of somebody whom the operator no longer admits, or who never came back."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from chatui.accounts import account_linking, api_keys, key_admission, provider_groups
from chatui.accounts.api_keys import NewKeyOptions
from chatui.accounts.key_admission import KeyRefusedError
from chatui.accounts.sign_in_settings import Provider
from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Author
from chatui.models.shares import ShareLink
from chatui.models.sign_in import BegunSession, OutsideIdentity
from chatui.models.user import User
from renderer.frames import Frame, Header
from tests.chatui.accounts.conftest import configure, sign_in_with_provider
from tests.chatui.accounts.people import is_in
from tests.chatui.accounts.scripted_provider import ScriptedProvider, running
from tests.chatui.conftest import PASSWORD, signed_in
from tests.support.environment import change
from tests.support.messages import add_message

ADDRESS = "192.0.2.7"
TABLE = {"/chat": "people", "/chat/admins": ["people", "debuggers"]}
LISTING = {"who_may_enter": "listed", "enter_groups": ["/chat"], "enter_domains": ["example.org"]}


def new_key(person: User) -> str:
    return api_keys.create(
        Visitor(person, ADDRESS, "page"), NewKeyOptions(name="A script", for_responses=True, for_chat=True, days=None)
    ).text


def works(key: str) -> bool:
    try:
        key_admission.admit(key, ADDRESS)
    except KeyRefusedError:
        return False
    return True


def new_link(person: User) -> str:
    row = Conversation.objects.create(owner=person)
    leaf = add_message(row, None, Frame(Header("user"), "A question"), Author.PERSON)
    return ShareLink.objects.create(token="t" * 22, conversation=row, leaf=leaf, created_by=person).token


@pytest.fixture
def admitted(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The browser of Ada, whom her groups admit."""
    for name in ("people", "debuggers", "by hand"):
        Group.objects.create(name=name)
    configure(monkeypatch, provider.table(groups=TABLE, **LISTING))
    provider.person |= {"groups": ["/chat", "/chat/admins"], "email": "ada@example.org", "email_verified": True}
    return sign_in_with_provider(provider)[0]


@pytest.mark.parametrize(
    ("claims", "why"),
    [({"groups": ["/other"]}, "not in an admitted group"), ({"email": "ada@evil.example"}, "no verified address in an admitted domain")],
)
def test_whoever_may_no_longer_enter_keeps_nothing_from_the_provider_and_a_mistake_can_be_undone(
    claims: dict[str, object], why: str, admitted: Client, provider: ScriptedProvider
) -> None:
    ada = User.objects.get(username="ada.l")
    ada.groups.add(Group.objects.get(name="by hand"))
    ada.set_password(PASSWORD)
    ada.save()
    by_password, link, key = signed_in(ada), f"/s/{new_link(ada)}/", new_key(ada)
    admitted = sign_in_with_provider(provider)[0]
    assert works(key) and is_in(admitted) and Client().get(link).status_code == 200, "the premise"
    assert ada.group_names() == {"people", "debuggers", "by hand"}, "the premise"

    before = provider.person
    provider.person = before | claims
    assert sign_in_with_provider(provider)[1].status_code == 403
    assert not works(key) and not is_in(admitted) and Client().get(link).status_code == 404
    assert is_in(by_password), "another way in is untouched"
    assert ada.group_names() == {"by hand"} and User.objects.get(pk=ada.pk).is_active
    line = AuditEvent.objects.get(action="not admitted any more")
    assert (line.owner_name, line.detail) == ("ada.l", f"by company: {why}; 2 sessions ended, keys and share links rest")
    assert AuditEvent.objects.filter(action="sign-in refused", owner_name="ada.l", detail=f"by company: {why}").exists()
    assert AuditEvent.objects.filter(action="API key refused", detail__endswith="rests until the owner signs in").exists()
    assert sign_in_with_provider(provider)[1].status_code == 403
    assert AuditEvent.objects.filter(action="not admitted any more").count() == 1, "nothing more to take back"

    provider.person = before
    assert is_in(sign_in_with_provider(provider)[0])
    assert works(key) and Client().get(link).status_code == 200
    assert ada.group_names() == {"people", "debuggers", "by hand"}
    assert AuditEvent.objects.get(action="keys and links work again").owner_name == "ada.l"


def test_a_stranger_and_an_account_that_no_provider_opens_lose_nothing(admitted: Client, provider: ScriptedProvider) -> None:
    ada = User.objects.get(username="ada.l")
    key = new_key(ada)
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    before = provider.person
    provider.person = before | {"groups": []}
    assert sign_in_with_provider(provider)[1].status_code == 403
    provider.person = before | {"groups": [], "sub": "a stranger"}
    assert sign_in_with_provider(provider)[1].status_code == 403
    assert works(key) and is_in(admitted) and not AuditEvent.objects.filter(action="not admitted any more").exists()


def test_a_refused_identity_leaves_the_sessions_of_another_provider(
    admitted: Client, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = User.objects.get(username="ada.l")
    with running() as other:
        listing = {"who_may_enter": "listed", "enter_groups": ["/chat"]}
        configure(monkeypatch, provider.table(groups=TABLE, **listing), other.table(key="other", name="Other"))
        OutsideIdentity.objects.create(user=ada, issuer=other.issuer, subject="ada-1", provider="other")
        elsewhere = sign_in_with_provider(other, key="other")[0]
        provider.person |= {"groups": []}
        assert sign_in_with_provider(provider)[1].status_code == 403
        assert is_in(elsewhere) and not is_in(admitted)


@pytest.mark.parametrize("began", ["now", "with an older release"])
@pytest.mark.parametrize("ending", ["refused", "removed", "signed out there"])
def test_sessions_end_with_their_reason_also_when_the_provider_has_another_key(
    ending: str, began: str, admitted: Client, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "company"
    if began == "now":
        configure(monkeypatch, provider.table(key=(key := "firm"), groups=TABLE, **LISTING))
        sign_in_with_provider(provider, key=key)
    else:
        BegunSession.objects.update(way="by company")
    assert is_in(admitted), "the premise"
    match ending:
        case "refused":
            provider.person |= {"groups": []}
            assert sign_in_with_provider(provider, key=key)[1].status_code == 403
        case "removed":
            ada = User.objects.get(username="ada.l")
            ada.set_password(PASSWORD)  # not saved: a new password alone would end the session
            account_linking.remove_identity(Visitor(ada, ADDRESS, "page"), OutsideIdentity.objects.get().pk, None)
        case _:
            assert Client().post(f"/sign-in/with/{key}/logout/", {"logout_token": provider.logout_token()}).status_code == 200
    assert not is_in(admitted)


@pytest.mark.parametrize(
    ("what", "rests"),
    [("", True), ("a sign-in", False), ("a password", False), ("no limit", False), ("an account without sign-in", False)],
)
def test_keys_rest_when_only_a_provider_opens_the_account_and_has_not_for_long(
    what: str, rests: bool, admitted: Client, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = User.objects.get(username="ada.l")
    key = new_key(ada)
    long_ago = timezone.now() - timedelta(days=31)
    User.objects.filter(pk=ada.pk).update(last_login=timezone.now() - timedelta(days=29))
    assert works(key), "the premise"
    User.objects.filter(pk=ada.pk).update(last_login=long_ago)
    match what:
        case "a sign-in":
            sign_in_with_provider(provider)
        case "a password":
            User.objects.filter(pk=ada.pk).update(password=signed_password())
        case "no limit":
            change(monkeypatch, {"sign_in_file": "/no/such/file", "key_rest_days": 0})
        case "an account without sign-in":
            OutsideIdentity.objects.all().delete()
            User.objects.filter(pk=ada.pk).update(last_login=None, date_joined=long_ago)
    assert works(key) != rests


def signed_password() -> str:
    person = User(username="somebody")
    person.set_password(PASSWORD)
    return person.password


def test_a_provider_that_turned_somebody_away_gives_nothing_until_it_admits_them_however_else_they_sign_in(
    admitted: Client, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = User.objects.get(username="ada.l")
    ada.set_password(PASSWORD)
    ada.save()
    provider.person |= {"email": "ada@evil.example"}
    assert sign_in_with_provider(provider)[1].status_code == 403 and not ada.group_names(), "the premise"
    Client().post("/sign-in/", {"username": "ada.l", "password": PASSWORD})
    assert User.objects.get(pk=ada.pk).rests_since is None, "the password is another way in"
    for more in ({"/more": "people"}, {}):
        configure(monkeypatch, provider.table(groups=TABLE | more, **LISTING))
        provider_groups.apply_tables()
        assert not ada.group_names(), "a restart with another table"
    provider.person |= {"email": "ada@example.org", "groups": None}
    configure(monkeypatch, provider.table(groups=TABLE, who_may_enter="listed", enter_domains=["example.org"]))
    assert sign_in_with_provider(provider)[1].status_code == 302
    assert ada.group_names() == {"people", "debuggers"}, "the twin: admitted, and what was said last holds"


def test_what_another_provider_gives_stays_when_one_turns_somebody_away(
    admitted: Client, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, elsewhere = User.objects.get(username="ada.l"), "https://another.example.org"
    other = provider.table(key="another", issuer=elsewhere, groups={"/b": "by hand"})
    configure(monkeypatch, provider.table(groups=TABLE, **LISTING), other)
    visitor = Visitor(None, ADDRESS, "page")
    provider_groups.remember_giver(ada, Provider.model_validate(other))
    provider_groups.set_groups(visitor, ada, Provider.model_validate(other), frozenset({"/b"}))
    provider.person |= {"groups": []}
    assert sign_in_with_provider(provider)[1].status_code == 403
    configure(monkeypatch, provider.table(groups=TABLE, **LISTING), other | {"groups": {"/b": "by hand", "/c": "people"}})
    provider_groups.apply_tables()
    assert ada.group_names() == {"by hand"}
