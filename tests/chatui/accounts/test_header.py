"""Sign-in by a trusted proxy's header: who is trusted, and every attempt to forge the header."""

from pathlib import Path
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import Client

from chatui.accounts.header_sign_in import name_in
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD, make_person
from tests.support import sign_in_file
from tests.support.cases import for_each
from tests.support.environment import change

PROXY = "192.0.2.1"
RULE: dict[str, Any] = {"name": "X-Remote-User", "proxies": [PROXY], "secret": "hush"}
HUSH = (b"x-proxy-secret", b"hush")


@pytest.fixture(autouse=True)
def _configured(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """A proxy that signs people in, and somebody who has set the product up."""
    configure(monkeypatch)
    make_person("first")


def configure(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    sign_in_file.configure(monkeypatch, header=RULE | fields)


def get(client: Client, name: str | None = "ada.l", path: str = "/", peer: str = PROXY, **more: str) -> Any:
    headers = {"X-Proxy-Secret": "hush"} | ({"X-Remote-User": name} if name is not None else {}) | more
    return client.get(path, REMOTE_ADDR=peer, headers=headers)


def test_the_proxy_signs_people_in() -> None:
    client = Client()
    assert get(client).status_code == 200 and get(client, path="/sign-in/ways/").status_code == 200
    person = User.objects.get(username="ada.l")
    assert not person.has_usable_password() and not person.is_staff and not person.is_superuser
    assert AuditEvent.objects.filter(action="sign in", actor=person, detail="by header").count() == 1
    assert get(Client()).status_code == 200 and User.objects.count() == 2


def test_without_the_header_the_old_session_ends() -> None:
    client = Client()
    get(client)
    assert get(client, None).status_code == 302 and client.get("/").status_code == 302
    assert AuditEvent.objects.filter(action="sign out").count() == 1


def test_another_name_starts_another_session() -> None:
    client = Client()
    get(client)
    before = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert "bela.l" in get(client, "bela.l", "/").content.decode()
    assert client.cookies[settings.SESSION_COOKIE_NAME].value != before
    client.cookies[settings.SESSION_COOKIE_NAME] = before
    assert get(client, None).status_code == 302, "the previous one is signed out"


@pytest.mark.parametrize(
    ("name", "peer", "more"),
    [
        ("ada.l", "192.0.2.9", {}),
        ("ada.l", "192.0.2.9", {"X-Forwarded-For": PROXY}),
        ("ada.l, evil", PROXY, {}),
        ("", PROXY, {}),
        ("ada l", PROXY, {}),
        ("a" * 151, PROXY, {}),
        ("ada\u00e9", PROXY, {}),
        ("-ada", PROXY, {}),
        ("ada.l", PROXY, {"X-Proxy-Secret": "wrong"}),
    ],
)
def test_every_unexpected_header_is_refused(name: str, peer: str, more: dict[str, str]) -> None:
    client = Client()
    assert get(client, name, peer=peer, **more).status_code == 403
    assert get(client, None).status_code == 302 and User.objects.count() == 1
    assert AuditEvent.objects.filter(action="sign-in refused", detail__startswith="by header: ").count() == 1


def test_a_proxy_that_is_trusted_for_addresses_is_not_trusted_for_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer's own address counts, not the one that X-Forwarded-For makes of it."""
    from ipaddress import ip_network

    change(monkeypatch, {"trusted_proxies": [ip_network("192.0.2.7")]})
    assert get(Client(), peer="192.0.2.7", **{"X-Forwarded-For": PROXY}).status_code == 403
    assert get(Client()).status_code == 200, "the twin"


@for_each(
    [
        ("doubled", [(b"x-remote-user", b"ada"), (b"x-remote-user", b"evil")], PROXY),
        ("an underscore besides", [(b"x-remote-user", b"ada"), (b"x_remote_user", b"evil")], PROXY),
        ("an underscore alone", [(b"x_remote_user", b"ada")], PROXY),
        ("a comma", [(b"x-remote-user", b"ada,evil")], PROXY),
        ("a line break", [(b"x-remote-user", b"ada\n")], PROXY),
        ("a null", [(b"x-remote-user", b"ada\x00")], PROXY),
        ("the secret twice", [(b"x-remote-user", b"ada"), HUSH], PROXY),
        ("a forged address", [(b"x-remote-user", b"ada"), (b"x-forwarded-for", PROXY.encode())], "198.51.100.1"),
        ("no address", [(b"x-remote-user", b"ada")], ""),
        ("a path of a socket", [(b"x-remote-user", b"ada")], "/run/x.sock"),
    ]
)
def test_untrusted_headers_are_refused(what: str, lines: list[tuple[bytes, bytes]], peer: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        sign_in_file.only_rule(patch, RULE)
        with pytest.raises(sign_in_file.ForgedHeaderError):
            name_in([*lines, HUSH], peer)
        assert name_in([(b"X-Remote-User", b"ada"), HUSH], PROXY) == "ada", what
        assert name_in([(b"X-Remote-User", b"ada"), HUSH], f"::ffff:{PROXY}") == "ada"
        assert name_in([HUSH], "198.51.100.1") is None


def test_no_account_is_found_by_its_name() -> None:
    boss = make_person("boss", "view_auditevent", staff=True)
    client = Client()
    assert get(client, "boss").status_code == 200 and get(client, "boss", "/audit/").status_code == 404
    assert User.objects.filter(username="boss-2").exists() and not boss.outside_identities.exists()


def test_a_closed_account_and_a_superuser_are_refused() -> None:
    get(Client())
    client = Client()
    assert get(client).status_code == 200
    User.objects.filter(username="ada.l").update(is_active=False)
    assert get(client).status_code == 403 and get(Client()).status_code == 403
    User.objects.filter(username="ada.l").update(is_active=True, is_superuser=True)
    assert get(Client()).status_code == 403


def test_people_who_bypass_the_proxy_sign_in_with_a_password() -> None:
    client = Client()
    assert client.get("/healthz").status_code == 200 and client.get("/").status_code == 302
    assert client.post("/sign-in/", {"username": "first", "password": PASSWORD}).status_code == 302
    assert client.get("/").status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("lines", "peer", "opens"),
    [
        ([(b"x-remote-user", b"ada.l"), HUSH], PROXY, True),
        ([HUSH], PROXY, False),
        ([], "198.51.100.1", False),
        ([(b"x-remote-user", b"bela.l"), HUSH], PROXY, False),
        ([(b"x-remote-user", b"ada.l"), HUSH], "198.51.100.1", False),
    ],
)
async def test_a_socket_needs_the_header_as_well(lines: list[tuple[bytes, bytes]], peer: str, opens: bool) -> None:
    from chatui.asgi import application

    client = Client()
    await database_sync_to_async(get)(client)
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}".encode()
    headers = [(b"host", b"localhost:8000"), (b"origin", b"http://localhost:8000"), (b"cookie", cookie), *lines]
    socket = WebsocketCommunicator(application, "/ws/", headers=headers)
    socket.scope["client"] = (peer, 1)
    await socket.connect(timeout=30)
    if opens:
        assert await socket.receive_nothing(0.3)
    else:
        assert "E-X-SIGNED-OUT" in str(await socket.receive_output(10)) or (await socket.receive_output(10))["code"] == 4401
    await socket.disconnect()


@pytest.mark.parametrize(
    ("change_of", "problem"),
    [
        ({"secret": ""}, "a proxy on another machine needs a secret"),
        ({"proxies": []}, "list the addresses"),
        ({"name": "X_Remote_User"}, "name: string should match"),
        ({"secret_name": "X-Remote-User"}, "a header of its own"),
        ({"role_header": "X-Role"}, "there is no key 'role_header'"),
    ],
)
def test_mistakes_in_the_file(change_of: dict[str, Any], problem: str, tmp_path: Path) -> None:
    rule = RULE | change_of
    lines = "\n".join(f"{key} = {value!r}".replace("'", '"') for key, value in rule.items())
    (wrong := tmp_path / "wrong.toml").write_text(f"[header]\n{lines}\n")
    file = sign_in_file.read(wrong)
    assert file.header is None and problem in file.problems[0] and "hush" not in str(file.problems)
    (right := tmp_path / "right.toml").write_text('[header]\nname = "Remote-User"\nproxies = ["127.0.0.1"]\n')
    assert sign_in_file.read(right).header is not None, "this machine needs none"
