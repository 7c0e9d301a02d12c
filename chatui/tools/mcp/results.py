"""Reads the result of an MCP tool (specification of 2025-11-25, server/tools): all that it says reaches the model, or a mark with its kind
and size does.

What a server says for the person alone (``annotations.audience``) is not for the model, which gets its kind and size. Of it, only text
can be shown to the person.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chatui.json_schemas import mapping
from chatui.tools.mcp.messages import MAX_MARKS
from chatui.tools.remote.offers import cleaned
from chatui.tools.replies import in_middle
from chatui.tools.tool import ToolError
from renderer.strict_json import loads_bounded

ERROR_CHARS = 800
"""The most characters of an error. Its cause is often at its end, so it is cut in the middle."""
NAME_CHARS = 100
ADDRESS_CHARS = 500
DESCRIBED_CHARS = 300
MAX_OTHER_PARTS = 500
"""The most parts that are named or marked one by one, which takes a while; further ones are counted. Texts do not count as parts."""
MAX_DEPTH = 100
"""How many levels a structure may have."""
_NO_MORE = "The tool answered with a kind of result that is not known here."
_NOTHING = "[nothing was returned]"
_PRIVATE = "[left out: for the person alone]"
_OF_PROTOCOL = {"_meta", "content", "isError", "resultType", "structuredContent"}
_READABLE = ("text/", "application/json", "application/xml", "application/yaml", "application/javascript", "application/sql")
_SUFFIXES = ("+json", "+xml", "+yaml")


def read(result: Mapping[str, Any], *, is_shown: bool = False) -> Any:
    """The result of a call, as JSON for the model. If it has both text and structure, and they do not say the same, the model gets both.
    ``is_shown``: the person is shown ``for_person``.

    Raises:
        ToolError: the tool reports a failure, or requests more input.
    """
    if result.get("resultType", "complete") != "complete":
        raise ToolError(_NO_MORE)
    listed = _content(result)
    is_private = any(map(is_for_person, listed))
    texts = list(_texts(listed, is_shown=is_shown))
    text = "\n".join(texts)
    structure = _without(_structure(result), {_own_text(each) for each in listed if is_for_person(each)} - {""})
    if structure is None or (text and not is_private and _says_same(texts, structure)):
        value: Any = text if structure is None else structure
    else:
        value = {"text": text, "structuredContent": structure} if text else structure
    if result.get("isError") in (True, "true"):
        failure = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        raise ToolError(f"The tool failed: {in_middle(failure, ERROR_CHARS)}" if failure else "The tool failed.")
    return _NOTHING if value == "" else value


def _texts(listed: Sequence[Any], *, is_shown: bool) -> Iterator[str]:
    """The parts as the model gets them."""
    others = 0
    for each in listed:
        is_private = is_for_person(each)
        others += is_private or not _is_text(each)
        if is_private and others <= MAX_OTHER_PARTS:
            yield _mark(each, is_shown=is_shown)
        elif not is_private and (others <= MAX_OTHER_PARTS or _is_text(each)):
            yield _part(each).text
    if others > MAX_OTHER_PARTS:
        yield f"[{others - MAX_OTHER_PARTS:,} more parts that are no text for you were returned, which are not shown here]"


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def for_person(result: Mapping[str, Any]) -> str:
    """What the server says for the person alone, as far as it is text; empty if there is none."""
    return "\n".join(filter(None, (_own_text(each) for each in _content(result) if is_for_person(each)))).strip()


def wants_input(result: Mapping[str, Any]) -> bool:
    """Whether this is no result, but what the server wants to be told before it has one."""
    return result.get("resultType") == "input_required"


def _own_text(part: Mapping[str, Any]) -> str:
    """The text of a part, without any mark of ours; empty if it is none."""
    inner = mapping(part, "resource") if part.get("type") == "resource" else part if part.get("type") == "text" else {}
    text = inner.get("text") if isinstance(inner.get("text"), str) else _decoded(inner.get("mimeType"), inner.get("blob"))
    return text or ""


def _mark(part: Mapping[str, Any], *, is_shown: bool) -> str:
    """What the model gets instead of a part for the person alone: no name or address either."""
    inner = {"resource": _nameless(mapping(part, "resource"))} if "resource" in part else {}
    kind = _part({**_nameless(part), **inner}).kind
    return f"[{kind}, which the person alone is shown]" if is_shown and _own_text(part) else f"[left out: {kind}, for the person alone]"


def _nameless(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in ("uri", "name", "title", "description")}


def _without(value: Any, private: Collection[str], depth: int = 0) -> Any:
    """A structure without what is for the person alone: some libraries repeat the parts, or their texts, in it."""
    if depth > MAX_DEPTH:
        raise ToolError("The tool answered with a result that is nested too deeply.")
    if isinstance(value, str):
        return _PRIVATE if value in private else value
    if isinstance(value, list):
        return [_without(each, private, depth + 1) for each in value]
    if isinstance(value, dict):
        return _PRIVATE if is_for_person(value) else {name: _without(each, private, depth + 1) for name, each in value.items()}
    return value


def _content(result: Mapping[str, Any]) -> list[Any]:
    content = result.get("content")
    return content if isinstance(content, list) else [] if content is None else [content]


def _structure(result: Mapping[str, Any]) -> Any:
    """The structured part, of any JSON type; None if there is none. Servers that forget ``content`` write it beside other fields."""
    if (found := result.get("structuredContent")) is not None:
        return found
    if "content" in result:
        return None
    return {name: value for name, value in result.items() if name not in _OF_PROTOCOL} or None


def _says_same(texts: list[str], structure: Any) -> bool:
    """Whether texts repeat a structure. Many servers write it as JSON, too, or wrap a text or the parts in an object of one value."""
    candidates = [structure, *(structure.values() if isinstance(structure, dict) and len(structure) == 1 else ())]
    text = "\n".join(texts)
    for each in candidates:
        if _is_written(text, each):
            return True
        if isinstance(each, list) and len(each) == len(texts) and all(map(_is_written, texts, each)):
            return True
    return False


def _is_written(text: str, value: Any) -> bool:
    if isinstance(value, str) and text == value:
        return True
    try:
        # As text, because True equals 1.
        parsed = loads_bounded(text.encode("utf-8", "surrogatepass"), MAX_MARKS)
        return json.dumps(parsed, sort_keys=True) == json.dumps(value, sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        return False


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the content."""

    kind: str
    """What it is, with its size."""
    text: str
    """The part itself, or a mark with its kind."""


def _part(part: Any) -> _Part:
    if not isinstance(part, Mapping):
        text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
        return _Part(_chars(text), text)
    kind = part.get("type")
    if _is_text(part):
        return _Part(_chars(part["text"]), part["text"])
    if kind == "resource" and isinstance(part.get("resource"), Mapping):
        return _resource(part["resource"])
    if kind == "resource_link":
        return _link(part)
    if kind in ("image", "audio"):
        words = _named("an image" if kind == "image" else "a sound", part.get("mimeType"), _size(part.get("data")))
    else:
        what = "a text that cannot be read" if kind == "text" else f"a part of type {cleaned(str(kind), NAME_CHARS)}"
        words = _named(what, part.get("mimeType"), f"{len(json.dumps(part, default=str)):,} characters")
    return _Part(words, f"[{words} was returned, which is not shown here]")


def _resource(inner: Mapping[str, Any]) -> _Part:
    """An embedded resource, with its address and its type."""
    address, kind = _word(inner.get("uri")), inner.get("mimeType")
    text = inner.get("text") if isinstance(inner.get("text"), str) else _decoded(kind, inner.get("blob"))
    if text is None:
        words = _named("a file", address, kind, _size(inner.get("blob")))
        return _Part(words, f"[{words} was returned, which is not shown here]")
    name = ", ".join(filter(None, (address, _word(kind))))
    return _Part(_named("a file", address, kind, _chars(text)), f"[{name}]\n{text}" if name else text)


def _link(part: Mapping[str, Any]) -> _Part:
    title = next((each for each in map(_word, (part.get("title"), part.get("name"))) if each), "")
    size = part.get("size")
    named = _named("a link", title, _word(part.get("uri")), part.get("mimeType"), f"{size:,} bytes" if type(size) is int else "")
    about = cleaned(part["description"], DESCRIBED_CHARS) if isinstance(part.get("description"), str) else ""
    return _Part(named, f"[{named} was returned{f': {about}' if about else ''}]")


def is_for_person(part: Any) -> bool:
    """Whether a server says that a part is for the user and nobody else."""
    if not isinstance(part, Mapping):
        return False
    audiences = [mapping(each, "annotations").get("audience") for each in (part, mapping(part, "resource"))]
    return any(each == "user" or (isinstance(each, list) and each and all(name == "user" for name in each)) for each in audiences)


def _decoded(kind: Any, blob: Any) -> str | None:
    """The text of a file whose type is that of a text; None if it cannot be read as one."""
    bare = str(kind or "").partition(";")[0].strip().lower()
    if not isinstance(blob, str) or not (bare.startswith(_READABLE) or bare.endswith(_SUFFIXES)):
        return None
    try:
        return base64.b64decode(blob, validate=True).decode("utf-8-sig")
    except (binascii.Error, ValueError):
        return None


def _named(what: str, *facts: Any) -> str:
    words = ", ".join(filter(None, map(_word, facts)))
    return f"{what} ({words})" if words else what


def _word(value: Any) -> str:
    return cleaned(value, ADDRESS_CHARS) if isinstance(value, str) else ""


def _size(data: Any) -> str:
    """The size of base64 data."""
    size = len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else None
    return "" if size is None else f"{size:,} byte{'s' * (size != 1)}"


def _chars(text: str) -> str:
    return f"{len(text):,} characters"
