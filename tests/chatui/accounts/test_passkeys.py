"""Sign-in with a passkey: the right one works, and any other is refused with the same message."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatui.accounts import account_managers, passkey_ceremonies, passkeys, second_factor
from chatui.audit_log.record import SHELL
from chatui.guesses import GuessLimit, Scope
from chatui.lifecycle.erasure import erase
from chatui.models.audit import AuditEvent
from chatui.models.passkeys import Passkey
from chatui.models.sign_in import OutsideIdentity, RecoveryCode, SecondFactor
from chatui.models.user import User
from tests.chatui.accounts.people import add, after_password, browser, enter, is_in, options, owned, sign_in
from tests.chatui.accounts.test_second_factor import code_of
from tests.chatui.conftest import PASSWORD, make_person
from tests.support import sign_in_file
from tests.support.authenticator import EDDSA, ES256, RS256, Authenticator, decoded, encoded
from tests.support.environment import change
from tests.support.staff_pages import page_of
from tests.support.system_checks import said

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
        ("127.0.0.1:8361", ["http://localhost:8361"], ["localhost"], "http://localhost:8361"),
        ("127.0.0.1:8361", ["https://chat.example.org"], ["localhost"], None),
        ("127.0.0.1:8361", [], ["127.0.0.1"], None),
        ("192.0.2.1:8361", [], ["192.0.2.1", "localhost"], None),
        ("localhost:8361", [], ["localhost"], None),
    ],
)
def test_an_address_in_digits_of_this_machine_has_a_name_where_passkeys_work(
    host: str, origins: list[str], hosts: list[str], named: str | None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = hosts
    change(monkeypatch, {"origins": origins})
    assert passkey_ceremonies.named_origin("http", host) == named


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


def test_too_many_tries_must_wait_and_are_recorded(ada: User) -> None:
    for _ in range(18):
        GuessLimit("passkey", address=Scope(free=20, longest=300, window=3600)).miss("127.0.0.1")
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
    device = owned(ada, Authenticator(RS256, credential_id=b"i" * passkey_ceremonies.MAX_ID_BYTES))
    assert is_in(sign_in(device))


# A person's own passkeys: who may add, rename and remove them, and where they have effects.


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("number").values_list("action", flat=True))


def test_only_the_first_passkey_creates_recovery_codes(ada: User) -> None:
    client = after_password(ada)
    request_options = options(client, "new")
    assert request_options["attestation"] == "none" and request_options["rp"]["id"] == "localhost"
    assert (
        request_options["authenticatorSelection"]["residentKey"]
        == request_options["authenticatorSelection"]["userVerification"]
        == "required"
    )
    assert decoded(request_options["user"]["id"]) == ada.pk.bytes
    first, second = Authenticator(), Authenticator()
    codes = re.findall(r"<code>([a-z0-9-]{17})</code>", add(client, first, "Laptop").content.decode())
    assert len(codes) == RecoveryCode.objects.count() == 10
    assert add(client, second, "Phone")["Location"] == "/sign-in/ways/"
    assert [each["id"] for each in options(client, "new")["excludeCredentials"]] != []
    page = client.get("/sign-in/ways/").content.decode()
    assert page.index("Laptop") < page.index("Phone") and page.count("never used") == 2 and "added on" in page
    assert actions() == ["sign in", "passkey added", "passkey added"]
    locked_out = after_password(ada)
    assert not is_in(locked_out), "a password alone opens nothing from now on"
    assert locked_out.post("/sign-in/code/", {"code": codes[0]}).status_code == 302 and is_in(locked_out)


def test_names_are_limited_and_escaped(ada: User) -> None:
    client = after_password(ada)
    add(client, Authenticator(), "<b>my</b>\n\u202ekey\0" + "x" * 200)
    name = Passkey.objects.get().name
    assert name == ("<b>my</b> key" + "x" * 200)[:60]
    page = client.get("/sign-in/ways/").content.decode()
    assert "&lt;b&gt;my&lt;/b&gt;" in page and "<b>my" not in page
    add(client, Authenticator(), " \u200b ")
    assert Passkey.objects.filter(name="Passkey").exists()


def test_every_change_requires_a_recent_authentication(ada: User) -> None:
    device = owned(ada)
    client = sign_in(device)
    session = client.session
    session["shown_at"] = 0
    session.save()
    row = Passkey.objects.get()
    assert client.get("/sign-in/passkeys/new/")["Location"] == "/sign-in/confirm/"
    assert client.post("/sign-in/passkey/options/new/").status_code == 404
    assert client.post(f"/sign-in/passkeys/{row.pk}/remove/")["Location"] == "/sign-in/confirm/"
    assert "/remove/" not in client.get("/sign-in/ways/").content.decode() and Passkey.objects.exists()
    client = sign_in(device)
    assert client.post(f"/sign-in/passkeys/{row.pk}/remove/")["Location"] == "/sign-in/ways/"
    assert not Passkey.objects.exists() and not RecoveryCode.objects.exists(), "no factor is left to recover"
    assert actions()[-1] == "passkey removed"
    assert is_in(after_password(ada))


def test_a_device_is_added_once_and_the_number_of_passkeys_is_limited(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    device = owned(ada)
    client = after_password(bela)
    device.handle = b""
    assert add(client, device)["Location"].endswith("?passkey-refused")
    assert AuditEvent.objects.latest("number").detail == "already known"
    monkeypatch.setattr(passkeys, "MAX_PASSKEYS", 1)
    assert add(client, Authenticator()).status_code == 200
    assert add(client, Authenticator())["Location"].endswith("?passkey-refused")


def test_a_passkey_satisfies_a_required_factor_and_the_last_one_cannot_be_removed(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"second_factor_groups": ["careful"]})
    ada.groups.add(Group.objects.create(name="careful"))
    client = after_password(ada)
    assert b"Use a passkey instead" in client.get("/sign-in/code/").content and not is_in(client)
    assert client.get("/sign-in/passkeys/new/").status_code == 200
    device = Authenticator()
    assert b"recovery-codes" in add(client, device).content and is_in(client)
    first = Passkey.objects.get()
    assert not passkeys.may_remove_one(ada)
    assert client.post(f"/sign-in/passkeys/{first.pk}/remove/").status_code == 404 and Passkey.objects.exists()
    add(client, Authenticator(), "Second")
    assert client.post(f"/sign-in/passkeys/{first.pk}/remove/").status_code == 302, "the twin: another one is left"


def test_with_a_second_factor_the_password_alone_cannot_add_another(ada: User) -> None:
    owned(ada)
    client = after_password(ada)
    assert client.get("/sign-in/passkeys/new/")["Location"] == "/sign-in/"
    assert client.post("/sign-in/passkey/options/new/").status_code == 404
    assert client.get("/sign-in/second-factor/picture.svg").status_code == 404
    assert b"otpauth" not in client.get("/sign-in/code/").content


def test_switching_codes_off_keeps_passkeys_and_recovery_codes(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = after_password(ada)
    client.get("/sign-in/second-factor/")
    client.post("/sign-in/second-factor/", {"code": code_of(ada)})
    assert add(client, Authenticator())["Location"] == "/sign-in/ways/", "codes are there already"
    assert b"Switch one-time codes off" in client.get("/sign-in/ways/").content
    change(monkeypatch, {"second_factor_groups": ["careful"]})
    ada.groups.add(Group.objects.create(name="careful"))
    assert client.post("/sign-in/second-factor/remove/").status_code == 302, "a passkey is left"
    assert not SecondFactor.objects.exists() and RecoveryCode.objects.count() == 10 and second_factor.is_on(ada)
    assert actions()[-1] == "one-time codes switched off"
    ada.refresh_from_db()
    assert ada.sign_in_news.splitlines()[-1].startswith("codes-off ")
    assert b"recovery-codes" in client.post("/sign-in/second-factor/codes/").content


def test_people_without_a_password_have_no_passkeys(ada: User, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = after_password(ada)
    file = tmp_path / "sign-in.toml"
    file.write_text('passwords = "emergency"\nemergency_accounts = ["rescue"]\n')
    with monkeypatch.context() as changed:
        change(changed, {"sign_in_file": file})
        assert client.get("/sign-in/passkeys/new/").status_code == 302
        assert client.post("/sign-in/passkey/options/new/").status_code == 404
        assert is_in(client) and b"Add a passkey" not in client.get("/sign-in/ways/").content
        rescue = make_person("rescue")
        assert passkeys.may_have(rescue), "the twin: the emergency account"
    ada.set_unusable_password()
    assert not passkeys.may_have(ada) and passkeys.may_have(make_person("olga"))


def test_the_last_sign_in_method_cannot_be_removed(ada: User) -> None:
    owned(ada)
    ada.set_unusable_password()
    ada.save()
    assert not passkeys.may_remove_one(ada)
    owner = make_person("olga")
    owned(owner)
    assert passkeys.may_remove_one(owner), "the twin: with a password"


def test_an_identity_that_may_not_open_the_account_is_no_other_way(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = {"key": "id", "name": "Id", "issuer": "https://id.example", "client_id": "chatui", "client_secret": "s3cret"}
    sign_in_file.configure(monkeypatch, provider | {"who_may_enter": "everybody"})
    owned(ada)
    ada.set_unusable_password()
    ada.save()
    OutsideIdentity.objects.create(user=ada, issuer="https://id.example", subject="1", provider="id")
    assert passkeys.may_remove_one(ada), "the twin"
    ada.is_superuser = True
    assert not passkeys.may_remove_one(ada), "no provider opens a superuser's account"


def test_an_account_manager_with_a_passkey_can_sign_in(ada: User) -> None:
    owner = make_person("olga", "change_user", staff=True)
    owned(owner)
    owner.set_unusable_password()
    owner.save()
    assert account_managers.is_last(owner)
    Passkey.objects.all().delete()
    assert not account_managers.is_last(owner), "somebody who cannot sign in does not count"


def test_staff_can_remove_all_factors_and_erasure_leaves_nothing(ada: User, bela: User) -> None:
    device = owned(ada)
    owned(bela)
    sam = make_person("sam", "change_user", "view_user", staff=True)
    client = after_password(sam)
    client.post(page_of(ada, "factor"))
    assert list(Passkey.objects.values_list("user__username", flat=True)) == ["bela"]
    assert actions()[-1] == "second factor removed" and not is_in(sign_in(device))
    assert is_in(after_password(ada))
    erase(SHELL, bela)
    assert not Passkey.objects.exists()


def test_no_page_and_no_export_contains_key_material(ada: User) -> None:
    device = owned(ada)
    client = sign_in(device)
    row = Passkey.objects.get()
    for path in ("/sign-in/ways/", "/download/", "/settings/"):
        answer = client.get(path)
        content = b"".join(answer) if answer.streaming else answer.content
        for secret in (bytes(row.public_key), bytes(row.credential_id), row.digest.encode()):
            assert secret not in content


def test_a_check_reports_passkeys_of_another_host(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    owned(ada)
    change(monkeypatch, {"origins": ["https://chat.example.org"]})
    assert said("W057")
    Passkey.objects.update(site="chat.example.org")
    assert not said("W057")


def _later(person: User) -> Client:
    """A browser in which they signed in too long ago to change how."""
    client = browser()
    client.force_login(person)
    return client


def test_a_passkey_counts_as_recent_authentication(ada: User) -> None:
    device, client = owned(ada), _later(ada)
    assert client.get("/sign-in/passkeys/new/")["Location"] == "/sign-in/confirm/"
    page = client.get("/sign-in/confirm/?next=/sign-in/ways/").content.decode()
    assert "/sign-in/passkey/options/confirm/" in page and 'name="password"' in page
    device.count += 1
    credential = device.use(options(client, "confirm"))
    answer = client.post("/sign-in/confirm/", {"credential": credential, "next": "/sign-in/ways/"})
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/ways/")
    assert client.get("/sign-in/passkeys/new/").status_code == 200
    User.objects.filter(pk=ada.pk).update(password="!")
    assert "Use a passkey" in _later(User.objects.get(pk=ada.pk)).get("/sign-in/confirm/").content.decode()


def test_only_ones_own_passkey_for_this_purpose_counts_as_recent_authentication(ada: User, bela: User) -> None:
    device, others_device, client = owned(ada), owned(bela), _later(ada)
    stranger, twice = browser(), _later(ada)
    device.count += 1
    others_device.count += 1
    tries = [
        others_device.use(options(client, "confirm")),
        device.use(options(stranger, "sign-in")),
        device.use(options(twice, "confirm")),
        "none",
        "",
    ]
    for credential in tries:
        answer = client.post("/sign-in/confirm/", {"credential": credential, "password": PASSWORD})
        assert answer["Location"] == "/sign-in/confirm/?passkey-refused="
        assert client.get("/sign-in/passkeys/new/").status_code == 302
    good = device.use(options(client, "confirm"))
    assert client.post("/sign-in/confirm/", {"credential": good})["Location"] == "/sign-in/ways/"
    client.logout()
    assert not is_in(client) and stranger.post("/sign-in/passkey/options/confirm/").status_code == 404
    Passkey.objects.filter(user=bela).delete()
    without = _later(bela)
    assert without.post("/sign-in/confirm/", {"credential": "none"}).status_code == 404
    assert without.post("/sign-in/passkey/options/confirm/").status_code == 404
