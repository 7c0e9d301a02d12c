"""The crawl knows every address of the product: one that it cannot fill in, or has no form for, fails here before it fails a run."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from django.urls import get_resolver, resolve

from chatui.operations.canary import crawl
from chatui.operations.canary.browser import Deployment, SimulatedBrowser, VisitorResponse
from chatui.operations.canary.crawl import FIXED, FOR_STAFF, FORMS, LAST, QUERIES, Address, addresses, form, places
from chatui.operations.canary.watch import Canary, CanaryError, Clock, LeakWatch
from tests.canary.reviewed import ATTEMPT, ROUTES
from tests.canary.surface.test_reviewed import patterns
from tests.support.cases import for_each

KNOWN = {name: str(uuid4()) for name in ("conversation_id", "turn_id", "message_id")}
WHAT_TO_DO = "Tell chatui/operations/canary/crawl.py how this is asked for, or manage.py canary cannot be carried out any more."


def by_pattern() -> dict[str, Address]:
    return {address.pattern: address for address in addresses()}


def test_it_finds_every_address_of_the_url_list() -> None:
    assert [address.pattern for address in addresses()] == list(patterns(get_resolver()))


@for_each(addresses())
def test_it_can_fill_in_every_address(address: Address) -> None:
    found = places(address, [KNOWN])
    assert found, WHAT_TO_DO
    for path in found:
        assert resolve(urlsplit(path).path).route == address.pattern.replace("^", "")


def test_it_has_a_form_for_every_address_that_takes_nothing_else() -> None:
    only_forms = {
        route.pattern
        for route in ROUTES
        if all(ask.method == "POST" or ask.statuses()["owner"] == "405" for ask in route.asks)
        and not route.pattern.startswith("admin/chatui")
    }
    assert len(only_forms) > 10, "the premise: the reviewed table says which they are"
    known = by_pattern()
    assert sorted(pattern for pattern in only_forms if known[pattern].name not in FORMS) == [], WHAT_TO_DO
    assert all(form(known[pattern], KNOWN) for pattern in only_forms)


def test_it_knows_which_addresses_are_for_staff_and_refused_with_a_line_in_the_audit_log() -> None:
    recorded = {route.pattern for route in ROUTES if any(ask.statuses()["owner"] == f"403{ATTEMPT}" for ask in route.asks)}
    assert recorded, "the premise: the reviewed table says which they are"
    assert {address.pattern for address in addresses() if address.name in FOR_STAFF} == recorded, WHAT_TO_DO


def test_it_names_no_address_that_does_not_exist() -> None:
    names = {address.name for address in addresses()}
    assert set(FORMS) <= names and set(LAST) <= set(FORMS) and names >= FOR_STAFF and set(QUERIES) <= names
    assert set(FIXED) <= {name for address in addresses() for name in address.parameters}


def test_an_address_with_a_parameter_that_nobody_knows_has_no_place() -> None:
    assert places(Address("x/<int:novelty>/", "x", "x/{novelty}/", ("novelty",)), [KNOWN]) == []
    assert places(Address("x/<int:novelty>/", "x", "x/{novelty}/", ("novelty",)), [KNOWN | {"novelty": "7"}]) == ["/x/7/"]


def test_a_crawl_that_does_not_know_an_address_cannot_be_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With exit code 2, rather than with a route that nobody looked at."""
    deployment = Deployment("http://127.0.0.1:9", LeakWatch(Canary(), Canary(), {}), Clock(5))
    with SimulatedBrowser("owner", deployment) as browser:
        monkeypatch.setattr(crawl, "addresses", lambda: [Address("x/<int:novelty>/", "x", "x/{novelty}/", ("novelty",))])
        with pytest.raises(CanaryError, match="does not know how to ask for x/<int:novelty>/"):
            crawl.Crawl(browser).everything([KNOWN])
        monkeypatch.setattr(crawl, "addresses", lambda: [Address("y/", "y", "y/", ())])
        monkeypatch.setattr(browser, "get", lambda *_: VisitorResponse(405, httpx.Headers(), b""))
        with pytest.raises(CanaryError, match="no form for y/"):
            crawl.Crawl(browser).everything([KNOWN])
