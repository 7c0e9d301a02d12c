"""The pages of the debug view in a browser: opening and closing, approval, turns, comparison, search, raw text, prompts and tokens."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.chat import Chat
from tests.browser.conftest import INSTRUCTIONS, PEOPLE
from tests.browser.visits import PHONE, Contexts, Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

REASON = "A complaint about this answer"
END_IT = """
from django.utils import timezone
from chatui.models import DebugRequest
DebugRequest.objects.filter(conversation={conversation!r}).update(expires_at=timezone.now())
"""


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with its demo, where a second person has to approve debug requests."""
    deployment = Deployment(tmp_path_factory.mktemp("strict"), CHATUI_DEBUG_APPROVAL="true", CHATUI_INSTRUCTIONS=INSTRUCTIONS)
    try:
        server = deployment.start()
        second = {"vera": (True, ["view_hidden_channels", "view_any_conversation"])}
        deployment.make_people(**(PEOPLE | second))
        yield server
    finally:
        deployment.stop()


def chat_with(visits: Visits, server: Server, *questions: str) -> Chat:
    """Ada's page after these questions; ``debug/`` below its address is the debug view."""
    chat = Chat(visits.open(server, "ada"))
    for question in questions or ("Make a plan.",):
        chat.ask_and_wait(question)
        chat.settle()
    return chat


def opt_in(page: Page, minutes: str = "15 minutes") -> None:
    page.get_by_label("Reason").fill(REASON)
    page.get_by_label(minutes).check()
    page.get_by_role("button", name="Open the debug view").click()
    expect(page.get_by_role("button", name="Close now")).to_be_visible()


def debug(visits: Visits, server: Server, chat: Chat) -> Page:
    page = visits.open(server, "grace", chat.page.url + "debug/")
    opt_in(page)
    return page


@pytest.fixture(scope="module")
def opened(contexts: Contexts, demo: Server) -> Iterator[str]:
    """The address of the debug view of a conversation with one turn, opened by grace for hours. Tests that change nothing share it."""
    visits = Visits(contexts)
    page = visits.open(demo, "grace", chat_with(visits, demo).page.url + "debug/")
    opt_in(page, "4 hours")
    address = page.url
    visits.close()
    yield address
    assert visits.complaints == []


def test_a_reason_is_needed_and_a_time_is_chosen(visits: Visits, demo: Server) -> None:
    page = visits.open(demo, "grace", chat_with(visits, demo).page.url + "debug/")
    assert INSTRUCTIONS not in page.content()
    box = page.get_by_label("Reason")
    box.fill("too short")
    page.get_by_role("button", name="Open the debug view").click()
    assert box.evaluate("box => box.validity.tooShort"), "the browser says so before anything is sent"
    expect(page.get_by_role("heading", name="Before you open this view")).to_be_visible()
    opt_in(page, "4 hours")
    expect(page.get_by_role("timer")).to_have_text(re.compile("Closes in (4 h|3 h 60 min)"))
    expect(page.get_by_text(REASON)).to_be_visible()


def test_the_view_closes_by_itself_when_its_time_is_over(visits: Visits, demo: Server, demo_deployment: Deployment) -> None:
    page = visits.open(demo, "grace", chat_with(visits, demo).page.url + "debug/", own=True)
    page.clock.install()
    opt_in(page)
    expect(page.get_by_text(INSTRUCTIONS)).to_be_visible()
    demo_deployment.manage("shell", "--no-imports", "-c", END_IT.format(conversation=page.url.split("/")[-3]))
    page.clock.fast_forward("14:00")
    expect(page.get_by_role("timer")).to_contain_text(re.compile(r"Closes in \d+ s|Closes in 1 min"))
    expect(page.get_by_text(INSTRUCTIONS)).to_be_visible()
    page.clock.fast_forward("01:10")
    expect(page.get_by_role("heading", name="Before you open this view")).to_be_visible()
    assert INSTRUCTIONS not in page.content()


def test_at_the_end_nothing_stays_on_the_screen_even_if_the_server_cannot_be_reached(visits: Visits, demo: Server) -> None:
    visits.allow("ERR_FAILED|ERR_INTERNET_DISCONNECTED")
    page = visits.open(demo, "grace", chat_with(visits, demo).page.url + "debug/", own=True)
    page.clock.install()
    opt_in(page)
    expect(page.get_by_text(INSTRUCTIONS)).to_be_visible()
    expect(page.get_by_text("Live: new frames appear")).to_be_visible()  # its script runs
    page.context.set_offline(True)
    page.clock.fast_forward("15:10")
    expect(page.get_by_text(INSTRUCTIONS)).to_have_count(0)


def test_closing_in_one_tab_ends_the_stream_of_another_at_once(visits: Visits, demo: Server) -> None:
    page = debug(visits, demo, chat_with(visits, demo))
    expect(page.get_by_text("Live: new frames appear")).to_be_visible()
    expect(page.get_by_text(INSTRUCTIONS)).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Close now").click()
    expect(page.get_by_text(INSTRUCTIONS)).to_have_count(0)
    expect(page.get_by_role("status")).to_have_text("Open the debug view of this conversation first.")


def test_a_second_person_approves_and_the_first_cannot(visits: Visits, strict: Server) -> None:
    chat = chat_with(visits, strict)
    asking = visits.open(strict, "grace", chat.page.url + "debug/")
    asking.get_by_label("Reason").fill(REASON)
    asking.get_by_label("1 hour").check()
    asking.get_by_role("button", name="Request the debug view").click()
    expect(asking.get_by_role("heading", name="Waiting for a second person")).to_be_visible()
    assert INSTRUCTIONS not in asking.content()

    own = visits.open(strict, "grace", "/debug/requests/")
    expect(own.get_by_role("listitem")).to_contain_text("somebody else has to decide on it")
    expect(own.get_by_role("button", name="Approve")).to_have_count(0)

    deciding = visits.open(strict, "vera", "/debug/requests/")
    request = deciding.get_by_role("listitem").filter(has_text="ada")
    expect(request).to_contain_text("grace requests the debug view of a conversation of ada for 60 minutes.")
    expect(request).to_contain_text(REASON)
    request.get_by_role("button", name="Approve").click()
    expect(deciding.get_by_text("No requests are waiting.")).to_be_visible()

    asking.get_by_role("link", name="Check again").click()
    expect(asking.get_by_text(INSTRUCTIONS)).to_be_visible()
    expect(asking.get_by_text("approved by vera")).to_be_visible()
    expect(asking.get_by_role("timer")).to_have_text(re.compile("Closes in (1 h|60 min)"))


@pytest.mark.extended
def test_what_the_person_saw_is_shown_beside_all_frames(visits: Visits, demo: Server, opened: str) -> None:
    page = visits.open(demo, "grace", opened)
    page.get_by_role("link", name="What the user saw").click()
    rows = page.locator(".frame")
    expect(rows).to_have_count(8)
    for row in rows.all():
        seen, there = row.locator(".frame-seen"), row.locator(".frame-there pre")
        if "frame-hidden" in (row.get_attribute("class") or ""):
            expect(seen.locator(".frame-why")).to_contain_text(re.compile(r"^Nothing\. .+\."))
            assert there.inner_text() not in seen.inner_text()
        else:
            assert seen.locator("pre").inner_text() == there.inner_text()
    left, right = page.locator(".frame-seen").first.bounding_box(), page.locator(".frame-there").first.bounding_box()
    assert left and right and left["x"] < right["x"] and left["y"] == right["y"]
    narrow = visits.open(demo, "grace", page.url, **PHONE)
    top, below = narrow.locator(".frame-seen").first.bounding_box(), narrow.locator(".frame-there").first.bounding_box()
    assert top and below and top["x"] == below["x"] and top["y"] < below["y"], "on a phone one is below the other"
    assert narrow.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_search_counts_steps_and_filters_by_keyboard(visits: Visits, demo: Server, opened: str) -> None:
    page = visits.open(demo, "grace", opened)
    count = page.locator(".debug-search-count")
    expect(count).to_have_text("8 frames")
    box = page.get_by_role("searchbox", name="Search")
    page.keyboard.press("/")
    expect(box).not_to_be_focused()
    box.fill("NOTES")  # in one step, as "NOTE" has more matches
    expect(count).to_have_text(re.compile(r"^\d+ matches in \d of 8 frames"))
    total = int((count.inner_text()).split()[0])
    assert total > 2
    shown = page.locator(".frame:visible")
    assert all("notes" in text.lower() for text in shown.locator(".frame-text, .frame-head").all_inner_texts() if "search_notes" in text)
    page.keyboard.press("Enter")
    expect(count).to_have_text(re.compile(f"^1 of {total} "))
    page.keyboard.press("Enter")
    expect(count).to_have_text(re.compile(f"^2 of {total} "))
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text(re.compile(f"^{total} of {total} "))
    marked = page.evaluate("[...CSS.highlights.get('debug-found')].map(range => range.toString().toLowerCase())")
    assert marked == ["notes"] * total
    page.keyboard.press("Escape")
    expect(count).to_have_text("8 frames")
    page.get_by_label("Channel").select_option("analysis")
    expect(shown).to_have_count(2)
    page.get_by_label("Channel").select_option("")
    page.get_by_label("Role").select_option("tool")
    expect(shown).to_have_count(1)
    page.get_by_label("Role").select_option("")
    page.get_by_role("combobox", name="Frames").select_option("visible")
    expect(shown).to_have_count(3)
    box.fill("no such words anywhere")
    expect(count).to_have_text("No match in 0 of 8 frames")


@pytest.mark.extended
def test_raw_text_is_fetched_when_it_is_opened_and_can_be_copied(visits: Visits, demo: Server, opened: str) -> None:
    page = visits.open(demo, "grace", opened)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    frame = page.locator(".frame").filter(has_text=INSTRUCTIONS)
    raw = frame.locator("debug-source pre")
    expect(raw).to_be_empty()
    frame.get_by_text("Raw OpenChatML").click()
    expect(raw).to_have_text(f"<|start|>developer<|message|>{INSTRUCTIONS}<|end|>")
    frame.get_by_role("button", name="Copy").click()
    expect(frame.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"<|start|>developer<|message|>{INSTRUCTIONS}<|end|>"
    page.get_by_role("link", name="Raw text").click()
    page.get_by_role("button", name="Copy all").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#debug-text").text_content() and copied.count("<|start|>") == 8


def test_live_frames_are_compared_and_found_as_well(visits: Visits, demo: Server) -> None:
    chat = chat_with(visits, demo, "Say hello.")
    page = debug(visits, demo, chat)
    page.goto(chat.page.url + "debug/compare/")
    expect(page.get_by_text("Live: new frames appear")).to_be_visible()
    chat.ask_and_wait("Make a plan.")
    live = page.locator(".frame-live")
    expect(live.filter(has_text="finished")).not_to_have_count(0)
    analysis = live.filter(has_text="analysis").first
    expect(analysis.locator(".frame-seen")).to_contain_text("raw reasoning")
    expect(analysis.locator(".frame-seen pre")).to_have_count(0)
    final = live.filter(has_text="final").last
    expect(final.locator(".frame-foot")).to_contain_text("characters")
    assert final.locator(".frame-seen pre").inner_text() == final.locator(".frame-there pre").inner_text() != ""
    page.get_by_role("combobox", name="Role").select_option("tool")
    expect(page.locator(".frame:visible")).to_have_count(1)


def test_a_turn_that_ended_before_the_page_followed_it_is_announced(visits: Visits, demo: Server) -> None:
    chat = chat_with(visits, demo, "Say hello.")
    page = debug(visits, demo, chat)
    held: list[tuple[WebSocketRoute, str | bytes]] = []

    def hold(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda message: held.append((server, message)))

    page.route_web_socket(re.compile("/ws/"), hold)
    page.reload()
    chat.ask_and_wait("Make a plan.")
    chat.settle()
    expect(page.locator(".debug-state")).to_have_text("Waiting for live frames…")
    for server, message in held:
        server.send(message)
    expect(page.locator(".debug-state")).to_have_text("A turn has ended that is not shown here completely. Reload the page to see it.")
    fresh = page.context.new_page()
    fresh.goto(page.url)
    expect(fresh.locator(".debug-state")).to_have_text("Live: new frames appear as they are written.")
    expect(fresh.locator(".debug-group:visible")).to_have_count(page.locator(".debug-group:visible").count() + 1)
