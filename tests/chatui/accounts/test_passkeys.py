"""Sign-in with a passkey: the right one works, and any other is refused with the same message."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from chatui.accounts import passkeys
from chatui.limits import GuessLimit, Scope
from chatui.models.audit import AuditEvent
from chatui.models.sign_in import Passkey
from chatui.models.user import User
from tests.chatui.accounts.people import add, after_password, browser, enter, is_in, options, owned, sign_in
from tests.support.authenticator import EDDSA, ES256, RS256, Authenticator, encoded
from tests.support.environment import change

SENTENCE = b"This passkey did not work. Please try again, or choose another way."


def lines() -> list[tuple[str, str]]:
    return list(AuditEvent.objects.order_by("number").values_list("action", "detail"))


def refused(answer: Any, client: Any) -> None:
    """The same answer, and the same page behind it, for whatever was wrong."""
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/?passkey-refused=")
    assert SENTENCE in client.get(answer["Location"]).content and not is_in(client)


@pytest.mark.parametrize("algorithm", [ES256, EDDSA, RS256])
def test_a_passkey_alone_signs_in_with_every_kind_of_key(ada: User, algorithm: int) -> None:
    device = owned(ada, Authenticator(algorithm))
    client = browser()
    request_options = options(client, "sign-in")
    assert (
        request_options["rpId"] == "localhost"
        and request_options["userVerification"] == "required"
        and not request_options.get("allowCredentials")
    )
    device.count += 1
    answer = enter(client, device.use(request_options), next="/search/")
    assert (answer.status_code, answer["Location"]) == (302, "/search/") and is_in(client)
    assert lines()[-1] == ("sign in", "with a passkey")
    row = Passkey.objects.get()
    assert (row.sign_count, bool(row.last_used_at)) == (1, True)


def test_a_passkey_without_a_counter_can_be_used_again(ada: User) -> None:
    device = owned(ada)
    for _ in range(2):
        client = browser()
        enter(client, device.use(options(client, "sign-in")))
        assert is_in(client)


def _change(name: str, value: Any) -> Callable[[Authenticator], None]:
    return lambda device: setattr(device, name, value)


WRONG: dict[str, tuple[Callable[[Authenticator], None], str]] = {
    "another origin": (_change("origin", "https://evil.example"), "not valid"),
    "another port": (_change("origin", "http://localhost:81"), "not valid"),
    "another site": (_change("host", "evil.example"), "not valid"),
    "a frame of another site": (_change("cross_origin", True), "in a frame of another site"),
    "made and not used": (_change("kind", "webauthn.create"), "of another ceremony"),
    "nobody there": (_change("is_present", False), "not valid"),
    "nobody who was asked for": (_change("is_verified", False), "not valid"),
    "an unknown passkey": (_change("credential_id", b"x" * 32), "unknown"),
    "another person": (_change("handle", b"y" * 16), "of another account"),
    "no person": (_change("handle", b""), "of another account"),
    "another key": (lambda device: device.__post_init__(), "not valid"),
    "a count that does not increase": (_change("count", 5), "its counter did not increase, so there may be a copy"),
    "a count that went back": (_change("count", 3), "its counter did not increase, so there may be a copy"),
    "a count that is gone": (_change("count", 0), "its counter did not increase, so there may be a copy"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_invalid_passkey_is_refused_and_recorded(ada: User, case: str) -> None:
    device = owned(ada)
    Passkey.objects.update(sign_count=5)
    wrong, message = WRONG[case]
    device.count = 6
    wrong(device)
    client = browser()
    refused(enter(client, device.use(options(client, "sign-in"))), client)
    assert lines()[-1] == ("sign-in refused", f"passkey: {message}")
    assert Passkey.objects.get().sign_count == 5, "nothing is learned from a refused one"


def test_a_valid_passkey_signs_in(ada: User) -> None:
    device = owned(ada)
    Passkey.objects.update(sign_count=5)
    device.count = 5
    assert is_in(sign_in(device))


def test_a_challenge_works_once_even_after_a_failure(ada: User) -> None:
    device = owned(ada)
    client = browser()
    request_options = options(client, "sign-in")
    credential = device.use(request_options)
    assert enter(client, credential)["Location"] == "/"
    client.post("/sign-out/")
    refused(enter(client, credential), client)
    request_options = options(client, "sign-in")
    refused(enter(client, "{}"), client)
    refused(enter(client, device.use(request_options)), client)
    assert lines()[-1] == ("sign-in refused", "passkey: unknown or expired challenge")


def test_a_challenge_is_bound_to_a_browser_a_purpose_and_a_short_time(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    device = owned(ada)
    first_browser, other = browser(), browser()
    request_options = options(first_browser, "sign-in")
    options(other, "sign-in")
    refused(enter(other, device.use(request_options)), other)
    step = after_password(ada)
    refused(enter(step, device.use(options(step, "code"))), step)
    monkeypatch.setattr("chatui.web.sign_in.passkeys.TIMEOUT_SECONDS", 0)
    refused(enter(first_browser, device.use(options(first_browser, "sign-in"))), first_browser)


def test_of_two_requests_with_one_challenge_one_succeeds(ada: User) -> None:
    device, client = owned(ada), browser()
    credential = device.use(options(client, "sign-in"))
    challenges = client.session["given_challenges"]
    enter(client, credential)
    assert is_in(client), "the premise"
    twin = browser()
    stale_session = twin.session  # as of a request that read the session before the other one wrote it
    stale_session["given_challenges"] = challenges
    stale_session.save()
    refused(enter(twin, credential), twin)


def test_passkeys_of_closed_and_provider_only_accounts_are_refused(ada: User, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device = owned(ada)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    client = browser()
    refused(enter(client, device.use(options(client, "sign-in"))), client)
    assert lines()[-1] == ("sign-in refused", "passkey: closed account")
    User.objects.filter(pk=ada.pk).update(is_active=True)
    file = tmp_path / "sign-in.toml"
    file.write_text('passwords = "emergency"\nemergency_accounts = ["rescue"]\n')
    with monkeypatch.context() as changed:
        change(changed, {"sign_in_file": file})
        refused(enter(client, device.use(options(client, "sign-in"))), client)
        assert b"Use a passkey" not in client.get("/sign-in/").content
        assert b"Use a passkey" in client.get("/sign-in/?password").content
    assert is_in(sign_in(device)), "the twin"


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


BODIES = {
    "nothing": "",
    "no JSON": "hello",
    "a list": "[]",
    "too deep": nested(5000),
    "too large": json.dumps({"id": "a" * 20_000}),
    "a number for an id": json.dumps({"id": 5, "rawId": 5, "type": "public-key", "response": {}}),
    "signs that are none": json.dumps({"id": "é", "rawId": "é", "type": "public-key", "response": {"clientDataJSON": "é"}}),
    "no object inside": json.dumps({"id": "a", "rawId": "a", "type": "public-key", "response": {"clientDataJSON": encoded(b"[]")}}),
    "depth inside": json.dumps(
        {"id": "aa", "rawId": "aa", "type": "public-key", "response": {"clientDataJSON": encoded(nested(3000).encode())}}
    ),
    "a lone surrogate": '{"id":"\\ud800"}',
    "NUL": "\0",
}


@pytest.mark.parametrize("body", BODIES)
def test_malformed_bodies_are_refused_alike(ada: User, body: str) -> None:
    client = browser()
    options(client, "sign-in")
    refused(enter(client, BODIES[body]), client)


@pytest.mark.parametrize("data", [b"", b"\0" * 36, b"\0" * 37, b"\xff" * 400, b"\xc2" * 3000])
def test_impossible_authenticator_data_is_refused(ada: User, data: bytes) -> None:
    device, client = owned(ada), browser()
    credential = json.loads(device.use(options(client, "sign-in")))
    credential["response"]["authenticatorData"] = encoded(data)
    refused(enter(client, json.dumps(credential)), client)


def test_passkey_options_look_the_same_for_all_names_and_exist_only_where_supported(ada: User, bela: User) -> None:
    def shape(**fields: str) -> tuple[list[str], dict[str, Any]]:
        answer = browser().post("/sign-in/passkey/options/sign-in/", fields).json()
        return sorted(answer), {name: value for name, value in answer.items() if name != "challenge"}

    owned(ada)
    assert shape(username="ada") == shape(username="bela") == shape(username="nobody")
    for host in ("testserver", "127.0.0.1"):
        assert browser(host).post("/sign-in/passkey/options/sign-in/").status_code == 404
        assert browser(host).post("/sign-in/passkey/", {"credential": ""}).status_code == 404
        assert b"Use a passkey" not in browser(host).get("/sign-in/").content
    assert b"Use a passkey" in browser().get("/sign-in/").content, "the twin"


def test_the_origin_comes_from_the_settings_whatever_host_a_request_names(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"origins": ["https://chat.example.org"]})
    assert options(browser(), "sign-in")["rpId"] == "chat.example.org"
    assert browser("evil.example").post("/sign-in/passkey/options/sign-in/").status_code == 400


def test_an_unchecked_host_has_no_passkeys(db: None, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert browser("evil.localhost").post("/sign-in/passkey/options/sign-in/").status_code == 404
    settings.ALLOWED_HOSTS = ["evil.localhost"]
    assert options(browser("evil.localhost"), "sign-in")["rpId"] == "evil.localhost", "the twin"


@pytest.mark.parametrize(
    ("host", "origins", "hosts", "named"),
    [
        ("127.0.0.1:8361", [], ["127.0.0.1", "localhost"], "http://localhost:8361"),
        ("[::1]:8361", [], ["[::1]", "localhost"], "http://localhost:8361"),
        ("0.0.0.0", [], ["localhost"], "http://localhost"),
        ("127.0.0.1:8361", ["http://localhost:8361"], ["localhost"], "http://localhost:8361"),
        ("127.0.0.1:8361", ["https://chat.example.org"], ["localhost"], None),
        ("127.0.0.1:8361", [], ["127.0.0.1"], None),
        ("127.0.0.1:8361", [], ["*"], None),
        ("192.0.2.1:8361", [], ["192.0.2.1", "localhost"], None),
        ("chat.example.org", [], ["chat.example.org", "localhost"], None),
        ("localhost:8361", [], ["localhost"], None),
    ],
)
def test_an_address_in_digits_of_this_machine_has_a_name_where_passkeys_work(
    host: str, origins: list[str], hosts: list[str], named: str | None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = hosts
    change(monkeypatch, {"origins": origins})
    assert passkeys.named_origin("http", host) == named


def test_a_page_without_passkeys_names_the_address_where_they_work(ada: User) -> None:
    place = '<a href="http://localhost:8361">http://localhost:8361</a>'
    for host, is_named in (("127.0.0.1:8361", True), ("testserver", False)):
        page = after_password(ada, browser(host)).get("/sign-in/ways/").content.decode()
        assert (place in page) is is_named and ("Please ask an administrator" in page) is not is_named


def test_a_passkey_for_another_host_is_refused(ada: User) -> None:
    device = owned(ada)
    Passkey.objects.update(site="old.example.org")
    client = browser()
    refused(enter(client, device.use(options(client, "sign-in"))), client)


def test_too_many_tries_must_wait_and_are_recorded(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.accounts.passkeys._attempts", GuessLimit("few passkeys", address=Scope(free=2, longest=60, window=600)))
    client = browser()
    for _ in range(3):
        assert enter(client, "{}").status_code == 302
    refused = enter(client, "{}")
    assert refused.status_code == 429 and refused["Retry-After"]
    assert AuditEvent.objects.filter(detail="passkey: had to wait").count() == 1
    assert is_in(sign_in(owned(ada), browser(REMOTE_ADDR="192.0.2.9"))), "the twin: from another address"


def test_after_a_password_the_passkey_must_be_the_same_persons(ada: User, bela: User) -> None:
    own_device, others_device = owned(ada), owned(bela)
    client = after_password(ada)
    assert not is_in(client)
    page = client.get("/sign-in/code/").content
    assert b"Use a passkey" in page and b"Enter one of your recovery codes." in page and b"your app" not in page
    request_options = options(client, "code")
    assert [each["id"] for each in request_options["allowCredentials"]] == [encoded(own_device.credential_id)]
    answer = client.post("/sign-in/code/passkey/", {"credential": others_device.use(request_options)})
    assert answer["Location"] == "/sign-in/code/?passkey-refused" and not is_in(client)
    assert SENTENCE in client.get(answer["Location"]).content
    line = AuditEvent.objects.latest("number")
    assert (line.action, line.detail, line.owner_name) == ("sign-in refused", "passkey: of another account", "ada")
    answer = client.post("/sign-in/code/passkey/", {"credential": own_device.use(options(client, "code"))})
    assert answer["Location"] == "/" and is_in(client)
    assert lines()[-1] == ("sign in", "by password and passkey")


def test_without_a_password_there_is_no_second_step(ada: User) -> None:
    owned(ada)
    client = browser()
    assert client.post("/sign-in/passkey/options/code/").status_code == 404
    assert client.post("/sign-in/code/passkey/", {"credential": "{}"})["Location"] == "/sign-in/"


def test_signing_in_ends_another_persons_second_step(ada: User, bela: User) -> None:
    owned(ada)
    others_device = owned(bela)
    client = sign_in(others_device, after_password(ada))
    assert is_in(client) and "second_step" not in client.session


def test_an_invalid_registration_is_refused(ada: User) -> None:
    client = after_password(ada)
    wrongs: list[Callable[[Authenticator], None]] = [
        _change("origin", "https://evil.example"),
        _change("host", "evil.example"),
        _change("cross_origin", True),
        _change("kind", "webauthn.get"),
        _change("is_present", False),
        _change("is_verified", False),
        _change("attestation", {"fmt": "packed", "attStmt": {"alg": ES256, "sig": b"x", "x5c": [b"x"]}}),
        _change("attestation", {"fmt": "tpm", "attStmt": {}}),
        _change("credential_id", b"x" * 1024),
        _change("public_key", lambda: {1: 2, 3: ES256, -1: 1, -2: b"x" * 32, -3: b"y" * 32}),
        _change("public_key", lambda: {1: 2, 3: -47, -1: 8, -2: b"x" * 32, -3: b"y" * 32}),
    ]
    for wrong in wrongs:
        device = Authenticator()
        wrong(device)
        assert add(client, device)["Location"] == "/sign-in/passkeys/new/?passkey-refused", wrong
    assert not Passkey.objects.exists()
    assert AuditEvent.objects.filter(action="passkey not added").count() == len(wrongs)
    credential = Authenticator().make(options(client, "new"))
    post = {"credential": credential, "name": ""}
    assert client.post("/sign-in/passkeys/new/", post).status_code == 200, "the twin: with its recovery codes"
    assert client.post("/sign-in/passkeys/new/", post)["Location"].endswith("refused"), "a challenge is valid once here, too"


def test_the_size_limits_allow_the_largest_passkey(ada: User) -> None:
    device = owned(ada, Authenticator(RS256, credential_id=b"i" * passkeys.MAX_ID_BYTES))
    assert is_in(sign_in(device))
