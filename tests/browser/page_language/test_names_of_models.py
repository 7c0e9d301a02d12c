"""Right-to-left model names on a left-to-right page: where they are cut off, their beginning stays readable."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import PHONE, Visits
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

ARABIC = "نموذج-اللغة-العربية-الكبير-للمحادثات-الطويلة-والترجمة-70b"
FILE = '[[backend]]\nname="main"\nurl="{url}"\nkind="chat"\nmodels=["alpha", "{arabic}"]\n'


@pytest.fixture(scope="module")
def arabic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    place: Path = tmp_path_factory.mktemp("arabic")
    writer = Writer()
    (place / "backends.toml").write_text(FILE.format(url=writer.url, arabic=ARABIC), encoding="utf-8")
    try:
        with served(Deployment(place, CHATUI_BACKENDS_FILE=str(place / "backends.toml"))) as server:
            yield server
    finally:
        writer.close()


def directions(places: Locator) -> list[str]:
    found: list[str] = places.evaluate_all("all => all.map(each => getComputedStyle(each).direction)")
    return found


@pytest.mark.extended
def test_the_choice_cuts_off_the_end_of_the_name_and_the_menu_reads_as_the_choice_does(arabic: Server, visits: Visits) -> None:
    chat = Chat(visits.open(arabic, "ada", **PHONE))
    choice = chat.page.locator(".model-choice")
    choice.select_option(index=1)
    # Chromium shows the chosen option in the option's own direction, and cuts off its end.
    assert directions(choice.locator("option")) == ["ltr", "rtl"]
    assert directions(choice) == ["ltr"], "its arrow stays where it is"
    chat.ask_and_wait("Hello")

    chat.button("Another model").click()
    items = chat.page.locator("#again-menu [data-choice]")
    expect(items).to_have_count(2)
    assert directions(items) == ["ltr", "rtl"]


@pytest.mark.extended
def test_the_line_below_an_answer_keeps_the_number_at_the_end_of_the_name(arabic: Server, visits: Visits) -> None:
    chat = Chat(visits.open(arabic, "ada"))
    chat.page.locator(".model-choice").select_option(index=1)
    chat.ask_and_wait("Hello")
    name = chat.last.locator(".answer-facts > span").last
    expect(name).to_have_text(ARABIC)
    first, last = name.evaluate("""name => [0, name.firstChild.length - 1].map(at => {
      const letter = document.createRange();
      letter.setStart(name.firstChild, at);
      letter.setEnd(name.firstChild, at + 1);
      return letter.getBoundingClientRect().left;
    })""")
    assert last < first, "the last letter is left of the first"
