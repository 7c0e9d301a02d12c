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

SECONDS = 15.0
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A request: a POST if it has a ``body``, otherwise a GET."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict, repr=False)
    body: Mapping[str, Any] | None = field(default=None, repr=False)

    async def results(self) -> dict[str, Any]:
        """The JSON object in the service's response. Raises JsonRequestError if it did not return one."""
        method = "GET" if self.body is None else "POST"
        content: dict[str, Any] = {"headers": self.headers, "params": self.params, "json": self.body}
        status, found = await request_json(method, self.url, seconds=SECONDS, max_bytes=MAX_BYTES, **content)
        if status != 200 or found is None:
            raise JsonRequestError(f"sent no results (HTTP {status})")
        return found


log = logging.getLogger(__name__)

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

    ``build_request`` receives the engine's URL, the key, the query and the number of results. ``place``: the keys that lead to the results
    in the response. ``snippet``: the key of a result's snippet.
    """

    name: str
    url: str
    build_request: Callable[[str, str, str, int], ServiceRequest] = field(repr=False)
    place: tuple[str, ...] = ("results",)
    snippet: str = "content"


def _searxng(url: str, key: str, query: str, max_results: int) -> ServiceRequest:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return ServiceRequest(f"{url.rstrip('/')}/search", headers, {"q": query, "format": "json"})


def _brave(url: str, key: str, query: str, max_results: int) -> ServiceRequest:
    return ServiceRequest(f"{url.rstrip('/')}/res/v1/web/search", {"X-Subscription-Token": key}, {"q": query, "count": max_results})


def _tavily(url: str, key: str, query: str, max_results: int) -> ServiceRequest:
    return ServiceRequest(
        f"{url.rstrip('/')}/search", {"Authorization": f"Bearer {key}"}, body={"query": query, "max_results": max_results}
    )


def _exa(url: str, key: str, query: str, max_results: int) -> ServiceRequest:
    contents = {"text": {"maxCharacters": _SNIPPET_CHARS}}
    return ServiceRequest(
        f"{url.rstrip('/')}/search", {"x-api-key": key}, body={"query": query, "numResults": max_results, "contents": contents}
    )


ENGINES: Mapping[str, Engine] = {
    "searxng": Engine("SearXNG", "", _searxng),
    "brave": Engine("Brave", "https://api.search.brave.com", _brave, ("web", "results"), "description"),
    "tavily": Engine("Tavily", "https://api.tavily.com", _tavily),
    "exa": Engine("Exa", "https://api.exa.ai", _exa, snippet="text"),
}


def is_configured(env: Environment) -> bool:
    """Whether a search engine is configured."""
    engine = ENGINES.get(env.search)
    return engine is not None and bool(env.search_url or engine.url) and (env.search == "searxng" or bool(env.search_key))


async def search(env: Environment, query: str, max_results: int) -> list[Result]:
    """The results of the operator's search engine, best first.

    Raises:
        ToolError: the search failed.
    """
    engine = ENGINES[env.search]
    max_results = max(1, min(max_results, MAX_RESULTS))
    try:
        answer: Any = await engine.build_request(env.search_url or engine.url, env.search_key, query, max_results).results()
    except JsonRequestError as error:
        log.warning("the search engine %s %s", engine.name, error)
        raise ToolError("The search engine is not available now.") from None
    for key in engine.place:
        answer = answer.get(key) if isinstance(answer, dict) else None
    found = [_result(each, engine) for each in answer if isinstance(each, dict)] if isinstance(answer, list) else []
    return [each for each in found if each.url][:max_results]


def _result(entry: Mapping[str, Any], engine: Engine) -> Result:
    url, title, snippet = (entry.get(key) for key in ("url", "title", engine.snippet))
    return Result(
        url if isinstance(url, str) else "",
        title if isinstance(title, str) else "",
        snippet[:_SNIPPET_CHARS] if isinstance(snippet, str) else "",
    )
