"""The supported search engines: the request for each one, and the place of the results in its response.

Requests go to the one service that the operator configured, whose address may be private, or that staff chose in Administration. Its key
is sent nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chatui import sealing
from chatui.backends.keys import KeyUnusableError, checked
from chatui.env import environment
from chatui.outbound.requests import JsonRequestError, request_json, transport_to
from chatui.tools import rules
from chatui.tools.tool import ToolError

log = logging.getLogger(__name__)

SECONDS = 15.0
MAX_BYTES = 1_000_000
MAX_RESULTS = 20
_SNIPPET_CHARS = 400


@dataclass(frozen=True, slots=True)
class Result:
    """A search result. All of its text is untrusted."""

    url: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Engine:
    """A search engine's API."""

    name: str
    url: str
    ask: Callable[[str, str, int], tuple[str, dict[str, Any]]] = field(repr=False)
    """Receives the key, the query and the number of results, and returns the path and the content of a request: a POST if it has ``json``,
    otherwise a GET."""
    results_path: tuple[str, ...] = ("results",)
    """The keys that lead to the results in the response."""
    needs_key: bool = True
    snippet: str = "content"
    """The key of a result's snippet."""


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


_EXA_CONTENTS = {"text": {"maxCharacters": _SNIPPET_CHARS}}
ENGINES: Mapping[str, Engine] = {
    "searxng": Engine(
        "SearXNG",
        "",
        lambda key, query, most: ("/search", {"headers": _bearer(key), "params": {"q": query, "format": "json"}}),
        needs_key=False,
    ),
    "brave": Engine(
        "Brave",
        "https://api.search.brave.com",
        lambda key, query, most: ("/res/v1/web/search", {"headers": {"X-Subscription-Token": key}, "params": {"q": query, "count": most}}),
        ("web", "results"),
        snippet="description",
    ),
    "tavily": Engine(
        "Tavily",
        "https://api.tavily.com",
        lambda key, query, most: ("/search", {"headers": _bearer(key), "json": {"query": query, "max_results": most}}),
    ),
    "exa": Engine(
        "Exa",
        "https://api.exa.ai",
        lambda key, query, most: (
            "/search",
            {"headers": {"x-api-key": key}, "json": {"query": query, "numResults": most, "contents": _EXA_CONTENTS}},
        ),
        snippet="text",
    ),
}


@dataclass(frozen=True, slots=True)
class ChosenEngine:
    """The engine that is used. ``is_from_file``: the operator's settings name it, so that Administration does not."""

    engine: Engine
    address: str
    key: str = field(repr=False)
    is_from_file: bool = True


def chosen() -> ChosenEngine | None:
    """The engine of the operator's settings, or else that of Administration; None if there is none, or its address or key is missing."""
    env = environment()
    if env.search != "none":
        return _usable(env.search, env.search_url, env.search_key, is_from_file=True)
    if (stored := rules.engine()) is None or stored.engine not in ENGINES:
        return None
    key = unsealed(stored.sealed_key, stored.engine, stored.address)
    return None if key is None else _usable(stored.engine, stored.address, key, is_from_file=False)


def _usable(name: str, address: str, key: str, *, is_from_file: bool) -> ChosenEngine | None:
    engine = ENGINES[name]
    address = address or engine.url
    return ChosenEngine(engine, address, key, is_from_file) if address and (key or not engine.needs_key) else None


def is_configured() -> bool:
    return chosen() is not None


def sealed(key: str, name: str, address: str) -> str:
    """The key as it is stored, for this engine at this address only.

    Raises:
        ValueError: it contains characters that cannot be sent.
    """
    try:
        return sealing.seal(checked(key, "the field").encode(), _purpose(name, address))
    except KeyUnusableError as error:
        raise ValueError(str(error)) from None


def unsealed(token: str, name: str, address: str) -> str | None:
    """The key; None if it was sealed for another place, or with a secret key that the product no longer has."""
    found = sealing.unseal(token, _purpose(name, address)) if token else b""
    return None if found is None else found.decode()


def _purpose(name: str, address: str) -> bytes:
    return f"key of a search engine, {name}, {address}".encode()


async def search(query: str, max_results: int) -> list[Result]:
    """The results of the search engine, best first.

    Raises:
        ToolError: the search failed.
    """
    if (used := chosen()) is None:
        raise ToolError("There is no search engine.")
    engine, most = used.engine, max(1, min(max_results, MAX_RESULTS))
    path, content = engine.ask(used.key, query, most)
    address = used.address.rstrip("/") + path
    answer: Any
    try:
        status, answer = await request_json(
            "POST" if "json" in content else "GET",
            address,
            seconds=SECONDS,
            max_bytes=MAX_BYTES,
            transport=None if used.is_from_file else transport_to(used.address),
            **content,
        )
        if status != 200 or answer is None:
            raise JsonRequestError(f"sent no results (HTTP {status})")
        results = _results(answer, engine)
    except JsonRequestError as error:
        log.warning("the search engine %s %s", engine.name, error)
        raise ToolError("The search engine is not available now.") from None
    return [each for each in results if each.url][:most]


def _results(answer: Any, engine: Engine) -> list[Result]:
    """Raises JsonRequestError if the answer has no list of results: it may be an error object, which must not read as nothing found."""
    *around, last = engine.results_path
    for key in around:  # of what it found none of, Brave leaves out the object
        answer = answer.get(key, {last: []}) if isinstance(answer, dict) else None
    entries = answer.get(last) if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise JsonRequestError("sent no list of results")
    return [_result(each, engine) for each in entries if isinstance(each, dict)]


def _result(entry: Mapping[str, Any], engine: Engine) -> Result:
    url, title, snippet = (each if isinstance(each := entry.get(key), str) else "" for key in ("url", "title", engine.snippet))
    return Result(url, title, snippet[:_SNIPPET_CHARS])
