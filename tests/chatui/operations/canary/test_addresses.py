"""The crawl knows every address of the product: one that it cannot fill in fails here before it fails a run."""

from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import httpx
import pytest
from django.urls import get_resolver, resolve

from tests.canary.reviewed import ATTEMPT, ROUTES
from tests.canary.surface.test_reviewed import patterns as reviewed_patterns
from tests.support.canary import FOR_STAFF, CanaryError, Visited, Watch, crawl, fixed, named, parameters, paths, patterns
from tests.support.cases import for_each

KNOWN = {name: str(uuid4()) for name in ("conversation_id", "turn_id", "message_id")}
WHAT_TO_DO = "Tell chatui/operations/canary/crawl.py how this is asked for, or manage.py canary cannot be carried out any more."


def test_it_finds_every_address_of_the_url_list() -> None:
    assert list(patterns()) == list(reviewed_patterns(get_resolver()))


@for_each(patterns())
def test_it_can_fill_in_every_address(pattern: str) -> None:
    for path in paths(pattern, [KNOWN]):
        assert resolve(urlsplit(path).path).route == pattern.replace("^", "")


def test_it_knows_which_addresses_are_for_staff_and_refused_with_a_line_in_the_audit_log() -> None:
    recorded = {route.pattern for route in ROUTES if any(ask.statuses()["owner"] == f"403{ATTEMPT}" for ask in route.asks)}
    assert recorded, "the premise: the reviewed table says which they are"
    assert {pattern for pattern, name in patterns().items() if name in FOR_STAFF} == recorded, WHAT_TO_DO


def test_it_names_no_address_that_does_not_exist() -> None:
    assert set(patterns().values()) >= named()
    assert fixed() <= parameters()


def test_a_number_or_an_id_that_nobody_knows_is_nobodys_and_a_known_one_counts() -> None:
    found = paths("x/<int:novelty>/<uuid:key>/", [{}, {"novelty": "7"}])
    assert found == [f"/x/{number}/00000000-0000-7000-8000-00000000cafe/" for number in (1, 7)]


def test_an_address_that_only_accepts_forms_gets_one() -> None:
    sent: list[tuple[str, dict[str, str]]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            form = dict(parse_qsl(request.read().decode()))
            sent.append((request.url.path, form))
        return httpx.Response(405 if request.method == "GET" else 200)

    with Visited("http://127.0.0.1:9", Watch(), transport=httpx.MockTransport(answer)).browser("owner") as browser:
        crawl(browser, [{"message_id": "m"}], only=[("y/", "y"), ("c/<uuid:message_id>/branch/", "branch")])
    assert sent == [("/y/", {}), ("/c/m/branch/", {"message": "m"})]


def test_a_crawl_that_does_not_know_a_word_of_an_address_cannot_be_carried_out() -> None:
    """With exit code 2, rather than with a route that nobody looked at."""
    with (
        Visited("http://127.0.0.1:9", Watch()).browser("owner") as browser,
        pytest.raises(CanaryError, match="does not know how to ask for x/<slug:novelty>/"),
    ):
        crawl(browser, [KNOWN], only=[("x/<slug:novelty>/", "x")])
