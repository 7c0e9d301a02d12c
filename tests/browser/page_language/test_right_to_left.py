"""Right-to-left pages, in a language that the product does not have yet: Arabic, with untranslated English sentences."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

WITH_ARABIC = """import manage
from chatui.site import languages
languages.LANGUAGES["ar"] = "العربية"
manage.main()"""


MODELS = """
[[backend]]
name = "small"
label = "Small, quick and careful with what it says to people"
kind = "demo"

[[backend]]
name = "large"
label = "Large, for work that takes long"
kind = "demo"
"""


@pytest.fixture(scope="module")
def arabic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the additional language Arabic."""
    place = tmp_path_factory.mktemp("arabic")
    (place / "backends.toml").write_text(MODELS, encoding="utf-8")
    deployment = Deployment(place, CHATUI_BACKENDS_FILE=str(place / "backends.toml"))
    deployment.program = ("-c", WITH_ARABIC)
    with served(deployment) as server:
        yield server


@pytest.fixture
def chat(arabic: Server, visits: Visits) -> Chat:
    page = visits.open(arabic, "ada", locale="ar")
    page.wait_for_load_state()
    assert page.evaluate("[document.documentElement.lang, document.dir]") == ["ar", "rtl"]
    return Chat(page)


def box(place: Locator) -> tuple[float, float]:
    """The left and right edges of an element."""
    found = place.bounding_box()
    assert found
    return found["x"], found["x"] + found["width"]


def ask(chat: Chat, text: str) -> None:
    chat.page.locator("#composer-text").fill(text)
    chat.page.keyboard.press("Enter")
    chat.finish()
    chat.settle()


def test_a_title_menus_and_the_list_begin_on_the_right_also_on_a_phone(chat: Chat) -> None:
    ask(chat, "A question in English")
    page = chat.page
    title, bar = page.locator(".top-title"), page.locator(".top-bar")
    words = title.evaluate("""title => {
      const range = document.createRange();
      range.selectNodeContents(title);
      return range.getBoundingClientRect().right;
    }""")
    assert box(bar)[1] - words < 40
    page.goto(page.url + "share/")
    assert page.locator(".shared-title").evaluate("title => getComputedStyle(title).textAlign") == "right"
    page.go_back()
    page.wait_for_load_state()
    page.locator(".account-button").click()
    assert abs(box(page.locator("#account-menu"))[1] - box(page.locator(".account-button"))[1]) < 2
    page.keyboard.press("Escape")
    # Without room on that side, a menu opens to the other.
    page.locator(".top-more").click()
    assert abs(box(page.locator("#top-menu"))[0] - box(page.locator(".top-more"))[0]) < 2
    page.keyboard.press("Escape")

    left = "() => document.querySelector('#sidebar').getBoundingClientRect().left"
    assert page.evaluate(left) > 640
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function(f"() => ({left})() >= 360")
    page.locator(".drawer-open").click()
    page.wait_for_function("() => Math.round(document.querySelector('#sidebar').getBoundingClientRect().right) === 360")
    assert page.evaluate(left) > 0
