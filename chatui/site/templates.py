"""What Django's templates lack: the tags ``gap``, ``module``, ``icon``, ``command`` and ``time_form``, the filter ``precise``, and a loader
that makes pages and events an eighth smaller, and writes once in each language what is the same on every page.

``gap`` inserts HTML into a translated sentence, so that the sentence itself contains none:
``{% gap as person %}<strong>{{ name }}</strong>{% endgap %}``, and then ``{{ person }}`` in a ``blocktranslate``. The content of the gap is
rendered and escaped like the rest of the template.

The loader removes indentation and lines that contain only tags. A template is read once in each language: its texts, the addresses without
a variable and the parts without a value are then plain text, because a page has hundreds of them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any

from django import template
from django.core.files.storage import Storage, storages
from django.template import Engine, Node, Origin, Template, base
from django.template.base import DebugLexer, FilterExpression, Lexer, NodeList, TextNode, Token, TokenType, VariableNode
from django.template.context import Context
from django.template.defaulttags import CommentNode, IfNode, LoadNode, TemplateLiteral, URLNode
from django.template.library import InclusionNode, SimpleNode
from django.template.loader_tags import IncludeNode
from django.template.loaders import filesystem
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.templatetags.static import StaticNode
from django.urls import NoReverseMatch
from django.utils.formats import date_format, get_format
from django.utils.html import format_html
from django.utils.translation import get_language

from chatui import program
from chatui.site.static_files import imported

register = template.Library()


class GapNode(Node):
    """Stores its rendered content under a name instead of writing it to the page."""

    def __init__(self, name: str, nodelist: NodeList) -> None:
        self._name = name
        self.nodelist = nodelist

    def render(self, context: Context) -> str:
        context[self._name] = self.nodelist.render(context)
        return ""


@register.inclusion_tag("site/_module.html")
def module(name: str) -> dict[str, object]:
    """``{% module 'js/name.js' %}``: a module that the page runs, and links with which a browser asks at once for all that it imports."""
    address, *imported = _addresses(storages["staticfiles"], name)
    return {"address": address, "imported": imported}


@register.simple_tag
def time_form() -> str:
    """How the language writes a time: the page's scripts write theirs in the same form (``words.js``)."""
    return str(get_format("SHORT_DATETIME_FORMAT"))


@register.filter(expects_localtime=True)
def precise(at: datetime) -> str:
    """A time with its seconds, otherwise in the form of the language."""
    return date_format(at, time_form().replace("H:i", "H:i:s"))


@register.simple_tag
def command(words: str) -> str:
    """What an operator types for this command of the product."""
    return program.command(words)


@register.tag
def icon(_: base.Parser, token: Token) -> TextNode:
    """``{% icon "copy" %}``: a drawing of ``static/icons/icons.svg``, in the size and the colour of the text beside it. A page has
    some hundred, so each is written when its template is read."""
    name, address = token.split_contents()[1].strip("\"'"), storages["staticfiles"].url("icons/icons.svg")
    return TextNode(format_html('<svg class="icon" aria-hidden="true" viewBox="0 0 24 24"><use href="{}#{}"></use></svg>', address, name))


@cache
def _addresses(storage: Storage, name: str) -> tuple[str, ...]:
    return tuple(map(storage.url, (name, *imported(name))))


@register.tag
def gap(parser: base.Parser, token: Token) -> GapNode:
    """``{% gap as name %}…{% endgap %}``."""
    words = token.split_contents()
    if len(words) != 3 or words[1] != "as":
        raise template.TemplateSyntaxError("gap is written {% gap as name %}")
    nodelist = parser.parse(("endgap",))
    parser.delete_first_token()
    # Remove white space at both ends, because punctuation may follow the gap.
    if nodelist and isinstance(nodelist[0], TextNode):
        nodelist[0].s = nodelist[0].s.lstrip()
    if nodelist and isinstance(nodelist[-1], TextNode):
        nodelist[-1].s = nodelist[-1].s.rstrip()
    return GapNode(words[2], nodelist)


class Value(FilterExpression):
    """What ``name`` or ``name.name`` is in a context, in the same order of places as in Django, but without trying each of them.

    Whatever is called, indexed or filtered, is Django's."""

    def __init__(self, token: str, parser: base.Parser) -> None:
        super().__init__(token, parser)
        is_name = self.is_var and not self.filters and self.var.lookups
        self._first: str | None = self.var.lookups[0] if is_name else None
        self._others: Sequence[str] = self.var.lookups[1:] if is_name else ()
        self.eval = partial(self.resolve, ignore_failures=True)
        """Its value in a condition."""

    def resolve(self, context: Context, ignore_failures: bool = False) -> Any:
        for values in reversed(context.dicts):
            if self._first in values:
                value = values[self._first]
                break
        else:
            is_nowhere = self._first is not None and not hasattr(context, self._first)
            return (None if ignore_failures else "") if is_nowhere else super().resolve(context, ignore_failures)
        for name in self._others:
            kind = type(value)
            if kind is dict and name in value:
                value = value[name]
            elif "__dataclass_fields__" not in kind.__dict__ and hasattr(kind, "__getitem__"):
                return super().resolve(context, ignore_failures)
            else:
                try:
                    value = getattr(value, name)
                except Exception:  # noqa: BLE001 # Django knows which are shown as nothing
                    return super().resolve(context, ignore_failures)
        is_shown = type(value) in _NEVER_CALLED or not callable(value)
        return value if is_shown and not self.var.translate else super().resolve(context, ignore_failures)


_NEVER_CALLED = frozenset({str, bool, int, type(None), tuple, list})


class ValueNode(VariableNode):
    """``{{ value }}``: most are text, which is only escaped, or markup. Of anything else Django knows what to do."""

    def render_annotated(self, context: Context) -> str:
        value = self.filter_expression.resolve(context)
        if type(value) is not str:
            if context.autoescape and hasattr(value, "__html__"):
                markup: str = value.__html__()
                return markup
            if not issubclass(type(value), str):  # a lazy one says that it is a string
                return str(base.render_value_in_context(value, context))
        return escape(value) if context.autoescape and _SPECIAL.search(value) else value


class PartNode(Node):
    """Another template, whose nodes were read with this one."""

    def __init__(self, nodelist: NodeList, values: dict[str, FilterExpression]) -> None:
        self.nodelist, self._values = nodelist, values

    def render(self, context: Context) -> str:
        context.dicts.append({name: value.resolve(context) for name, value in self._values.items()} if self._values else {})
        try:
            return self.nodelist.render(context)
        finally:
            context.dicts.pop()


class PageParser(base.Parser):
    """Reads a template for pages of one language."""

    def __init__(self, page: PageTemplate, tokens: list[Token]) -> None:
        super().__init__(tokens, page.engine.template_libraries, page.engine.template_builtins, page.origin)
        self._page, self._nothing = page, Context()
        self._nothing.template = page

    def compile_filter(self, token: str) -> FilterExpression:
        return Value(token, self)

    def extend_nodelist(self, nodelist: NodeList, node: Node, token: Token) -> None:
        """Add a node, as the one that renders the same with the least work. Text beside text becomes one node."""
        node = self._fastest(node)
        if not self._page.engine.debug and not isinstance(node, TextNode | ValueNode):
            # Django's notes where a template failed, for a page that only debugging shows.
            node.render_annotated = node.render  # type: ignore[method-assign]
        before = nodelist[-1] if nodelist else None
        if isinstance(node, TextNode) and isinstance(before, TextNode):
            nodelist.pop()
            node.s = before.s + node.s
        super().extend_nodelist(nodelist, node, token)

    def _fastest(self, node: Node) -> Node:
        """The nodes of an included part, a value or a condition without Django's detours, or the text that is the same on every page."""
        if isinstance(node, IncludeNode):
            node = self._part(node)
        elif type(node) is VariableNode:
            node = ValueNode(node.filter_expression)
        elif isinstance(node, IfNode):
            node.conditions_nodelists = [(_plain(condition), nodes) for condition, nodes in node.conditions_nodelists]
        if _is_constant(node):
            with contextlib.suppress(NoReverseMatch):  # the address may be that of a page that this deployment lacks
                return TextNode(node.render(self._nothing))
        return node

    def _part(self, node: IncludeNode) -> Node:
        """A part of ours that a template names has no blocks, and never includes itself."""
        if not _is_literal(node.template) or node.isolated_context:
            return node
        part = self._page.engine.get_template(node.template.resolve(self._nothing))
        return PartNode(part.nodelist, node.extra_context) if isinstance(part, PageTemplate) else node


def _plain(condition: Any) -> Any:
    """A condition that asks for its values themselves."""
    for side in ("first", "second"):
        if part := getattr(condition, side, None):
            setattr(condition, side, _plain(part))
    return condition.value if isinstance(condition, TemplateLiteral) else condition


def _is_constant(node: Node) -> bool:
    """Whether it is the same on every page of a language."""
    match node:
        case CommentNode() | LoadNode():
            return True
        case TranslateNode(asvar=None, filter_expression=text, message_context=kind):
            return _is_literal(text) and (kind is None or _is_literal(kind))
        case BlockTranslateNode(asvar=None, countervar=None, message_context=None, singular=tokens):
            return all(token.token_type == TokenType.TEXT for token in tokens)
        case URLNode(asvar=None, view_name=name, args=values, kwargs=named):
            return all(map(_is_literal, (name, *values, *named.values())))
        case StaticNode(varname=None, path=path):
            return _is_literal(path)
        case InclusionNode(func=tag, args=values) | SimpleNode(func=tag, args=values, target_var=None):
            return tag.__module__ == __name__ and all(map(_is_literal, values))
        case PartNode(nodelist=parts):
            return all(type(part) is TextNode for part in parts)
    return False


def _is_literal(value: FilterExpression) -> bool:
    return not value.filters and (isinstance(value.var, str) or value.var.lookups is None)


class PageTemplate(Template):
    """A template as ``PageParser`` reads it."""

    def compile_nodelist(self) -> NodeList:
        lexer = DebugLexer if self.engine.debug else Lexer
        return PageParser(self, lexer(self.source).tokenize()).parse()


class Loader(filesystem.Loader):
    """Reads a template once in each language.

    Removes the indentation of each line of a page. A line that contains only a tag, such as ``{% if … %}``, or whose text is left out
    when it is rendered, leaves no empty line. A part that others include, whose name begins with ``_``, begins and ends without one.

    Text that people wrote is not changed, because it is only inserted when the page is rendered. Text files are not changed.
    """

    def __init__(self, engine: Engine, dirs: list[str | Path] | None = None) -> None:
        super().__init__(engine, dirs)
        self._pages: dict[tuple[str, str | None], PageTemplate] = {}

    def get_template(self, template_name: str, skip: list[Origin] | None = None) -> Template:
        """The template in the language of the thread. Of ours, none extends one of the same name."""
        key = template_name, get_language()
        if key not in self._pages:
            [origin] = self.get_template_sources(template_name)
            self._pages[key] = PageTemplate(self.get_contents(origin), origin, template_name, self.engine)
        return self._pages[key]

    def get_contents(self, origin: Origin) -> str:
        contents: str = super().get_contents(origin)
        if not origin.name.endswith(".html"):
            return contents
        lean = _INDENTATION.sub("\n", contents)
        lean = _DECISION.sub(r"\1", _OPTION.sub(r"\1\n\2", lean))
        return _FIRST.sub(r"\1", lean).removesuffix("\n") if Path(origin.name).name.startswith("_") else lean


_SPECIAL = re.compile("[&<>\"']")
_INDENTATION = re.compile(r"\n\s+")
_FIRST = re.compile(r"\A(\{#[^#\n]*#\}|\{% load [^%\n]*%\})\n")
# The line break after a line of these two kinds is kept, so that the lines before and after it stay separate.
_OPTION = re.compile(r"\n(\{% if [^%\n]*%\})((?:(?!\{% (?:if|elif|else|endif) ).)+\{% endif %\})(?=\n)")
_DECISION = re.compile(r"\n(\{#[^#\n]*#\}|\{% (?:if|elif|else|endif|for|empty|endfor|with|endwith|load|block|endblock)\b[^%\n]*%\})(?=\n)")
