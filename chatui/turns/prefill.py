"""An answer whose beginning a program has written (a prefill), which the model continues as its own.

Only over token ids: there the prompt ends within the answer, and a marker that its text imitates is ordinary text, never a token. Other
servers would have to be asked in words, and begin a new answer.
"""

from __future__ import annotations

import re

from chatui.backends.base import BackendError
from chatui.backends.leaks.guard import judged
from chatui.backends.leaks.labels import label_of
from chatui.backends.leaks.patterns import bare, folded
from chatui.model_servers import connected
from renderer.tokens import TOKEN_RUN, Token


async def can_continue(choice: str) -> bool:
    """Whether the wire format of this choice's server can continue an answer. False while that is not known."""
    try:
        return await connected.backend(choice).can_continue()
    except BackendError:
        return False


MAX_CHARS = 100_000
"""The longest text that is continued: all of it is searched, which takes up to a second."""


def has_marks(text: str) -> bool:
    """Whether a text has a mark of hidden text, or ends within one, which the model would complete. A model that continues such a text
    could go on as if it were thinking, where everybody reads it. Takes time with a long text."""
    view = bare(folded(text))
    beginning = view.strip()[:_LABEL_CHARS]
    if beginning == _ROLE or any(label_of(beginning + end) for end in ("", ":")):
        return True
    return bool(TOKEN_RUN.search(text) or _MARKER.search(view)) or _begins_tag(view) or judged(text).has_sign


_LABEL_CHARS = 200
_NAMES = "|".join(token.value.strip("<|>") for token in Token)
_MARKER = re.compile(rf"<\s*+\|\s*+(?:(?:{_NAMES})\b|\w{{0,20}}\s*\Z)")
"""A marker, written with spaces or left unfinished as well."""
_TAGS = ("thinking", "thoughts", "reasoning", "reflection", "analysis", "commentary", "scratchpad", "monologue", "rationale", "internal")
_TAG_BEGINS = re.compile(r"<\s?(\w{2,20})\Z")
_ROLE = "assistant"


def _begins_tag(view: str) -> bool:
    """Whether the text ends within a tag around reasoning."""
    begun = _TAG_BEGINS.search(view, max(len(view) - _LABEL_CHARS, 0))
    return begun is not None and (any(name.startswith(begun[1].lower()) for name in _TAGS) or judged(f"{begun[0]}>").has_sign)
