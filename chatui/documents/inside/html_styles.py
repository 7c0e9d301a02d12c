"""What the style sheets of a page say of its text: that it is hidden, struck out, raised or lowered.

Only rules for an element's own name, class or id are looked at, as programs that export documents write them. Rules within ``@media`` and
the like hold somewhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_CHARS = 500_000
MAX_RULES = 5000
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_RULE = re.compile(r"([^{}]{0,2000})([{}])")
_SELECTOR = re.compile(r"([a-z][a-z0-9]{0,20})?([.#][\w-]{1,100})?", re.IGNORECASE)
_NO_LENGTH = re.compile(r"[-+]?0*\.?0*(?:[a-z]+|%)?")
_SMALL = re.compile(r"font-size:(?:0?\.\d|smaller|x-small|xx-small|[1-8]\d%|[1-8]?\dpx)")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a style says; None where it says nothing. ``level``: 1 if text is raised, -1 if it is lowered."""

    is_hidden: bool | None = None
    level: int | None = None
    is_struck: bool | None = None

    def over(self, other: Shown) -> Shown:
        """What this style says, and ``other`` where this one says nothing."""
        return Shown(
            other.is_hidden if self.is_hidden is None else self.is_hidden,
            other.level if self.level is None else self.level,
            other.is_struck if self.is_struck is None else self.is_struck,
        )


NOTHING = Shown()


def parse_declarations(declarations: str) -> Shown:
    """What the declarations of a rule, or of an element's ``style``, say."""
    plain = "".join(declarations.lower().split()).replace("!important", "")
    values = dict(each.split(":", 1) for each in plain.split(";") if ":" in each)
    hidden = [values[name] in bad for name, bad in (("display", ("none",)), ("visibility", ("hidden", "collapse"))) if name in values]
    level = {"super": 1, "sub": -1, "text-top": 1, "text-bottom": -1}.get(values.get("vertical-align", ""))
    if level is None and values.get("position") == "relative" and _SMALL.search(plain) and (top := values.get("top", "")):
        level = 0 if _NO_LENGTH.fullmatch(top) else 1 if top.startswith("-") else -1
    line = values.get("text-decoration", values.get("text-decoration-line"))
    return Shown(any(hidden) if hidden else None, level, None if line is None else "line-through" in line)


@dataclass(slots=True)
class StyleSheets:
    """The rules of a page's style sheets, by selector."""

    rules: dict[str, Shown] = field(default_factory=dict)

    def read(self, text: str) -> None:
        """Add the rules of a style sheet; later ones win."""
        selectors, depth, is_own = "", 0, True
        plain, at = _COMMENT.sub(" ", text[:MAX_CHARS]), 0
        while (found := _RULE.match(plain, at)) and len(self.rules) < MAX_RULES:
            at = found.end()
            if found[2] == "{":
                depth += 1
                if depth == 1:
                    selectors = found[1].rpartition(";")[2].strip()
                    is_own = not selectors.startswith("@")
            else:
                if depth == 1 and is_own:
                    self._add(selectors, found[1])
                depth = max(depth - 1, 0)

    def _add(self, selectors: str, declarations: str) -> None:
        shown = parse_declarations(declarations)
        if shown == NOTHING:
            return
        for each in selectors.split(","):
            if _SELECTOR.fullmatch(each.strip()) and each.strip():
                key = each.strip()
                self.rules[key] = shown.over(self.rules.get(key, NOTHING))

    def of(self, tag: str, attributes: Mapping[str, str | None]) -> Shown:
        """What the rules and its own style say of an element."""
        own = parse_declarations(attributes.get("style") or "") if "style" in attributes else NOTHING
        if not self.rules:
            return own
        for sign, name in (("#", attributes.get("id")), *((".", each) for each in reversed((attributes.get("class") or "").split()[:20]))):
            for key in (f"{tag}{sign}{name}", f"{sign}{name}") if name else ():
                own = own.over(self.rules.get(key, NOTHING))
        return own.over(self.rules.get(tag, NOTHING))
