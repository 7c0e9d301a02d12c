"""Who gets what: every reviewed route for every kind of person, with exactly the expected audit lines."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.http import HttpResponse, HttpResponseBase
from django.test import Client
from django.utils import timezone

from chatui.database.pools import Pool
from chatui.display import readiness
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.web import errors
from tests.canary.asking import ADDRESS, client_for, client_of, filled, open_view, places, rolled_back, whole
from tests.canary.conftest import World
from tests.canary.planting import plant
from tests.canary.reviewed import ATTEMPT, COUNTED, GRANT, HOLDER, KINDS, NOTE, ROUTES, Ask
from tests.canary.surface.test_headers import wrong_with
from tests.chatui.conftest import OPENING, refuse_log

pytestmark = pytest.mark.django_db

WITHOUT = ("anonymous", "other", "staff", "hidden only", "any only", "admin")
"""People who may change nothing in somebody else's conversation."""
OF_CONVERSATIONS = ("c/", "s/", "manage/conversations/", "audit/", "debug/", "search/", "shares/", "download/", "v1/")
"""Addresses at which people could read others' text, or hidden text: ``make test-fast`` requests these, too."""
QUICK = ("other", "hidden only", "any only", HOLDER)
"""The people of ``make test-fast``: a stranger, staff with half of the permission, and a link's holder; ``make test`` uses all."""
ASKED = [
    (name, about) if name in QUICK and about == "conversations" else pytest.param(name, about, marks=pytest.mark.slow)
    for name in KINDS
    for about in ("conversations", "all else")
]
WITH_OTHER_HEADERS = "/(diagram/|sw.js|files/|assistants/pictures/|.*/debug/files/)"
"""Pages: see test_headers.py and test_files.py and test_assistant_pictures.py in tests/chatui/web."""
CLOSING = ("open debug view", "close debug view")
"""These end an earlier debug view."""
WAYS = {
    "revoke somebody's API key": "admin",
    "revoke invitation": "admin",
    "whole download": "download",
    "audit export": "download",
    "prompt download": "download",
    "file download": "download",
    "usage export": "download",
}


PATIENT = Pool("readiness", threads=1, waiting=50, seconds=300, lock_seconds=1)
"""A busy machine, too, is ready: it only takes longer to say so."""


def ask_for(client: Client, ask: Ask, values: Mapping[str, str]) -> HttpResponse:
    body = urlencode(filled(ask.data, values)) if ask.method == "POST" else ""
    return client.generic(ask.method, filled(ask.path, values), body, content_type="application/x-www-form-urlencoded")  # type: ignore[return-value]


def lines_after(number: int) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(number__gt=number).order_by("number"))


def counted_views() -> Counter[str]:
    """The counts of debug views: how often each ``action``."""
    return sum((Counter(row.counts) for row in CountedLine.objects.filter(key__startswith="look:")), Counter())


def rows_of_conversations() -> list[Any]:
    return list(Conversation.objects.order_by("pk").values())


def way_of(ask: Ask) -> str:
    """A request refused for its method alone counts as a page: nothing could have been downloaded."""
    if ask.path.startswith("/manage/"):
        return "admin"
    return "page" if "405" in ask.expected else WAYS.get(ask.action, "page")


def mark_of(lines: list[AuditEvent], ask: Ask, person: User | None, path: str) -> str:
    """``!`` or ``+`` if there is exactly the expected line, with all of its columns checked; otherwise what is wrong."""
    if not lines:
        return ""
    if ask.action == "open debug view" and lines[0].way == "server":
        del lines[0]  # the totals of the view that a new one replaces
    line = lines[0]
    if line.conversation_id is None and not line.code:
        about = (len(lines), line.action, line.actor, line.address, line.way)
        return NOTE if about == (1, ask.action, person, ADDRESS, way_of(ask)) else f" with {about}"
    detail = re.sub(r"^after line \d+: ", "", line.detail)
    seen = (len(lines), line.action, line.actor, line.actor_name, line.address, line.way, detail)
    name = person.get_username() if person else ""
    # The reason of a refused opt-in is a stranger's own text, which is not logged.
    expected = (1, ask.action, person, name, ADDRESS, way_of(ask), "" if line.code else ask.detail)
    if seen != expected or str(line.conversation_id) not in path or abs((timezone.now() - line.at).total_seconds()) > 60:
        return f" with {seen}"
    return ATTEMPT if line.code == "E-PERM-VISIBILITY" else GRANT if line.code == "" and line.owner_name == "ada" else f" with {line.code}"


@pytest.mark.parametrize(("name", "about"), ASKED)
def test_each_person_gets_the_reviewed_response_with_its_headers_and_audit_lines_and_no_marker_on_every_route(
    name: str, about: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Most responses are refusals, and of these only status and headers are checked here: other tests read these pages.
    monkeypatch.setattr(errors, "render", lambda request, template, context, status: HttpResponse(status=status))
    monkeypatch.setattr(readiness, "_pool", PATIENT)
    values = places(world)
    if name == "opened":
        open_view(world)
    person = None if name == HOLDER else world.people["both" if name == "opened" else name]
    client = client_of(name, world)
    wrong: list[str] = []
    # Each request is rolled back, so that all find the same state.
    conversations, before = rows_of_conversations(), counted_views()
    last = AuditEvent.objects.order_by("-number").values_list("number", flat=True).first() or 0
    for ask in (ask for route in ROUTES if route.pattern.startswith(OF_CONVERSATIONS) == (about == "conversations") for ask in route.asks):
        with rolled_back(client):
            response = ask_for(client, ask, values)
            mark = mark_of(lines_after(last), replace(ask, detail=filled(ask.detail, values)), person, filled(ask.path, values))
            if ask.action not in CLOSING:
                counted = list((counted_views() - before).items())
                assert not counted or (counted == [(ask.action, 1)] and mark in ("", GRANT)), f"{ask.path}: {counted}"
                mark = mark or (COUNTED if counted else "")
            got = f"{response.status_code}{mark}"
            if name != "opened" and world.canary.found(whole(response)):
                wrong.append(f"{ask.method} {ask.path}: hidden text")
            if ask.method == "POST" or not re.match(WITH_OTHER_HEADERS, ask.path):
                wrong += wrong_with(response, f"{ask.method} {filled(ask.path, values)}")
            if name in WITHOUT and ask.method == "POST" and ask.path.startswith("/c/"):
                assert rows_of_conversations() == conversations, f"{ask.path} changes a conversation for {name}"
        if got != ask.statuses()[name]:
            wrong.append(f"{ask.method} {ask.path}: expected {ask.statuses()[name]}, got {got}")
    assert not wrong, f"for {name}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", ["hidden only", "both", "opened"])
def test_staff_see_hidden_channels_of_their_own_conversation_after_the_opt_in(name: str, world: World) -> None:
    person = world.people["both" if name == "opened" else name]
    assert person is not None
    own = plant(person, world.canary)
    client = client_for(person)
    address = f"/c/{own.conversation.pk}/debug/"
    assert not world.canary.found(whole(client.get(address)))
    assert client.post(f"{address}open/", OPENING).status_code == 302
    assert world.canary.found(whole(client.get(address)))
    assert world.canary.found(whole(client.get(f"/c/{own.conversation.pk}/download/whole/")))
    actions = [line.action for line in lines_after(0)]
    assert actions == ["open debug view", "whole download"]
    assert counted_views() == {"debug page": 1, "whole download": 1}


def test_ordinary_use_leaves_no_line_in_the_audit_log() -> None:
    """According to the reviewed table, against which the test above checks the product."""
    plain = [ask for route in ROUTES for ask in route.asks if not ask.action]
    assert len(plain) > 100
    assert {ask.path: ask.statuses()["owner"] for ask in plain if not ask.statuses()["owner"].isdigit()} == {}


_OF_THE_ASKING = re.compile(
    r'(name="csrf-?(?:middleware)?token" (?:content|value)=")[^"]+|(class="incident">|"request": "|X-Request-ID: )[0-9a-f]{16}'
)


def comparable(response: HttpResponseBase, *ids: str) -> str:
    """A response without its request id, its CSRF tokens, and the requested ids."""
    text = _OF_THE_ASKING.sub(r"\1\2", whole(response).decode())
    text = re.sub(r"(?m)^.*chatui_csrf=.*$", "", text)
    for key in ids:
        text = text.replace(key, "ID")
    return text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "accept"), [("other", "text/html"), ("other", "application/json"), ("hidden only", "text/html"), ("both", "text/html")]
)
def test_not_found_and_not_yours_are_the_same_bytes(name: str, accept: str, world: World) -> None:
    values = places(world)
    nothing = values["nothing"]
    client = client_for(world.people[name], headers={"accept": accept})
    compared = 0
    for ask in (ask for route in ROUTES for ask in route.asks if "{conversation}" in ask.path and ask.path.startswith("/c/")):
        if ask.statuses()[name][:3] not in ("403", "404"):
            continue
        with rolled_back(client):
            others_answer = comparable(ask_for(client, ask, values), *values.values())
        with rolled_back(client):
            missing = ask_for(client, ask, values | {"conversation": nothing})
            if missing.status_code == 404 and ask.statuses()[name].startswith("403"):
                continue  # people who may open any conversation may know that it does not exist
            assert comparable(missing, *values.values()) == others_answer, ask.path
        compared += 1
    assert compared >= 12


def test_without_an_audit_line_pages_and_exports_have_nothing_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    open_view(world)
    allowed = client_for(world.people["both"])
    path = f"/c/{world.planted.conversation.pk}/"
    for place in ("debug/", "download/whole/"):
        assert world.canary.found(whole(allowed.get(path + place))), "the premise: with the line it is shown"

    refuse_log(monkeypatch)
    for name in ("both", "staff", "owner"):
        client = client_for(world.people[name])
        for place in ("debug/", "download/whole/"):
            response = client.get(path + place)
            assert response.status_code == 500
            assert not world.canary.found(whole(response)) and "title" not in json.dumps(dict(response.headers))
            assert "A visible title" not in response.content.decode()


def test_a_deleted_conversation_is_gone_for_permitted_staff_too(world: World) -> None:
    client = client_for(world.people["both"])
    for place in ("debug/", "download/whole/"):
        assert client.get(f"/c/{world.deleted.conversation.pk}/{place}").status_code == 404
    assert client.post(f"/c/{world.deleted.conversation.pk}/debug/open/").status_code == 404


def test_an_anonymous_visitor_is_redirected_to_sign_in_and_nowhere_else(world: World) -> None:
    values = places(world)
    client = client_for(None)
    for ask in (ask for route in ROUTES for ask in route.asks if ask.statuses()["anonymous"][:3] == "302"):
        with rolled_back(client):
            place = urlsplit(ask_for(client, ask, values)["Location"])
            assert not place.netloc and place.path in (
                "/",
                "/sign-in/",
                "/password/",
                filled(ask.path, values) + "change/",
                ask.data.get("next", "/"),  # back to the page on which a language was chosen
            ), ask.path
