"""The first account, signing in and out, and the protection of forms: throttles, CSRF tokens, redirects."""

import threading
import time
from collections import defaultdict

import pytest
from django.db import connection
from django.test import Client

from chatui.accounts import sign_in
from chatui.models.audit import AuditEvent
from chatui.models.user import FirstAccountCode, User
from tests.canary.asking import client_for
from tests.canary.surface.test_matrix import comparable
from tests.chatui.audit_log.triggers import without_triggers
from tests.chatui.conftest import PASSWORD


def new_account(name: str, code: str | None) -> dict[str, str]:
    return {"username": name, "password1": PASSWORD, "password2": PASSWORD, "code": code or ""}


@pytest.mark.django_db(transaction=True)
def test_of_two_simultaneous_setups_with_a_good_code_one_gets_the_account() -> None:
    codes = [sign_in.new_code() for _ in range(2)]
    start = threading.Barrier(4)
    answers: list[int] = []

    def set_up(number: int) -> None:
        try:
            client = client_for(None)
            start.wait(10)
            answers.append(client.post("/setup/", new_account(f"person{number}", codes[number % 2])).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=set_up, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    # After the codes are used up, a visitor sees that theirs is invalid.
    assert len(answers) == 4 and 302 in answers and set(answers) <= {200, 302}
    assert User.objects.count() == 1
    assert not FirstAccountCode.objects.exists()


@pytest.mark.django_db
def test_a_used_code_is_invalid_even_if_no_account_is_left() -> None:
    code = sign_in.new_code()
    assert client_for(None).post("/setup/", new_account("one", code))["Location"] == "/"
    assert AuditEvent.objects.get().action == "first account"
    with without_triggers():
        AuditEvent.objects.all()._raw_delete("default")  # the premise of the next step: a database without people
    User.objects.all().delete()
    assert sign_in.is_needed()
    page = client_for(None).post("/setup/", new_account("two", code))
    assert page.status_code == 200 and not User.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("code", ["", " ", "-", "----", "\x00", "0" * 64, "é"])
def test_a_wrong_code_makes_no_account(code: str) -> None:
    sign_in.new_code()
    client_for(None).post("/setup/", new_account("mallory", code))
    assert not User.objects.exists()


@pytest.mark.django_db
def test_while_guesses_are_throttled_a_good_code_looks_like_a_wrong_one() -> None:
    code = sign_in.new_code()
    client = client_for(None)
    for _ in range(10):
        client.post("/setup/", new_account("mallory", "AAAA-BBBB-CCCC-DDDD-EEEE"))
    wrong = "AAAA-BBBB-CCCC-DDDD-EEEF"
    assert code is not None
    answers = [comparable(client.post("/setup/", new_account("mallory", guess)), guess) for guess in (wrong, code)]  # type: ignore[arg-type]
    assert "Too many attempts" in answers[0] and answers[0] == answers[1]
    assert not User.objects.exists()


VARIANTS = ["ada", "ADA", " ada", "ada ", "  ada", "ａｄａ", "ａda", "\tada"]


@pytest.mark.django_db
def test_wrong_passwords_are_counted_per_account_however_its_name_is_typed(ada: User) -> None:
    client = client_for(None)
    for number in range(10):
        client.post("/sign-in/", {"username": VARIANTS[number % len(VARIANTS)], "password": "wrong"})
    for name in ("ada", *(" " * number + "ada" for number in (3, 4)), "aｄa"):
        page = client.post("/sign-in/", {"username": name, "password": PASSWORD})
        assert page.status_code == 429 and "Too many attempts" in page.content.decode(), repr(name)


@pytest.mark.slow
@pytest.mark.django_db
def test_many_other_names_do_not_reset_the_throttle(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "time", lambda: now)  # no wait ends because a busy machine takes long to be asked 320 times
    client = client_for(None)
    for _ in range(10):
        client.post("/sign-in/", {"username": "ada", "password": "wrong"})
    for number in range(320):
        client.post("/sign-in/", {"username": f"nobody{number}", "password": "x"})
    assert "Too many attempts" in client.post("/sign-in/", {"username": "ada", "password": PASSWORD}).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "place",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "https:/evil.example",
        "/\t/evil.example",
        "http://testserver@evil.example/",
        "http://testserver.evil.example/",
    ],
)
def test_signing_in_does_not_redirect_elsewhere(place: str, ada: User, grace: User) -> None:
    for sent in ({"next": place}, {}):
        client = client_for(None)
        response = client.post("/sign-in/", {"username": "ada", "password": PASSWORD} | sent, query_params={"next": place})
        assert response.status_code == 302 and "evil" not in response["Location"] and ":" not in response["Location"]
        again = client.get("/sign-in/", query_params={"next": place})
        assert again.status_code == 302 and "evil" not in again["Location"]


@pytest.mark.slow
@pytest.mark.django_db
def test_a_form_without_its_csrf_token_is_refused_on_every_route(ada: User, grace: User) -> None:
    from tests.canary.reviewed import ROUTES

    client = client_for(grace, enforce_csrf_checks=True)
    key = "0190a0a0-0000-7000-8000-000000000000"
    keys: defaultdict[str, str] = defaultdict(lambda: key, group="1", limit="1", price="1")
    refused = 0
    for ask in (ask for route in ROUTES for ask in route.asks if ask.method == "POST"):
        path = ask.path.format_map(keys)
        if path.startswith(("/v1/", "/scim/")) or path.endswith("/logout/"):
            continue  # for programs, whose key or token no browser sends by itself: a session has no effect there
        response = client.post(path, {"title": "x"})
        assert response.status_code == 403 and b"E-X-COMMAND" in response.content, path
        refused += 1
    assert refused > 15
    assert (
        client.post("/sign-in/", {"username": "ada", "password": PASSWORD}, headers={"accept": "application/json"}).json()["code"]
        == "E-X-COMMAND"
    )


@pytest.mark.django_db
def test_signing_in_renews_the_session_and_signing_out_ends_it(ada: User) -> None:
    client = client_for(None)
    client.cookies["chatui_session"] = "a" * 32
    client.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    key = client.cookies["chatui_session"].value
    assert key != "a" * 32 and client.get("/").status_code == 200
    cookie = client.cookies["chatui_session"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax"
    client.post("/sign-out/")
    thief = Client()
    thief.cookies["chatui_session"] = key
    assert thief.get("/").status_code == 302
