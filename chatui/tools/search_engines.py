"""The supported search engines: the request for each one, and the place of the results in its response.

Requests go to a service that the operator configured. Its address may be private, and its key is sent nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chatui.env import Environment
from chatui.json_requests import JsonRequestError, request_json
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
    """A search engine's API.

    ``ask`` receives the key, the query and the number of results, and returns the path and the content of a request: a POST if it has
    ``json``, otherwise a GET. ``place``: the keys that lead to the results in the response. ``snippet``: the key of a result's snippet.
    """

    name: str
    url: str
    ask: Callable[[str, str, int], tuple[str, dict[str, Any]]] = field(repr=False)
    place: tuple[str, ...] = ("results",)
    snippet: str = "content"


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


_EXA_CONTENTS = {"text": {"maxCharacters": _SNIPPET_CHARS}}
ENGINES: Mapping[str, Engine] = {
    "searxng": Engine(
        "SearXNG", "", lambda key, query, most: ("/search", {"headers": _bearer(key), "params": {"q": query, "format": "json"}})
    ),
    "brave": Engine(
        "Brave",
        "https://api.search.brave.com",
        lambda key, query, most: ("/res/v1/web/search", {"headers": {"X-Subscription-Token": key}, "params": {"q": query, "count": most}}),
        ("web", "results"),
        "description",
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


def is_configured(env: Environment) -> bool:
    engine = ENGINES.get(env.search)
    return engine is not None and bool(env.search_url or engine.url) and (env.search == "searxng" or bool(env.search_key))


async def search(env: Environment, query: str, max_results: int) -> list[Result]:
    """The results of the operator's search engine, best first.

    Raises:
        ToolError: the search failed.
    """
    engine = ENGINES[env.search]
    most = max(1, min(max_results, MAX_RESULTS))
    path, content = engine.ask(env.search_key, query, most)
    address = (env.search_url or engine.url).rstrip("/") + path
    answer: Any
    try:
        status, answer = await request_json(
            "POST" if "json" in content else "GET", address, seconds=SECONDS, max_bytes=MAX_BYTES, **content
        )
        if status != 200 or answer is None:
            raise JsonRequestError(f"sent no results (HTTP {status})")
    except JsonRequestError as error:
        log.warning("the search engine %s %s", engine.name, error)
        raise ToolError("The search engine is not available now.") from None
    for key in engine.place:
        answer = answer.get(key) if isinstance(answer, dict) else None
    found = [_result(each, engine) for each in answer if isinstance(each, dict)] if isinstance(answer, list) else []
    return [each for each in found if each.url][:most]


def _result(entry: Mapping[str, Any], engine: Engine) -> Result:
    url, title, snippet = (each if isinstance(each := entry.get(key), str) else "" for key in ("url", "title", engine.snippet))
    return Result(url, title, snippet[:_SNIPPET_CHARS])
