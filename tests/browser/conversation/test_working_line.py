"""The line that says what the model does: in the page's language, in one place, announced once, and folded up afterwards."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits
from tests.browser.written_socket import WrittenSocket
from tests.support.served import Server

pytestmark = pytest.mark.browser

COMPARE = {"en": "Comparing {} and {}", "de": "Vergleicht {} und {}", "zh-hans": "比较{}和{}", "ko": "{}·{} 비교"}
LINES: list[dict[str, Any]] = [
    {"sentences": COMPARE, "about": ["trains", "<b>buses</b>"]},
    {"sentences": {"en": "Looking at the results", "de": "Sieht sich die Ergebnisse an"}, "about": []},
]
LINE = ".working-line"
HEARD = """() => {
  globalThis.heard = [];
  const region = document.querySelector(".announcer");
  const observer = new MutationObserver(() => globalThis.heard.push(region.textContent));
  observer.observe(region, { childList: true, characterData: true, subtree: true });
}"""


def asked(visits: Visits, server: Server, **options: Any) -> tuple[Chat, WrittenSocket]:
    """A conversation whose first question was accepted, and whose model thinks for two seconds already."""
    visits.allow(r"404 \(Not Found\)")  # the conversation is only on the socket
    page = visits.open(server, "ada", "about:blank", **options)
    socket = WrittenSocket(page)
    page.goto("/")
    page.wait_for_load_state()
    page.evaluate(HEARD)
    page.locator("#composer-text").fill("Trains or <b>buses</b>?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".exchange[data-turn]")).to_have_count(1)
    socket.turn("chatui:working", elapsed=2000, can_answer_now=True)
    return Chat(page), socket


def summary(socket: WrittenSocket, number: int) -> None:
    socket.turn("chatui:summary", line=LINES[number])


def test_the_newest_line_is_shown_in_the_pages_language_and_announced_once(demo: Server, visits: Visits) -> None:
    thinks, compares = "正在思考 · 2 秒", "比较trains和<b>buses</b>"
    chat, socket = asked(visits, demo, locale="zh-CN")
    expect(chat.working).to_have_text(thinks)
    summary(socket, 0)
    expect(chat.last.locator(LINE)).to_have_text(compares)
    assert chat.last.locator(f"{LINE} bdi").all_inner_texts() == ["trains", "<b>buses</b>"]
    socket.turn("chatui:working", elapsed=9000, can_answer_now=True)
    expect(chat.last.locator(".working-time")).to_contain_text("9")
    expect(chat.last.locator(LINE)).to_have_text(compares)
    assert heard(chat.page) == [thinks.partition(" · ")[0], compares], "the lines, never the seconds"


def test_what_was_asked_for_is_shown_until_there_is_anything_newer_and_never_folded_up(demo: Server, visits: Visits) -> None:
    chat, socket = asked(visits, demo, locale="zh-CN")
    poem, answer = {"sentences": {"en": "Working on the verses", "zh-hans": "推敲诗句"}, "about": []}, "<p>The sea.</p>"
    socket.turn("chatui:asked", line=poem)
    expect(chat.working).to_contain_text("推敲诗句 · ")
    assert heard(chat.page)[-1] == "推敲诗句", "announced once"
    for steps, shown in (([], "推敲诗句"), ([LINES[0]], "比较trains和<b>buses</b>")):  # a page that joins late sees the same
        socket.snapshot(elapsed=4000, steps=steps, asked=poem)
        expect(chat.last.locator(LINE)).to_have_text(shown)
        socket.turn("chatui:working", elapsed=5000, can_answer_now=True)
        expect(chat.last.locator(LINE)).to_have_text(shown)
    socket.message("one", "tool", "<p>Reading</p>")
    expect(chat.last.locator(LINE)).to_have_text("正在使用工具")
    socket.turn("chatui:working", elapsed=8000, can_answer_now=True)
    expect(chat.last.locator(LINE)).to_have_text("推敲诗句")
    socket.turn("chatui:asked", line=None)
    expect(chat.last.locator(LINE)).to_have_text("正在思考")
    socket.turn("chatui:asked", line=poem)
    socket.turn("chatui:thought", seconds=9)
    socket.message("two", "final", answer)
    expect(chat.working).to_be_hidden()
    chat.last.locator(".thought > summary").click()
    expect(chat.last.locator(".thought li")).to_have_text(["比较trains和<b>buses</b>"])


def test_the_line_says_what_delays_the_answer_to_a_page_that_joins_late_too_and_when_it_is_written(demo: Server, visits: Visits) -> None:
    chat, socket = asked(visits, demo)
    socket.turn("chatui:saving")
    expect(chat.working).to_have_text("Saving…")
    socket.snapshot(elapsed=4000, steps=[], delay="chatui:checking")
    expect(chat.working).to_have_text("The answer is checked before it is shown…")
    socket.turn("chatui:working", elapsed=5000, can_answer_now=True)
    expect(chat.last.locator(LINE)).to_have_text("Thinking")
    expect(chat.button("Answer now")).to_be_visible()
    socket.turn("chatui:working", elapsed=6000, can_answer_now=False)
    expect(chat.working).to_have_text("Writing · 6 s")
    expect(chat.button("Answer now")).to_be_hidden()


def test_after_a_sentence_before_a_tool_call_the_line_comes_back_and_one_fold_has_all_lines(demo: Server, visits: Visits) -> None:
    chat, socket = asked(visits, demo)
    summary(socket, 0)
    socket.turn("chatui:thought", seconds=4)
    socket.message("one", "final", "<p>I will look it up.</p>")
    expect(chat.working).to_be_hidden()
    fold = chat.last.locator(".thought")
    expect(fold.locator("summary")).to_have_text("Thought for 4 s")
    socket.turn("chatui:relabelled", message_id="one", kind="preamble")
    expect(fold.locator("summary")).to_have_text("Thought so far")
    socket.turn("chatui:working", elapsed=5000, can_answer_now=True)
    place = chat.last.locator(".part-preamble").bounding_box()
    expect(chat.last.locator(LINE)).to_have_text("Thinking")
    expect(chat.button("Answer now")).to_be_visible()
    socket.message("two", "tool", "<p>Reading the timetable</p>")
    expect(chat.working).to_have_text("Using a tool · 5 s")
    tool = {"message_id": "two", "kind": "tool", "blocks": ["<p>Reading the timetable</p>"]}
    said = {"message_id": "one", "kind": "preamble", "blocks": ["<p>I will look it up.</p>"]}
    socket.snapshot(elapsed=6000, steps=LINES[:1], messages=[said, tool], uses_tool=True)
    expect(chat.working).to_have_text("Using a tool · 6 s")
    expect(fold.locator("summary")).to_have_text("Thought so far")
    socket.turn("chatui:working", elapsed=8000, can_answer_now=True)
    summary(socket, 1)
    expect(chat.working).to_have_text("Looking at the results · 8 s")
    socket.turn("chatui:thought", seconds=12)
    socket.turn("chatui:message", message_id="three", kind="final")
    expect(chat.working).to_have_text("Writing")
    socket.turn("response.delta.flush", message_id="three", block=0, html="<p>Take the train.</p>")
    expect(chat.working).to_be_hidden()
    assert chat.last.locator(".part-preamble").bounding_box() == place
    expect(fold).to_have_count(1)
    expect(fold.locator("summary")).to_have_text("Thought for 12 s")
    fold.locator("summary").click()
    expect(fold.get_by_role("listitem")).to_have_text(["Comparing trains and <b>buses</b>", "Looking at the results"])


def test_a_text_that_is_marked_as_a_preamble_keeps_its_place_and_a_snapshot_changes_nothing_that_is_known(
    demo: Server, visits: Visits
) -> None:
    chat, socket = asked(visits, demo)
    summary(socket, 0)
    socket.message("one", "preamble", "<p>I will look it up.</p>")
    fold, preamble = chat.last.locator(".thought > summary"), chat.last.locator(".part-preamble")
    expect(fold).to_have_text("Thought so far")
    expect(chat.last.locator(LINE)).to_have_text("Comparing trains and <b>buses</b>")
    place = preamble.bounding_box()
    message = {"message_id": "one", "kind": "preamble", "blocks": ["<p>I will look it up.</p>"]}
    for _ in range(2):  # quiet pages get one every few seconds
        socket.snapshot(elapsed=7000, steps=LINES, messages=[message])
        expect(chat.working).to_have_text("Looking at the results · 7 s")
        expect(fold).to_have_text("Thought so far")
        expect(chat.last.locator(".thought li")).to_have_count(2)
        assert preamble.bounding_box() == place
    socket.message("two", "tool", "<p>Reading the timetable</p>")
    messages = [message, {"message_id": "two", "kind": "tool", "blocks": ["<p>Reading the timetable</p>"]}]
    socket.snapshot(elapsed=9000, steps=LINES, messages=messages)
    expect(chat.working).to_have_text("Thinking · 9 s")
    socket.turn("chatui:working", elapsed=11_000, can_answer_now=True)
    socket.snapshot(elapsed=12_000, steps=LINES, messages=messages)
    expect(chat.working).to_have_text("Thinking · 12 s")
    expect(fold).to_have_text("Thought so far")


def test_a_turn_that_a_process_of_the_release_before_still_runs_is_shown_without_its_free_text(demo: Server, visits: Visits) -> None:
    """While processes are restarted one after another, its snapshots reach pages of this release."""
    chat, socket = asked(visits, demo)
    message = {"message_id": "one", "kind": "preamble", "blocks": ["<p>I will look it up.</p>"]}
    socket.snapshot(elapsed=7000, steps=["Looked at timetables"], messages=[message])
    expect(chat.last.locator(".part-preamble")).to_have_text("I will look it up.")
    expect(chat.working).to_have_text("Thinking · 7 s")


def test_a_long_line_is_cut_off_before_the_seconds_and_says_that_the_reasoning_is_private(demo: Server, visits: Visits) -> None:
    chat, socket = asked(visits, demo, **PHONE)
    expect(chat.button("Answer now")).to_be_visible()
    button = chat.button("Answer now").bounding_box()
    about = ["the night trains from Vienna to Berlin", "the buses between the same cities"]
    socket.turn("chatui:summary", line={"sentences": COMPARE, "about": about})
    expect(chat.last.locator(LINE)).to_contain_text("the same cities")
    assert chat.last.locator(LINE).evaluate("line => line.scrollWidth > line.clientWidth"), "the premise"
    expect(chat.last.locator(".working-time")).to_be_in_viewport(ratio=1)
    assert chat.button("Answer now").bounding_box() == button
    assert chat.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert "private" in (chat.working.get_attribute("title") or "")
    socket.turn("chatui:thought", seconds=4)
    fold = chat.last.locator(".thought > summary")
    assert "private" in (fold.get_attribute("title") or "")
    box = fold.bounding_box()
    assert box is not None and box["height"] >= 44
    fold.tap()
    expect(chat.last.locator(".thought li")).to_be_visible()
    assert chat.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_new_line_fades_in_only_where_motion_is_wanted(demo: Server, visits: Visits) -> None:
    chat, socket = asked(visits, demo, reduced_motion="no-preference")
    summary(socket, 0)
    expect(chat.last.locator(LINE)).to_contain_text("Comparing")
    looks = "line => [getComputedStyle(line).animationName, parseFloat(getComputedStyle(line).animationDuration)]"
    name, seconds = chat.last.locator(LINE).evaluate(looks)
    assert name == "fade-in" and 0.001 < seconds <= 0.15
    chat.page.emulate_media(reduced_motion="reduce")
    assert chat.last.locator(LINE).evaluate(looks)[1] <= 0.001


def heard(page: Page) -> list[str]:
    found: list[str] = page.evaluate("() => globalThis.heard")
    return found
