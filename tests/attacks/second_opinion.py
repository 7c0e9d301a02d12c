"""Checks rendered HTML with a second, independent sanitizer (bleach): if it would remove anything, one of the two is wrong."""

from functools import cache

import bleach
import html5lib

from renderer.markup import html


def differs(rendered: str) -> bool:
    """Whether bleach, under the same allow-list, changes this HTML."""
    return _tree(_cleaner().clean(rendered)) != _tree(rendered)


@cache
def _cleaner() -> bleach.Cleaner:
    return bleach.Cleaner(tags=frozenset(html.ALLOWED), attributes=_permitted, protocols={"http", "https", "mailto"}, strip_comments=True)


def _permitted(tag: str, attribute: str, value: str) -> bool:
    return html.permitted(tag, attribute, value) or (tag == "a" and html.LINK_ATTRIBUTES.get(attribute) == value)


def _tree(text: str) -> list[tuple[str, object, object]]:
    """Elements, attributes and text in document order, as a browser would parse them."""
    walker = html5lib.getTreeWalker("etree")
    tokens = walker(html5lib.parseFragment(text, treebuilder="etree"))
    return [(token["type"], token.get("name"), token.get("data")) for token in tokens]
