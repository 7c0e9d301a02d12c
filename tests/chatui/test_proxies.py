"""Forwarded headers are trusted from the operator's proxies and from nobody else."""

import re
from collections.abc import Iterator

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from pydantic import ValidationError

from chatui.accounts.sessions import client_address
from chatui.env import Environment
from chatui.live.routing import is_allowed
from chatui.observability.request_ids import request_id
from chatui.proxies import MAX_LINES, SetupFaults
from chatui.web.middleware import TrustedProxyMiddleware


@pytest.fixture(autouse=True)
def proxy() -> Iterator[None]:
    with override_settings(ENVIRONMENT=Environment(trusted_proxies="10.0.0.1, 172.16.0.0/12")):  # type: ignore[arg-type]
        yield


def address_and_scheme(peer: str, **headers: str) -> tuple[str, bool]:
    """The address that a view sees for a request from ``peer``, and whether it is https."""
    requests: list[HttpRequest] = []

    def view(request: HttpRequest) -> HttpResponse:
        requests.append(request)
        return HttpResponse()

    TrustedProxyMiddleware(view)(RequestFactory().get("/", REMOTE_ADDR=peer, **headers))  # type: ignore[arg-type]
    return requests[0].META["REMOTE_ADDR"], requests[0].is_secure()


def test_a_trusted_proxy_names_the_visitor_and_the_scheme() -> None:
    headers = {"HTTP_X_FORWARDED_FOR": "6.6.6.6, 192.0.2.9", "HTTP_X_FORWARDED_PROTO": "https"}
    assert address_and_scheme("10.0.0.1", **headers) == ("192.0.2.9", True)


def test_nobody_else_can_pretend() -> None:
    headers = {"HTTP_X_FORWARDED_FOR": "192.0.2.9", "HTTP_X_FORWARDED_PROTO": "https"}
    assert address_and_scheme("192.0.2.66", **headers) == ("192.0.2.66", False)


@pytest.mark.parametrize(
    ("peer", "forwarded", "visitor"),
    [
        ("10.0.0.1", "6.6.6.6, 192.0.2.9", "192.0.2.9"),
        ("::ffff:172.18.0.5", "192.0.2.9", "192.0.2.9"),
        ("172.18.0.5", "6.6.6.6, 192.0.2.9, 10.0.0.1", "192.0.2.9"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("10.0.0.1", "192.0.2.9, unknown", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("172.32.0.1", "192.0.2.9", "172.32.0.1"),
        ("", "192.0.2.9", ""),
    ],
)
def test_the_visitor_is_the_last_address_that_is_no_proxy_of_ours(peer: str, forwarded: str, visitor: str) -> None:
    assert address_and_scheme(peer, HTTP_X_FORWARDED_FOR=forwarded)[0] == visitor
    assert client_address(scope(peer, (b"x-forwarded-for", forwarded.encode()))) == visitor


def test_a_proxy_that_is_no_address_is_refused_at_the_start() -> None:
    with pytest.raises(ValidationError, match="trusted_proxies"):
        Environment(trusted_proxies="proxy.example.org")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["", "a b", "a\nINFO forged", "a\n", 'a"', "é", "a=b", 65 * "a"])
def test_an_id_that_is_not_safe_is_replaced_and_a_safe_one_kept(given: str) -> None:
    address_and_scheme("10.0.0.1", HTTP_X_REQUEST_ID=given)
    made = request_id.get()
    assert re.fullmatch("[0-9a-f]{16}", made)
    address_and_scheme("10.0.0.1", HTTP_X_REQUEST_ID=64 * "a")
    assert request_id.get() == 64 * "a"
    address_and_scheme("192.0.2.66", HTTP_X_REQUEST_ID=64 * "a")
    assert re.fullmatch("[0-9a-f]{16}", request_id.get()) and request_id.get() != made, "nobody else gives one"


def scope(peer: str, *headers: tuple[bytes, bytes]) -> dict[str, object]:
    return {"client": [peer, 1], "headers": [(b"host", b"localhost"), *headers]}


def test_sockets_go_by_the_same_rule() -> None:
    forwarded = (b"x-forwarded-for", b"6.6.6.6, 192.0.2.9")
    assert client_address(scope("10.0.0.1", forwarded)) == "192.0.2.9"
    assert client_address(scope("192.0.2.66", forwarded)) == "192.0.2.66"
    https = (b"x-forwarded-proto", b"https"), (b"origin", b"https://localhost")
    assert is_allowed(scope("10.0.0.1", *https))
    assert not is_allowed(scope("192.0.2.66", *https))


def test_a_named_origin_is_compared_exactly() -> None:
    with override_settings(ENVIRONMENT=Environment(origins=["https://chat.example.org"])):
        assert is_allowed(scope("192.0.2.1", (b"origin", b"https://chat.example.org")))
        for other in (b"http://chat.example.org", b"https://chat.example.org.evil.example", b"https://localhost", b"http://localhost"):
            assert not is_allowed(scope("192.0.2.1", (b"origin", other)))


def test_origins_of_strangers_hide_no_fault_of_a_proxy(caplog: pytest.LogCaptureFixture) -> None:
    faults = SetupFaults()
    for number in range(2 * MAX_LINES):
        faults.note_origin(f"https://{number}.example")
    assert len(caplog.records) == MAX_LINES
    faults.note_untrusted("192.0.2.1")
    faults.note_spoilt("Upgrade")
    assert len(caplog.records) == MAX_LINES + 2
