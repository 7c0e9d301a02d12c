"""The pages of tools: what they list and why one is off, who may switch one, and that each change is recorded and counts at once."""

import asyncio
import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatui.models.audit import AuditEvent
from chatui.models.tools import ToolSetting
from chatui.models.user import User
from chatui.permissions import access
from chatui.tools import catalogue, rules, search_engines
from chatui.tools.python import availability, tool
from tests.chatui.conftest import make_person, signed_in
from tests.support import environment
from tests.support import peer as peers
from tests.support.new_process import forget
from tests.support.peer import PeerRequest
from tests.support.sandbox import named_packages

pytestmark = pytest.mark.django_db

LIST = "/manage/tools/"
BROWSER = f"{LIST}browser/"
ENGINE = f"{LIST}web-search/"
KEY = "k3y-of-the-engine"


@pytest.fixture(autouse=True)
def _real(monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9"})  # any: the demo would have its own tools


@pytest.fixture
def keeper(db: None) -> User:
    """Staff who may switch tools."""
    return make_person("keeper", "view_tools", "change_tools", staff=True)


@pytest.fixture
def finder(db: None) -> User:
    """Staff who may choose the search engine."""
    return make_person("finder", "view_tools", "change_tools", "connect_tools", "view_hidden_channels", staff=True)


def read(client: Client, address: str = LIST) -> str:
    page = client.get(address).content.decode()
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<main")[2].partition("</main>")[0])))


def offered(person: User) -> set[str]:
    rules.forget_rows()  # as another process does after ROWS_SECONDS
    return set(access.usable_tools(person, is_demo=False))


def switch_on(client: Client, address: str = BROWSER, **values: Any) -> Any:
    return client.post(address, {"is_on": "on", "whom": "everybody", "sends_outside": "on", **values})


def test_what_is_switched_on_is_offered_at_once_and_recorded(keeper: User, ada: User) -> None:
    client = signed_in(keeper)
    assert offered(ada) == set() and "Read web pages Off" in read(client)
    assert switch_on(client).status_code == 302
    assert offered(ada) == {"browser_open", "browser_find"}
    assert "Read web pages On" in read(client) and "No search engine is set up." in read(client)
    assert not catalogue.needs_approval(catalogue.tools()["browser_open"])
    line = AuditEvent.objects.latest("number")
    assert (line.action, line.actor, line.owner_name) == ("tool setting changed", keeper, "browser")
    assert line.detail == "enabled is now True; asks before each call is now False; groups is now everybody"
    client.post(BROWSER, {"whom": "everybody", "sends_outside": "on"})
    assert offered(ada) == set() and AuditEvent.objects.latest("number").detail == "enabled is now False"


def test_a_tool_for_groups_is_for_nobody_once_they_are_gone(keeper: User, ada: User, bela: User) -> None:
    group = Group.objects.create(name="research")
    ada.groups.add(group)
    client = signed_in(keeper)
    refused = switch_on(client, whom="groups")
    assert refused.status_code == 400 and "Choose at least one group." in refused.content.decode()
    switch_on(client, whom="groups", groups=[group.pk], needs_approval="on")
    assert (offered(ada), offered(bela)) == ({"browser_open", "browser_find"}, set())
    assert "For members of: research" in read(client) and catalogue.needs_approval(catalogue.tools()["browser_open"])
    group.delete()
    assert offered(ada) == set()


def test_facts_are_stated_apart_and_kept(keeper: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(keeper)
    switch_on(client)
    assert ToolSetting.objects.get().sends_outside is None, "what the author says stays the author's"
    switch_on(client, reads_private_data="on", sends_outside="")
    rules.forget_rows()
    tool = catalogue.all_enabled()["browser_open"]
    assert (tool.reads_private_data, tool.sends_outside) == (True, False)
    switch_on(client, reads_private_data="on", sends_outside="", needs_approval="on")
    rules.forget_rows()
    assert catalogue.all_enabled()["browser_open"].reads_private_data


def test_what_the_operators_settings_name_can_only_be_paused(keeper: User, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"tools": {"browser": (), "python": ()}, "tools_without_approval": ["browser"]})
    client = signed_in(keeper)
    shown = read(client, BROWSER)
    assert "From the operator’s file" in shown and "For whom" not in shown
    switch_on(client, needs_approval="on", whom="everybody")
    assert not catalogue.needs_approval(catalogue.tools()["browser_open"])
    client.post(BROWSER, {"switch": "off"})
    assert offered(ada) == set() and "Switched off here" in read(client)
    client.post(BROWSER, {"switch": "on"})
    assert offered(ada) == {"browser_open", "browser_find"}
    assert "python" in rules.rules()
    client.post(f"{LIST}python/", {"switch": "off"})
    rules.forget_rows()
    assert "python" not in rules.rules()


def test_the_page_of_python_lists_the_packages_of_its_service(keeper: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async def service(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        await peers.send(writer, {"packages": ["numpy 2.4.6", "pandas 3.1.1"]} if request.path == "/packages" else {})

    with peers.peer(service) as served:
        environment.change(monkeypatch, {"tools": {"python": ()}, "python_service_url": served.url})
        try:
            forget(availability, tool)
            assert named_packages()
            assert "Packages that its code can use: numpy 2.4.6, pandas 3.1.1" in read(signed_in(keeper), f"{LIST}python/")
        finally:
            forget(availability, tool)


def test_python_is_offered_by_the_operators_settings_alone(keeper: User) -> None:
    client = signed_in(keeper)
    assert "Only the operator’s settings can offer it" in read(client, f"{LIST}python/")
    assert client.post(f"{LIST}python/", {"switch": "on"}).status_code == 404
    ToolSetting.objects.create(name="python")
    rules.forget_rows()
    assert rules.rules() == {}


def test_who_may_only_see_changes_nothing(ada: User) -> None:
    client = signed_in(make_person("looker", "view_tools", staff=True))
    assert "To change it, you need the permission" in read(client, BROWSER)
    assert switch_on(client).status_code == 404 and client.get(ENGINE).status_code == 404
    assert not ToolSetting.objects.exists()


def test_why_a_tool_that_is_on_is_not_offered(keeper: User, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"tools": {"browser": (), "current_time": ()}, "tool_facts": {"current_time": ("private",)}})
    assert "Not offered together with Clock: one reads private data, and the other sends something out." in read(signed_in(keeper))
    monkeypatch.setitem(catalogue.unusable, ("acme", "broken"), "it could not be loaded (ImportError)")
    assert "broken Cannot be offered it could not be loaded (ImportError)" in read(signed_in(keeper))


def test_the_search_engine_is_chosen_on_the_page(finder: User, keeper: User, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(finder)
    assert read(client).count("Choose a search engine…") == 1, "beside the search alone"
    switch_on(client)
    for wrong, problem in (
        ({"engine": "brave"}, "This search engine needs a key."),
        ({"engine": "searxng"}, "This search engine needs an address."),
        ({"engine": "searxng", "address": "http://search.example.org"}, "must begin with https://"),
        ({"engine": "searxng", "address": "https://10.0.0.5"}, "is in a private network"),
        ({"engine": "searxng", "address": "http://search.lan:8888"}, "is in a private network"),
    ):
        refused = client.post(ENGINE, wrong)
        assert refused.status_code == 400 and problem in html.unescape(refused.content.decode()), wrong
    assert client.post(ENGINE, {"engine": "brave", "key": KEY}).status_code == 302
    assert offered(ada) == {"browser_open", "browser_find", "browser_search"}
    used = search_engines.chosen()
    assert used is not None and (used.engine.name, used.key, used.is_from_file) == ("Brave", KEY, False)
    line = AuditEvent.objects.latest("number")
    assert (line.owner_name, line.detail) == ("search", "search engine is now brave; key is now stored")
    row = ToolSetting.objects.get(name="search")
    assert KEY not in row.sealed_key + client.get(ENGINE).content.decode() + repr(used)
    client.post(ENGINE, {"engine": "brave"})
    rules.forget_rows()
    assert search_engines.is_configured(), "an empty field keeps the key"
    assert "This search engine needs a key." in html.unescape(client.post(ENGINE, {"engine": "exa"}).content.decode())
    ToolSetting.objects.filter(name="search").update(engine="exa")
    rules.forget_rows()
    assert not search_engines.is_configured(), "the key is for another engine"
    assert signed_in(keeper).get(ENGINE).status_code == 404
    client.post(ENGINE, {"engine": ""})
    assert offered(ada) == {"browser_open", "browser_find"} and ToolSetting.objects.get(name="search").sealed_key == ""


def test_the_operators_search_engine_takes_precedence(finder: User, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"search": "exa", "search_key": "k"})
    client = signed_in(finder)
    assert "Exa From the operator’s file" in read(client, ENGINE)
    assert client.post(ENGINE, {"engine": "brave", "key": KEY}).status_code == 404


def test_the_operator_may_allow_a_host_in_a_private_network(finder: User, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"tools_private_hosts": ["search.lan:8888"]})
    client = signed_in(finder)
    assert client.post(ENGINE, {"engine": "searxng", "address": "http://search.lan:8889"}).status_code == 400
    assert client.post(ENGINE, {"engine": "searxng", "address": "http://search.lan:8888"}).status_code == 302
