"""The admin pages: each part needs its permission, and every action is in the audit log."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.codes import Cause
from chatui.display import settings_in_force
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.invitations import Invitation
from chatui.models.message import Author
from chatui.models.passkeys import Passkey
from chatui.models.sign_in import SecondFactor
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access, debug_requests
from renderer.frames import Frame, Header
from tests.chatui.conftest import make_person, signed_in
from tests.support.messages import add_message
from tests.support.new_process import begin_anew

pytestmark = pytest.mark.django_db

PEOPLE = "/manage/people/"
PARTS = {
    "/manage/people/": "view_user",
    "/manage/servers/": "view_storedbackend",
    "/manage/failures/": "view_storedbackend",
    "/debug/requests/": "view_hidden_channels",
    "/manage/looks/": "view_auditevent",
    "/audit/": "view_auditevent",
    "/ratings/": "export_ratings",
    "/usage/everybody/": "view_usage",
    "/manage/settings/": "change_storedbackend",
    "/manage/system/": "change_storedbackend",
}
KEEPER = ("view_user", "add_user", "change_user")
HOSTILE = ("<b>bold</b>&amp;", "right\u202eto left", "x" * 150)


@pytest.fixture
def kim() -> User:
    """Staff who manage accounts."""
    return make_person("kim", *KEEPER, staff=True)


def failed_turn(owner: User, code: str = "E-X-BACKEND-SETUP", choice: str = "vllm/tiny") -> Turn:
    talk = Conversation.objects.create(owner=owner, title="Private title")
    question = add_message(talk, None, Frame(Header("user"), "Private question"), Author.PERSON)
    return Turn.objects.create(
        conversation=talk,
        question=question,
        asked_by=owner,
        client_id=uuid4(),
        state="failed",
        lease_until=timezone.now(),
        effort="low",
        choice=choice,
        error_code=code,
        error_detail="HTTP 401: SECRET",
        error_cause=Cause.KEY_REFUSED.log_text("HTTP 401, invalid_api_key"),
    )


def text_of(client: Client, path: str, **fields: str | int) -> str:
    answer = client.get(path, fields)
    assert answer.status_code == 200, path
    return str(answer.content.decode())


def log() -> list[tuple[str, str, str]]:
    return list(AuditEvent.objects.order_by("number").values_list("action", "owner_name", "detail"))


@pytest.mark.slow
def test_each_part_is_visible_only_with_its_permission() -> None:
    for number, (path, needed) in enumerate(PARTS.items()):
        holder = make_person(f"holder {number}", needed, staff=True)
        shown = {each for each in PARTS if signed_in(holder).get(each).status_code == 200}
        assert shown == {each for each, permission in PARTS.items() if permission == needed}, needed
        # Each page of Administration, not the first one alone, leads to every part that they may use and to no other.
        for page in ("/manage/", path):
            listed = text_of(signed_in(holder), page).partition('<nav id="manage-menu"')[2].partition("</nav>")[0]
            assert {each for each in PARTS if f'href="{each}"' in listed} == shown, page
        not_staff = make_person(f"not staff {number}", needed)
        assert [signed_in(not_staff).get(each).status_code for each in ("/manage/", path)] == [404, 404]


@pytest.mark.parametrize("what", ["groups", "sessions", "factor", "open", "close"])
def test_actions_need_the_change_permission_and_at_least_the_accounts_permissions(what: str, kim: User, ada: User, root: User) -> None:
    reader = make_person("reader", "view_user", "add_user", staff=True)
    mighty = make_person("mighty", "view_hidden_channels", staff=True)
    for staff, person in ((reader, ada), (ada, kim), (kim, root), (kim, mighty), (kim, kim)):
        assert signed_in(staff).post(f"{PEOPLE}{person.pk}/{what}/").status_code == 404, (staff, person)
    assert signed_in(kim).post(f"{PEOPLE}{uuid4()}/{what}/").status_code == 404
    assert AuditEvent.objects.count() == 0 and root.pk
    User.objects.filter(pk=ada.pk).update(is_active=what != "open")
    assert signed_in(kim).post(f"{PEOPLE}{ada.pk}/{what}/").status_code == 302
    for action in ("POST", "GET"):
        assert signed_in(kim).generic(action, f"{PEOPLE}{ada.pk}/nothing/").status_code in (404, 405)


def test_actions_need_a_csrf_token(kim: User, ada: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(kim)
    for what in ("groups", "sessions", "factor", "open", "close"):
        assert strict.post(f"{PEOPLE}{ada.pk}/{what}/").status_code == 403
    assert strict.post(f"{PEOPLE}invite/", {"people": "x", "days": 7}).status_code == 403
    assert AuditEvent.objects.count() == 0 and not Invitation.objects.exists()
    ada.refresh_from_db()
    assert ada.is_active


def test_groups_grant_and_revoke_the_debug_permission(ada: User, root: User) -> None:
    debuggers, others = (Group.objects.create(name=name) for name in ("debuggers", "others"))
    debuggers.permissions.set(Permission.objects.filter(codename="view_hidden_channels"))
    page = text_of(signed_in(root), f"{PEOPLE}{ada.pk}/")
    assert "See hidden channels in the debug view" in page
    at = f"{PEOPLE}{ada.pk}/groups/"
    assert signed_in(root).post(at, {"groups": [debuggers.pk, others.pk], "is_staff": "on"}).status_code == 302
    assert access.can_see_hidden(User.objects.get(pk=ada.pk))
    assert "May debug" in text_of(signed_in(root), PEOPLE, show="debug") and "ada" in text_of(signed_in(root), PEOPLE, show="debug")
    assert {("account changed", "ada", f"joined group {name}") for name in ("debuggers", "others")} <= set(log())
    assert ("account changed", "ada", "is staff now") in log()
    assert signed_in(root).post(at, {"groups": [others.pk]}).status_code == 302
    assert not access.can_see_hidden(User.objects.get(pk=ada.pk))
    assert ("account changed", "ada", "left group debuggers") in log()


def test_ten_people_are_invited_at_once(kim: User) -> None:
    names = [f"person{number}@example.org" for number in range(9)] + [HOSTILE[0]]
    answer = signed_in(kim).post(f"{PEOPLE}invite/", {"people": "\r\n".join([*names, "", names[0]]), "days": 7})
    page = answer.content.decode()
    assert Invitation.objects.count() == 10
    assert len(re.findall(r'<code class="manage-link" id="link-\d+">http://testserver/invitation/', page)) == 10
    assert HOSTILE[0] not in page
    assert [action for action, *_ in log()] == ["make invitation"] * 10
    listed = text_of(signed_in(kim), PEOPLE, show="invited")
    assert all(name in listed for name in names[:9]) and "/invitation/" not in listed
    row = Invitation.objects.first()
    assert row and signed_in(kim).post(f"{PEOPLE}invitations/{row.pk}/revoke/").status_code == 302
    row.refresh_from_db()
    assert row.revoked_at
    for wrong in ("\n".join(map(str, range(51))), "x" * 101, "a\u202eb", "  \n "):
        assert signed_in(kim).post(f"{PEOPLE}invite/", {"people": wrong, "days": 7}).status_code == 200
    assert Invitation.objects.count() == 10


def test_inviting_needs_the_permission_to_add_accounts(ada: User) -> None:
    reader = make_person("reader", "view_user", "change_user", staff=True)
    assert signed_in(reader).get(f"{PEOPLE}invite/").status_code == 404
    assert signed_in(reader).post(f"{PEOPLE}invite/", {"people": "x", "days": 7}).status_code == 404
    row = Invitation.objects.create(made_by=ada, expires_at=timezone.now() + timedelta(days=1))
    assert signed_in(reader).post(f"{PEOPLE}invitations/{row.pk}/revoke/").status_code == 404
    assert "invite/" not in text_of(signed_in(reader), PEOPLE)


def test_an_account_is_closed_after_a_confirmation_and_reopened(kim: User, ada: User) -> None:
    staff, member = signed_in(kim), signed_in(ada)
    assert "Its content is kept." in text_of(staff, f"{PEOPLE}{ada.pk}/close/")
    assert member.get("/").status_code == 200
    assert staff.post(f"{PEOPLE}{ada.pk}/close/").status_code == 302
    assert member.get("/").status_code == 302 and ("account closed", "ada", "by staff") in log()
    assert "ada" in text_of(staff, PEOPLE, show="closed") and "ada" not in text_of(staff, PEOPLE, show="active")
    assert staff.post(f"{PEOPLE}{ada.pk}/open/").status_code == 302
    ada.refresh_from_db()
    assert ada.is_active and ("account reopened", "ada", "") in log()


def test_sessions_and_a_second_factor_can_be_removed(kim: User, ada: User) -> None:
    signed_in(ada), signed_in(ada)
    SecondFactor.objects.create(user=ada, confirmed_at=timezone.now())
    assert "Second factor on" in text_of(signed_in(kim), f"{PEOPLE}{ada.pk}/")
    before = Session.objects.count()
    assert signed_in(kim).post(f"{PEOPLE}{ada.pk}/sessions/").status_code == 302
    assert Session.objects.count() == before + 1 - 2 and ("end session", "ada", "all 2, by staff") in log()
    assert signed_in(kim).post(f"{PEOPLE}{ada.pk}/factor/").status_code == 302
    assert not SecondFactor.objects.exists() and ("second factor removed", "ada", "") in log()


def statements(client: Client, path: str) -> int:
    begin_anew(connected)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


@pytest.mark.slow
def test_pages_take_as_many_statements_for_many_rows_as_for_few(ada: User, root: User) -> None:
    client = signed_in(root)
    debug_requests.open_debug_view(Visitor(root, "", "page"), failed_turn(ada).conversation_id, "a fault was reported")
    paths = ["/manage/", PEOPLE, f"{PEOPLE}?show=debug", "/manage/servers/", "/manage/failures/", "/manage/looks/", "/audit/"]
    few = [statements(client, path) for path in paths]
    group = Group.objects.create(name="many")
    for number in range(60):
        person = User.objects.create(username=f"person {number}")
        person.groups.add(group)
        turn = failed_turn(person, code=f"E-{number}")
        if number < 20:
            debug_requests.open_debug_view(Visitor(root, "", "page"), turn.conversation_id, "a fault was reported")
    cache.clear()
    assert [statements(client, path) for path in paths] == few
    assert max(few) < 40


def test_people_are_searchable_and_paged(root: User) -> None:
    names = {f"p{number:03}": str(number) for number in range(120)}
    User.objects.bulk_create(User(username=name, name_skeleton=key, folded_name_skeleton=key) for name, key in names.items())
    client = signed_in(root)
    first, last = text_of(client, PEOPLE), text_of(client, PEOPLE, page=3)
    assert "p000" in first and "p119" not in first and "3" in first and "p119" in last
    assert "p119" in text_of(client, PEOPLE, q="P119") and "p000" not in text_of(client, PEOPLE, q="P119")
    for odd in ("999999", "0", "-1", "x", "9" * 30):
        assert client.get(PEOPLE, {"page": odd, "q": "\0'\"%_"}).status_code == 200


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_escaped(name: str, root: User) -> None:
    person = User.objects.create(username=name, first_name="<script>", last_name="\u202eevil")
    Group.objects.create(name=f"<i>{name}"[:150]).user_set.add(person)  # type: ignore[attr-defined]
    turn = failed_turn(person, choice="<b>x</b>/y")
    debug_requests.open_debug_view(Visitor(root, "", "page"), turn.conversation_id, "<u>reason</u> with a tag")
    for path in (PEOPLE, f"{PEOPLE}{person.pk}/", f"{PEOPLE}{person.pk}/close/", "/manage/looks/", "/manage/failures/"):
        page = text_of(signed_in(root), path)
        assert not any(tag in page for tag in ("<b>bold", "<script>", "<i><", "<u>", "<b>x")), path


def test_access_notices_say_who_viewed_whose_conversation_and_why(ada: User, grace: User) -> None:
    turn = failed_turn(ada)
    debug_requests.open_debug_view(Visitor(grace, "192.0.2.1", "page"), turn.conversation_id, "an answer broke off")
    signed_in(grace).get(f"/c/{turn.conversation_id}/debug/")
    page = text_of(signed_in(grace), "/manage/looks/")
    assert "an answer broke off" in page and ">grace<" in page and ">ada<" in page and "so far" in page and "Private" not in page
    for other in ({"who": "nobody"}, {"whose": "grace"}):
        assert "an answer broke off" not in text_of(signed_in(grace), "/manage/looks/", **other)
    assert signed_in(grace).get("/manage/looks/", {"days": "x"}).status_code == 400


def test_settings_show_their_source_and_no_secret(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        name: f"SECRET-of-{name}-that-is-long-enough" for name in ("secret_key", "backend_key", "metrics_token", "file_key", "search_key")
    }
    changed = environment().model_copy(
        update={**secrets, "database_url": "postgres://me:SECRET@db/x", "sealing_keys_before": ["SECRET-of-old"]}
    )
    monkeypatch.setattr(settings_in_force, "environment", lambda: changed)
    monkeypatch.setenv("CHATUI_BIN_DAYS", "12")
    page = text_of(signed_in(root), "/manage/settings/")
    assert "SECRET-of" not in page and "me:SECRET" not in page and "postgres://…@db/x" in page and "from the environment" in page
    shown = {name: page.partition(f'id="{name}">')[2].partition("</li>")[0] for name in ("CHATUI_BIN_DAYS", "CHATUI_SHARE_MAX_DAYS")}
    assert ["from the environment" in row for row in shown.values()] == [True, False]
    assert "<span>set</span>" in page.partition('id="CHATUI_METRICS_TOKEN">')[2].partition("</li>")[0]


def test_the_page_of_updates_lists_pending_ones(root: User) -> None:
    newest = max(name for app, name in MigrationLoader(None).disk_migrations if app == "chatui")
    assert f"chatui.{newest}" not in text_of(signed_in(root), "/manage/system/")
    MigrationRecorder(connection).record_unapplied("chatui", newest)
    assert f"chatui.{newest}" in text_of(signed_in(root), "/manage/system/")
    assert "<strong>1</strong>" in text_of(signed_in(root), "/manage/")


@pytest.mark.parametrize(
    "value",
    [
        "redis://:hunter2@hunter2@cache/0",
        "redis://:hunter2/hunter2@cache/0",
        "redis://cache/0?password=hunter2",
        "postgres://me@db/x?sslmode=require&sslpassword=hunter2",
        "https://search.example.org/?api_key=hunter2&x=1",
        "http://one/,http://me:hunter2@two/",
        "subscription-key=hunter2&api-version=1",
        "https://store.example.org/x?X-Amz-Signature=hunter2",
    ],
)
def test_secret_parts_of_an_address_are_hidden(value: str, root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = environment().model_copy(update=dict.fromkeys(("redis_url", "backend_proxy", "backend_query"), value))
    monkeypatch.setattr(settings_in_force, "environment", lambda: changed)
    page = text_of(signed_in(root), "/manage/settings/")
    assert "hunter2" not in page and ("=…" in page or "…@" in page)


def test_the_only_sign_in_of_the_last_account_manager_cannot_be_removed(root: User) -> None:
    other = User.objects.create_superuser("other", password=None)
    Passkey.objects.create(user=other, name="x", site="localhost", credential_id=b"1", digest="1" * 64, public_key=b"1")
    User.objects.filter(pk=root.pk).update(password="!")
    staff = signed_in(User.objects.get(pk=root.pk))
    answer = staff.post(f"{PEOPLE}{other.pk}/factor/")
    assert answer.status_code == 409 and Passkey.objects.exists()
    assert ("account not changed", "other", "by staff: nobody else could look after accounts") in log()
