"""The title that a conversation gets from what a model replies."""

from chatui.turns import title_reading

MAX_CHARS, MAX_WORDS = title_reading.MAX_CHARS, title_reading.MAX_WORDS


def title_in(reply: str) -> str:
    """The title in this reply; empty if it has none."""
    return title_reading.read(reply)
