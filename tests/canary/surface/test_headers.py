"""Every response has the headers that restrict the browser, errors too; test_matrix.py looks at those of every route."""

import re

import pytest

from tests.canary.asking import client_for, open_view
from tests.canary.conftest import World

pytestmark = pytest.mark.django_db

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types chatui",
}
FRAMES = "frame-src 'self'"
WITH_FORMS = ("/invitation/", "/password/link/")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-DNS-Prefetch-Control": "off",
}


def wrong_with(response: object, path: str) -> list[str]:
    headers = response.headers  # type: ignore[attr-defined]
    # No other page must learn the address of a share or of an invitation.
    address = path.split(" ")[-1]
    secret = {"Referrer-Policy": "strict-origin" if address.startswith(WITH_FORMS) or address.endswith("/copy/") else "no-referrer"}
    expected = HEADERS | (secret if "X-Robots-Tag" in headers else {})
    found = [f"{path}: {name} is {headers.get(name)!r}" for name, value in expected.items() if headers.get(name) != value]
    if headers.get("Referrer-Policy") == "no-referrer" and not response.streaming and b"csrfmiddlewaretoken" in response.content:  # type: ignore[attr-defined]
        found.append(f"{path}: browsers post its form with a null origin, which is refused")
    policy = {directive.strip() for directive in headers.get("Content-Security-Policy", "").split(";")}
    shows_answers = path.endswith("?all=1") if response.streaming else b"data-diagram=" in response.content  # type: ignore[attr-defined]
    if (FRAMES in policy) == shows_answers:
        policy.discard(FRAMES)
    if policy != POLICY:
        found.append(f"{path}: the policy is {sorted(policy)}")
    if "no-store" not in headers.get("Cache-Control", ""):
        found.append(f"{path}: Cache-Control is {headers.get('Cache-Control')!r}")
    if "Permissions-Policy" not in headers or "Access-Control-Allow-Origin" in headers:
        found.append(f"{path}: Permissions-Policy is missing, or other origins are let in")
    return found


def test_the_diagram_document_has_no_origin_or_network_and_only_our_pages_frame_it(world: World) -> None:
    response = client_for(world.people["anonymous"]).get("/diagram/")
    policy = {directive.strip() for directive in response["Content-Security-Policy"].split(";")}
    (scripts,) = (directive for directive in policy if directive.startswith("script-src"))
    assert re.fullmatch("script-src 'nonce-[^' ]{20,}'", scripts)
    assert policy - {scripts} == {
        "default-src 'none'",
        "style-src 'self' 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
        "sandbox allow-scripts",
    }
    expected = HEADERS | {"X-Frame-Options": "SAMEORIGIN", "Cache-Control": "no-store"}
    assert {name: response[name] for name in expected} == expected


def test_the_service_worker_fetches_only_from_us_and_is_always_revalidated(world: World) -> None:
    response = client_for(world.people["anonymous"]).get("/sw.js")
    assert set(response["Content-Security-Policy"].split("; ")) == {"default-src 'none'", "connect-src 'self'"}
    expected = HEADERS | {"Cache-Control": "no-cache", "Content-Type": "text/javascript; charset=utf-8"}
    assert {name: response[name] for name in expected} == expected


def test_errors_before_any_view_have_the_headers_too(world: World) -> None:
    client = client_for(world.people["owner"])
    strict = client_for(world.people["owner"], enforce_csrf_checks=True)
    path = f"/c/{world.planted.conversation.pk}"
    answers = {
        "a host that is not ours": client.get(f"{path}/", headers={"host": "evil.example"}),
        "no token": strict.post(f"{path}/rename/"),
        "too large": client.post(f"{path}/rename/", {"title": "x" * 2_000_000}),
        "no such page": client.get("/nothing/"),
        "no slash": client.get(path),
        "method": client.get("/sign-out/"),
        "unknown method": client.generic("BREW", f"{path}/"),
    }
    assert sorted({response.status_code for response in answers.values()}) == [301, 400, 403, 404, 405, 413]
    wrong = [line for name, response in answers.items() for line in wrong_with(response, name)]
    assert not wrong, "\n".join(wrong)


def test_an_internal_error_has_the_headers_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("chatui.web.conversations.windows.latest", fail)
    response = client_for(world.people["owner"]).get(f"/c/{world.planted.conversation.pk}/")
    assert response.status_code == 500
    assert not wrong_with(response, "500")


def test_downloads_are_never_opened_inline(world: World) -> None:
    open_view(world)
    for name, place in (("owner", "download/"), ("both", "download/whole/")):
        response = client_for(world.people[name]).get(f"/c/{world.planted.conversation.pk}/{place}")
        assert response["Content-Disposition"].startswith("attachment;") and response["Content-Type"] == "text/plain; charset=utf-8"
