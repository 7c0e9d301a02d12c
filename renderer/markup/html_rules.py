"""Render rules for markdown-it: the HTML of each token that we add or change, before it is sanitized."""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping, Sequence
from html import escape
from typing import Any

from markdown_it.token import Token

from renderer.markup import links
from renderer.markup.page_text import code_text, prose

Env = MutableMapping[str, Any]
"""The environment that markdown-it passes along while it reads a text. It holds the definitions."""

Rule = Callable[[Any, Sequence[Token], int, Any, Env], str]
"""markdown-it's renderer, all tokens, the index of the one that is to be rendered, the options, the environment."""

_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+#.-]{0,39}")


def _text(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    return escape(prose(tokens[index].content), quote=False)


def _code_inline(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    return f"<code>{escape(code_text(tokens[index].content), quote=False)}</code>"


def _code(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    words = tokens[index].info.split(maxsplit=1)
    language = words[0] if words and _LANGUAGE.fullmatch(words[0]) else ""
    attribute = f' class="language-{language}"' if language else ""
    return f'<pre dir="ltr"><code{attribute}>{escape(code_text(tokens[index].content), quote=False)}</code></pre>\n'


def _math_block(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    return f'<div class="math math-display">{escape(prose(tokens[index].content), quote=False)}</div>\n'


def _math_inline(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    token = tokens[index]
    return f'<span class="math math-{token.info}">{escape(prose(token.content), quote=False)}</span>'


def _list_item(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    opening: str = self.renderToken(tokens, index, options, env)
    if "checked" not in tokens[index].meta:
        return opening
    checked, label = (' checked=""', "done") if tokens[index].meta["checked"] else ("", "to do")
    return f'{opening}<input type="checkbox" disabled=""{checked} aria-label="{label}"> '


def _link_close(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    host = tokens[index].info
    return f' <span class="link-host">({escape(host, quote=False)})</span></a>' if host else "</a>"


def _image(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    """An image as a link. Images are never fetched, because their address can leak data from the conversation. A link needs a click."""
    token = tokens[index]
    href = str(token.attrs.get("src", ""))
    words = prose(self.renderInlineAsText(token.children, options, env)).strip()
    label = escape(f"image: {words} ({links.host(href)})" if words else f"image ({links.host(href)})", quote=False)
    if token.meta.get("in_link"):
        return label
    title = f' title="{escape(prose(str(token.attrs["title"])))}"' if token.attrs.get("title") else ""
    return f'<a class="image-link" href="{escape(href)}"{title}>{label}</a>'


def _footnote_open(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    label = escape(prose(tokens[index].info), quote=False)
    return f'<div class="footnote" dir="auto"><span class="footnote-label">[{label}]</span>\n'


def _footnote_close(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    return "</div>\n"


def _footnote_mark(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    return f'<sup class="footnote-ref">[{escape(prose(tokens[index].info), quote=False)}]</sup>'


RULES: dict[str, Rule] = {
    "text": _text,
    "text_block": _text,
    "code_inline": _code_inline,
    "code_block": _code,
    "fence": _code,
    "math_block": _math_block,
    "math_inline": _math_inline,
    "link_close": _link_close,
    "list_item_open": _list_item,
    "image": _image,
    "footnote_open": _footnote_open,
    "footnote_close": _footnote_close,
    "footnote_mark": _footnote_mark,
}
"""The rule for each type of token."""
