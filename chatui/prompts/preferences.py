"""Formats the instructions of a person, a folder or a program for the prompt, so that no line can pass for the operator's."""

from __future__ import annotations

from chatui import prompts

_PLACE = "{preferences}"


def format_preferences(instructions: str) -> str:
    """The product's text with the person's instructions in it. Each of their lines is marked, so that none can pass for a line of ours.

    Control markers are not changed here. Every back end escapes them in all text, or encodes text so that it cannot produce any.
    """
    return _marked("preferences", _PLACE, instructions)


def format_program_instructions(instructions: str) -> str:
    """The same for the instructions of a program with an API key."""
    return _marked("program", "{instructions}", instructions)


def _marked(name: str, place: str, instructions: str) -> str:
    before, _, after = prompts.read(name).partition(place)
    # Splits at everything that Unicode or Python treats as a line end; otherwise the next line would have no mark.
    return before + "\n".join(f"> {line}" for line in instructions.splitlines()) + after
