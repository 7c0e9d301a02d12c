"""The page of one's API keys: a new key is shown once, and appears in no other page and no log."""

import re

import pytest
from django.test import Client

from chatui.models.audit import AuditEvent
from chatui.models.programs import ApiKey
from chatui.models.user import User
from tests.chatui.conftest import confirmed, make_person, signed_in
from tests.chatui.turns.calls.calling import fails, fetch
from tests.support import offering
from tests.support.staff_pages import page_of

pytestmark = pytest.mark.django_db

WANTED = {"name": "Nightly report", "formats": ["responses"], "lasts": "30", "per_minute": "7"}
KEY = re.compile(r'value="(cu_[a-z0-9]{8}_[A-Za-z0-9_-]{51})"')


def made_by(client: Client, **changes: object) -> str:
    page = client.post("/keys/", WANTED | changes).content.decode()
    found = KEY.search(page)
    assert found, page
    return found[1]


def test_a_key_is_made_shown_once_and_revoked(ada: User, caplog: pytest.LogCaptureFixture) -> None:
    client = confirmed(signed_in(ada))
    key = made_by(client)
    page = client.get("/keys/").content.decode()
    assert (
        key not in page and key[12:] not in page and f"{key[:11]}…" in page and "Nightly report" in page and "7 requests per minute" in page
    )
    row = ApiKey.objects.get()
    assert (row.owner, row.for_responses, row.for_chat, row.per_minute, row.choices) == (ada, True, False, 7, [])
    assert client.post(f"/keys/{row.pk}/revoke/").status_code == 302
    assert "You have no keys." in client.get("/keys/").content.decode()
    assert key[12:] not in caplog.text


def test_a_key_can_name_tools_that_need_no_approval(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = confirmed(signed_in(ada))
    offering.offer(monkeypatch, fetch, fails, tools_without_approval=["fetch"])
    page = client.get("/keys/").content.decode()
    assert 'value="fetch"' in page and 'value="fails"' not in page
    assert client.post("/keys/", WANTED | {"tools": ["fails"]}).status_code == 400
    made_by(client, tools=["fetch"])
    assert ApiKey.objects.get().tools == ["fetch"] and "Tools: fetch" in client.get("/keys/").content.decode()
    offering.offer(monkeypatch)
    assert 'name="tools"' not in client.get("/keys/").content.decode()


def test_an_admin_sees_everybodys_keys_and_revokes_one(ada: User, bela: User) -> None:
    key = made_by(confirmed(signed_in(ada)))
    admin = make_person("olga", "view_user", "change_user", staff=True)
    looker = make_person("luca", "view_user", staff=True)
    row = ApiKey.objects.get()
    for person in (admin, looker):
        for path in ("/manage/keys/", "/manage/keys/?q=ada", page_of(ada)):
            page = signed_in(person).get(path).content.decode()
            assert key[:11] in page and key[12:] not in page and row.digest not in page, path
    assert key[:11] not in signed_in(admin).get("/manage/keys/?q=bela").content.decode()
    assert signed_in(looker).post(f"/manage/keys/{row.pk}/revoke/").status_code == 404 and ApiKey.objects.get().revoked_at is None
    assert signed_in(admin).post(f"/manage/keys/{row.pk}/revoke/").status_code == 302 and ApiKey.objects.get().revoked_at is not None
    assert AuditEvent.objects.get(action="revoke somebody's API key").detail == key[:11]
    assert "Revoked" in signed_in(looker).get("/manage/keys/").content.decode()
