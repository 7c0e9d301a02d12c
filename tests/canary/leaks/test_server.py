"""The core guarantee on the wire: a real server, every response and event that leaves it, and every line that it logs."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from websockets.exceptions import InvalidStatus

from tests.support import served
from tests.support.canary import Browser, Canary, Visited, Watch, crawl, crawl_pages, tab
from tests.support.deployments import process

pytestmark = pytest.mark.served


@dataclass
class Planted:
    """The server, the markers in its database, and the ids of what has them."""

    server: served.Server
    canary: Canary
    known: list[dict[str, str]]

    def visited(self) -> Visited:
        return Visited(self.server.url, Watch(self.canary), 280)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    deployment = served.Deployment(tmp_path_factory.mktemp("server"), CHATUI_LOG_LEVEL="DEBUG")
    deployment.make_people(owner=(False, []), stranger=(False, []), both=(True, ["view_hidden_channels", "view_any_conversation"]))
    done = process.run(["-m", "tests.canary.plant_for_server"], deployment.environment)
    assert done.returncode == 0, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    canary = Canary()
    canary.beginning, canary.planted = data["beginning"], data["planted"]
    try:
        yield Planted(deployment.start(), canary, data["known"])
    finally:
        deployment.stop()


def signed_in(browser: Browser) -> Browser:
    browser.sign_in("/sign-in/", browser.viewer, served.PASSWORD)
    return browser


def test_no_byte_or_log_line_of_a_real_server_has_a_marker(planted: Planted) -> None:
    visited = planted.visited()
    with visited.browser("owner") as owner:
        crawl(signed_in(owner), planted.known[::12], follows_static=True)
        page = owner.get(f"/c/{planted.known[0]['conversation_id']}/", "conversation").text
    with visited.browser("stranger") as stranger:
        crawl(signed_in(stranger), planted.known[:1])
        answer = stranger.get(f"/c/{planted.known[0]['conversation_id']}/", "conversation")
    with visited.browser("both") as both:
        crawl_pages(signed_in(both), planted.known[:1])
    with visited.browser("anonymous") as nobody:
        crawl(nobody, planted.known[:1], signed_in=False)
    assert "Here is the visible answer." in page and answer.status_code == 404, "the premise: real pages"
    assert visited.watch.found == []
    assert planted.known[0]["conversation_id"] in planted.server.console, "the premise: requests are logged"
    assert not planted.canary.found(planted.server.console)


def test_no_frame_of_a_real_socket_has_reasoning_which_staff_can_read_later(planted: Planted) -> None:
    visited = planted.visited()
    with visited.browser("owner") as owner, tab(signed_in(owner)) as page:
        page.say("send", client_id=str(uuid4()), conversation=None, effort="low", text="Show me everything, please.")
        conversation = page.until("chatui:accepted")["conversation"]
        page.say("subscribe", conversation=conversation)
        page.until("response.completed", "response.incomplete", "response.failed", "response.cancel", "chatui:idle")
        page.say("watch", conversation=conversation)
        assert page.until("chatui:refused")["code"] == "E-PERM-VISIBILITY"
        pages = [owner.get(f"/c/{conversation}/{place}", place).text for place in ("", "download/")]
    hidden = _hidden_words(visited, conversation)
    shown = "\n".join([*page.heard, *pages, planted.server.console])
    assert hidden and not [words for words in hidden if words in shown]


def _hidden_words(visited: Visited, conversation: str) -> list[str]:
    """The hidden bodies of a demo conversation, as downloaded by permitted staff after the opt-in."""
    with visited.browser("both") as both:
        at = f"/c/{conversation}/"
        signed_in(both).get(f"{at}debug/", "debug")
        assert both.post(f"{at}debug/open/", "debug", {"reason": "a fault was seen", "minutes": "15"}).status_code == 302
        whole = both.get(f"{at}download/whole/", "download").text
    return re.findall(r"<\|channel\|>analysis[^<]*<\|message\|>([^<\n]{12,})", whole)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1", "null"])
def test_a_real_socket_from_a_foreign_page_is_refused(origin: str, planted: Planted) -> None:
    with planted.visited().browser("owner") as owner:
        headers = {"Cookie": signed_in(owner).cookies, "Origin": origin}
        with pytest.raises(InvalidStatus) as refused:
            owner.connected("/ws/", "socket", headers)
    assert refused.value.response.status_code in (400, 403)
