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
    noop("The model did not say whom this message is for, so it is not shown."),
    noop("The answer does not have the required format."),
    noop("The model made a tool call that could not be carried out."),
    noop("A tool took too long."),
    noop("A tool was cancelled."),
    noop("The answer was cut off before it was complete."),
    noop("You are not allowed to see this. The attempt has been recorded."),
    # renderer.gate, why a frame is hidden
    noop("This role is unknown, and unknown roles are hidden."),
    noop("It is addressed to a tool or a program, not to people."),
    noop("This intent is unknown, and unknown intents are hidden."),
    noop("It is a document attached to a question; its owner can open the file."),
    noop("A user's message belongs on the final channel, but this one is on another."),
    noop("A user's message has no intent, but this one declares one."),
    noop("It is commentary that is not marked as a preamble."),
    noop("This channel is unknown, and unknown channels are hidden."),
    noop("System messages are written for the model."),
    noop("Developer messages are written for the model."),
    noop("Tool results are written for the model."),
    noop("It is raw reasoning, which is never shown."),
    noop("It is a status line for the product."),
    noop("It is meant for debugging."),
)
