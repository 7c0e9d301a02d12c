"""Translates the messages of error codes.

The codes themselves have English messages, for logs and commands. Those of ``renderer``, which has no translations, are repeated here, so
that they are in the catalogues; a test compares them.
"""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from renderer.errors import ErrorCode


def sentence_of(code: ErrorCode) -> str:
    """The translated message of a code."""
    return gettext(code.sentence)


def translated(sentence: str) -> str:
    """Translate one of the sentences below that ``renderer`` returned."""
    return gettext(sentence)


OF_RENDERER = (
    # renderer.errors, for each code of the specification
    noop("The model wrote a message that could not be read."),
    noop("The model wrote a message without saying whom it is for, so it is not shown."),
    noop("The answer does not have the format that it was to have."),
    noop("The model asked for a tool in a way that could not be carried out."),
    noop("A tool took too long."),
    noop("A tool was cancelled."),
    noop("The answer was cut off before it was complete."),
    noop("You are not allowed to see this. The attempt has been recorded."),
    # renderer.gate, why a frame is hidden
    noop("Nobody knows this role, and what is not known is hidden."),
    noop("It is addressed to a tool or a program, not to people."),
    noop("Nobody knows this intent, and what is not known is hidden."),
    noop("It is a document that came with a question; its owner reads it where the file is."),
    noop("A person's message stands on no channel but final; this one does."),
    noop("A person's message has no intent; this one says that it has."),
    noop("It is commentary that is not marked as a preamble."),
    noop("Nobody knows this channel, and what is not known is hidden."),
    noop("System messages are written for the model."),
    noop("Developer messages are written for the model."),
    noop("What a tool replies is written for the model."),
    noop("It is raw reasoning, which is never shown."),
    noop("It is a status line, which is meant for the product."),
    noop("It is meant for those who look for faults."),
)
