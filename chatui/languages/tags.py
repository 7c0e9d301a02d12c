"""The template tag ``gap``: inserts HTML into a translated sentence, so that the sentence itself contains none.

``{% gap as person %}<strong>{{ name }}</strong>{% endgap %}``, and then ``{{ person }}`` in a ``blocktranslate``.
The content of the gap is rendered and escaped like the rest of the template.
"""

from __future__ import annotations

from django import template
from django.template.base import NodeList, Parser, TextNode, Token
from django.template.context import Context

register = template.Library()


class GapNode(template.Node):
    """Stores its rendered content under a name instead of writing it to the page."""

    def __init__(self, name: str, nodelist: NodeList) -> None:
        self._name = name
        self.nodelist = nodelist

    def render(self, context: Context) -> str:
        """Store the content, and write nothing: the sentence that follows contains it."""
        context[self._name] = self.nodelist.render(context)
        return ""


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
