"""Loads rendered attacks in real headless Chromium and reports what an attacker would have achieved.

Each piece of HTML is in a separate container, many to a page, and is checked in three modes: as part of a document that a server
sent, set as ``innerHTML``, and read back and set again twice (which shows where a sanitizer and a browser parse differently).
Reported: scripts that ran or tried to, requests, elements, attributes, classes and addresses outside the policy, markup that left its
container, names that shadow something of the page. Every request is intercepted; nothing leaves the machine.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.attacks.policy import POLICY

MODES = ("document", "set", "set again")
PER_PAGE = 150
_ADDRESS = "http://attacks.test/"
_PATIENT_MS = 120_000
_WATCH = (Path(__file__).parent / "watch.js").read_text(encoding="utf-8")
# Report-only: what the product's own policy would block must be visible here, not blocked.
_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy-report-only": "default-src 'none'; script-src 'nonce-ours'; base-uri 'none'; form-action 'none'",
}
_SET = """<script nonce="ours">{
  const root = document.getElementById("root");
  for (const html of HTMLS) {
    const box = document.createElement("div");
    root.append(box);
    box.innerHTML = html;
    for (let again = 0; again < AGAIN; again += 1) { const read = box.innerHTML; box.innerHTML = read; }
  }
  document.currentScript.remove();
}</script>"""


class Finding(NamedTuple):
    """A successful attack: which HTML, in which mode, of what kind."""

    html: str
    mode: str
    kind: str
    detail: str


@contextmanager
def chromium(path: Path) -> Iterator[Browser]:
    """A headless browser."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=str(path), headless=True, args=arguments)
        yield browser
        browser.close()


def attack(browser: Browser, htmls: Sequence[str], modes: Sequence[str] = MODES) -> Iterator[Finding]:
    """All findings for these pieces of HTML, in each mode."""
    for start in range(0, len(htmls), PER_PAGE):
        for mode in modes:
            yield from _together(browser, mode, htmls[start : start + PER_PAGE])


def _together(browser: Browser, mode: str, htmls: Sequence[str]) -> Iterator[Finding]:
    """Load one page; a finding that cannot be assigned to one piece is searched for by bisection."""
    found = _load(browser, mode, htmls)
    if len(htmls) > 1 and any(index < 0 for index, _, _ in found):
        middle = len(htmls) // 2
        halves = [*_together(browser, mode, htmls[:middle]), *_together(browser, mode, htmls[middle:])]
        yield from halves
        if not halves:  # only the combination causes it
            yield from (Finding("".join(htmls), mode, kind, detail) for index, kind, detail in found if index < 0)
        return
    yield from (Finding(htmls[max(index, 0)], mode, kind, detail) for index, kind, detail in found)


def _load(browser: Browser, mode: str, htmls: Sequence[str]) -> list[tuple[int, str, str]]:
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.add_init_script(_WATCH)
    requests = _answer_all_requests(page, _document(mode, htmls))
    try:
        page.goto(_ADDRESS, wait_until="load", timeout=_PATIENT_MS)
        page.wait_for_timeout(30)
        found = page.evaluate("([policy, count]) => window.__look(policy, count)", [POLICY, len(htmls)])
        return [*map(tuple, found), *((-1, "request", request) for request in requests)]
    finally:
        context.close()


def _answer_all_requests(page: Page, document: str) -> list[str]:
    """Answer the request for the page itself once with the document, and record all other requests."""
    others: list[str] = []
    answered = False

    def answer(route: Route) -> None:
        nonlocal answered
        if route.request.url == _ADDRESS and not answered:
            answered = True
            route.fulfill(status=200, headers=_HEADERS, body=document.encode("utf-8", "replace"))
        elif route.request.url == _ADDRESS + "favicon.ico":
            route.fulfill(status=204, body="")
        else:
            others.append(f"{route.request.resource_type} {route.request.url[:200]}")
            route.abort()

    page.route("**/*", answer)
    page.on("popup", lambda popup: others.append(f"a window of {popup.url[:200]}"))
    return others


def _document(mode: str, htmls: Sequence[str]) -> str:
    head, end = "<!doctype html><meta charset=utf-8><title>attacks</title><body>", '<p id="end"></p>'
    if mode == "document":
        return head + '<div id="root">' + "".join(f"<div>{html}</div>" for html in htmls) + "</div>" + end
    texts = json.dumps(list(htmls)).replace("<", "\\u003c")
    script = _SET.replace("HTMLS", texts).replace("AGAIN", "2" if mode == "set again" else "0")
    return f'{head}<div id="root"></div>{end}{script}'
