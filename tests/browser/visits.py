"""People's browsers: each visit is a new browser context, and everything that a page does wrong is recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Route, WebSocket

from tests.support.served import Server

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Pages whose bytes are recorded are fulfilled by the test's route, and Chromium would not let those reach loopback.
    "--disable-features=LocalNetworkAccessChecks",
    # Requests to other hosts fail, wherever the tests run.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
LONGEST_MS = 120_000
"""How long a test waits for what it expects or clicks. Only what never appears takes so long: on a busy machine, a long answer of the model
took more than Playwright's 30 seconds."""
_STEP_MS = 20
_WATCH = (Path(__file__).parent / "watch.js").read_text(encoding="utf-8")


def until(page: Page, is_true: Callable[[], object]) -> None:
    """Let the page go on until something is true in this process. Pytest's own limit does not reach into Playwright's waiting."""
    for _ in range(LONGEST_MS // _STEP_MS):
        if is_true():
            return
        page.wait_for_timeout(_STEP_MS)
    raise AssertionError("did not become true")


@dataclass
class Wire:
    """Every byte that a browser received: bodies of HTTP responses, and WebSocket frames."""

    received: list[bytes] = field(default_factory=list)

    def follow(self, context: BrowserContext) -> None:
        context.route("**/*", self._pass)
        context.on("page", lambda page: page.on("websocket", self._listen))

    def _pass(self, route: Route) -> None:
        answer = route.fetch(max_redirects=0)
        self.received += [repr(answer.headers).encode(), answer.body()]
        route.fulfill(response=answer)

    def _listen(self, connection: WebSocket) -> None:
        connection.on("framereceived", lambda data: self.received.append(data.encode() if isinstance(data, str) else data))


class Visits:
    """Opens pages for people. ``complaints``: console errors, policy violations, exceptions and requests to other hosts."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._allowed: list[str] = []
        self.seen: list[str] = []

    def open(self, server: Server, name: str | None = None, path: str = "/", *, wire: Wire | None = None, **options: Any) -> Page:
        """A page in a new browser context, signed in as ``name``, or as nobody without it."""
        context = self._browser.new_context(**{"base_url": server.url, "service_workers": "block"} | options)
        context.set_default_timeout(LONGEST_MS)
        self._contexts.append(context)
        self._watch(context)
        if wire:
            wire.follow(context)
        if name:
            cookies = _session(server, name)
            context.add_cookies([{"name": key, "value": value, "url": server.url} for key, value in cookies.items()])
        page = context.new_page()
        page.goto(path)
        return page

    def allow(self, pattern: str) -> None:
        """Ignore complaints that match, which this test provokes."""
        self._allowed.append(pattern)

    @property
    def complaints(self) -> list[str]:
        return [text for text in self.seen if not any(re.search(pattern, text) for pattern in self._allowed)]

    def close(self) -> None:
        for context in self._contexts:
            # Errors of requests that are still running when the page closes must not fail the next test.
            context.unroute_all(behavior="ignoreErrors")
            context.close()

    def _watch(self, context: BrowserContext) -> None:
        context.add_init_script(_WATCH)
        context.on("console", self._hear)
        context.on("weberror", lambda error: self.seen.append(f"exception: {error.error}"))
        context.on("request", self._look)
        context.on("page", lambda page: page.on("websocket", lambda socket: self._judge(socket.url)))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.seen.append(f"console on {urlsplit(message.page.url if message.page else '').path}: {message.text}")

    def _look(self, request: Request) -> None:
        self._judge(request.url)

    def _judge(self, address: str) -> None:
        if urlsplit(address).hostname not in ("127.0.0.1", "localhost", None):
            self.seen.append(f"request to {address}")


_sessions: dict[tuple[str, str], dict[str, str]] = {}


def _session(server: Server, name: str) -> dict[str, str]:
    """The session cookies of a person, from one sign-in per server, because hashing a password is slow by design. A test may have signed
    the person out: then from another one."""
    known = _sessions.get((server.url, name))
    if known is None or httpx.get(f"{server.url}/settings/", cookies=known, trust_env=False, verify=False).status_code == 302:
        _sessions[server.url, name] = dict(server.sign_in(name).cookies)
    return _sessions[server.url, name]
