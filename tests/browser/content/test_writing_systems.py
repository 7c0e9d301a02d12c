"""Chinese, Japanese, Korean, Arabic, Hebrew, Devanagari and emoji in answers: drawn with real fonts, with correct line breaks."""

import pytest
from playwright.sync_api import Page

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import PHONE, Visits
from tests.support.served import Server
from tests.tools import chromium

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not chromium.has_fonts(), reason="There are no fonts for Chinese and Korean.")]

CHINESE = "今天的天气很好，我们去公园散步。孩子们在湖边玩耍，老人们在树下聊天、下棋、喝茶；大家都很高兴。" * 3
KOREAN = "오늘은 날씨가 아주 좋아서 우리는 공원에 산책하러 갔습니다. 아이들은 호숫가에서 놀고 어른들은 이야기를 나누었습니다. " * 3
WRITTEN = f"""{CHINESE}

{KOREAN}

日本語のテキスト、「括弧」と句読点。

1. 第一项 with English, 和中文
2. عنصر عربي مع English وكلمات
3. פריט בעברית

- 이모지 👩‍👩‍👧 🇰🇷 👍🏽
- ไม่มี
"""
DRAWN = """texts => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const drawn = (text) => {
    context.clearRect(0, 0, 64, 64);
    context.font = `32px ${getComputedStyle(document.querySelector(".part p")).fontFamily}`;
    context.fillText(text, 8, 44);
    const pixels = context.getImageData(0, 0, 64, 64).data;
    const isColoured = pixels.some((_, at) => at % 4 === 0 && pixels[at + 3] > 99 && Math.abs(pixels[at] - pixels[at + 2]) > 60);
    return { picture: String(pixels), isColoured };
  };
  // Two unassigned code points, which no font has.
  const boxes = ["\\u0378", "\\u{5fffe}"].map((text) => drawn(text).picture);
  return texts.map((text) => {
    const { picture, isColoured } = drawn(text);
    return { text, isBox: boxes.includes(picture), isBlank: !/[1-9]/.test(picture), picture, isColoured };
  });
}"""
LINES = """paragraph => {
  const text = paragraph.firstChild;
  const range = document.createRange();
  const lines = [];
  let top = -Infinity;
  for (let at = 0; at < text.length; at++) {
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    const place = range.getBoundingClientRect();
    if (!place.width) continue;
    if (place.top > top + 4) lines.push("");
    top = Math.max(top, place.top);
    lines[lines.length - 1] += text.data[at];
  }
  return lines;
}"""


@pytest.fixture
def page(written: Server, visits: Visits, writer: Writer) -> Page:
    """An answer in many writing systems, on a phone."""
    chat = Chat(visits.open(written, "ada", **PHONE))
    writer.write(WRITTEN)
    chat.ask_and_wait("In many scripts?")
    return chat.page


def test_each_script_is_drawn_and_not_shown_as_boxes(page: Page) -> None:
    texts = ["今", "気", "한", "م", "ש", "é"]
    shown = page.evaluate(DRAWN, [*texts, "👍", "\U0005fffd"])
    assert shown.pop()["isBox"], "the premise: missing glyphs are recognized"
    assert [each["text"] for each in shown if each["isBox"] or each["isBlank"]] == []
    assert len({each["picture"] for each in shown}) == len(shown)
    assert [each["text"] for each in shown if each["isColoured"]] == ["👍"]


@pytest.mark.extended
def test_lines_break_without_blanks_and_never_before_a_full_stop(page: Page) -> None:
    paragraphs = page.locator(".part p")
    for text in (CHINESE, KOREAN):
        lines = paragraphs.filter(has_text=text[:8]).evaluate(LINES)
        assert len(lines) > 5 and max(map(len, lines)) < 40
        assert [line for line in lines if line[0] in "，。、；」）.,"] == []
        assert min(map(len, lines[:-1])) > max(map(len, lines)) // 2, "lines are filled before they break"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.extended
def test_items_of_a_list_in_two_directions_have_their_numbers_on_their_own_sides(page: Page) -> None:
    items = page.locator(".part ol > li")
    assert items.evaluate_all("items => items.map((item) => getComputedStyle(item).direction)") == ["ltr", "rtl", "rtl"]
