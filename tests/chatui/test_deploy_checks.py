"""The results of ``manage.py check --deploy`` for Django's security middleware, of which the settings list a subclass."""

import re
import subprocess
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from django.conf import settings
from django.core.checks import Tags, run_checks
from django.db import connection
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.module_loading import import_string

from chatui.checks import CONNECTIONS_OF_PROCESS
from chatui.database import connections, pools
from chatui.env import Environment
from tests.services.databases import create_tables, own_server
from tests.support.deployments import process
from tests.support.environment import change
from tests.support.limits import limit
from tests.support.places import ROOT
from tests.support.served import Deployment
from tests.support.system_checks import said

MAX_CONNECTIONS = limit("chatui.database", "MAX_CONNECTIONS")


@pytest.mark.django_db
def test_https_without_a_trusted_proxy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def ids(**values: object) -> list[str | None]:
        change(monkeypatch, {"hosts": ["chat.example.org", "localhost"], "origins": [], "trusted_proxies": [], **values})
        return [message.id for message in said()]

    public = ["https://chat.example.org"]
    assert ids(origins=public) == ids(origins=["http://localhost:8000", *public]) == ["chatui.W063"]
    assert ids(origins=public, trusted_proxies=[ip_network("127.0.0.1/32")]) == []
    assert ids(origins=["http://localhost:8000"]) == ids() == [], "over HTTP nothing has to say so"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "wrong", "right", "identity"),
    [
        ("file_scanner", "/nope --quiet", "cat -", "W064"),
        ("secret_key", "short", "x" * 50, "W065"),
        ("search_url", "nonsense", "http://127.0.0.1:8080", "W066"),
        ("trusted_proxies", [ip_network("0.0.0.0/0")], [ip_network("10.0.0.0/8")], "W067"),
        ("hosts", ["*"], ["chat.example.org"], "W068"),
    ],
)
def test_a_setting_that_does_not_do_what_is_expected_is_said(
    name: str, wrong: object, right: object, identity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value, expected in ((wrong, {f"chatui.{identity}"}), (right, set())):
        change(monkeypatch, {"hosts": ["localhost"], "secret_key": "", name: value})
        found = said()
        assert {message.id for message in found} == expected
        assert all(str(wrong) not in str(message.msg) for message in found) or name == "hosts"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("url", "is_said"),
    [
        ("", False),
        ("redis://127.0.0.1:6379/0", False),
        ("rediss://someone:s3cret@redis.example.org:6380/0?ssl_ca_certs=/etc/ca.pem", False),
        ("redis://127.0.0.1:6379/0?ssl_ca_certs=/etc/ca.pem", True),
        ("rediss://:s3cret@127.0.0.1:6379/0?ssl_ca=/etc/ca.pem", True),
        ("redis://127.0.0.1:6379/0?socket_timeout=soon", True),
    ],
)
def test_an_unknown_option_of_redis_is_said(url: str, is_said: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"redis_url": url})
    found = said()
    assert [message.id for message in found] == ["chatui.E062"] * is_said and "s3cret" not in str(found)


def test_the_connections_of_a_process_are_those_of_its_pools() -> None:
    own = [each for each in vars(pools).values() if isinstance(each, pools.Pool)]
    writer_and_readiness = 2
    assert (
        sum(each._threads._max_workers for each in own) + writer_and_readiness + limit("chatui.database", "MAX_CONNECTIONS")
        == CONNECTIONS_OF_PROCESS
    )


@pytest.mark.django_db
@pytest.mark.parametrize(("allowed", "used", "is_said"), [(97, 59, True), (97, 58, False), (350, 311, False), (350, 312, True)])
def test_connections_that_the_server_has_not_left_are_said(allowed: int, used: int, is_said: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "postgresql")
    monkeypatch.setattr(connections, "of_server", lambda: (used + 1, allowed))
    found = said("W069")
    assert [message.id for message in found] == ["chatui.W069"] * is_said
    assert not is_said or f"allows {allowed} connections, of which {used} are open" in str(found[0].msg)


@pytest.mark.services
def test_the_connections_of_a_real_server_are_counted() -> None:
    with own_server() as server:
        with psycopg.connect(server.url, autocommit=True) as own:
            own.execute("ALTER SYSTEM SET max_connections = 45")
        server.stop()
        server.start()
        create_tables(server.url)
        with TemporaryDirectory() as place:
            deployment = Deployment(Path(place), CHATUI_DATABASE_URL=server.url)

            def said() -> str:
                return process.run(["manage.py", "check"], deployment.environment).stderr

            assert "W069" not in said()
            others = [psycopg.connect(server.url) for _ in range(5)]
            assert "(chatui.W069)" in said() and "allows 42 connections, of which 5 are open" in said()
            for each in others:
                each.close()


def test_the_example_of_settings_is_read_alike_by_a_shell_and_by_systemd() -> None:
    place = ROOT / "deploy/chatui.env.example"
    named = [line.lstrip("#") for line in place.read_text(encoding="utf-8").splitlines() if re.match("#?CHATUI_", line)]
    script = "set -aeu\n" + "\n".join(named) + "\nexec env"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True, env={})
    read = dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("CHATUI_"))
    assert not done.stderr and read == {name: value.strip("'") for name, value in (line.split("=", 1) for line in named)}
    assert Environment.of(read).usage_contact == "Ask it@example.org for more."


HTTPS = {"SECURE_HSTS_SECONDS": 31_536_000, "SECURE_SSL_REDIRECT": True, "CSRF_COOKIE_SECURE": True, "SESSION_COOKIE_SECURE": True}


def found() -> set[str | None]:
    return {message.id for message in run_checks(tags=[Tags.security], include_deployment_checks=True) if not message.is_silenced()}


def test_what_is_missing_for_https_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HTTPS:
        monkeypatch.setattr(settings, name, 0)
    assert found() == {"security.W004", "security.W008", "security.W010", "security.W016"}


def test_where_all_is_there_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in HTTPS.items():
        monkeypatch.setattr(settings, name, value)
    assert not {each for each in found() if each not in ("security.W005", "security.W021")}


@pytest.mark.parametrize("looked_for", [SecurityMiddleware, XFrameOptionsMiddleware, CsrfViewMiddleware])
def test_what_a_silenced_check_looks_for_is_there(looked_for: type) -> None:
    assert any(issubclass(import_string(middleware), looked_for) for middleware in settings.MIDDLEWARE)
