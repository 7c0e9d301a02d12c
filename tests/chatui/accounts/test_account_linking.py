"""Sign-in with a provider: which account it opens, what it creates, and every invalid response."""

import re
import time
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from joserfc import jwt
from joserfc.jwk import RSAKey

from chatui.accounts import free_names, openid, provider_claims
from chatui.accounts.sign_in_settings import Provider
from chatui.guesses import address_group
from chatui.limits import Throttle
from chatui.models.audit import AuditEvent
from chatui.models.provisioning import ProvisionedAccount
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import User
from tests.chatui.accounts.conftest import configure, sign_in_with_provider, start_sign_in
from tests.chatui.accounts.people import is_in
from tests.chatui.accounts.scripted_provider import ScriptedProvider, running
from tests.chatui.conftest import PASSWORD, confirmed, make_person
from tests.support.cases import for_each
from tests.support.environment import change


def lines() -> list[tuple[str, str, str]]:
    return list(AuditEvent.objects.order_by("number").values_list("action", "owner_name", "detail"))


def test_the_first_sign_in_creates_an_account_and_the_second_finds_it(provider: ScriptedProvider) -> None:
    client, answer = sign_in_with_provider(provider, next="/search/")
    assert (answer.status_code, answer["Location"]) == (302, "/search/") and is_in(client)
    person = User.objects.get(username="ada.l")
    assert not person.has_usable_password() and not person.is_staff and not person.is_superuser
    assert lines() == [("account created", "ada.l", "with the first sign-in by company"), ("sign in", "", "by company")]
    assert AuditEvent.objects.get(action="sign in").actor == person
    sign_in_with_provider(provider)
    assert User.objects.count() == 2 and OutsideIdentity.objects.count() == 1


def test_the_sign_in_page_offers_every_provider(provider: ScriptedProvider) -> None:
    page = Client().get("/sign-in/?next=/search/").content.decode()
    assert "Sign in with Example Ltd" in page and 'action="/sign-in/with/company/"' in page and 'value="/search/"' in page
    assert 'name="password"' in page, "the premise: passwords are for everybody"


def test_the_browser_is_redirected_by_a_page_that_names_the_provider(provider: ScriptedProvider) -> None:
    client = Client()
    page = client.post("/sign-in/with/company/")
    assert page.headers["Refresh"].startswith(f"0; url={provider.issuer}/authorize?") and "Continue to Example Ltd" in page.content.decode()
    redirect = start_sign_in(client)
    for part in ("code_challenge=", "nonce=", "state=", "scope=openid+profile+email"):
        assert part in redirect


def test_nobody_is_redirected_to_another_site_after_sign_in(provider: ScriptedProvider) -> None:
    for path in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "nowhere", "metrics"):
        assert sign_in_with_provider(provider, next=path)[1]["Location"] == "/"


def test_the_session_ends_after_the_configured_hours(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, provider.table(session_hours=2))
    client, _ = sign_in_with_provider(provider)
    client.get("/sign-in/confirm/")
    left = Session.objects.earliest("expire_date").expire_date.timestamp() - time.time()
    assert 7100 < left <= 7200


def test_nobody_gets_into_an_account_by_its_name_or_address(provider: ScriptedProvider) -> None:
    """The provider vouches for an address that is somebody else's here."""
    boss = make_person("boss", "view_auditevent", staff=True)
    boss.email = "boss@example.org"
    boss.save()
    provider.person = {"sub": "x", "preferred_username": "boss", "email": "boss@example.org", "email_verified": True}
    client, answer = sign_in_with_provider(provider)
    assert answer.status_code == 302 and client.get("/audit/").status_code == 404
    stranger = User.objects.get(username="boss-2")
    assert not stranger.is_staff and OutsideIdentity.objects.get().user == stranger


def test_a_name_that_looks_like_another_gets_a_number(provider: ScriptedProvider) -> None:
    make_person("paypal")
    provider.person = {"sub": "x", "preferred_username": "pаypal"}
    sign_in_with_provider(provider)
    assert User.objects.filter(username__endswith="-2").count() == 1


@pytest.mark.parametrize(
    ("what", "claims_about", "expected"),
    [
        ("a name with signs", {"preferred_username": "Anna Schmidt <a>"}, "Anna.Schmidt.a"),
        ("no name, but an address", {"email": "anna@example.org", "email_verified": True}, "anna"),
        ("an address that nobody vouches for", {"email": "anna@example.org"}, "person"),
        ("an empty name", {"preferred_username": "  "}, "person"),
        ("a name that is no text", {"preferred_username": ["x"], "name": "Anna"}, "Anna"),
        ("a long name", {"preferred_username": "n" * 400}, "n" * 130),
    ],
)
def test_names(what: str, claims_about: dict[str, Any], expected: str, db: None) -> None:
    table = {"key": "x", "name": "X", "issuer": "https://x.example", "client_id": "c", "who_may_enter": "everybody"}
    person = provider_claims.read(Provider.model_validate(table), {"sub": "s"} | claims_about)
    plain = person.name or person.email.partition("@")[0]
    assert free_names.free_name(plain) == expected, what


def test_a_renamed_person_keeps_their_account(provider: ScriptedProvider) -> None:
    sign_in_with_provider(provider)
    person = User.objects.get(username="ada.l")
    provider.person |= {"preferred_username": "ada.king"}
    sign_in_with_provider(provider)
    person.refresh_from_db()
    assert person.username == "ada.king" and User.objects.count() == 2
    assert ("account changed", "ada.l", "is called ada.king now, says company") in lines()


def refused(provider: ScriptedProvider, status: int, code: str, why: str) -> None:
    """The next sign-in comes to nothing, with a sentence, a line in the audit log, and no session."""
    accounts = User.objects.count()
    client, answer = sign_in_with_provider(provider)
    assert (answer.status_code, code in answer.content.decode()) == (status, True), answer.content.decode()
    assert not is_in(client) and User.objects.count() == accounts
    assert lines()[-1] == ("sign-in refused", "", f"by company: {why}")


NO_TIMES: tuple[Any, ...] = (1e300, float("inf"), float("nan"), 10**400, -1, True, "1", [])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"token": {"nonce": "another"}}, "the token is not valid (InvalidClaimError)"),
        ({"token": {"nonce": None}}, "the token is not valid (MissingClaimError)"),
        ({"token": {"iss": "https://other.example"}}, "the token is not valid (InvalidClaimError)"),
        ({"token": {"aud": "another client"}}, "the token is not valid (InvalidClaimError)"),
        ({"token": {"aud": ["chatui", "another"]}}, "the ID token is for another client"),
        ({"token": {"azp": "another"}}, "the ID token is for another client"),
        ({"token": {"exp": 1}}, "the token is not valid (ExpiredTokenError)"),
        ({"token": {"exp": None}}, "the token is not valid (MissingClaimError)"),
        ({"token": {"iat": 1}}, "the ID token is too old"),
        *(({"token": {name: value}}, "the token has an invalid time") for name in ("exp", "nbf", "iat", "auth_time") for value in NO_TIMES),
        ({"token": {"exp": 253402300800}}, "the token has an invalid time"),
        ({"token": {"sub": None}}, "the token is not valid (MissingClaimError)"),
        ({"token": {"sub": "x" * 256}}, "the ID token has no valid subject"),
        ({"token": {"sub": "ada-1\0"}}, "the token holds a text that cannot be stored"),
        ({"token": {"sid": "\0"}}, "the token holds a text that cannot be stored"),
        ({"signing": "none"}, "the token is not valid (UnsupportedAlgorithmError)"),
        ({"signing": "HS256"}, "the token is not valid (UnsupportedAlgorithmError)"),
        ({"signing": "another key"}, "the token is not valid (BadSignatureError)"),
        ({"user_info": {"sub": "somebody-else"}}, "the ID token and the user info are about two people"),
        ({"answer": {"iss": "https://other.example"}}, "the response is from another issuer"),
        ({"answer": {"iss": None}}, "the response is from another issuer"),
        ({"answer": {"code": "made-up"}}, "the provider did not accept the code"),
        ({"answer": {"code": None, "error": "access_denied"}}, "the provider did not sign the person in"),
        ({"answer": {"state": "made-up"}}, "this browser did not start this sign-in"),
        ({"answer": {"state": None}}, "this browser did not start this sign-in"),
    ],
)
def test_an_invalid_response_signs_nobody_in(changes: dict[str, Any], why: str, provider: ScriptedProvider) -> None:
    for name, value in changes.items():
        setattr(provider, name, value)
    refused(provider, 400, "E-X-SIGN-IN-FAILED", why)


def test_a_response_works_once_and_only_in_the_browser_that_started(provider: ScriptedProvider) -> None:
    client = Client()
    back = provider.sign_in(start_sign_in(client))
    assert Client().get(back).status_code == 400, "somebody who was sent the link of another"
    assert client.get(back).status_code == 302 and is_in(client), "the twin"
    client.logout()
    assert client.get(back).status_code == 400


def test_a_late_response_is_refused(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    back = provider.sign_in(start_sign_in(client))
    now = time.time()
    monkeypatch.setattr("chatui.accounts.openid.time.time", lambda: now + 601)
    assert client.get(back).status_code == 400


def test_the_response_of_another_provider_is_refused(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    with running() as other:
        configure(monkeypatch, provider.table(), other.table(key="other", name="Other"))
        client = Client()
        back = provider.sign_in(start_sign_in(client))
        assert client.get(back.replace("/company/", "/other/")).status_code == 400 and "/token" not in other.requested_paths
        assert sign_in_with_provider(other, key="other")[1].status_code == 302, "several providers work side by side"


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/.well-known/openid-configuration endless"])
def test_a_provider_that_is_down_gives_a_message(path: str, provider: ScriptedProvider) -> None:
    provider.fails = path
    page = Client().post("/sign-in/with/company/")
    assert page.status_code == 503 and "E-X-SIGN-IN-AWAY" in page.content.decode() and "is not responding" in page.content.decode()
    provider.fails = ""
    assert sign_in_with_provider(provider)[1].status_code == 302, "nothing of the failure is remembered"


@pytest.mark.parametrize("path", ["/token", "/keys", "/me"])
def test_a_provider_that_goes_down_in_between_gives_a_message(path: str, provider: ScriptedProvider) -> None:
    provider.fails = path
    refused(provider, 503, "E-X-SIGN-IN-AWAY", "the provider responded with status 502")


def test_an_unreachable_provider_gives_a_message(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, provider.table(issuer="http://127.0.0.1:9"))
    page = Client().post("/sign-in/with/company/")
    assert page.status_code == 503 and lines()[-1][2] == "by company: the provider cannot be reached (ConnectError)"


@pytest.mark.parametrize(
    "metadata",
    [{"issuer": "https://other.example"}, {"token_endpoint": "http://example.org/token"}, {"jwks_uri": 7}, {"userinfo_endpoint": 7}],
)
def test_a_provider_with_invalid_metadata_is_not_used(metadata: dict[str, Any], provider: ScriptedProvider) -> None:
    provider.metadata = metadata
    assert Client().post("/sign-in/with/company/").status_code == 503


def test_a_new_signing_key_is_found(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in_with_provider(provider)
    provider.key = RSAKey.generate_key(2048, {"kid": "two"})
    monkeypatch.setattr(ScriptedProvider, "_signed", signed_as_two)
    count = provider.requested_paths.count("/keys")
    assert sign_in_with_provider(provider)[1].status_code == 400 and provider.requested_paths.count("/keys") == count, "not without limit"
    monkeypatch.setattr(openid, "RETRY_SECONDS", 0.0)
    assert sign_in_with_provider(provider)[1].status_code == 302


def signed_as_two(self: ScriptedProvider, payload: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "two"}, payload, self.key)


def test_a_closed_account_stays_closed(provider: ScriptedProvider) -> None:
    sign_in_with_provider(provider)
    User.objects.filter(username="ada.l").update(is_active=False)
    refused(provider, 403, "E-X-ACCOUNT-CLOSED", "the account is not active")


def test_no_provider_can_sign_in_as_a_superuser(provider: ScriptedProvider) -> None:
    sign_in_with_provider(provider)
    User.objects.filter(username="ada.l").update(is_superuser=True)
    refused(provider, 403, "E-X-SIGN-IN-REFUSED", "only the password opens this account")


def forged(provider: ScriptedProvider, number: int) -> list[int]:
    """What browsers are answered that begin, and come back with a code of their own making."""
    provider.answer = {"code": "made-up"}
    found = [sign_in_with_provider(provider)[1].status_code for _ in range(number)]
    provider.answer = {}
    return found


def test_forged_answers_have_to_wait_and_lock_out_nobody(provider: ScriptedProvider) -> None:
    assert Throttle("single-sign-on", attempts=1000, seconds=600).take(970, address_group("127.0.0.1")) == 0
    client, _ = sign_in_with_provider(provider)
    client.post("/sign-out/")
    found = forged(provider, 22)
    assert (found[0], found[-1]) == (400, 429) and sign_in_with_provider(provider)[1].status_code == 302
    while Client().post("/sign-in/with/company/").status_code == 200:
        pass
    assert sign_in_with_provider(provider, client)[1].status_code == 302


@pytest.mark.slow
def test_unrequested_responses_make_nobody_wait(provider: ScriptedProvider) -> None:
    """Any page can have the browsers of an office bring such answers."""
    back = "/sign-in/with/company/back/?state=x&code=y"
    assert {Client().get(back).status_code for _ in range(40)} == {400} and sign_in_with_provider(provider)[1].status_code == 302
    assert AuditEvent.objects.filter(action="sign-in refused").count() < 20, "listed up to a limit, then counted"


def test_an_unknown_provider_is_not_found(provider: ScriptedProvider) -> None:
    assert Client().post("/sign-in/with/nobody/").status_code == 404
    assert Client().get("/sign-in/with/nobody/back/?state=x").status_code == 404


def test_before_the_first_account_there_is_no_single_sign_on(provider: ScriptedProvider) -> None:
    User.objects.all().delete()
    assert Client().post("/sign-in/with/company/")["Location"] == "/"


def connecting(provider: ScriptedProvider, name: str) -> tuple[Client, Any]:
    client = Client()
    assert client.post("/sign-in/", {"username": name, "password": PASSWORD}).status_code == 302
    return sign_in_with_provider(provider, client, connect="yes")


def test_a_person_connects_an_identity_and_removes_it(provider: ScriptedProvider) -> None:
    ada = make_person("ada")
    client, answer = connecting(provider, "ada")
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/ways/")
    page = client.get("/sign-in/ways/").content.decode()
    assert "Example Ltd" in page and "ada.l" in page
    assert sign_in_with_provider(provider)[1].status_code == 302 and User.objects.count() == 2, "it opens her account"
    assert not User.objects.filter(username="ada.l").exists(), "an account that it did not make keeps its name"
    removal = re.search(r"/sign-in/ways/[^/]+/remove/", page)
    make_person("bela")
    stranger = Client()
    assert stranger.post("/sign-in/", {"username": "bela", "password": PASSWORD}).status_code == 302
    assert removal and stranger.post(removal[0]).status_code == 404
    assert client.post(removal[0]).status_code == 302
    assert not OutsideIdentity.objects.filter(user=ada).exists()
    assert [line[0] for line in lines()].count("identity connected") == 1 and lines()[-1][0] == "identity removed"


def test_an_identity_of_a_removed_provider_is_not_a_sign_in_method(provider: ScriptedProvider) -> None:
    client = confirmed(sign_in_with_provider(provider)[0])
    row = OutsideIdentity.objects.get()
    gone = OutsideIdentity.objects.create(user=row.user, provider="former", issuer="https://former.example", subject="1", name="a")
    page = client.get("/sign-in/ways/").content.decode()
    assert f"/sign-in/ways/{row.pk}/remove/" not in page and f"/sign-in/ways/{gone.pk}/remove/" in page
    assert client.post(f"/sign-in/ways/{row.pk}/remove/").status_code == 404
    assert client.post(f"/sign-in/ways/{gone.pk}/remove/").status_code == 302
    assert OutsideIdentity.objects.get() == row


def test_an_identity_is_connected_with_one_account(provider: ScriptedProvider) -> None:
    make_person("ada")
    sign_in_with_provider(provider)
    assert connecting(provider, "ada")[1].status_code == 409
    assert OutsideIdentity.objects.get().user.username == "ada.l"


def test_connecting_requires_a_recent_authentication(provider: ScriptedProvider) -> None:
    client = Client()
    client.force_login(make_person("ada"))
    assert client.post("/sign-in/with/company/", {"connect": "yes"})["Location"] == "/sign-in/ways/"
    assert client.post("/sign-in/confirm/", {"password": "wrong"}).status_code == 200
    assert client.post("/sign-in/with/company/", {"connect": "yes"})["Location"] == "/sign-in/ways/"
    assert client.post("/sign-in/confirm/", {"password": PASSWORD}).status_code == 302
    assert sign_in_with_provider(provider, client, connect="yes")[1].status_code == 302


def test_an_identity_is_not_connected_with_another_person_than_the_one_who_started(provider: ScriptedProvider) -> None:
    make_person("ada")
    client = Client()
    client.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    back = provider.sign_in(start_sign_in(client, connect="yes"))
    adas_sign_in = client.session["single_sign_on"]
    client.logout()
    client.force_login(make_person("bela"))
    mixed = client.session
    mixed["single_sign_on"] = adas_sign_in
    mixed.save()
    assert client.get(back).status_code == 400 and not OutsideIdentity.objects.exists()


def test_a_key_that_cannot_be_used_is_ignored(provider: ScriptedProvider) -> None:
    """RFC 7517, section 5."""
    provider.other_keys = [
        {"kty": "EC", "crv": "BP-256", "x": "AA", "y": "AA", "kid": "x"},
        {"kid": "x", "use": "sig"},
        {"kty": "RSA", "n": "!!", "e": "AQAB", "kid": "x"},
        {"kty": "unheard-of", "kid": "x"},
        "no object",
        None,
    ]
    assert sign_in_with_provider(provider)[1].status_code == 302


def test_without_any_usable_key_nobody_signs_in(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openid, "get", lambda address, **_: {"keys": [{"kty": "RSA"}]} if address.endswith("/keys") else real(address, **_))
    refused(provider, 503, "E-X-SIGN-IN-AWAY", "the provider's keys cannot be read")


real = openid.get


def test_an_address_and_the_word_that_it_is_verified_come_from_one_source(provider: ScriptedProvider) -> None:
    provider.token = {"email": "boss@example.org"}
    provider.user_info = {"email": "me@evil.example", "email_verified": True}
    sign_in_with_provider(provider)
    assert User.objects.get(username="ada.l").email == ""
    provider.token = {}
    for is_verified, stored in ((False, ""), ("false", ""), (True, "me@evil.example"), (None, "")):
        provider.user_info["email_verified"] = is_verified
        sign_in_with_provider(provider)
        assert User.objects.get(username="ada.l").email == stored


@pytest.mark.parametrize("then", [{"email": "ada@example.org", "email_verified": False}, {"email": "ada@example.org"}, {}], ids=str)
def test_an_address_that_the_provider_no_longer_vouches_for_is_no_address_of_the_account(
    provider: ScriptedProvider, then: dict[str, object]
) -> None:
    def after(claims: dict[str, object]) -> str:
        provider.token = claims
        sign_in_with_provider(provider)
        return User.objects.get(username="ada.l").email

    verified: dict[str, object] = {"email": "ada@example.org", "email_verified": True}
    assert after(verified) == "ada@example.org" and after(then) == "", "what the provider named goes with its word"
    assert AuditEvent.objects.filter(action="account changed", detail__contains="has no verified e-mail address now").exists()
    User.objects.update(email="by-staff@example.org")
    assert after(then) == "by-staff@example.org", "what staff entered stays"
    assert after(verified) == "ada@example.org"
    User.objects.update(email="by-staff@example.org")
    assert after(then) == "by-staff@example.org"
    ProvisionedAccount.objects.create(
        issuer=provider.issuer, user=User.objects.get(username="ada.l"), user_name="ada.l", name_key="ada.l", email="ada@example.org"
    )
    assert after(verified) == "ada@example.org" and after(then) == "ada@example.org", "the directory still names it"


@for_each(
    [
        ("the address of one, the word of the other", {"email": "a"}, {"email": "b", "email_verified": True}, {"email": "a"}),
        ("the word alone", {"email_verified": True}, {"email": "b"}, {"email_verified": True}),
        (
            "all from the second",
            {},
            {"email": "b", "email_verified": True, "groups": []},
            {"email": "b", "email_verified": True, "groups": []},
        ),
        ("too many groups in one", {"hasgroups": True}, {"groups": ["x"]}, {"hasgroups": True}),
        ("too many groups in the other", {"groups": ["x"]}, {"_claim_names": {"groups": "s"}}, {"groups": ["x"]}),
        ("what does not belong together", {"name": "A"}, {"name": "B", "nickname": "C"}, {"name": "A", "nickname": "C"}),
    ]
)
def test_claims_of_two_sources(what: str, signed: dict[str, Any], more: dict[str, Any], expected: dict[str, Any]) -> None:
    table = {"key": "x", "name": "X", "issuer": "https://x.example", "client_id": "c", "who_may_enter": "everybody"}
    assert openid.merged(Provider.model_validate(table), signed, more) == expected, what


def test_a_wrong_client_secret_is_the_operators_mistake(provider: ScriptedProvider) -> None:
    provider.refuses_client = True
    refused(provider, 503, "E-X-SIGN-IN-AWAY", "the provider did not accept client_id and client_secret")
    assert {sign_in_with_provider(provider)[1].status_code for _ in range(25)} == {503}, "never counted as a guess, which would be 429"


def test_an_office_begins_its_day_behind_one_address(provider: ScriptedProvider) -> None:
    assert {Client().post("/sign-in/with/company/").status_code for _ in range(60)} == {200}


def test_the_redirect_address_does_not_depend_on_the_host_of_the_request(
    provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    change(monkeypatch, {"sign_in_file": "/no/such/file", "origins": ["https://chat.example.org", "http://second.example.org"]})
    for host, origin in (
        ("intern.example.org", "https%3A%2F%2Fchat.example.org"),
        ("second.example.org", "http%3A%2F%2Fsecond.example.org"),
    ):
        page = Client().post("/sign-in/with/company/", headers={"host": host})
        assert f"redirect_uri={origin}%2Fsign-in" in page.headers["Refresh"]
