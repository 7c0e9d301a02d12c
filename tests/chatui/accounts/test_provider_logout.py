"""A provider reports that somebody has signed out: which sessions end, and which tokens are refused."""

import time
from typing import Any

import pytest
from django.test import Client

from chatui.accounts import sessions
from chatui.accounts.provider_logout import EVENT
from chatui.lifecycle import closing
from chatui.models.audit import AuditEvent
from chatui.models.sign_in import BegunSession, OutsideIdentity
from chatui.models.user import ClosingCause, User
from tests.chatui.accounts.conftest import configure, forget_providers, sign_in_with_provider
from tests.chatui.accounts.people import is_in
from tests.chatui.accounts.scripted_provider import ScriptedProvider
from tests.chatui.conftest import signed_in

LOGOUT = "/sign-in/with/company/logout/"


def send(token: str, client: Client | None = None) -> int:
    return (client or Client(enforce_csrf_checks=True)).post(LOGOUT, {"logout_token": token}).status_code


def refusals() -> list[str]:
    return list(AuditEvent.objects.filter(action="sign-in refused").order_by("number").values_list("detail", flat=True))


def test_the_sessions_of_that_person_and_provider_end_and_no_others(provider: ScriptedProvider) -> None:
    here, there = sign_in_with_provider(provider)[0], sign_in_with_provider(provider)[0]
    person = OutsideIdentity.objects.get().user
    by_password = signed_in(person)
    provider.person = {"sub": "bela-1", "preferred_username": "bela"}
    bela = sign_in_with_provider(provider)[0]
    assert all(map(is_in, (here, there, by_password, bela))), "the premise"
    assert send(provider.logout_token(sub="ada-1")) == 200
    assert [is_in(each) for each in (here, there, by_password, bela)] == [False, False, True, True]
    line = AuditEvent.objects.get(action="signed out by provider")
    assert (line.owner_name, line.detail, line.actor_id) == (person.username, "2 sessions, says company", None)
    assert User.objects.get(pk=person.pk).is_active, "the account stays open, unless the operator says otherwise"
    assert is_in(sign_in_with_provider(provider, Client())[0])


def test_a_token_with_a_session_ends_only_that_session(provider: ScriptedProvider) -> None:
    provider.token = {"sid": "s-1"}
    first = sign_in_with_provider(provider)[0]
    provider.token = {"sid": "s-2"}
    second = sign_in_with_provider(provider)[0]
    assert set(BegunSession.objects.values_list("outside_id", flat=True)) == {"s-1", "s-2"}, "the premise"
    assert send(provider.logout_token(sub=None, sid="s-1")) == 200
    assert (is_in(first), is_in(second)) == (False, True)
    assert send(provider.logout_token(sub="bela-1", sid="s-2")) == 200, "there is no account of that name"
    assert is_in(second)
    assert send(provider.logout_token(sid="s-2")) == 200 and not is_in(second)


def test_the_account_is_closed_if_the_operator_configured_that(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, provider.table(logout_closes=True))
    sign_in_with_provider(provider)
    person = OutsideIdentity.objects.get().user
    assert send(provider.logout_token(sid="s-9")) == 200 and User.objects.get(pk=person.pk).is_active, "one session is not the person"
    assert send(provider.logout_token()) == 200
    assert closing.closed_by(person) == (ClosingCause.LOGOUT, "company") and not User.objects.get(pk=person.pk).is_active


def test_the_session_of_the_browser_that_sends_the_token_does_not_matter(provider: ScriptedProvider) -> None:
    ada = sign_in_with_provider(provider)[0]
    assert send(provider.logout_token(sub="nobody"), ada) == 200
    assert is_in(ada)


def test_a_token_works_once(provider: ScriptedProvider) -> None:
    sign_in_with_provider(provider)
    token = provider.logout_token()
    assert send(token) == 200
    again = sign_in_with_provider(provider)[0]
    assert send(token) == 400 and is_in(again)
    assert "used before" in refusals()[-1]


def test_a_token_can_be_sent_again_after_a_failure(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = sign_in_with_provider(provider)[0]
    token = provider.logout_token()
    with monkeypatch.context() as broken:
        broken.setattr(sessions, "end_provider_sessions", lambda *_: 1 / 0)
        assert send(token, Client(raise_request_exception=False)) == 500 and is_in(ada)
    assert send(token) == 200 and not is_in(ada)
    assert send(token) == 400


def test_forged_tokens_cause_no_requests_to_an_unavailable_provider(provider: ScriptedProvider) -> None:
    for path in ("/.well-known/openid-configuration", "/keys"):
        provider.fails = path
        provider.requested_paths.clear()
        forget_providers()
        assert [send(provider.logout_token()) for _ in range(5)] == [503] * 5 and provider.requested_paths.count(path) == 1
    forget_providers()
    provider.fails = ""
    sign_in_with_provider(provider)
    provider.fails = "/keys"
    assert [send(provider.logout_token()) for _ in range(2)] == [200, 200], "known keys stay valid meanwhile"


BAD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("another client's", {"aud": "another"}),
    ("another issuer's", {"iss": "https://elsewhere.example"}),
    ("no number", {"jti": None}),
    ("an empty number", {"jti": ""}),
    ("a number that is a list", {"jti": ["x"]}),
    ("no time", {"iat": None}),
    ("stale", {"iat": int(time.time()) - 3600}),
    ("from the future", {"iat": int(time.time()) + 3600}),
    ("over", {"exp": int(time.time()) - 3600}),
    ("a nonce", {"nonce": "x"}),
    ("an empty nonce", {"nonce": ""}),
    ("no events", {"events": None}),
    ("other events", {"events": {"https://example.org/other": {}}}),
    ("events as a list", {"events": [EVENT]}),
    ("an event that is no object", {"events": {EVENT: True}}),
    ("nobody", {"sub": None}),
    ("a person that is a number", {"sub": 7}),
    ("a session that is an object", {"sid": {"$ne": ""}}),
    ("a person that cannot be stored", {"sub": "ada-1\0"}),
    ("events that cannot be stored", {"events": {EVENT: {}, "\0": {}}}),
    ("an id that cannot be stored", {"jti": "\0"}),
)


def test_invalid_tokens_are_refused(provider: ScriptedProvider) -> None:
    ada = sign_in_with_provider(provider)[0]
    for name, claims in BAD[:15]:
        assert send(provider.logout_token(**claims)) == 400, name
    assert is_in(ada) and not AuditEvent.objects.filter(action="signed out by provider").exists()
    assert send(provider.logout_token()) == 200, "the twin: a valid one is not refused because of invalid ones"


def test_tokens_with_invalid_claims_are_refused(provider: ScriptedProvider) -> None:
    ada = sign_in_with_provider(provider)[0]
    for name, claims in BAD[15:]:
        assert send(provider.logout_token(**claims)) == 400, name
    for signing in ("none", "HS256", "another key"):
        provider.signing = signing
        assert send(provider.logout_token()) == 400, signing
    for token in ("", "x", "a.b.c", "é.é.é", "x" * 100_000):
        assert send(token) == 400, token[:9]
    assert Client().post(LOGOUT).status_code == 400 and Client().get(LOGOUT).status_code == 405
    assert Client().post("/sign-in/with/another/logout/").status_code == 404
    assert is_in(ada)


def test_invalid_tokens_are_counted_and_an_unavailable_provider_is_not(provider: ScriptedProvider) -> None:
    found = [send("x") for _ in range(25)]
    assert found[:20] == [400] * 20 and 429 in found
    provider.fails = "/.well-known/openid-configuration"
    assert send(provider.logout_token()) == 503


def test_an_id_token_signs_nobody_out(provider: ScriptedProvider) -> None:
    """Somebody who has read one in a log must not be able to."""
    ada = sign_in_with_provider(provider)[0]
    claims = {"iss": provider.issuer, "aud": "chatui", "sub": "ada-1", "iat": int(time.time()), "exp": int(time.time()) + 300, "nonce": "n"}
    assert send(provider._signed(claims)) == 400 and is_in(ada)
