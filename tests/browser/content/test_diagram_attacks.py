"""Hostile diagrams try to run scripts, load resources, navigate away, and reach the page around them. Nothing of this works."""

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Frame, Page, expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.cases import extended
from tests.support.served import Server

pytestmark = pytest.mark.browser

_FILE = Path(__file__).parent / "hostile_diagrams.txt"
ATTACKS = dict(re.findall(r"^=== (.+)\n((?:(?!=== ).*\n)+)", _FILE.read_text(encoding="utf-8"), re.MULTILINE))
"""Diagrams by the attack that they try. THIEF is replaced by the address of a server that records requests."""
OF_EACH_KIND = [
    "click callback",
    "link out",
    "html in a label",
    "a picture as a node",
    "styles that load",
    "loose by directive",
    "prototype pollution",
]
"""One for each kind of harm. ``make extended`` tries the others."""


class Thief:
    """A server on loopback that records the requests for its addresses, and connections without a request.

    Other requests come from tests that run beside: the browsers of a server that has ended go on asking at its port, which was free.
    """

    def __init__(self) -> None:
        self.visits: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._place = uuid4().hex
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/{self._place}"
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                visitor, _ = self._listener.accept()
            except OSError:
                return
            with visitor, contextlib.suppress(ConnectionError):
                asked = visitor.recv(200)
                if not asked or self._place.encode() in asked:
                    self.visits.append(asked)


@pytest.fixture
def thief() -> Iterator[Thief]:
    thief = Thief()
    yield thief
    thief.close()


def diagram_frame(chat: Chat) -> Frame:
    """The frame of the last diagram. The page may report that it is drawn before the browser has reported the frame's address."""
    frame = chat.last.locator("iframe.diagram").element_handle().content_frame()
    assert frame is not None
    frame.wait_for_url("**/diagram/")
    return frame


@pytest.mark.parametrize("names", [OF_EACH_KIND, extended([name for name in ATTACKS if name not in OF_EACH_KIND])], ids=["kinds", "rest"])
def test_no_diagram_runs_loads_or_leads_anywhere(names: list[str], written: Server, writer: Writer, thief: Thief, visits: Visits) -> None:
    chat = Chat(visits.open(written, "ada", own=True))
    # The frame's policy reports what it blocks: these reports are expected.
    visits.allow(r"policy: |Content Security Policy|violates the following")
    popups: list[Page] = []
    chat.page.context.on("page", lambda page: popups.append(page))
    drawn = 0
    for name in names:
        writer.write(f"{name}:\n\n```mermaid\n{ATTACKS[name].replace('THIEF', thief.url)}```\n")
        chat.ask_and_wait(f"Draw: {name}")
        chat.settle()
        place = chat.last.locator(".code-frame")
        place.scroll_into_view_if_needed()
        expect(place, name).to_have_attribute("data-diagram", re.compile("drawn|failed"))
        address = chat.page.url
        if place.get_attribute("data-diagram") == "drawn":
            drawn += 1
            click_everywhere(chat, name)
        assert chat.page.url == address, name
        assert chat.page.evaluate("globalThis.owned ?? ({}).owned") is None, name
        assert chat.page.evaluate("document.querySelectorAll('.parts svg:not(.icon)').length") == 0, name
        assert (thief.visits, popups) == ([], []), name
    assert drawn >= len(names) // 2, "the premise: most of them are drawn"


def click_everywhere(chat: Chat, name: str) -> None:
    """Click several places of the diagram, and every part of it by script; check that nothing happens."""
    frame = diagram_frame(chat)
    box = chat.last.locator("iframe.diagram").bounding_box()
    assert box is not None, name
    for across in (0.3, 0.5, 0.7):
        chat.page.mouse.click(box["x"] + box["width"] * across, box["y"] + min(box["height"], 200) / 2)
    frame.evaluate("document.querySelectorAll('svg *').forEach(part => part.dispatchEvent(new MouseEvent('click', { bubbles: true })))")
    assert frame.evaluate("document.querySelectorAll('script:not([nonce]), iframe, object, embed, form, a[href]').length") == 0, name
    assert frame.evaluate("globalThis.owned ?? ({}).owned") is None, name
    assert frame.url.endswith("/diagram/"), name


def test_the_frame_has_no_origin_and_can_reach_nothing(chat: Chat, writer: Writer, thief: Thief, visits: Visits) -> None:
    visits.allow("policy: |Content Security Policy|Refused to|Blocked|violates the following|Unsafe attempt|sandboxed|net::ERR")
    writer.write("```mermaid\nflowchart LR\n  A --> B\n```\n")
    chat.ask_and_wait("Draw this")
    expect(chat.last.locator(".code-frame")).to_have_attribute("data-diagram", "drawn")
    frame = diagram_frame(chat)
    # ``evaluate`` itself bypasses the policy; the scripts and requests that it starts do not.
    assert frame.evaluate("origin") == "null"
    assert frame.evaluate("() => { try { return parent.document.title } catch (error) { return error.name } }") == "SecurityError"
    assert frame.evaluate("() => { try { return document.cookie } catch (error) { return error.name } }") == "SecurityError"
    assert frame.evaluate("() => { try { return localStorage.length } catch (error) { return error.name } }") == "SecurityError"
    assert frame.evaluate("url => fetch(url).then(() => 'done', error => error.name)", thief.url) == "TypeError"
    assert frame.evaluate("() => open('/') === null") is True
    loads = """url => new Promise(done => { const image = new Image(); image.onload = () => done('in'); image.onerror = () => done('no');
      image.src = url; })"""
    assert frame.evaluate(loads, thief.url) == "no"
    runs = """() => new Promise(done => { const script = document.createElement('script'); script.textContent = 'globalThis.owned = 1';
      document.body.append(script); setTimeout(() => done(globalThis.owned ?? null), 0); })"""
    assert frame.evaluate(runs) is None
    frame.evaluate("url => { try { top.location = url } catch {} }", thief.url)
    frame.evaluate("url => { location.href = url }", thief.url)
    expect(chat.last.locator(".code-frame")).to_have_attribute("data-diagram", "failed")
    expect(chat.last.locator(".code-frame pre")).to_be_visible()
    assert thief.visits == []
    assert chat.page.url.startswith(chat.page.evaluate("location.origin"))


def test_messages_from_elsewhere_draw_nothing_and_change_nothing(chat: Chat, writer: Writer, written: Server, visits: Visits) -> None:
    writer.write("```mermaid\nflowchart LR\n  First --> Second\n```\n")
    chat.ask_and_wait("Draw this")
    place = chat.last.locator(".code-frame")
    expect(place).to_have_attribute("data-diagram", "drawn")

    chat.page.evaluate("for (const data of [{ isDrawn: true, height: 9999 }, { isDrawn: false }]) postMessage(data, '*')")
    send = """frame => { const { port1, port2 } = new MessageChannel();
      frame.contentWindow.postMessage({ source: 'flowchart LR\\n  Third --> Fourth', dark: false }, '*', [port2]); }"""
    place.locator("iframe").evaluate(send)
    frame = diagram_frame(chat)
    # When the frame has answered this message, it has also read the others.
    frame.evaluate("() => new Promise(done => { addEventListener('message', done, { once: true }); postMessage('last', '*'); })")
    assert "First" in frame.locator("#drawn-light").inner_text()
    assert "Third" not in frame.locator("body").inner_text()
    # Not a height that was read before: what is drawn is measured again when the frame has its size.
    height = frame.evaluate("Math.ceil(document.body.getBoundingClientRect().height)")
    expect(place.locator("iframe")).to_have_js_property("style.blockSize", f"{height}px")
    expect(place).to_have_attribute("data-diagram", "drawn")

    alone = visits.open(written, "ada", "/diagram/")
    alone.evaluate(
        """() => new Promise(done => { const { port2 } = new MessageChannel(); addEventListener('message', () => setTimeout(done, 0));
          postMessage({ source: 'flowchart LR\\n  Third --> Fourth', dark: false }, '*', [port2]); })"""
    )
    assert alone.locator("svg").count() == 0
