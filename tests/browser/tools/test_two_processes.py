"""A question to the person and an added message in real browsers whose pages are at two processes: no text is lost, and a reload shows the
same."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Route, expect

from tests.browser.cable import Cable
from tests.browser.chat import Chat
from tests.browser.connection.test_after_a_cut import SHOWN
from tests.browser.visits import Visits, still, until
from tests.services.asking import Model, asking
from tests.support.served import Deployment, Server

pytestmark = [pytest.mark.browser, pytest.mark.services]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with asking(tmp_path_factory.mktemp("pages")) as deployment:
        yield deployment


@dataclass
class Browsers:
    """Browsers of one person, each behind a cable that leads to a process."""

    visits: Visits
    cables: list[Cable] = field(default_factory=list)

    def open(self, server: Server, path: str = "/") -> Chat:
        cable = Cable(server.port)
        self.cables.append(cable)
        chat = Chat(self.visits.open(server, "ada"))
        chat.page.goto(cable.url + path)
        return chat


@pytest.fixture
def browsers(visits: Visits) -> Iterator[Browsers]:
    browsers = Browsers(visits)
    yield browsers
    for cable in browsers.cables:
        cable.close()


def both(browsers: Browsers, one: Server, two: Server) -> tuple[Chat, Chat]:
    """Two pages with the form that waits in a new conversation."""
    asker = browsers.open(one)
    asker.ask("Bake a cake.")
    expect(asker.page.locator("[data-form]")).to_have_count(1)
    away = browsers.open(two, asker.page.url.removeprefix(browsers.cables[0].url))
    expect(away.page.locator("[data-form]")).to_have_count(1)
    return asker, away


def same_after_a_reload(*pages: Chat) -> None:
    """Check that the pages show the same, now and after a reload."""
    shown = []
    for chat in pages:
        expect(chat.page.locator("[data-waiting]")).to_have_count(0)  # the end of an answer comes before its decided cards
        still(chat.page)
        shown.append(chat.page.evaluate(SHOWN))
        chat.page.reload()
        still(chat.page)
        shown.append(chat.page.evaluate(SHOWN))
    assert shown == [shown[0]] * len(shown)


@pytest.mark.parametrize("is_sent", [False, True])
def test_what_was_typed_into_a_form_that_another_page_answered_is_in_the_message_box(
    is_sent: bool, deployment: Deployment, browsers: Browsers
) -> None:
    asker, away = both(browsers, *deployment.servers)
    held: list[Route] = []
    if is_sent:
        browsers.visits.allow("409")
        away.page.route("**/calls/*/", lambda route: held.append(route))
    for chat, text in ((asker, "Ada's"), (away, "Bela's, I think")):
        chat.page.get_by_label("Whose cake is it?").fill(text)
    if is_sent:
        away.page.get_by_role("button", name="Send", exact=True).first.click()
        until(away.page, lambda: held)
    asker.page.locator("[data-form]").get_by_role("button", name="Send").click()
    asker.finish()
    for route in held:
        route.continue_()
    away.finish()
    expect(away.page.locator(".toast")).to_contain_text("The form is no longer open")
    expect(away.box).to_have_value("Bela's, I think")
    expect(asker.box).to_have_value("")
    expect(asker.page.locator(".toast")).to_have_count(0)
    away.page.unroute_all()
    same_after_a_reload(asker, away)
    expect(away.box).to_have_value("Bela's, I think")


def test_a_killed_process_takes_no_text_with_it(deployment: Deployment, browsers: Browsers) -> None:
    one, _ = deployment.servers
    victim = deployment.start()
    browsers.visits.allow("ERR_|WebSocket|50[0-9]")
    asker, away = both(browsers, victim, one)
    for chat, text in ((asker, "Ada's"), (away, "Bela's")):
        chat.page.get_by_label("Whose cake is it?").fill(text)
    away.ask("For Sunday.")
    card = away.page.locator(".next-message")
    card.get_by_role("button", name="Add to this answer").click()
    expect(card).to_contain_text("Added to this answer at its next step")
    victim.stop(signal.SIGKILL)
    deployment.servers.remove(victim)
    browsers.cables[0].lead_to(one.port)
    for chat, text in ((asker, "Ada's"), (away, "Bela's")):
        chat.finish("interrupted")
        expect(chat.page.locator("[data-decided]")).to_contain_text("The answer ended before you answered")
        expect(chat.box).to_have_value(text)
    expect(card).to_contain_text("The answer was not finished, so this message has not been sent.")
    expect(card).to_contain_text("For Sunday.")
    same_after_a_reload(asker, away)
    expect(card).to_contain_text("For Sunday.")


def test_two_messages_that_are_added_at_once_are_both_answered(deployment: Deployment, browsers: Browsers) -> None:
    asker, away = both(browsers, *deployment.servers)
    for chat, text in ((asker, "Red."), (away, "Blue.")):
        chat.ask(text)
        chat.page.locator(".next-message").get_by_role("button", name="Add to this answer").click()
        expect(chat.page.locator(".next-message")).to_contain_text("Added to this answer at its next step")
    asker.page.locator("[data-form]").get_by_role("button", name="Send").click()
    for chat in (asker, away):
        expect(chat.exchanges).to_have_count(3)
        chat.finish()
        expect(chat.page.locator(".next-message")).to_have_count(0)
        expect(chat.box).to_have_value("")
    assert {"Red.", "Blue."} < set(Model.asked[-1])
    same_after_a_reload(asker, away)
