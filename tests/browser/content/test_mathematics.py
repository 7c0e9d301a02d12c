"""Formulas between single dollars are typeset, and prices keep their dollars."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits

pytestmark = pytest.mark.browser


def test_a_formula_in_dollars_is_typeset_and_a_price_stays_a_price(chat: Chat, writer: Writer) -> None:
    writer.write("Let $x_1^2$ grow. It costs $5/month or $50/year in $HOME.\n\nAnd $y_2$, but not $\\nosuchcommand{x}$.\n")
    chat.ask_and_wait("Formulas and prices?")

    expect(chat.answer.locator(".katex-html")).to_have_count(2)
    expect(chat.answer).to_contain_text("It costs $5/month or $50/year in $HOME.")
    assert chat.answer.locator(".math").first.evaluate("place => getComputedStyle(place, '::before').content") == "none"
    broken = chat.answer.locator(".math").filter(has_text="nosuchcommand")
    expect(broken).to_have_text("\\nosuchcommand{x}")
    assert broken.evaluate("place => ['::before', '::after'].map(side => getComputedStyle(place, side).content)") == ['"$"', '"$"']


@pytest.mark.extended
def test_without_its_script_a_formula_stays_readable_and_is_typeset_once_there_is_a_connection_again(
    chat: Chat, writer: Writer, visits: Visits
) -> None:
    visits.allow("Failed to load resource")
    address = "**/mathematics*.js"
    chat.page.route(address, lambda route: route.abort())
    with chat.page.expect_event("requestfailed"):
        writer.write("Let $x_1^2$ grow.\n")
        chat.ask_and_wait("A formula?")
    expect(chat.answer.locator(".math")).to_have_text("x_1^2")
    expect(chat.answer.locator(".katex-html")).to_have_count(0)

    chat.page.unroute(address)
    chat.page.wait_for_function("() => dispatchEvent(new Event('online')) && document.querySelector('.katex-html') !== null")
    expect(chat.answer.locator(".katex-html")).to_have_count(1)
