"""A tool call in a real browser is one line in its author's words, live and after a reload; no byte of the call or its reply is sent."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, Wire
from tests.support.served import Server

pytestmark = pytest.mark.browser

LINE = "Looking up the weather in Oslo"


def test_a_tool_is_one_line_between_the_plan_and_the_answer_live_and_after_a_reload(demo: Server, visits: Visits) -> None:
    wire = Wire()
    chat = Chat(visits.open(demo, "ada", wire=wire))

    chat.ask_and_wait("What is the weather in Oslo?")

    for _ in ("live", "after a reload"):
        parts = chat.last.locator(".part")
        expect(parts).to_have_count(3)
        expect(parts.nth(0)).to_have_class(re.compile("part-preamble"))
        expect(parts.nth(1)).to_have_class(re.compile("part-tool"))
        expect(parts.nth(1)).to_have_text(LINE)
        expect(parts.nth(2)).to_contain_text("20 °C and sunny in Oslo")
        line = parts.nth(1).bounding_box()
        assert line and line["height"] < 40 and line["x"] >= 0
        chat.page.reload()
    received = b"".join(wire.received)
    assert LINE.encode() in received, "the premise"
    for hidden in (b"get_current_weather", b'\\"city\\"', b"duration_ms", b'"sky"', b"celsius"):
        assert hidden not in received
