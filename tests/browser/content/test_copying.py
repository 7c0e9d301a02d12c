"""A copied answer pastes as Markdown into text fields, and as rich text into documents."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

ANSWER = """## Head *ing*

- one **bold**
- [x] done

| a | b |
|---|---|
| 1 | $x^2$ |

```python
if a < b:
    return [1]
```

A [link](https://a.example/b) at last."""

KIND = """async kind => { const [item] = await navigator.clipboard.read();
  return item.types.includes(kind) ? (await item.getType(kind)).text() : null; }"""


def clipboard(page: Page, kind: str) -> str:
    text = page.evaluate(KIND, kind)
    assert text is not None, kind
    return str(text)


def test_an_answer_is_copied_as_markdown_and_as_rich_text(written: Server, visits: Visits, writer: Writer) -> None:
    chat = Chat(visits.open(written, "ada", permissions=["clipboard-read", "clipboard-write"]))
    writer.write(ANSWER)
    chat.ask_and_wait("Something to copy?")
    expect(chat.answer.locator(".katex-html")).to_have_count(1)
    expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)

    chat.button("Copy").click()
    expect(chat.button("Copied")).to_be_visible()

    assert clipboard(chat.page, "text/plain").strip() == ANSWER
    rich = clipboard(chat.page, "text/html")
    for piece in (
        "<em>ing</em></h2>",
        "<strong>bold</strong>",
        "☑ done",
        "<td>$x^2$</td>",
        "if a &lt; b:\n    return [1]\n</code></pre>",
    ):
        assert piece in rich, piece
    assert 'href="https://a.example/b"' in rich
    for markup in ("class=", "data-", "Copy code", "<button", "katex", "<span"):
        assert markup not in rich, markup
