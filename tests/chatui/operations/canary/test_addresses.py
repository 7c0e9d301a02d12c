"""The crawl knows every address of the product: one that it cannot fill in fails here before it fails a run."""

from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from django.urls import get_resolver, resolve

from chatui.operations.canary import crawl
from chatui.operations.canary.browser import Deployment, SimulatedBrowser
from chatui.operations.canary.crawl import FIXED, FOR_STAFF, FORMS, LAST, QUERIES, Address, addresses, places
from chatui.operations.canary.watch import Canary, CanaryError, Clock, LeakWatch
from tests.canary.reviewed import ATTEMPT, ROUTES
from tests.canary.surface.test_reviewed import patterns
from tests.support.cases import for_each

DEPLOYMENT = Deployment("http://127.0.0.1:9", LeakWatch(Canary(), Canary(), {}), Clock(600))
KNOWN = {name: str(uuid4()) for name in ("conversation_id", "turn_id", "message_id")}
WHAT_TO_DO = "Tell chatui/operations/canary/crawl.py how this is asked for, or manage.py canary cannot be carried out any more."


def test_it_finds_every_address_of_the_url_list() -> None:
    assert [address.pattern for address in addresses()] == list(patterns(get_resolver()))


@for_each(addresses())
def test_it_can_fill_in_every_address(address: Address) -> None:
    for path in places(address, [KNOWN]):
        assert resolve(urlsplit(path).path).route == address.pattern.replace("^", "")


def test_it_knows_which_addresses_are_for_staff_and_refused_with_a_line_in_the_audit_log() -> None:
    recorded = {route.pattern for route in ROUTES if any(ask.statuses()["owner"] == f"403{ATTEMPT}" for ask in route.asks)}
    assert recorded, "the premise: the reviewed table says which they are"
    assert {address.pattern for address in addresses() if address.name in FOR_STAFF} == recorded, WHAT_TO_DO


def test_it_names_no_address_that_does_not_exist() -> None:
    names = {address.name for address in addresses()}
    assert names >= {*FORMS, *LAST, *FOR_STAFF, *QUERIES}
    assert set(FIXED) <= {name for address in addresses() for name in address.parameters}


def test_a_number_or_an_id_that_nobody_knows_is_nobodys_and_a_known_one_counts() -> None:
    address = Address("x/<int:novelty>/<uuid:key>/", "x")
    assert places(address, [{}, {"novelty": "7"}]) == [f"/x/{number}/00000000-0000-7000-8000-00000000cafe/" for number in (1, 7)]


def test_an_address_that_only_accepts_forms_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, object]] = []
    with SimulatedBrowser("owner", DEPLOYMENT) as browser:
        monkeypatch.setattr(crawl, "addresses", lambda: [Address("y/", "y"), Address("c/<uuid:message_id>/branch/", "branch")])
        monkeypatch.setattr(browser, "get", lambda *_: httpx.Response(405))

        def post(path: str, place: str, form: object) -> httpx.Response:
            sent.append((path, form))
            return httpx.Response(200, text=place)

        monkeypatch.setattr(browser, "post", post)
        crawl.Crawl(browser).everything([{"message_id": "m"}])
    assert sent == [("/y/", {}), ("/c/m/branch/", {"message": "m"})]


def test_a_crawl_that_does_not_know_a_word_of_an_address_cannot_be_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With exit code 2, rather than with a route that nobody looked at."""
    with SimulatedBrowser("owner", DEPLOYMENT) as browser:
        monkeypatch.setattr(crawl, "addresses", lambda: [Address("x/<slug:novelty>/", "x")])
        with pytest.raises(CanaryError, match="does not know how to ask for x/<slug:novelty>/"):
            crawl.Crawl(browser).everything([KNOWN])
