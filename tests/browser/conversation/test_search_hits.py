"""A result of the search leads to the words themselves: they are marked, and the first of the message is in view, wherever it stands."""

from __future__ import annotations

from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_talk, make_talks
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

FOUND = "() => [...(CSS.highlights.get('found') ?? [])].map(String)"
PLACE = """() => {
  const [range] = CSS.highlights.get("found-current") ?? [];
  if (!range) return "nothing is marked";
  const place = range.getBoundingClientRect();
  const text = range.startContainer.parentElement;
  const seen = document.elementFromPoint(place.left + place.width / 2, place.top + place.height / 2);
  return seen && (seen === text || text.contains(seen) || seen.contains(text)) && !seen.closest(".dock") && place.height > 0
    ? `${range} is seen` : `${range} is at ${place.left}, ${place.top}, under ${seen?.className}`;
}"""
"""Whether a reader sees the current match: nothing covers it, it is not cut off, and it is on the screen."""

LINES = "\n\n".join(f"Paragraph {number} of many." for number in range(80))
WIDE = "x = 1  # " + "wide " * 60
PLACES = {
    "the end of a long answer": f"{LINES}\n\nThe quokka is last.\n\n---\n\nTo ask **about** it: [write](https://example.org/wombat).",
    "the middle of long code": "```python\n" + "\n".join(f"line = {n}" for n in range(150)) + "\nquokka = 1\n" + "pass\n" * 150 + "```",
    "the end of a wide line of code": f"{LINES}\n\n```python\n{WIDE} quokka\n```\n\n{LINES}",
    "the last column of a wide table": f"{LINES}\n\n| {' | '.join(f'longcolumn{n}' for n in range(40))} |\n{'| - ' * 40}|\n"
    f"{'| value ' * 39}| quokka |\n\n{LINES}",
    "a diagram": f"{LINES}\n\n```mermaid\ngraph TD; A[Start] --> B[quokka];\n```\n\n{LINES}",
    "a folded question": "",
}


def search_for(page: Page, words: str) -> Locator:
    """The results."""
    page.get_by_role("searchbox", name="Search your conversations").fill(words)
    # Until the answer comes the results of the words before are still there.
    expect(page.locator(".search-hit mark", has_text=words.split()[0]).first).to_be_visible()
    return page.locator(".search-hit")


def bar(page: Page) -> Locator:
    return page.get_by_role("search", name="This conversation")


@pytest.mark.parametrize("size", [(1280, 800), (390, 740)], ids=["wide", "phone"])
def test_the_words_are_seen_wherever_they_stand(demo_deployment: Deployment, demo: Server, visits: Visits, size: tuple[int, int]) -> None:
    page = visits.open(demo, "ada")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    words = {place: f"quokka{uuid4().hex[:8]}" for place in PLACES}
    talks = {
        f"About {place}": (f"A question.\n{LINES}\nAnd the {words[place]}?", "Yes.")
        if not answer
        else ("Where?", answer.replace("quokka", words[place]))
        for place, answer in PLACES.items()
    }
    make_talks(demo_deployment, "ada", talks)
    for place, answer in PLACES.items():
        word = words[place]
        if size[0] < 500:
            page.goto("/")
            page.get_by_role("button", name="Open the list of conversations").click()
        hit = search_for(page, word)
        expect(hit).to_have_count(1)
        hit.click()
        page.wait_for_url("**#m-*")
        expect(bar(page)).to_contain_text("Match 1 of 1.")
        page.wait_for_function(f"() => ({PLACE})() === '{word} is seen'")
        page.wait_for_load_state()
        if "mermaid" in answer:
            expect(page.locator(".code-frame[data-diagram=source]")).to_have_count(1)
        if "python" in answer:
            expect(page.locator("code[data-coloured]")).to_have_count(1)
        page.wait_for_function(f"() => ({PLACE})() === '{word} is seen'")
        page.keyboard.type("go on")
        expect(Chat(page).box).to_have_value("go on")
        Chat(page).box.fill("")


def test_every_word_is_marked_and_escape_ends_that(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    make_talk(
        demo_deployment,
        "ada",
        "How do the Numbats winter?",
        f"{LINES}\n\nIn winter, **num**bats sleep; a résumé of the winters.\n\nOnly the numbat here.",
        "And in Wintertime, all numbats?",
        "Yes.",
    )
    page = visits.open(demo, "ada")
    hits = search_for(page, "numbat winter")
    expect(hits).to_have_count(3)
    expect(hits.nth(1).locator(".search-excerpt")).to_contain_text("In winter, numbats sleep; a résumé")
    hits.nth(1).click()
    expect(bar(page)).to_contain_text("Match 3 of 8.")
    marked = ["Numbats", "winter", "winter", "numbats", "winters", "numbat", "Wintertime", "numbats"]
    assert page.evaluate(FOUND) == marked
    page.reload()
    expect(bar(page)).to_contain_text("Match 3 of 8.")
    bar(page).get_by_role("button", name="Next match").click()
    expect(bar(page)).to_contain_text("Match 4 of 8.")
    Chat(page).box.focus()
    page.keyboard.press("Escape")
    expect(bar(page)).to_be_hidden()
    expect(Chat(page).box).to_be_focused()
    assert page.evaluate(FOUND) == []
    page.reload()
    page.wait_for_load_state()
    expect(bar(page)).to_be_hidden()


def test_words_in_a_part_that_is_not_loaded_are_seen(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    texts = [text for number in range(60) for text in (f"Question {number}?", f"Answer {number}. " + "It has a few lines.\n\n" * 3)]
    texts[7] += "\n\nHere is one bilby."
    texts[95] += "\n\nHere is another bilby."
    make_talk(demo_deployment, "ada", *texts)
    page = visits.open(demo, "ada")
    search_for(page, "bilby").last.click()
    expect(bar(page)).to_contain_text("Match 1 of 1. Messages below: 1.")
    page.wait_for_function(f"() => ({PLACE})() === 'bilby is seen'")
    bar(page).get_by_role("button", name="Next match").click()
    expect(bar(page)).to_contain_text("Messages above: 1.")
    page.wait_for_function(f"() => ({PLACE})() === 'bilby is seen'")


def test_an_address_that_is_not_shown_is_not_found_and_a_snippet_has_no_marks(
    demo_deployment: Deployment, demo: Server, visits: Visits
) -> None:
    answer = "Raises a `DingoError`.\n\n---\n\nTo **ask** about [it](https://example.org/cassowary):\n\n| a | b |\n| - | - |\n| c | d |"
    make_talk(demo_deployment, "ada", "Which?", answer)
    page = visits.open(demo, "ada")
    expect(search_for(page, "DingoError").locator(".search-excerpt")).to_have_text("Raises a DingoError. To ask about it: a b c d")
    page.get_by_role("searchbox", name="Search your conversations").fill("cassowary")
    expect(page.locator(".search-none")).to_be_visible()
