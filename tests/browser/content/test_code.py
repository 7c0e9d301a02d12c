"""The syntax highlighter is fetched only for code with a language."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer

pytestmark = pytest.mark.browser


def test_code_without_a_language_fetches_no_highlighter(chat: Chat, writer: Writer) -> None:
    requested: list[str] = []
    chat.page.on("request", lambda request: requested.append(urlsplit(request.url).path))
    writer.write("```\nls -la\n```\n\n    indented\n")
    chat.ask_and_wait("Plain?")
    expect(chat.answer.locator(".code-language").first).to_have_text("text")
    chat.page.wait_for_timeout(1_500)  # longer than a complete block waits for an idle moment of the browser
    assert [path for path in requested if "colours" in path or "highlight" in path] == []

    writer.write("```python app.py\nif a: pass\n```\n")
    chat.ask_and_wait("Python?")
    expect(chat.answer.locator(".code-language")).to_have_text("python app.py")
    expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)
    assert [path for path in requested if "colours" in path] != []


@pytest.mark.extended
def test_code_is_highlighted_on_a_page_that_was_loaded_between_the_last_word_and_the_end(
    chat: Chat, writer: Writer, database: Path
) -> None:
    writer.write("Like this:\n\n```python\nif a: pass\n```\n", pause_after="Like this:")
    chat.ask("How?")
    chat.settle()
    expect(chat.answer).to_contain_text("Like")
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # the end of the answer cannot be stored
        writer.resume()
        expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)
        chat.page.reload()
        expect(chat.answer.locator("code")).to_have_text("if a: pass")
        other.execute("ROLLBACK")
    chat.finish()
    expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)
