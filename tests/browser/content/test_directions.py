"""Right-to-left text, lists in both directions, and forced colours."""

import pytest
from playwright.sync_api import Locator

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import PHONE, Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

BOTH = """- شيء أول
- شيء ثان
    - داخل `if a < b: return 1`

1. First thing
2. שני
3. Third

- [ ] مهمة
- [x] done

> اقتباس

```python
print("مرحبا")
```
"""


def room_for_marker(item: Locator) -> tuple[float, float]:
    """The distances of an item from the left and right edges of its list, in pixels."""
    left, right = item.evaluate(
        """item => { const [a, b] = [item.getBoundingClientRect(), item.parentElement.getBoundingClientRect()];
          return [a.left - b.left, b.right - a.right]; }"""
    )
    return left, right


@pytest.mark.extended
@pytest.mark.parametrize("phone", [False, True])
def test_each_item_of_a_list_begins_on_its_own_side_with_room_for_its_marker(
    written: Server, visits: Visits, writer: Writer, phone: bool
) -> None:
    chat = Chat(visits.open(written, "ada", **(PHONE if phone else {})))
    writer.write(BOTH)
    chat.ask_and_wait("Both directions?")

    for text, side in (("شيء أول", 1), ("داخل", 1), ("First thing", 0), ("שני", 1), ("Third", 0), ("مهمة", 1), ("done", 0)):
        item = chat.answer.locator("li").filter(has_text=text).last
        room = room_for_marker(item)
        assert room[side] >= 20, text
        assert room[1 - side] == 0, text
    assert chat.answer.locator("pre").evaluate("pre => getComputedStyle(pre).direction") == "ltr"
    quote = chat.answer.locator("blockquote")
    assert quote.evaluate("quote => getComputedStyle(quote).borderRightWidth") == "3px"
    assert chat.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.extended
def test_in_forced_colours_everything_still_has_its_edges(written: Server, visits: Visits, writer: Writer) -> None:
    chat = Chat(visits.open(written, "ada", forced_colors="active"))
    writer.write("Some `code`:\n\n```sh\nls\n```\n")
    chat.ask_and_wait("Edges?")

    def edge(place: Locator) -> str:
        style: str = place.evaluate("place => getComputedStyle(place).borderTopStyle + getComputedStyle(place).borderTopWidth")
        return style

    for place in (chat.question, chat.answer.locator("p code"), chat.answer.locator(".code-frame"), chat.button("Copy"), chat.send):
        assert edge(place) in ("solid1px", "solid2px")
    chat.box.focus()
    chat.page.keyboard.press("Tab")
    assert chat.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
