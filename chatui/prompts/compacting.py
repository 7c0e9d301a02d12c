"""The prompts that ask a model to compact a conversation, and that later show it the result."""

from __future__ import annotations

REQUEST = (
    "Write down what has to be known to go on with this conversation without having read it: what is wanted, what was found out and "
    "decided, names, numbers and code that are still needed word for word, and what is left to do. Write notes, not an answer, and add "
    "nothing new."
)
_HEADING = "[Notes on the conversation so far]"


def notes_message(notes: str) -> str:
    """The notes, as a message before the next question, for the model alone."""
    return f"{_HEADING}\n\n{notes}"


def notes_of(text: str) -> str:
    """The notes of such a message."""
    return text.removeprefix(f"{_HEADING}\n\n")
