"""Makes HTML comparable: two renderings that look the same to a reader have the same canonical string.

Containers without meaning, white space between blocks, paragraphs inside items and cells, and the many ways to mark mathematics, task
boxes, languages and alignment are normalized. The visible content, its order and its nesting stay.
"""

import re
from html import escape
from typing import Any

import html5lib

_TRANSPARENT = {"html", "head", "body", "div", "span", "section", "label"}
_SAME = {"b": "strong", "i": "em", "s": "del", "strike": "del"}
_WITHOUT_END = {"br", "hr", "img"}
_INLINE = {"strong", "em", "del", "code", "a", "sub", "sup", "kbd", "mark", "img", "m"}
_EDGE = "\x02"


def canonical(html: str) -> str:
    """The canonical form of an HTML fragment."""
    root = html5lib.parse(html, treebuilder="etree", namespaceHTMLElements=False)
    text = "".join(_parts(root, ()))
    # Inside <pre> white space is text; elsewhere it does not count next to the edge of a block.
    pieces = re.split(r"(<pre>.*?</pre>)", text, flags=re.DOTALL)
    pieces = [piece if piece.startswith("<pre>") else re.sub(rf"[ \n]*{_EDGE}[{_EDGE} \n]*", "", piece) for piece in pieces]
    text = "".join(pieces).replace(_EDGE, "")
    text = re.sub(r"\s*</code></pre>", "</code></pre>", text)
    text = re.sub(r"\s*(<dm>.*?</dm>)\s*", r"\1", text, flags=re.DOTALL)
    return re.sub(r"<li>\[( |x)\]\s*", r"<li>[\1]", text).strip()


def _parts(element: Any, parents: tuple[str, ...]) -> list[str]:
    tag = _SAME.get(element.tag, element.tag)
    if mathematics := _mathematics(element):
        return mathematics
    if tag == "input":
        return ["[x]" if element.get("checked") is not None else "[ ]"]
    inside = [*_text(element.text, (*parents, tag))]
    for child in element:
        inside += _parts(child, parents if tag in _TRANSPARENT else (*parents, tag))
        inside += _text(child.tail, (*parents, tag))
    if tag in _TRANSPARENT:
        return inside
    if tag == "p" and parents and parents[-1] in ("li", "td", "dd"):
        return [_EDGE, *inside, _EDGE]
    edge = "" if tag in _INLINE else _EDGE
    opening = f"{edge}<{tag}{_attributes(element, tag, parents)}>{edge}"
    return [opening, *inside] if tag in _WITHOUT_END else [opening, *inside, f"{edge}</{tag}>{edge}"]


def _text(text: str | None, parents: tuple[str, ...]) -> list[str]:
    if not text:
        return []
    return [escape(text if "pre" in parents else re.sub(r"\s+", " ", text), quote=False)]


def _mathematics(element: Any) -> list[str] | None:
    classes = (element.get("class") or "").split()
    if element.tag not in ("m", "dm") and "math" not in classes:
        return None
    name = "dm" if element.tag in ("dm", "div") or "math-display" in classes else "m"
    return [f"<{name}>", escape(re.sub(r"\s+", " ", "".join(element.itertext()).strip()), quote=False), f"</{name}>"]


def _attributes(element: Any, tag: str, parents: tuple[str, ...]) -> str:
    attributes: dict[str, str | None] = {}
    if tag == "a":
        attributes = {"href": element.get("href", ""), "title": element.get("title")}
    elif tag == "img":
        attributes = {"src": element.get("src"), "alt": element.get("alt")}
    elif tag == "ol":
        attributes = {"start": element.get("start") if element.get("start") != "1" else None}
    elif tag in ("td", "th"):
        attributes = {"align": element.get("align")}
    elif tag == "code" and parents and parents[-1] == "pre":
        language = re.search(r"language-(\S+)", element.get("class") or "")
        attributes = {"lang": element.get("lang") or (language[1] if language else None)}
    return "".join(f' {name}="{value}"' for name, value in attributes.items() if value)
