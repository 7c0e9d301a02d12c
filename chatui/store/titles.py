"""Titles of conversations, and other words that stand outside any frame: what of them is visible, and what a title is made of."""

from __future__ import annotations

from chatui.models.conversation import Conversation
from renderer.characters import is_seen
from renderer.frames import Frame, Header, Role
from renderer.gate import Audience, VisibleText, show


def own_words(text: str) -> VisibleText:
    """Text that a person wrote outside any frame, such as a title. It is as visible as their questions."""
    return show(Frame(Header(Role.USER), text), Audience.END_USER)


def title_text(conversation: Conversation) -> VisibleText:
    """A conversation's title. Its owner wrote it, or it was made from visible text (by a model, too)."""
    return own_words(conversation.title)


def title_of(text: VisibleText, limit: int) -> str:
    """A title from visible text: its first line with something to see, cut at a word to ``limit`` characters. Empty if there is none."""
    lines = (" ".join(line.strip(" #>*-`\t").split()) for line in text.splitlines())
    # Of most questions the first line is plain, and needs no table of what cannot be seen.
    line = next((line for line in lines if line and ((line.isascii() and line.isprintable()) or is_seen(line))), "")
    if len(line) <= limit:
        return line
    return line[: limit + 1].rsplit(" ", 1)[0][:limit].rstrip(" ,;:.") + "…"


def first_title(text: str) -> str:
    """The provisional title of a conversation that starts with this question."""
    return title_of(own_words(text), FIRST_TITLE_CHARS) or "New conversation"


FIRST_TITLE_CHARS = 60
