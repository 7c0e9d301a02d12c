"""Words the instructions of a person's folder for a model: as preferences, of which no line can pass for anybody else's."""

from __future__ import annotations

from chatui import prompts

_PLACE = "{preferences}"


def worded(instructions: str) -> str:
    """The product's words with the person's in them, each line of theirs marked: text cannot leave its lines, so it cannot forge others.

    Control markers are not touched here. Every back end escapes them in all text, or encodes text so that none can come of it.
    """
    before, _, after = prompts.read("preferences").partition(_PLACE)
    # All that Unicode or Python takes for the end of a line ends one here, or the next line would be without its mark.
    return before + "\n".join(f"> {line}" for line in instructions.splitlines()) + after
