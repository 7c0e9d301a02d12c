"""Builds the HTTP request of a call. No argument can direct it anywhere but the operation's path on the operator's address."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

from chatui.tools.openapi.operations import FORM, JSON
from chatui.tools.remote.exchange import HttpRequest
from chatui.tools.remote.offer import Offer, Place
from chatui.tools.tool import ToolError

MAX_ADDRESS = 8000
MAX_HEADER = 1000
_DELIMITERS = {"form": ",", "simple": ",", "spaceDelimited": " ", "pipeDelimited": "|"}
_TIMES_DECODED = 3


def written(url: str, offer: Offer, arguments: Mapping[str, Any], headers: Mapping[str, str], query: Mapping[str, str]) -> HttpRequest:
    """The HTTP request of a call. ``headers`` and ``query``: the operator's, which no argument can replace.

    Raises:
        ToolError: an argument cannot be sent. The message is for the model.
    """
    path, body = offer.path, b""
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
            body = _body(offer.content_type, value)
    query_string = "&".join(filter(None, (urlencode(query_pairs, quote_via=quote), urlencode(query, quote_via=quote))))
    address = f"{url.rstrip('/')}{path}" + (f"?{query_string}" if query_string else "")
    if len(address) > MAX_ADDRESS:
        raise ToolError("The arguments are too long.")
    content = {"Content-Type": offer.content_type} if body else {}
    fixed = {"Accept": f"{JSON}, text/plain;q=0.5", **content, **headers}
    names = {name.lower() for name in fixed}
    return HttpRequest(
        offer.method, address, {**{name: value for name, value in set_by_model.items() if name.lower() not in names}, **fixed}, body
    )


def _segment(name: str, value: Any) -> str:
    """One segment of the path. Servers and proxies may decode it more than once, so anything that could be decoded to dots is refused."""
    text = ",".join(map(_text, value)) if isinstance(value, list) else "" if value is None else _text(value)
    decoded = text
    for _ in range(_TIMES_DECODED):
        decoded = unquote(decoded)
        parts = decoded.replace("\\", "/").split("/")
        # A semicolon begins parameters of a segment, which some servers drop before they check for dots.
        if not decoded.isprintable() or any(part.partition(";")[0].strip() in ("", ".", "..") for part in parts):
            raise ToolError(f"The argument {name} cannot be a part of an address.")
    return quote(text, safe=",")


def _pairs(place: Place, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if place.style == "deepObject":
            yield from ((f"{place.name}[{key}]", _text(each)) for key, each in value.items())
        else:
            # If it were exploded, the keys would become parameter names, and a model could set any of them.
            yield place.name, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        if place.explode:
            yield from ((place.name, _text(each)) for each in value)
        else:
            yield place.name, _DELIMITERS.get(place.style, ",").join(map(_text, value))
    else:
        yield place.name, _text(value)


def _header(name: str, value: Any) -> str:
    text = ",".join(map(_text, value)) if isinstance(value, list) else _text(value)
    if len(text) > MAX_HEADER or not text.isascii() or not text.isprintable():
        raise ToolError(f"The argument {name} cannot be sent as a header.")
    return text


def _body(kind: str, value: Any) -> bytes:
    if kind == FORM:
        if not isinstance(value, dict):
            raise ToolError("The body must be an object.")
        pairs = [(name, _text(each)) for name, many in value.items() for each in (many if isinstance(many, list) else [many])]
        return urlencode(pairs).encode()
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return json.dumps(value, ensure_ascii=False)
