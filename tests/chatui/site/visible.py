"""Extracts what a person reads or hears of a page: its text, and the attributes that browsers show or read out."""

from collections.abc import Iterator
from html.parser import HTMLParser

SPOKEN = ("title", "aria-label", "placeholder", "alt", "data-label", "data-keys-label")
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "use", "wbr"}
_NOT_WORDS = {"script", "style", "code", "kbd", "pre", "time", "svg"}
_CONTENT = {"brand-name", "account-name", "prose", "menu-foot", "notice-number", "answer-facts", "examples", "audit-what", "error-status"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_content = bool(_CONTENT & set(values.get("class", "").split())) or ("lang" in values and tag == "option")
        is_hidden = (
            self._is_hidden() or tag in _NOT_WORDS or is_content or (values.get("dir") == "auto" and tag not in ("input", "textarea"))
        )
        if not self._is_hidden():
            self.found += [values[name] for name in SPOKEN if values.get(name) and not is_content]
            if tag == "input" and values.get("type") == "submit":
                self.found.append(values.get("value", ""))
        if tag not in _VOID:
            self._open.append((tag, is_hidden))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._is_hidden():
            self.found.append(" ".join(data.split()))

    def _is_hidden(self) -> bool:
        return bool(self._open) and self._open[-1][1]


def words_of(page: str) -> Iterator[str]:
    """Every piece of text of the page that is the product's own, not what a person or a model wrote."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    yield from reader.found
