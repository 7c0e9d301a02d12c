"""Formats the instructions of a person, a folder or a program for the prompt, so that no line can pass for the operator's."""

from __future__ import annotations

from chatui import prompts

_PLACE = "{preferences}"


def worded(instructions: str) -> str:
    """The product's words with the person's in them, each line of theirs marked: text cannot leave its lines, so it cannot forge others.

    Control markers are not touched here. Every back end escapes them in all text, or encodes text so that none can come of it.
    """
    return _marked("preferences", _PLACE, instructions)


def worded_of_program(instructions: str) -> str:
    """The same for the instructions of a program that asks by a key."""
    return _marked("program", "{instructions}", instructions)


def _marked(name: str, place: str, instructions: str) -> str:
    before, _, after = prompts.read(name).partition(place)
    # All that Unicode or Python takes for the end of a line ends one here, or the next line would be without its mark.
    return before + "\n".join(f"> {line}" for line in instructions.splitlines()) + after
