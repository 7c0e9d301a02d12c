"""The text of charts and of SmartArt diagrams, which DOCX, PPTX and XLSX keep in parts of their own."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from chatui.documents.inside.marks import mark

_VALUES = ("val", "yVal", "bubbleSize")
_NAMES = ("cat", "xVal")


def chart(tree: Element) -> str:
    """A mark with the chart's titles, then the table of its values as stored: a line for each category, a column for each series."""
    titles = [text for each in tree.iter("title") if (text := "".join(_texts(each)).strip())]
    first = mark("Chart", "; ".join(titles)) if titles else "[Chart]"
    series = list(tree.iter("ser"))
    if not series:
        # Newer kinds of charts have other names for all this.
        words = dict.fromkeys(text for each in tree.iter() if each.tag in ("v", "pt", "t") and (text := (each.text or "").strip()))
        return " ".join([first, *(word for word in words if word not in titles)])
    return "\n".join([first, *_table(series)])


def _table(series: list[Element]) -> Iterator[str]:
    names: dict[str, str] = {}
    rows: dict[str, list[str]] = {}
    heads: list[str] = []
    for each in series:
        head = " ".join(value for child in each if child.tag == "tx" for value in _values(child).values())
        for child in each:
            if child.tag in _NAMES:
                names |= _values(child)
            elif child.tag in _VALUES:
                for at, value in _values(child).items():
                    row = rows.setdefault(at, [])
                    row += [""] * (len(heads) - len(row)) + [value]
                heads.append(head)
    if any(heads):
        yield "\t".join(["", *heads])
    yield from ("\t".join([names.get(at, at), *row]) for at, row in rows.items())


def diagram(tree: Element) -> str:
    """A mark with the texts of a diagram, in the order in which they are stored."""
    points = ("".join(_texts(each)).strip() for each in tree.iter("pt"))
    return mark("Diagram", "; ".join(filter(None, points)))


def _texts(element: Element) -> Iterator[str]:
    for each in element.iter():
        if each.tag == "p":
            yield " "
        elif each.tag in ("t", "v"):
            yield each.text or ""


def _values(element: Element) -> dict[str, str]:
    """The stored values by their index. Of several levels of names, the first is the innermost."""
    found: dict[str, str] = {}
    for each in element.iter():
        if each.tag == "pt" and (at := each.get("idx", "")):
            found.setdefault(at, " ".join("".join(v.text or "" for v in each.iter("v")).split()))
        elif each.tag == "v" and not found and element.tag == "tx":
            found["0"] = (each.text or "").strip()
    return found
