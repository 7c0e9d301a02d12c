"""The supported search engines: the request for each one, and the place of the results in its response.

Requests go to a service that the operator configured. Its address may be private, and its key is sent nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from chatui.env import Environment
from chatui.tools.tool import ToolError

SECONDS = 15.0
MAX_BYTES = 1_000_000


class ServiceError(Exception):
    """The service failed. The text gives the reason, for the log, and quotes nothing from the response."""


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A request: a POST if it has a ``body``, otherwise a GET."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict, repr=False)
    body: Mapping[str, Any] | None = field(default=None, repr=False)


async def request_json(request: ServiceRequest, seconds: float = SECONDS) -> dict[str, Any]:
    """The JSON object in the service's response. Redirects are not followed: the key belongs to this address.

    Raises:
        ServiceError: the service did not return one.
    """
    method = "GET" if request.body is None else "POST"
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(trust_env=False, timeout=seconds, headers={"Accept-Encoding": "identity"}) as client,
            client.stream(method, request.url, headers=request.headers, params=request.params, json=request.body) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise ServiceError(f"HTTP {response.status_code}")
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise ServiceError("the response is too long")
        found = json.loads(body)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError, ValueError, RecursionError) as error:
        raise ServiceError(type(error).__name__) from None
    if not isinstance(found, dict):
        raise ServiceError("the response is not a JSON object")
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
        answer: Any = await request_json(engine.build_request(env.search_url or engine.url, env.search_key, query, max_results))
    except ServiceError as error:
        log.warning("the search engine %s failed: %s", engine.name, error)
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
