"""Appends plain words to an open block's last sentence without parsing the block again.

That is possible if the words contain no markup, and if the text before them was shown unchanged: nothing at its end was held back, hidden
or rewritten because it was incomplete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from renderer.markup import html
from renderer.markup.html import SafeHtml
from renderer.markup.markdown import Block

_MAX_CHARS = 2048
"""The longest sentence that is continued like this. Repairing does not search for markup that was opened further back."""
_MAX_WORD_CHARS, _MAX_END_CHARS = 80, 1000
_WORDS = re.compile(r"(?: |(?!_)\w|[.,;:!?'\"()-])+")
"""Words without markup, escapes, parts of an address or line ends."""
_LAST_WORD = re.compile(r"(?:(?!_)\w|[.,;:!?'\"()-])*(?!_)\w[.,;:!?]?\Z")
_END_TAGS = re.compile(r"(?:\s*</[a-z0-9]+>)+\s*\Z")
_OPEN_OR_CLOSE = frozenset(
    f"{kind}_{side}"
    for kind in ("paragraph", "heading", "bullet_list", "ordered_list", "list_item", "blockquote")
    for side in ("open", "close")
)


@dataclass(slots=True)
class Sentence:
    """The end of the text of an open block, and where it ends in its HTML: ``end_tags`` characters before the end."""

    end_tags: int
    length: int

    def can_continue_with(self, words: str) -> bool:
        """Whether ``words`` can be appended unchanged. They must not end with a space."""
        return self.length + len(words) <= _MAX_CHARS and _WORDS.fullmatch(words) is not None and _LAST_WORD.search(words) is not None

    def continued(self, shown: SafeHtml, words: str) -> SafeHtml:
        """The block with the words appended."""
        self.length += len(words)
        return html.with_words(shown, len(shown.html) - self.end_tags, words)


def sentence_at_end(block: Block, text: str, rendered: SafeHtml) -> Sentence | None:
    """The sentence at the end of ``text``, if it can be continued. ``block`` is the last block of it; its last sentence is shown as
    written, with open markup closed.
    """
    if not all(token.type in _OPEN_OR_CLOSE or token.type == "inline" for token in block.tokens):
        return None
    sentence = next(token.content for token in reversed(block.tokens) if token.type == "inline")
    return _sentence(text, rendered, len(sentence))


def sentence_of_words(text: str, rendered: SafeHtml) -> Sentence | None:
    """The same for a block that is one line of plain words."""
    return _sentence(text, rendered, len(text))


def _sentence(text: str, rendered: SafeHtml, length: int) -> Sentence | None:
    word = _LAST_WORD.search(text, max(0, len(text) - _MAX_WORD_CHARS))
    end_tags = _END_TAGS.search(rendered.html, max(0, len(rendered.html) - _MAX_END_CHARS))
    if word is None or end_tags is None:
        return None
    before = text[: word.start()][-1:]
    if before not in (" ", "\n") or not rendered.html.endswith(word[0], 0, end_tags.start()):
        return None
    return Sentence(len(rendered.html) - end_tags.start(), length)
