"""People's browsers: each visit has a browser context that knows nothing of others, and everything that a page does wrong is recorded."""

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, Route, WebSocket
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.support.served import Server

_SWITCHED_OFF = (
    # Pages whose bytes are recorded are fulfilled by the test's route, and Chromium would not let those reach loopback.
    "LocalNetworkAccessChecks",
    # With it, closing or leaving a page that is just being loaded a second time hangs (Playwright 1.62 and later leave it on).
    "RenderDocument",
    # Chromium obeys only the last such list, so these, which Playwright switches off for its own needs, have to be named here, too.
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    f"--disable-features={','.join(_SWITCHED_OFF)}",
    # Requests to other hosts fail, wherever the tests run.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
LONGEST_MS = 120_000
"""How long a test waits for what it expects or clicks. Only what never appears takes so long: on a busy machine, a long answer of the model
took more than Playwright's 30 seconds."""
_STILL_MS = 20_000
_STEP_MS = 20
_MAX_LEFT = 10
"""How many contexts wait for a next test."""
_STORED = "local_storage,indexeddb,cache_storage,file_systems"
_WATCH = (Path(__file__).parent / "watch.js").read_text(encoding="utf-8")


def still(page: Page) -> None:
    """Wait until the page has loaded what it loads by itself. Once in some thousand times, Playwright never calls the
    network idle, and why is not known: then the test goes on, and what it expects decides."""
    with contextlib.suppress(PlaywrightTimeout):
        page.wait_for_load_state("networkidle", timeout=_STILL_MS)


def follow(link: Locator) -> None:
    """Click on a link, and wait until its own page is there. An address that any page of its kind has may be the one before: what the page
    still does to its address would then break off a reload (``net::ERR_ABORTED``)."""
    href = link.evaluate("(link) => link.href")
    link.click()
    link.page.wait_for_url(href)


def submit(button: Locator) -> None:
    """Press a button of a form, and wait until the page that follows is there: another address, or a step back, would break it off."""
    with button.page.expect_navigation():
        button.click()


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


class Contexts:
    """The contexts of a browser. The one that a visit leaves is given to the next that wants the same options.

    It keeps nothing but scripts and style sheets: loading these again took a third of the processor time of opening a page.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._left: list[Visit] = []

    def own(self, options: dict[str, Any]) -> "Visit":
        """A visit in a new context, which nobody gets afterwards."""
        context = self._browser.new_context(**options)
        context.set_default_timeout(LONGEST_MS)
        context.add_init_script(_WATCH)
        return Visit(context, options, is_own=True)

    def shared(self, options: dict[str, Any]) -> "Visit":
        """A visit in a context that others may have had, and will get."""
        found = next((visit for visit in self._left if visit.options == options), None)
        if found:
            self._left.remove(found)
            return found
        visit = self.own(options)
        visit.is_own = False
        context = visit.context
        # What no later visit could be rid of.
        for place, name in ((context, "add_init_script"), (context, "on"), (context, "route"), (context.clock, "install")):
            setattr(place, name, _refused)
        return visit

    def leave(self, visit: "Visit") -> None:
        """Close the pages of a visit. Its context, if it was shared, waits for another."""
        # Errors of requests that are still running when the page closes must not fail the next test.
        visit.context.unroute_all(behavior="ignoreErrors")
        if visit.is_own:
            visit.context.close()
            return
        visit.clear()
        self._left.append(visit)
        if len(self._left) > _MAX_LEFT:
            self._left.pop(0).context.close()


def _refused(*_: object, **__: object) -> None:
    raise AssertionError("The next test will get this browser context, too: visits.open(..., own=True) gives a test its own.")


@dataclass(eq=False)
class Visit:
    """A browser context with ``options`` while a test has it. ``origins``: from where its pages have loaded anything."""

    context: BrowserContext
    options: dict[str, Any]
    is_own: bool
    origins: set[str] = field(default_factory=set)
    _listeners: dict[str, Callable[[Any], None]] = field(default_factory=dict)

    def listen(self, listeners: dict[str, Callable[[Any], None]]) -> None:
        """Have events of the context heard, until it is cleared."""
        self._listeners = listeners
        for event, listener in listeners.items():
            BrowserContext.on(self.context, event, listener)  # type: ignore[call-overload]

    def page(self) -> Page:
        """A new page, without anything that earlier ones of this context have stored."""
        page = self.context.new_page()
        if self.origins:
            session = self.context.new_cdp_session(page)
            for origin in self.origins:
                session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": _STORED})
            session.detach()
            self.origins.clear()
        return page

    def clear(self) -> None:
        """Close the pages, and take out of the context what they have left there, except what they have stored: see ``page``."""
        for page in self.context.pages:
            page.close()
        for event, listener in self._listeners.items():
            self.context.remove_listener(event, listener)
        self.context.clear_cookies()
        self.context.clear_permissions()
        self.context.grant_permissions(self.options.get("permissions", []))
        self.context.set_offline(False)


class Visits:
    """Opens pages for people. ``complaints``: console errors, policy violations, exceptions and requests to other hosts."""

    def __init__(self, contexts: Contexts) -> None:
        self._contexts = contexts
        self._visits: list[Visit] = []
        self._allowed: list[str] = []
        self.seen: list[str] = []

    def open(
        self, server: Server, name: str | None = None, path: str = "/", *, wire: Wire | None = None, own: bool = False, **options: Any
    ) -> Page:
        """A page in a browser context that knows nothing of others, signed in as ``name``, or as nobody without it.

        ``own``: for tests that look at what is loaded, or that put something into the context which stays there: scripts, routes, a clock,
        a service worker. Nothing moves, unless a test sets ``reduced_motion``: what moves is drawn sixty times in a second.
        """
        options = {"base_url": server.url, "service_workers": "block", "reduced_motion": "reduce"} | options
        visit = self._contexts.own(options) if own or wire else self._contexts.shared(options)
        self._visits.append(visit)
        self._watch(visit)
        if wire:
            wire.follow(visit.context)
        if name:
            cookies = _session(server, name)
            visit.context.add_cookies([{"name": key, "value": value, "url": server.url} for key, value in cookies.items()])
        page = visit.page()
        page.goto(path)
        return page

    def allow(self, pattern: str) -> None:
        """Ignore complaints that match, which this test provokes."""
        self._allowed.append(pattern)

    @property
    def complaints(self) -> list[str]:
        return [text for text in self.seen if not any(re.search(pattern, text) for pattern in self._allowed)]

    def close(self) -> None:
        for visit in self._visits:
            self._contexts.leave(visit)

    def _watch(self, visit: Visit) -> None:
        def look(request: Request) -> None:
            visit.origins.add("{0.scheme}://{0.netloc}".format(urlsplit(request.url)))
            self._judge(request.url)

        visit.listen(
            {
                "console": self._hear,
                "weberror": lambda error: self.seen.append(f"exception: {error.error}"),
                "request": look,
                "page": lambda page: page.on("websocket", lambda socket: self._judge(socket.url)),
            }
        )

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            page = urlsplit(message.page.url if message.page else "").path
            self.seen.append(f"console on {page}, about {message.location['url']}: {message.text}")

    def _judge(self, address: str) -> None:
        if urlsplit(address).hostname not in ("127.0.0.1", "localhost", None):
            self.seen.append(f"request to {address}")


_sessions: dict[tuple[str, str], dict[str, str]] = {}


def _session(server: Server, name: str) -> dict[str, str]:
    """The session cookies of a person, from one sign-in per server, because hashing a password is slow by design. A test may have signed
    the person out: then from another one."""
    known = _sessions.get((server.url, name))
    if known is None or not _is_signed_in(server, known):
        _sessions[server.url, name] = dict(server.sign_in(name).cookies)
    return _sessions[server.url, name]


def _is_signed_in(server: Server, cookies: dict[str, str]) -> bool:
    answer = httpx.get(f"{server.url}/sign-in/", cookies=cookies, trust_env=False, verify=False, timeout=LONGEST_MS / 1000)
    return answer.status_code == 302
