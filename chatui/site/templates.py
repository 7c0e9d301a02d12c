"""What Django's templates lack: the tags ``gap``, ``module``, ``icon``, ``command`` and ``time_form``, the filter ``precise``, and a loader
that makes pages and events an eighth smaller.

``translate`` and ``include`` are Django's with fewer steps, for a text and a part that a template names: a page has hundreds of them.

``gap`` inserts HTML into a translated sentence, so that the sentence itself contains none:
``{% gap as person %}<strong>{{ name }}</strong>{% endgap %}``, and then ``{{ person }}`` in a ``blocktranslate``. The content of the gap is
rendered and escaped like the rest of the template.

The loader removes indentation and lines that contain only tags.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from html import escape
from pathlib import Path

from django import template
from django.core.files.storage import Storage, storages
from django.template import Engine, Origin, base
from django.template.base import FilterExpression, NodeList, Parser, TextNode, Token
from django.template.context import Context
from django.template.loader_tags import do_include
from django.template.loaders import filesystem
from django.templatetags.i18n import do_translate
from django.utils.formats import date_format, get_format
from django.utils.html import format_html
from django.utils.translation import gettext, pgettext

from chatui import program
from chatui.site.static_files import imported

register = template.Library()


class GapNode(template.Node):
    """Stores its rendered content under a name instead of writing it to the page."""

    def __init__(self, name: str, nodelist: NodeList) -> None:
        self._name = name
        self.nodelist = nodelist

    def render(self, context: Context) -> str:
        context[self._name] = self.nodelist.render(context)
        return ""


class ValueNode(base.VariableNode):
    """``{{ value }}``, of which a page has hundreds: most are text, which is only escaped. Of anything else Django knows what to do."""

    def render(self, context: Context) -> str:
        value = self.filter_expression.resolve(context)
        if type(value) is str:
            return escape(value) if context.autoescape else value
        return str(base.render_value_in_context(value, context))


base.VariableNode = ValueNode  # type: ignore[misc] # what Django's parser makes


class SaidNode(template.Node):
    """A text of the product in the language of the page. The catalogues hold no HTML (``tests/tools/messages``)."""

    child_nodelists = ()

    def __init__(self, text: str, kind: str) -> None:
        self._text, self._kind = text.replace("%", "%%"), kind  # as in the catalogues

    def render(self, context: Context) -> str:
        said = pgettext(self._kind, self._text) if self._kind else gettext(self._text)
        return said.replace("%%", "%")


@register.tag
def translate(parser: Parser, token: Token) -> template.Node:
    """``{% translate "Copy" %}``. With a variable, a filter or a name to store it under, it is Django's."""
    words, node = token.split_contents(), do_translate(parser, token)
    kind = words[3] if len(words) == 4 and words[2] == "context" else ""
    if (len(words) != 2 and not kind) or not all(_QUOTED.fullmatch(word) for word in (words[1], kind) if word):
        return node
    return SaidNode(words[1][1:-1], kind[1:-1])


_QUOTED = re.compile(r"""(["'])[^"'\\]*\1""")


class PartNode(template.Node):
    """Another template, whose nodes were read with this one."""

    def __init__(self, nodelist: NodeList, values: dict[str, FilterExpression]) -> None:
        self.nodelist, self._values = nodelist, values

    def render(self, context: Context) -> str:
        with context.push(**{name: value.resolve(context) for name, value in self._values.items()}):
            return self.nodelist.render(context)


@register.tag
def include(parser: Parser, token: Token) -> template.Node:
    """``{% include "exchange/_part.html" with part=each %}``. A part of ours has no blocks, and never includes itself."""
    node, name = do_include(parser, token), token.split_contents()[1]
    part = Engine.get_default().get_template(name[1:-1]) if _QUOTED.fullmatch(name) and not node.isolated_context else None
    return PartNode(part.nodelist, node.extra_context) if part and isinstance(part.origin.loader, Loader) else node


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
def icon(_: Parser, token: Token) -> TextNode:
    """``{% icon "copy" %}``: a drawing of ``static/icons/icons.svg``, in the size and the colour of the text beside it. A page has
    some hundred, so each is written when its template is read."""
    name, address = token.split_contents()[1].strip("\"'"), storages["staticfiles"].url("icons/icons.svg")
    return TextNode(format_html('<svg class="icon" aria-hidden="true" viewBox="0 0 24 24"><use href="{}#{}"></use></svg>', address, name))


@cache
def _addresses(storage: Storage, name: str) -> tuple[str, ...]:
    return tuple(map(storage.url, (name, *imported(name))))


@register.tag
def gap(parser: Parser, token: Token) -> GapNode:
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


class Loader(filesystem.Loader):
    """Removes the indentation of each line of a page. A line that contains only a tag, such as ``{% if … %}``, or whose text is left out
    when it is rendered, leaves no empty line. A part that others include, whose name begins with ``_``, begins and ends without one.

    Text that people wrote is not changed, because it is only inserted when the page is rendered. Text files are not changed.
    """

    def get_contents(self, origin: Origin) -> str:
        contents: str = super().get_contents(origin)
        if not origin.name.endswith(".html"):
            return contents
        lean = _INDENTATION.sub("\n", contents)
        lean = _DECISION.sub(r"\1", _OPTION.sub(r"\1\n\2", lean))
        return _FIRST.sub(r"\1", lean).removesuffix("\n") if Path(origin.name).name.startswith("_") else lean


_INDENTATION = re.compile(r"\n\s+")
_FIRST = re.compile(r"\A(\{#[^#\n]*#\}|\{% load [^%\n]*%\})\n")
# The line break after a line of these two kinds is kept, so that the lines before and after it stay separate.
_OPTION = re.compile(r"\n(\{% if [^%\n]*%\})((?:(?!\{% (?:if|elif|else|endif) ).)+\{% endif %\})(?=\n)")
_DECISION = re.compile(r"\n(\{#[^#\n]*#\}|\{% (?:if|elif|else|endif|for|empty|endfor|with|endwith|load|block|endblock)\b[^%\n]*%\})(?=\n)")
