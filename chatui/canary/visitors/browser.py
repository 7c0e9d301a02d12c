"""A simulated browser: fetches pages with cookies and CSRF tokens, and checks everything that it receives."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from urllib.parse import urlsplit

import httpx

from chatui.canary.watch import CanaryError, Clock, Watch

_MAX_BODY_BYTES = 32 << 20
_REQUEST_SECONDS = 15.0
_TOKEN = re.compile(r'name="csrf-?(?:middleware)?token" (?:content|value)="([^"]+)"')

File = tuple[str, bytes, str]
"""The name, the content and the type of a file in a form."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, as the visitor received it."""

    status: int
    headers: httpx.Headers
    body: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    @property
    def is_html(self) -> bool:
        """Whether it is a page or a part of one."""
        return bool(self.headers.get("content-type", "").startswith("text/html"))


@dataclass(frozen=True, slots=True)
class Deployment:
    """The visited deployment: its ``origin`` (scheme, host and port), the Watch that checks its output, and the remaining time."""

    origin: str
    watch: Watch
    clock: Clock


@dataclass(frozen=True, slots=True)
class _Request:
    """A request. ``form`` and ``files``: the content to send, None for nothing; not in the repr."""

    method: str
    path: str
    accept: str = "text/html"
    form: Mapping[str, str] | None = field(default=None, repr=False)
    files: Mapping[str, File] | None = field(default=None, repr=False)


class Browser:
    """A simulated browser: ``with Browser("owner", deployment) as owner``. Does not follow redirects."""

    def __init__(self, viewer: str, deployment: Deployment) -> None:
        """``viewer``: the visitor's name in the report."""
        self.viewer = viewer
        self.origin = deployment.origin
        self.watch = deployment.watch
        self.clock = deployment.clock
        self.certificates = ssl.create_default_context()
        self._token = ""
        # No proxy and no .netrc from the environment: only this deployment gets requests.
        self._client = httpx.Client(
            base_url=self.origin,
            headers={"Origin": self.origin, "Referer": f"{self.origin}/"},
            trust_env=False,
            verify=self.certificates,
        )

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()

    @property
    def cookies(self) -> str:
        """The cookies as a header, for opening a socket."""
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self._client.cookies.jar)

    def sign_in(self, address: str, name: str, password: str) -> None:
        """Sign in on the page at ``address``. Raises CanaryError if that fails."""
        self.get(address, address)
        answer = self.post(address, address, {"username": name, "password": password})
        if answer.status in (301, 308):
            raise CanaryError("The deployment sends on to another address. --url must be the one under which people reach it.")
        if answer.status != 302:
            raise CanaryError(f"The {self.viewer} could not sign in: {address} answered {answer.status}.")

    def get(self, path: str, place: str, accept: str = "text/html") -> Answer:
        """Fetch one address; ``place``: its name in the report."""
        return self._fetch(_Request("GET", path, accept), place)

    def post(self, path: str, place: str, form: Mapping[str, str], files: Mapping[str, File] | None = None) -> Answer:
        """Send a form."""
        asked = _Request("POST", path, form={**form, "csrfmiddlewaretoken": self._token}, files=files)
        return self._fetch(asked, place)

    def _fetch(self, asked: _Request, place: str) -> Answer:
        sent, seconds = {"Accept": asked.accept}, self.clock.left(_REQUEST_SECONDS)
        try:
            with self._client.stream(
                asked.method, asked.path, data=asked.form, files=asked.files, headers=sent, timeout=seconds
            ) as response:
                body = bytearray()
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > _MAX_BODY_BYTES:
                        raise CanaryError(f"{place} answered with more than {_MAX_BODY_BYTES >> 20} MB.")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CanaryError(f"{place} could not be fetched: {_why(error)}.") from error
        self._look(place, response, bytes(body))
        answer = Answer(response.status_code, response.headers, bytes(body))
        if answer.is_html and (token := _TOKEN.search(answer.text)):
            self._token = token[1]
        return answer

    def _look(self, place: str, response: httpx.Response, body: bytes) -> None:
        self.watch.looked[f"answers to the {self.viewer}"] += 1
        self.watch.look(self.viewer, place, "body", body)
        self.watch.look(self.viewer, place, "status line", response.reason_phrase)
        for name, value in response.headers.multi_items():
            self.watch.look(self.viewer, place, f"header {name}", f"{name}: {value}")


def _why(error: Exception) -> str:
    """The kind of error, with the message of the operating system or OpenSSL, but never with text from the other side."""
    return f"{type(error).__name__}, {error}" if isinstance(error, httpx.ConnectError) else type(error).__name__


def origin_of(url: str) -> str:
    """Scheme, host and port of an address. Raises CanaryError if it is not a web address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise CanaryError("--url must be an address such as https://chat.example.org")
    return f"{parts.scheme}://{parts.netloc}"
