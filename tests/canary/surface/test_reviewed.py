"""The reviewed table is complete: a new address, socket, command, event or table fails here until somebody has reviewed it."""

import ast
import hashlib
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from chatui import asgi, wire
from chatui.live import routing
from tests.canary.reviewed import BUS_MESSAGES, COMMANDS, CONTRACTS, DEBUG_EVENTS, END_USER_EVENTS, KINDS, ROUTES, SOCKETS, UNANSWERED
from tests.tools import wire_types

WHAT_TO_DO = "Decide who may see what there and write it into tests/canary/routes.txt or sockets.txt: the crawl and the matrix exercise it."


def patterns(resolver: URLResolver, before: str = "") -> Iterator[str]:
    """Every pattern of the URL configuration, included ones too."""
    for item in resolver.url_patterns:
        here = before + str(item.pattern)
        if isinstance(item, URLPattern):
            yield here
        else:
            yield from patterns(item, here)


def test_every_address_is_reviewed() -> None:
    found, reviewed = list(patterns(get_resolver())), [route.pattern for route in ROUTES]
    assert len(found) > 40, "the premise"
    new = sorted(set(found) - set(reviewed))
    assert new == [], f"{WHAT_TO_DO} New: {', '.join(new)}"
    assert sorted(set(reviewed) - set(found)) == [], "These addresses no longer exist: remove them from tests/canary/routes.txt."
    assert len(reviewed) == len(set(reviewed))


def test_every_reviewed_address_has_an_outcome_and_is_exercised_for_everybody() -> None:
    for route in ROUTES:
        assert route.shows.endswith(".") and route.asks, route.pattern
        assert all(set(ask.statuses()) == set(KINDS) for ask in route.asks)


def test_every_socket_is_reviewed() -> None:
    found = {str(item.pattern) for item in routing.websocket_urlpatterns} | {asgi.PROGRAMS.removeprefix("/")}
    assert found == set(SOCKETS), WHAT_TO_DO


def test_every_socket_command_is_reviewed() -> None:
    assert {command.type for command in wire.COMMANDS} == {command.type for command in COMMANDS} | set(UNANSWERED), WHAT_TO_DO


def test_every_bus_message_to_sockets_is_reviewed() -> None:
    socket: Any = routing.websocket_urlpatterns[0].callback
    tree = ast.parse(inspect.getsource(socket.consumer_class))
    matches = [[case.pattern for case in node.cases] for node in ast.walk(tree) if isinstance(node, ast.Match)]
    of_messages = [each for each in matches if any(isinstance(pattern, ast.MatchValue) for pattern in each)]
    patterns = [pattern for each in of_messages for pattern in each]
    others = [getattr(pattern, "name", None) for pattern in patterns if not isinstance(pattern, ast.MatchValue)]
    assert others == ["signal"], "one match of messages passes all others to a second, which passes none"
    assert {pattern.value.value for pattern in patterns if isinstance(pattern, ast.MatchValue)} == set(BUS_MESSAGES), WHAT_TO_DO  # type: ignore[attr-defined]


def test_every_event_is_reviewed_for_one_audience() -> None:
    sent = fields_of(wire.END_USER_EVENTS)
    changed = {
        name: f"{sorted(sent.get(name, set()) - END_USER_EVENTS.get(name, set()))} are new, "
        f"{sorted(END_USER_EVENTS.get(name, set()) - sent.get(name, set()))} are gone"
        for name in sorted({*sent, *END_USER_EVENTS})
        if sent.get(name) != END_USER_EVENTS.get(name)
    }
    assert not changed, f"{WHAT_TO_DO} Of the fields of {changed}"
    assert set(fields_of(wire.DEBUG_EVENTS)) == DEBUG_EVENTS, WHAT_TO_DO
    assert not set(END_USER_EVENTS) & DEBUG_EVENTS


def test_the_version_is_reconsidered_when_the_contract_changes() -> None:
    digest = hashlib.sha256(wire_types.source().encode()).hexdigest()[:16]
    assert {str(wire.PROTOCOL): digest} == CONTRACTS, (
        "Would a page of the last release bear this change? If not, raise wire.PROTOCOL. Then write the version and the digest into the "
        f"first part of tests/canary/sockets.txt: {wire.PROTOCOL} {digest}"
    )


def fields_of(events: Iterable[type[wire.Event]]) -> dict[str, set[str]]:
    """Every field that an event of each type may have."""
    found: dict[str, set[str]] = {}
    for event in events:
        numbered = {"turn", "sequence_number"} if issubclass(event, wire.TurnEvent) else set()
        for name in event.types:
            found.setdefault(name, {"type"}).update({field.name for field in fields(event)} | numbered)
    return found
