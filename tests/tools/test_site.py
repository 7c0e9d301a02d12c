"""The site of the documentation (``make docs``): its links lead somewhere, it asks no other host, and its search finds things."""

import functools
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.tools import chromium, site

RESOURCES = re.compile(r"<(?:script|img|iframe|source|video|audio)\b[^>]*?\bsrc=[\"']?([^\"'\s>]+)|<link\b[^>]*?\bhref=[\"']?([^\"'\s>]+)")
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?(?!data:)([^\"')\s;]+)")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("site")
    done = site.build(work)
    assert done.returncode == 0, done.stdout
    return work / "site"


@pytest.fixture
def address(built: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(built))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_link_of_the_repository_leads_to_the_page_of_the_site() -> None:
    text = "[a](../../SECURITY.md#roles) [back-ends.md](../back-ends.md) [code](../../manage.py) `[b](../x.md)` [web](https://example.org/)"
    assert site.relinked(text, "docs/operating/health.md") == (
        "[a](../SECURITY.md#roles) [Model servers](../back-ends.md) code `[b](../x.md)` [web](https://example.org/)"
    )
    assert site.relinked("[API](docs/api.md), [it](renderer/README.md)", "SECURITY.md") == "[API](api.md), [it](renderer.md)"
    with pytest.raises(FileNotFoundError, match=r"has a link to \.\./lost\.md"):
        site.relinked("[lost](../lost.md)", "docs/operating/health.md")


@pytest.mark.slow
def test_a_link_to_a_heading_that_is_not_there_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[It](SECURITY.md#no-such-heading)\n", encoding="utf-8")
    monkeypatch.setattr(site, "relinked", lambda text, path: page.read_text() if path == "docs/api.md" else "# Nothing\n")
    done = site.build(tmp_path)
    assert done.returncode != 0 and "anchor does not exist" in done.stdout and "\x1b" not in done.stdout


@pytest.mark.slow
def test_each_page_is_there_and_names_no_file_of_another_host(built: Path) -> None:
    for name in site.navigated():
        assert (built / name).with_suffix(".html").is_file(), name
    named = []
    for file in built.rglob("*"):
        if file.suffix in {".html", ".css"}:
            text = file.read_text(encoding="utf-8")
            found = [first or second for first, second in RESOURCES.findall(text)] if file.suffix == ".html" else IN_STYLES.findall(text)
            named += [(file.name, place) for place in found]
    assert len(named) > 100, "the premise"
    assert [(page, place) for page, place in named if urlsplit(place).netloc] == []


@pytest.mark.browser
def test_a_reader_finds_a_page_by_its_words_without_another_host(address: str) -> None:
    asked = set()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find_headless())
        for width in (1280, 390):
            page = browser.new_page(viewport={"width": width, "height": 844})
            page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
            page.goto(f"{address}/index.html")
            box = page.get_by_placeholder("Search")
            while not box.is_visible():  # until its scripts know the key
                page.keyboard.press("Control+k")
                page.wait_for_timeout(300)
            expect(box).to_be_focused()
            page.keyboard.type("restore")
            # Results for the first letters come first, and Enter opens the first result.
            expect(page.locator("ol a").first).to_have_text(re.compile("^Backup and restore"))
            page.keyboard.press("Enter")
            expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Backup and restore"))
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()
    assert asked == {urlsplit(address).netloc}
