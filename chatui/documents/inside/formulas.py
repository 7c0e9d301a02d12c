"""Writes formulas, of Office documents and in MathML, in one line, with brackets where a fraction or a root ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.marks import shifted

_HAT, _BAR = "\u0302", "\u0305"
_SIMPLE = re.compile(r"[\d.,]+|.")


def written(element: Element) -> str:
    """The formula in an element of Office Math, or of MathML."""
    name = element.tag
    if name in _MATHML:
        return _MATHML[name]([child for child in element if child.tag not in _NOTES])
    if name in _TOKENS:
        return " ".join("".join(element.itertext()).split())
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


def _bar(element: Element, parts: _Parts, bases: list[str]) -> str:
    below = any(xml.attribute(each.attrib, "val") == "bot" for each in element.iter("pos"))
    return "".join(base + ("\u0332" if below else _BAR) for base in bases)


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
    "bar": _bar,
    "acc": lambda element, parts, bases: "".join(bases) + _sign(element, "chr", _HAT),
    "func": lambda element, parts, bases: f"{parts.get('fName', '')} {''.join(bases)}",
    "eqArr": lambda element, parts, bases: "; ".join(bases),
}


_TOKENS = ("mi", "mn", "mo", "mtext", "ms")
_NOTES = ("annotation", "annotation-xml")


def _part(children: Sequence[Element], at: int) -> str:
    return written(children[at]).strip() if at < len(children) else ""


def _rows(children: Sequence[Element]) -> str:
    return f"[{'; '.join(', '.join(written(cell).strip() for cell in row) for row in children)}]"


def _row(children: Sequence[Element]) -> str:
    return "".join(written(child) for child in children)


def _over(children: Sequence[Element]) -> str:
    base, above = _part(children, 0), _part(children, 1)
    return base + {"^": _HAT, "\u02c6": _HAT, "¯": _BAR, "‾": _BAR, "_": _BAR, "→": "\u20d7"}.get(above, _shifted(above, 1))


_MATHML: Mapping[str, Callable[[Sequence[Element]], str]] = {
    **dict.fromkeys(("math", "semantics", "mrow", "mstyle", "mpadded", "menclose", "merror", "maction"), _row),
    **dict.fromkeys(("mphantom", *_NOTES), lambda children: ""),
    "mspace": lambda children: " ",
    "mfrac": lambda children: f"{_wrapped(_part(children, 0))}/{_wrapped(_part(children, 1))}",
    "msup": lambda children: _wrapped(_part(children, 0)) + _shifted(_part(children, 1), 1),
    "msub": lambda children: _wrapped(_part(children, 0)) + _shifted(_part(children, 1), -1),
    "msubsup": lambda children: _wrapped(_part(children, 0)) + _shifted(_part(children, 1), -1) + _shifted(_part(children, 2), 1),
    "munder": lambda children: _part(children, 0) + _shifted(_part(children, 1), -1),
    "mover": _over,
    "munderover": lambda children: _part(children, 0) + _shifted(_part(children, 1), -1) + _shifted(_part(children, 2), 1),
    "msqrt": lambda children: f"√{_wrapped(_row(children))}",
    "mroot": lambda children: f"{_shifted(_part(children, 1), 1)}√{_wrapped(_part(children, 0))}",
    "mfenced": lambda children: f"({', '.join(written(child).strip() for child in children)})",
    "mtable": _rows,
    "mmultiscripts": _row,
}
"""The elements of MathML (W3C), which does not depend on the program that wrote it."""


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
