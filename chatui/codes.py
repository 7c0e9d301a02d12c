"""The product's own error codes, each with the message that people read: a closed list beside the eight of the specification.

A code follows an error from the database to the page. Its message never quotes a transcript.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from renderer.errors import Code, ErrorCode


class ProductCode(ErrorCode):
    """An error code of the product. Those of the specification are in ``renderer.errors.Code``."""

    BACKEND = "E-X-BACKEND"
    BACKEND_BUSY = "E-X-BACKEND-BUSY"
    BACKEND_REFUSED = "E-X-BACKEND-REFUSED"
    BACKEND_SETUP = "E-X-BACKEND-SETUP"
    BACKEND_UNREACHABLE = "E-X-BACKEND-UNREACHABLE"
    BUSY = "E-X-BUSY"
    CONTENT_REFUSED = "E-X-CONTENT-REFUSED"
    CONTEXT_FULL = "E-X-CONTEXT-FULL"
    EMPTY = "E-X-EMPTY"
    FOUR_EYES = "E-X-FOUR-EYES"
    INTERNAL = "E-X-INTERNAL"
    LENGTH = "E-X-LENGTH"
    LINK = "E-X-LINK"
    NO_ANSWER = "E-X-NO-ANSWER"
    NO_MORE = "E-X-NO-MORE"
    NO_SUCH_MODEL = "E-X-NO-SUCH-MODEL"
    NOT_FOUND = "E-X-NOT-FOUND"
    ONLY_THINKING = "E-X-ONLY-THINKING"
    OPT_IN = "E-X-OPT-IN"
    COMMAND = "E-X-COMMAND"
    QUESTION_TOO_LONG = "E-X-QUESTION-TOO-LONG"
    RATE = "E-X-RATE"
    REASON = "E-X-REASON"
    SERVER_BUSY = "E-X-SERVER-BUSY"
    SIGNED_OUT = "E-X-SIGNED-OUT"
    STORAGE_FULL = "E-X-STORAGE-FULL"
    SUMMARY_BLOCKED = "E-X-SUMMARY-BLOCKED"
    TIMEOUT = "E-X-TIMEOUT"
    TOOL = "E-X-TOOL"
    TOO_LARGE = "E-X-TOO-LARGE"
    TOO_MANY = "E-X-TOO-MANY"
    OTHER_RELEASE = "E-X-OTHER-RELEASE"
    TOO_MANY_PAGES = "E-X-TOO-MANY-PAGES"
    WITHHELD = "E-X-WITHHELD"

    @property
    def sentence(self) -> str:
        """The message that a person reads with this code. It never says what the hidden text was."""
        return _SENTENCES[self]


def counted(codes: Iterable[ErrorCode]) -> str:
    """Codes with how often each came, for a line of the log; empty where there is none."""
    return ", ".join(f"{code} × {count}" for code, count in sorted(Counter(codes).items()))


def code_of(value: str) -> ErrorCode:
    """The code that a database row stores as text. Raises ValueError for an unknown code."""
    try:
        return ProductCode(value)
    except ValueError:
        return Code(value)


_SENTENCES: dict[ProductCode, str] = {
    ProductCode.BACKEND: "The model server could not answer.",
    ProductCode.BACKEND_BUSY: "The model server is busy. Try again in a moment.",
    ProductCode.BACKEND_REFUSED: "The model server did not accept this request.",
    ProductCode.BACKEND_SETUP: "This model is not set up right. Tell whoever runs this site.",
    ProductCode.BACKEND_UNREACHABLE: "The model server cannot be reached. Try again in a moment, or choose another model.",
    ProductCode.BUSY: "An answer is still being written in this conversation.",
    ProductCode.CONTENT_REFUSED: "The model server's content rules do not allow this. Ask in another way.",
    ProductCode.CONTEXT_FULL: "The answer stopped because the conversation has filled what the model can read at once.",
    ProductCode.EMPTY: "There is nothing to send yet.",
    ProductCode.FOUR_EYES: "Somebody else has to approve this: one of you created or changed the other's account recently.",
    ProductCode.INTERNAL: "Something went wrong on our side.",
    ProductCode.LENGTH: "The answer reached its length limit.",
    ProductCode.LINK: "This link does not work: it has expired, was revoked, or never existed.",
    ProductCode.NO_ANSWER: "The model stopped without writing an answer.",
    ProductCode.NO_MORE: "The model had nothing to add to its answer.",
    ProductCode.NO_SUCH_MODEL: "This model is not available to you. Choose another one.",
    ProductCode.NOT_FOUND: "This does not exist, or you do not have access to it.",
    ProductCode.ONLY_THINKING: "The model thought about this, but wrote no answer.",
    ProductCode.OPT_IN: "Open the debug view of this conversation first.",
    ProductCode.COMMAND: "The server did not understand the page's request. Reload the page.",
    ProductCode.QUESTION_TOO_LONG: "This question alone is longer than the model can read at once.",
    ProductCode.RATE: "Too many requests at once. Wait a moment.",
    ProductCode.REASON: "Give a reason of 10 to 180 characters, and choose one of the times.",
    ProductCode.SERVER_BUSY: "The server is too busy to store this now. Try again in a moment.",
    ProductCode.SIGNED_OUT: "You are signed out. Sign in again to continue.",
    ProductCode.STORAGE_FULL: "The server has no room left to store anything, so this was not accepted. Tell whoever runs it.",
    ProductCode.SUMMARY_BLOCKED: "A line of a reasoning summary could not be shown.",
    ProductCode.TIMEOUT: "The model server took too long.",
    ProductCode.TOOL: "The answer could not be finished: the model asked for a tool, and no tool can be used here.",
    ProductCode.TOO_LARGE: "The message is too long.",
    ProductCode.TOO_MANY: "Several answers are still being written for you. Wait for one of them, or stop it.",
    ProductCode.OTHER_RELEASE: "The server has a new release. Reload this page; your text is kept.",
    ProductCode.TOO_MANY_PAGES: "Too many pages are open. Close some, then load this one again.",
    ProductCode.WITHHELD: "A part of this answer was withheld, because it looked like the model's private reasoning.",
}
