"""An answer whose beginning a program has written (a prefill), which the model continues as its own.

Only over token ids: there the prompt ends within the answer, and a marker that its text imitates is ordinary text, never a token. Other
servers would have to be asked in words, and begin a new answer.
"""

from __future__ import annotations

from chatui.backends.base import BackendError
from chatui.backends.leaks.guard import judged
from chatui.model_servers import connected
from renderer.tokens import TOKEN_RUN


async def can_continue(choice: str) -> bool:
    """Whether the wire format of this choice's server can continue an answer. False while that is not known."""
    try:
        return await connected.backend(choice).can_continue()
    except BackendError:
        return False


def has_marks(text: str) -> bool:
    """Whether a text has what would mark hidden text in an answer: a model that continues it could go on as if it were thinking, where
    everybody reads it. Takes time with a long text."""
    return bool(TOKEN_RUN.search(text)) or judged(text).has_sign
