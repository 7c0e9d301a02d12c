"""Installing the product as an app: manifest, service worker and offline page have the operator's brand and no personal data."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.support.environment import change
from tests.support.places import ROOT

pytestmark = pytest.mark.django_db


def test_the_manifest_has_what_browsers_require(ada: User) -> None:
    response = Client().get("/manifest.webmanifest")
    assert response["Content-Type"] == "application/manifest+json"
    manifest = response.json()
    assert (manifest["start_url"], manifest["scope"], manifest["display"]) == ("/", "/", "standalone")
    assert (manifest["name"], manifest["theme_color"]) == ("chatui", "#0b6355")
    assert [(icon["sizes"], icon["purpose"]) for icon in manifest["icons"]] == [
        ("192x192", "any"),
        ("512x512", "any"),
        ("512x512", "maskable"),
    ]
    for icon in manifest["icons"]:
        data = (ROOT / icon["src"].lstrip("/")).read_bytes()
        assert "{}x{}".format(*struct.unpack(">II", data[16:24])) == icon["sizes"]
    page = Client().get("/sign-in/").content.decode()
    assert '<link rel="manifest" href="/manifest.webmanifest" crossorigin="use-credentials">' in page and "apple-touch-icon" in page


@pytest.mark.parametrize(
    ("name", "data", "icon"),
    [
        ("mark.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", ("any", "image/svg+xml")),
        ("mark.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 640), ("640x640", "image/png")),
    ],
)
def test_the_manifest_has_the_operators_name_icon_and_colour(
    name: str, data: bytes, icon: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ada: User
) -> None:
    (tmp_path / name).write_bytes(data)
    change(monkeypatch, {"name": "Harbour", "mark": tmp_path / name, "accent": "#aa0044"})
    manifest = Client().get("/manifest.webmanifest").json()
    assert (manifest["name"], manifest["short_name"], manifest["theme_color"]) == ("Harbour", "Harbour", "#aa0044")
    [found] = manifest["icons"]
    assert (found["sizes"], found["type"]) == icon
    assert Client().get(found["src"]).content == data
    page = Client().get("/sign-in/").content.decode()
    assert ("apple-touch-icon" in page) == (icon[1] == "image/png"), "iOS draws no SVG"


def test_the_worker_and_the_offline_page_are_the_same_for_everybody(ada: User, conversation: Conversation) -> None:
    User.objects.update(theme="dark", time_zone="Asia/Seoul")
    client = Client()
    client.force_login(ada)
    page = client.get(f"/c/{conversation.pk}/")
    assert page.status_code == 200 and b"Asia/Seoul" in page.content, "the premise: there is something to name"
    for path in ("/sw.js", "/offline/", "/manifest.webmanifest"):
        response = client.get(path)
        assert response.content == Client().get(path).content, path
        assert not response.cookies and b"ada" not in response.content and b"csrf" not in response.content


def test_the_offline_page_is_in_the_browsers_language() -> None:
    for asks, heading in (("de-DE", "Keine Verbindung"), ("ko", "연결 없음"), ("zh-CN", "没有连接"), ("fr", "No connection")):
        page = Client(headers={"accept-language": asks}).get("/offline/").content.decode()
        assert f"<h1>{heading}</h1>" in page, asks


def test_the_worker_is_short_and_caches_all_that_the_offline_page_loads(ada: User) -> None:
    script = Client().get("/sw.js").content.decode()
    assert len(script.splitlines()) <= 60
    shell = {path.encode().decode("unicode_escape") for path in re.findall(r'"([^"]+)"', script.split("SHELL = ", 1)[1].splitlines()[0])}
    page = Client().get("/offline/").content.decode()
    requested = {
        path for path in re.findall(r'(?:src|href)="(/static/[^"#]+)', page) if "/icons/favicon" not in path and "/icons/app" not in path
    }
    assert requested == shell


def test_a_disabled_worker_deletes_its_cache_and_no_page_registers_one(monkeypatch: pytest.MonkeyPatch, ada: User) -> None:
    client = Client()
    client.force_login(ada)
    assert "data-worker" in client.get("/").content.decode()
    change(monkeypatch, {"service_worker": False})
    script = Client().get("/sw.js").content.decode()
    assert "unregister" in script and "caches.delete" in script and "fetch" not in script
    assert "data-worker" not in client.get("/").content.decode()


def test_signing_out_clears_the_cache_and_redirects_to_the_sign_in_page(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    assert "data-signed-out" not in Client().get(settings.LOGIN_URL).content.decode()
    response = client.post("/sign-out/")
    assert response["Clear-Site-Data"] == '"cache"'
    assert "data-signed-out" in client.get(response["Location"]).content.decode()
