"""A certified provider, ``oidc-provider`` of npm, accepts what our scripted provider accepts."""

import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import User
from tests.chatui.accounts.conftest import configure, forget_providers, start_sign_in
from tests.chatui.conftest import make_person
from tests.support.places import ROOT
from tests.support.served import free_port
from tests.tools import process_groups
from tests.tools.node import program

pytestmark = [pytest.mark.served, pytest.mark.django_db]

PACKAGE = "oidc-provider@9.13.3"
PERSON = {
    "sub": "248289761001",
    "preferred_username": "j.doe",
    "email": "janedoe@example.com",
    "email_verified": False,
    "groups": ["/team/a,b"],
}
_START_SECONDS = 60.0


def installed() -> Path:
    """A directory with the package. Skips where it cannot be installed."""
    place, npm = ROOT / ".cache" / "openid_provider", program("npm")
    if npm is None or program("node") is None:
        pytest.skip("there is no Node.js with npm on this machine")
    place.parent.mkdir(exist_ok=True)
    with (place.parent / "openid_provider.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "installed").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place), PACKAGE]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
            if done.returncode:
                # The first lines; the last one says only where npm's log is.
                why = " ".join(line.removeprefix("npm error").strip() for line in done.stderr.splitlines()[:2])
                pytest.skip(f"the OpenID provider of npm cannot be installed here: {why}")
            (place / "installed").touch()
    return place


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The provider as a separate process."""
    script = installed() / "provider.mjs"
    shutil.copy(Path(__file__).parent / "openid_provider.mjs", script)
    port = free_port()
    variables = {"PATH": os.environ["PATH"], "PORT": str(port), "PERSON": json.dumps(PERSON)}
    address = f"http://127.0.0.1:{port}"
    table = {"key": "real", "name": "Real", "issuer": address, "client_id": "chatui", "client_secret": "a secret / with signs"}
    rules = {"scopes": ["openid", "profile", "email", "groups"], "groups": {"/team/a,b": "research"}, "enter_groups": ["/team/a,b"]}
    forget_providers()
    with process_groups.running([program("node") or "", str(script)], variables) as process:
        wait_for(address, process)
        configure(monkeypatch, table | rules)
        yield address


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            httpx.get(f"{address}/.well-known/openid-configuration").raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError("the provider did not start")


def signed_in_there(address: str, cookies: httpx.Cookies | None = None) -> str:
    """A browser at the provider: follows its redirects until they lead back here; the path and query there. It keeps ``cookies``."""
    with httpx.Client(cookies=cookies) as browser:
        for _ in range(10):
            answer = browser.get(address)
            assert answer.status_code in (302, 303), answer.text
            address = urljoin(address, answer.headers["Location"])
            if (parts := urlsplit(address)).netloc == "testserver":
                if cookies is not None:
                    cookies.update(browser.cookies)
                return f"{parts.path}?{parts.query}"
    raise AssertionError("the provider sends the browser round in circles")


def test_a_real_provider_signs_a_person_in(issuer: str) -> None:
    make_person("first")
    Group.objects.create(name="research")
    client = Client()
    back = signed_in_there(start_sign_in(client, "real", next="/search/"))
    assert client.get(back)["Location"] == "/search/" and client.get("/").status_code == 200
    person = User.objects.get(username="j.doe")
    assert person.email == "", "its signature is not verified"
    assert list(person.groups.values_list("name", flat=True)) == ["research"]
    assert OutsideIdentity.objects.get().subject == PERSON["sub"]
    assert Client().get(back).status_code == 400, "an answer belongs to its own browser"


def test_the_provider_refuses_a_used_code(issuer: str) -> None:
    make_person("first")
    client = Client()
    back = signed_in_there(start_sign_in(client, "real"))
    stored = client.session["single_sign_on"]
    assert client.get(back).status_code == 302
    again = Client()
    again.get("/sign-in/")
    session = again.session
    session["single_sign_on"] = stored
    session.save()
    again.cookies["chatui_session"] = session.session_key or ""
    answer = again.get(back)
    assert answer.status_code == 400 and "E-X-SIGN-IN-FAILED" in answer.content.decode()


def test_whoever_only_has_the_provider_is_asked_there_again(issuer: str) -> None:
    make_person("first")
    client, cookies = Client(), httpx.Cookies()
    assert client.get(signed_in_there(start_sign_in(client, "real"), cookies)).status_code == 302
    key = {"name": "A script", "formats": ["responses"], "per_minute": "60", "lasts": "never"}
    assert client.post("/keys/", key)["Location"] == "/sign-in/confirm/?next=/keys/", "the premise"
    back = signed_in_there(start_sign_in(client, "real", confirm="yes", next="/keys/"), cookies)
    assert client.get(back)["Location"] == "/keys/" and client.post("/keys/", key).status_code == 200
