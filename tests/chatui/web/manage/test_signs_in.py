"""A tool server of Administration at which each person signs in as themselves: entered on the page, at a real provider."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from chatui.models.tools import StoredToolServer
from chatui.models.user import User
from chatui.tools import rules, stored_servers
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.web.manage.test_tool_servers import CONNECT, confirm_all, read
from tests.support import environment
from tests.support.tool_accounts import Place, answered, begun, call, connect, installed, provider
from tests.support.tool_sign_ins import NotSignedInError, begin, lying

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served, pytest.mark.slow]

SERVER = "/manage/tools/tool-servers/accounts/"
RIGHTS = ("view_tools", "connect_tools", "change_tools", "view_hidden_channels")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with provider() as url, installed(url, tmp_path, tools_file=None, tools_private_hosts=[urlsplit(url).netloc], tools={}) as found:
        yield found


def test_it_is_connected_confirmed_and_used_by_each_as_themselves(place: Place) -> None:
    staff, ada = make_person("grace", *RIGHTS, staff=True), make_person("ada")
    client = signed_in(staff)
    entered = {"name": "accounts", "url": f"{place.url}/mcp", "header": "Authorization", "signs_in": "on"}
    assert client.post(CONNECT, entered)["Location"].startswith(SERVER)
    assert "has not signed in there yet" in read(client, SERVER) and "Connect your own account" in read(client, SERVER)
    assert b"/settings/accounts/" in client.get("/settings/").content, "no operator's file is needed for it"
    client.get(answered(begun(client), "grace-there"))
    assert "whoami" in read(client, SERVER)
    client.post(SERVER, {"choose": "1", "tool": ["whoami"]})
    assert confirm_all(client).status_code == 302
    rules.forget_rows()

    connect(ada, "ada-there")

    assert "ada-there" in str(call(ada))
    before = place.state()["revoked"]
    connect(ada, "ada-there")
    place.wait_for_revocation(before)
    assert "ada-there" in str(call(ada)), "the new sign-in still counts"


@pytest.mark.django_db
def test_what_is_entered_of_a_client_is_sealed_kept_for_it_and_has_to_be_public() -> None:
    client = signed_in(make_person("grace", *RIGHTS, staff=True))
    entered = {"name": "tickets", "url": "https://tickets.example.org/mcp", "header": "Authorization", "signs_in": "on"}
    for wrong, sentence in (
        ({"issuer": "http://10.0.0.1/"}, "private network"),
        ({"client_id": "chat"}, "needs the address of the service"),
        ({"secret": "s3cret-of-the-client"}, "needs its client"),
        ({"key": "k"}, "no key for everybody"),
    ):
        answer = client.post(CONNECT, entered | wrong)
        assert answer.status_code == 400 and sentence in answer.content.decode()
    issuer = {"issuer": "https://login.example.org", "client_id": "chat"}
    assert client.post(CONNECT, entered | issuer | {"secret": "s3cret-of-the-client"}).status_code == 302
    row = StoredToolServer.objects.get()
    assert "s3cret" not in str(row.more)
    first = stored_servers.spec_of(rules.StoredServer.of(row))
    assert first.oauth and first.oauth.client_secret and first.oauth.client_secret.bare() == "s3cret-of-the-client"
    page = "/manage/tools/tool-servers/tickets/"
    assert client.post(page, entered | issuer).status_code == 302
    again = stored_servers.spec_of(rules.StoredServer.of(StoredToolServer.objects.get()))
    assert again.oauth == first.oauth and again.place == first.place, "as it was: nothing has to be confirmed again"
    client.post(page, entered | issuer | {"issuer": "https://evil.example.org"})
    moved = stored_servers.spec_of(rules.StoredServer.of(StoredToolServer.objects.get()))
    assert moved.oauth and moved.oauth.client_secret is None and moved.place != first.place


def test_what_staff_entered_opens_no_private_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with lying() as (there, _):
        with pytest.raises(NotSignedInError):
            begin(there.url, place="somewhere")
        assert not there.asked, "what its names resolve to is judged, as for any address"
        environment.change(monkeypatch, {"tools_private_hosts": [urlsplit(there.url).netloc]})
        assert begin(there.url, place="somewhere").issuer == there.url


@pytest.mark.django_db
def test_two_of_one_name_at_the_same_moment_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(make_person("grace", *RIGHTS, staff=True))
    entered = {"name": "tickets", "url": "https://tickets.example.org/mcp", "header": "Authorization"}
    assert client.post(CONNECT, entered).status_code == 302
    monkeypatch.setattr(stored_servers, "problems", lambda wanted, before: [])  # the other one came after the check
    answer = client.post(CONNECT, entered)
    assert answer.status_code == 400 and "already a tool server with this name" in answer.content.decode()
    assert StoredToolServer.objects.count() == 1 and User.objects.exists()
