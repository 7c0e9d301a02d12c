"""The product's own texts in prompts to models: one Markdown file each, the notes of compacting, and people's instructions.

Instructions of a person, a folder, an assistant or a program are formatted so that no line of them can pass for the operator's.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def read(name: str) -> str:
    """The text of the prompt ``name``, without the final line break."""
    return (Path(__file__).parent / "prompt_texts" / f"{name}.md").read_text(encoding="utf-8").strip()


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


_PLACE = "{preferences}"


def format_preferences(instructions: str) -> str:
    """The product's text with the person's instructions in it. Each of their lines is marked, so that none can pass for a line of ours.

    Control markers are not changed here. Every backend escapes them in all text, or encodes text so that it cannot produce any.
    """
    return _marked("preferences", _PLACE, instructions)


def format_assistant_instructions(instructions: str) -> str:
    """As ``format_preferences``, for the instructions of an assistant, which its maker wrote."""
    return _marked("assistant", "{instructions}", instructions)


def format_program_instructions(instructions: str) -> str:
    """As ``format_preferences``, for the instructions of a program with an API key."""
    return _marked("program", "{instructions}", instructions)


def _marked(name: str, place: str, instructions: str) -> str:
    before, _, after = read(name).partition(place)
    # Splits at everything that Unicode or Python treats as a line end; otherwise the next line would have no mark.
    return before + "\n".join(f"> {line}" for line in instructions.splitlines()) + after
