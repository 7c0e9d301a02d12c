"""Installs our rules in markdown-it, in the right order."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_block import table

from renderer.markup.extensions.footnotes import footnote_definition, footnote_mark
from renderer.markup.extensions.inline import bare_address, image_as_link, plain_tag
from renderer.markup.extensions.mathematics import math, math_block, math_in_dollars


def install(markdown: MarkdownIt) -> None:
    """Add our rules to markdown-it."""
    # Tables are tried last, so that a heading or a fence is recognized at once, whatever line follows.
    block, inline = markdown.block.ruler, markdown.inline.ruler
    block.disable("table")
    block.before("lheading", "late_table", table, {"alt": ["paragraph", "reference"]})
    block.before("reference", "footnote_definition", footnote_definition, {"alt": ["paragraph", "reference"]})
    block.before("fence", "math_block", math_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    inline.before("escape", "math", math)
    inline.after("math", "math_in_dollars", math_in_dollars)
    inline.before("link", "footnote_mark", footnote_mark)
    inline.before("autolink", "plain_tag", plain_tag)
    inline.at("linkify", bare_address)
    inline.at("image", image_as_link)
