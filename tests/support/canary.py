"""The words, browsers and crawls of ``manage.py canary``, so that tests and product search in the same way.

A marker is a random word that must never appear.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from chatui.operations.canary import crawl as product
from chatui.operations.canary import run
from chatui.operations.canary.browser import Deployment, SimulatedBrowser, Tab
from chatui.operations.canary.crawl import FIXED, FORMS, LAST, QUERIES, Address
from chatui.operations.canary.crawl import FOR_STAFF as FOR_STAFF
from chatui.operations.canary.crawl import known_of as known_of
from chatui.operations.canary.hidden_frames import hidden_headers as hidden_headers
from chatui.operations.canary.run import EXIT_CODES, CanaryReport, as_json, as_text
from chatui.operations.canary.watch import SOCKET as SOCKET
from chatui.operations.canary.watch import Canary as Canary
from chatui.operations.canary.watch import CanaryError as CanaryError
from chatui.operations.canary.watch import CanaryFinding, Clock, LeakWatch

Browser = SimulatedBrowser
ASKED_LAST = frozenset(LAST)
"""The names of the addresses that a crawl asks for at its end, because they change what others answer."""


class Watch(LeakWatch):
    """Searches what a product answers for the words of ``hidden``, for those of ``visible`` where only their owner may read them, and for
    ``secrets`` of the operator. ``look`` takes what was answered."""

    def __init__(self, hidden: Canary | None = None, visible: Canary | None = None, secrets: Mapping[str, str] = {}) -> None:
        super().__init__(hidden or Canary(), visible or Canary(), secrets)

    @property
    def found(self) -> list[str]:
        """A line for each finding, as the command prints it."""
        return [str(finding) for finding in self.findings]


class Visited:
    """A product that the canary's browsers visit. ``transport``: how requests get there, if not over the network."""

    def __init__(self, url: str, watch: Watch, seconds: float = 600, transport: httpx.BaseTransport | None = None) -> None:
        self.watch = watch
        self.deployment = Deployment(url, watch, Clock(seconds), transport)

    def browser(self, viewer: str) -> Browser:
        """Of somebody who has not signed in. ``with`` it."""
        return SimulatedBrowser(viewer, self.deployment)


def tab(browser: Browser) -> Tab:
    """A page of theirs, with its socket. ``with`` it."""
    return Tab(browser)


def crawl(browser: Browser, known: Sequence[Mapping[str, str]], *, only: Iterable[tuple[str, str]] | None = None, **options: bool) -> None:
    """Fetch every address with these ids, and where its links lead. ``only``: the patterns and names of addresses, if not of all;
    ``options``: as in ``Crawl``."""
    with pytest.MonkeyPatch.context() if only is not None else nullcontext() as patch:
        if patch is not None:
            chosen = [Address(*each) for each in only or ()]
            patch.setattr(product, "addresses", lambda: chosen)
        product.Crawl(browser, **options).everything(known)


def crawl_pages(browser: Browser, known: Sequence[Mapping[str, str]], **options: bool) -> None:
    """Fetch all pages of these conversations, as it is done in the middle of an answer. ``options``: as in ``Crawl``."""
    product.Crawl(browser, **options).pages_of(known)


def patterns() -> dict[str, str]:
    """The pattern of every address of the product, in order, with its name."""
    return {address.pattern: address.name for address in product.addresses()}


def paths(pattern: str, known: Iterable[Mapping[str, str]]) -> list[str]:
    """Where a crawl goes at an address of this pattern."""
    return product.places(Address(pattern, patterns().get(pattern, "")), known)


def named() -> set[str]:
    """The names of all addresses about which a crawl knows something of its own."""
    return {*FORMS, *LAST, *FOR_STAFF, *QUERIES}


def fixed() -> set[str]:
    """The parameters of addresses that a crawl always fills in in the same way."""
    return set(FIXED)


def parameters() -> set[str]:
    """Those of all addresses."""
    return {name for address in product.addresses() for name in address.parameters}


def shape_of(link: str) -> str:
    """How a link is named in a report."""
    return product.shape_of(link)


def seconds_left(seconds: float, most: float) -> float:
    """How long a step may take that wants ``most``, in a run that has so many seconds left. Raises CanaryError if it has none."""
    return Clock(seconds).left(most)


@dataclass(frozen=True)
class Reported:
    """What the command prints of a run, and how it ends."""

    code: int
    lines: list[str]
    as_json: dict[str, Any]


def reported(*found: tuple[str, str, str, str], problems: Sequence[str] = ()) -> Reported:
    """Of a run that found this: each what it was, who saw it, at which address and in which part."""
    counts = {"hidden": 2, "visible": 1, "answers": 1}
    findings = tuple(CanaryFinding(*each) for each in found)
    looked, left_out = {"answers to the owner": 7}, ("harmony: not here",)
    report = CanaryReport("canary-x", 7, "https://chat.example.org", 1.5, counts, looked, left_out, findings, tuple(problems))
    return Reported(EXIT_CODES[report.outcome], list(as_text(report)), json.loads(as_json(report)))


def secrets_of_operator() -> dict[str, str]:
    """What a run searches for beside its own words, by name."""
    return run.secrets_of_operator()
