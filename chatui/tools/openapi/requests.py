"""Writes the HTTP request of a call. No argument can direct it anywhere but the operation's path on the operator's address."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

from chatui.tools.openapi import bodies
from chatui.tools.openapi.bodies import text_of
from chatui.tools.remote.exchange import HttpRequest
from chatui.tools.remote.offers import ArgumentPlace, ToolOffer
from chatui.tools.tool import ToolError

MAX_ADDRESS = 8000
MAX_HEADER = 1000
_DELIMITERS = {"form": ",", "simple": ",", "spaceDelimited": " ", "pipeDelimited": "|"}
_TIMES_DECODED = 3


def written(url: str, offer: ToolOffer, arguments: Mapping[str, Any], headers: Mapping[str, str], query: Mapping[str, str]) -> HttpRequest:
    """The HTTP request of a call. ``headers`` and ``query``: the operator's, which no argument can replace.

    Raises:
        ToolError: an argument cannot be sent. The message is for the model.
    """
    path, body, content_type = offer.path, b"", ""
    query_pairs: list[tuple[str, str]] = []
    set_by_model: dict[str, str] = {}
    for name, value in arguments.items():
        place = offer.places.get(name)
        if place is None or (value is None and place.part != "path"):
            continue
        if place.part == "path":
            path = path.replace(f"{{{place.name}}}", _segment(name, value))
        elif place.part == "query":
            query_pairs += _pairs(place, value)
        elif place.part == "header":
            set_by_model[place.name] = _header(name, value)
        elif place.part == "body":
            body, content_type = bodies.written(offer, value)
    query_string = "&".join(filter(None, (urlencode(query_pairs, quote_via=quote), urlencode(query, quote_via=quote))))
    joint = "&" if "?" in path else "?"
    address = f"{url.rstrip('/')}{path}" + (f"{joint}{query_string}" if query_string else "")
    if len(address) > MAX_ADDRESS:
        raise ToolError("The arguments are too long.")
    content = {"Content-Type": content_type} if body else {}
    fixed = {"Accept": f"{bodies.JSON}, text/plain;q=0.5", **content, **headers}
    names = {name.lower() for name in fixed}
    free = {name: value for name, value in set_by_model.items() if name.lower() not in names}
    return HttpRequest(offer.method, address, {**free, **fixed}, body)


def _segment(name: str, value: Any) -> str:
    """One segment of the path. Servers and proxies may decode it more than once, so anything that could be decoded to dots is refused."""
    text = ",".join(map(text_of, value)) if isinstance(value, list) else "" if value is None else text_of(value)
    decoded = text
    for _ in range(_TIMES_DECODED):
        decoded = unquote(decoded)
        parts = decoded.replace("\\", "/").split("/")
        # A semicolon begins parameters of a segment, which some servers drop before they check for dots.
        if not decoded.isprintable() or any(part.partition(";")[0].strip() in ("", ".", "..") for part in parts):
            raise ToolError(f"The argument {name} cannot be a part of an address.")
    return quote(text, safe=",")


def _pairs(place: ArgumentPlace, value: Any) -> Iterator[tuple[str, str]]:
    if place.style == "json":
        yield place.name, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, dict):
        if place.style == "deepObject":
            yield from bodies.deep(place.name, value)
        else:
            # If it were exploded, the keys would become parameter names, and a model could set any of them.
            yield place.name, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        if place.explode:
            yield from ((place.name, text_of(each)) for each in value)
        else:
            yield place.name, _DELIMITERS.get(place.style, ",").join(map(text_of, value))
    else:
        yield place.name, text_of(value)


def _header(name: str, value: Any) -> str:
    text = ",".join(map(text_of, value)) if isinstance(value, list) else text_of(value)
    if len(text) > MAX_HEADER or not text.isascii() or not text.isprintable():
        raise ToolError(f"The argument {name} cannot be sent as a header.")
    return text
