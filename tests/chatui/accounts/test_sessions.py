"""The list of a person's sessions: what it shows, and what ends with a session."""

import re
from importlib import import_module
from io import StringIO
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client

from chatui.accounts.sessions import device_of
from chatui.models.audit import AuditEvent
from chatui.models.sign_in import BegunSession
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD, signed_in
from tests.support.cases import for_each
from tests.support.people import session_of

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0"


def sign_in_with_form(name: str, address: str = "192.0.2.1", agent: str = FIREFOX) -> Client:
    client = Client(REMOTE_ADDR=address, headers={"user-agent": agent})
    assert client.post("/sign-in/", {"username": name, "password": PASSWORD}).status_code == 302
    return client


def page_of(client: Client) -> str:
    return client.get("/sign-in/ways/").content.decode()


def person_behind(client: Client) -> User | None:
    found = session_of(client)
    return found.person if found else None


@pytest.mark.usefixtures("bela")
def test_a_person_sees_their_own_sessions_and_ends_one(ada: User) -> None:
    here, there, bela = sign_in_with_form("ada"), sign_in_with_form("ada", "192.0.2.2", "curl"), sign_in_with_form("bela", "192.0.2.3")
    page = page_of(here)
    assert "Firefox · Linux" in page and "this one" in page and "192.0.2.2" in page and "192.0.2.3" not in page
    ends = re.findall(r"/sign-in/sessions/[0-9a-f-]{36}/end/", page)
    assert len(ends) == 1, "nobody ends their current session here"
    assert person_behind(there) == ada, "the premise"
    assert bela.post(ends[0]).status_code == 404 and person_behind(there) == ada, "not by somebody else"
    assert here.post(ends[0]).status_code == 302
    assert person_behind(there) is None and there.get("/").status_code == 302
    assert here.get("/").status_code == 200 and bela.get("/").status_code == 200
    assert AuditEvent.objects.filter(action="end session", actor=ada).count() == 1
    assert here.post(ends[0]).status_code == 404 and here.post(f"/sign-in/sessions/{uuid4()}/end/").status_code == 404


def test_a_session_goes_on_in_the_version_before_and_after_until_its_person_is_deactivated(ada: User) -> None:
    client = sign_in_with_form("ada")
    [stored] = Session.objects.all()
    assert stored.get_decoded()[BACKEND_SESSION_KEY] == "django.contrib.auth.backends.ModelBackend", "which the version before knows"
    assert person_behind(client) == ada and client.get("/").status_code == 200
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert person_behind(client) is None and client.get("/").status_code == 302


def test_what_is_stored_of_a_session_opens_none(ada: User) -> None:
    client = sign_in_with_form("ada")
    key = client.cookies["chatui_session"].value
    [stored] = Session.objects.all()
    assert person_behind(client) == ada and stored.pk == BegunSession.objects.get().key != key, "the premise"
    assert key not in f"{stored.session_data}{stored.get_decoded()}"
    copied = Client()
    copied.cookies["chatui_session"] = stored.pk
    assert person_behind(copied) is None and copied.get("/").status_code == 302
    assert client.get("/").status_code == 200 and Session.objects.count() == 1


@pytest.mark.django_db(transaction=True)
async def test_the_store_finds_saves_and_deletes_a_session_also_asynchronously() -> None:
    kind = import_module(settings.SESSION_ENGINE).SessionStore
    store = kind()
    store["a"] = 1
    await store.acreate()
    key = store.session_key or ""
    again = kind(key)
    assert await again.aget("a") == 1 and await again.aexists(key)
    again["a"] = 2
    await again.asave()
    assert await Session.objects.acount() == 1 and await kind(key).aget("a") == 2
    await again.acycle_key()
    assert await kind(key).aget("a") is None and await kind(again.session_key).aget("a") == 2
    await again.adelete()
    assert await Session.objects.acount() == 0 and not await again.aexists(again.session_key or "")


@pytest.mark.usefixtures("bela")
def test_all_other_sessions_end_at_once_including_unlisted_ones(ada: User) -> None:
    here, there, unlisted, bela = sign_in_with_form("ada"), sign_in_with_form("ada"), signed_in(ada), sign_in_with_form("bela")
    assert BegunSession.objects.filter(user=ada).count() == 2, "the premise"
    here.post("/sign-in/sessions/end/")
    assert [client.get("/").status_code for client in (here, there, unlisted, bela)] == [200, 302, 302, 200]


@pytest.mark.slow
def test_nobody_can_flood_the_log_by_ending_sessions(ada: User) -> None:
    client = signed_in(ada)
    assert [client.post("/sign-in/sessions/end/").status_code for _ in range(40)] == [302] * 30 + [429] * 10
    assert client.post(f"/sign-in/sessions/{uuid4()}/end/").status_code == 429
    assert AuditEvent.objects.filter(action="end session").count() == 30


@pytest.mark.usefixtures("ada")
def test_a_new_password_keeps_the_session_in_the_list() -> None:
    here = sign_in_with_form("ada")
    new = {"old_password": PASSWORD, "new_password1": "quite another password", "new_password2": "quite another password"}
    assert here.post("/password/", new).status_code == 302
    assert "this one" in page_of(here)


@pytest.mark.usefixtures("ada")
def test_ended_sessions_are_not_listed_and_their_records_are_deleted() -> None:
    gone, here = sign_in_with_form("ada", "192.0.2.2"), sign_in_with_form("ada")
    gone.post("/sign-out/")
    assert "192.0.2.2" not in page_of(here)
    sign_in_with_form("ada")
    assert not BegunSession.objects.filter(address="192.0.2.2").exists()
    assert BegunSession.objects.count() == Session.objects.count() == 2
    here.post("/sign-out/")
    call_command("purge", stdout=StringIO())
    assert BegunSession.objects.count() == 1, "also of people who never come back"


@for_each(
    [
        (FIREFOX, "Firefox · Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140 Safari/537.36 Edg/140",
            "Edge · Windows",
        ),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 (KHTML) Version/18 Safari/604.1", "Safari · iPhone"),
        ("<script>alert(1)</script>", ""),
        ("", ""),
    ]
)
def test_devices(header: str, words: str) -> None:
    assert device_of(header) == words
