"""Right-to-left pages, in a language that the product does not have yet: Arabic, with untranslated English sentences."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

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


@pytest.mark.extended
def test_an_empty_box_begins_on_the_right_and_a_written_one_where_its_text_does(chat: Chat) -> None:
    for name in ("#composer-text", ".search-text"):
        field = chat.page.locator(name)
        directions = []
        for text in ("", "English", "عربي"):
            field.fill(text)
            directions.append(field.evaluate("field => getComputedStyle(field).direction"))
        assert directions == ["rtl", "ltr", "rtl"], name
        field.fill("")
        assert field.evaluate("field => getComputedStyle(field).unicodeBidi") != "plaintext", name


def test_a_title_and_menus_begin_on_the_right(chat: Chat) -> None:
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


@pytest.mark.extended
def test_arrows_point_the_other_way_and_the_corner_of_a_question_is_on_its_side(chat: Chat) -> None:
    ask(chat, "A question in English")
    chat.page.locator("[data-action=regenerate]").click()
    expect(chat.last.locator(".siblings")).to_be_visible()
    arrows = chat.last.locator(".siblings .icon")
    assert arrows.evaluate_all("all => all.map(each => getComputedStyle(each).scale)") == ["-1 1", "-1 1"]
    assert chat.last.locator("[data-action=regenerate] .icon").evaluate("icon => getComputedStyle(icon).scale") == "none"
    corners = "place => { const s = getComputedStyle(place); return [s.borderBottomLeftRadius, s.borderBottomRightRadius]; }"
    left, right = chat.question.evaluate(corners)
    assert float(left.removesuffix("px")) < float(right.removesuffix("px"))


@pytest.mark.extended
@pytest.mark.parametrize("text", ["عنوان المحادثة", "A title"])
def test_a_title_begins_on_the_side_of_the_page_whatever_it_is_written_in(demo: Server, visits: Visits, text: str) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait(text)
    chat.settle()
    title = chat.page.locator(".top-title")
    words = title.evaluate(
        "title => { const r = document.createRange(); r.selectNodeContents(title); return r.getBoundingClientRect().left; }"
    )
    assert words - box(title)[0] < 20


def test_the_list_stands_at_the_beginning_of_the_page_and_comes_from_there_on_a_phone(chat: Chat) -> None:
    page, left = chat.page, "() => document.querySelector('#sidebar').getBoundingClientRect().left"
    assert page.evaluate(left) > 640
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function(f"() => ({left})() >= 360")
    page.locator(".drawer-open").click()
    page.wait_for_function("() => Math.round(document.querySelector('#sidebar').getBoundingClientRect().right) === 360")
    assert page.evaluate(left) > 0


@pytest.mark.extended
def test_a_long_name_of_a_model_keeps_its_beginning_beside_its_arrow(chat: Chat) -> None:
    page = chat.page
    page.set_viewport_size({"width": 360, "height": 740})
    choice = page.locator(".model-choice")
    found = choice.evaluate("""choice => {
      const { direction, paddingLeft, paddingRight, fontSize } = getComputedStyle(choice);
      return [direction, parseFloat(paddingLeft) >= parseFloat(fontSize), parseFloat(paddingRight)];
    }""")
    # Text in its own direction is cut off at its end.
    assert found == ["ltr", True, 0]
    arrow = box(choice.locator("xpath=following-sibling::*[contains(@class, 'icon')]"))
    assert box(choice)[0] - 2 <= arrow[0] and arrow[1] <= box(choice)[0] + 20
