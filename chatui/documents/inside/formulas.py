"""Writes the formulas of Office documents in one line, with brackets where a fraction or a root ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.marks import shifted

_HAT = "\u0302"
_SIMPLE = re.compile(r"[\d.,]+|.")


def written(element: Element) -> str:
    """The formula in an element of Office Math."""
    name = element.tag
    if name == "t":
        return "".join(element.itertext())
    if name.endswith("Pr"):
        return ""
    if (writer := _WRITERS.get(name)) is None:
        return "".join(written(child) for child in element)
    parts = {child.tag: written(child) for child in element if child.tag != "e"}
    return writer(element, parts, [written(child) for child in element if child.tag == "e"])


_Parts = Mapping[str, str]


def _script(element: Element, parts: _Parts, bases: list[str]) -> str:
    return _wrapped("".join(bases)) + _scripts(parts)


def _scripts(parts: _Parts) -> str:
    return _shifted(parts.get("sub", ""), -1) + _shifted(parts.get("sup", ""), 1)


def _fraction(element: Element, parts: _Parts, bases: list[str]) -> str:
    return f"{_wrapped(parts.get('num', ''))}/{_wrapped(parts.get('den', ''))}"


def _brackets(element: Element, parts: _Parts, bases: list[str]) -> str:
    return _sign(element, "begChr", "(") + _sign(element, "sepChr", "|").join(bases) + _sign(element, "endChr", ")")


def _matrix(element: Element, parts: _Parts, bases: list[str]) -> str:
    return f"[{'; '.join(', '.join(written(each) for each in row) for row in element if row.tag == 'mr')}]"


_WRITERS: Mapping[str, Callable[[Element, _Parts, list[str]], str]] = {
    **dict.fromkeys(("sSup", "sSub", "sSubSup"), _script),
    "f": _fraction,
    "d": _brackets,
    "m": _matrix,
    "sPre": lambda element, parts, bases: _scripts(parts) + "".join(bases),
    "nary": lambda element, parts, bases: f"{_sign(element, 'chr', '∫')}{_scripts(parts)} {''.join(bases)}",
    "rad": lambda element, parts, bases: f"{_shifted(parts.get('deg', ''), 1)}√{_wrapped(''.join(bases))}",
    "limLow": lambda element, parts, bases: "".join(bases) + _shifted(parts.get("lim", ""), -1),
    "limUpp": lambda element, parts, bases: "".join(bases) + _shifted(parts.get("lim", ""), 1),
    "acc": lambda element, parts, bases: "".join(bases) + _sign(element, "chr", _HAT),
    "func": lambda element, parts, bases: f"{parts.get('fName', '')} {''.join(bases)}",
    "eqArr": lambda element, parts, bases: "; ".join(bases),
}


def _shifted(text: str, level: int) -> str:
    return shifted(text.strip(), level) if text.strip() else ""


def _wrapped(text: str) -> str:
    plain = text.strip()
    return plain if _SIMPLE.fullmatch(plain) else f"({plain})"


def _sign(element: Element, name: str, default: str) -> str:
    for child in element:
        if child.tag.endswith("Pr"):
            for each in child:
                if each.tag == name:
                    return xml.attribute(each.attrib, "val")
    return default
