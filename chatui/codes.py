"""The product's own error codes, each with the message that people see: a closed list, in addition to the eight of the specification.

An error keeps its code from the database to the page. The message never quotes a transcript. It is in English, for logs and commands;
people read its translation (``chatui.site.languages``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from renderer.errors import Code, ErrorCode


class ProductCode(ErrorCode):
    """An error code of the product. Those of the specification are in ``renderer.errors.Code``."""

    ACCOUNT_CLOSED = "E-X-ACCOUNT-CLOSED"
    ANSWER_NOW = "E-X-ANSWER-NOW"
    BACKEND = "E-X-BACKEND"
    BACKEND_BUSY = "E-X-BACKEND-BUSY"
    BACKEND_REFUSED = "E-X-BACKEND-REFUSED"
    BACKEND_SETUP = "E-X-BACKEND-SETUP"
    BACKEND_UNREACHABLE = "E-X-BACKEND-UNREACHABLE"
    BUSY = "E-X-BUSY"
    CONTENT_REFUSED = "E-X-CONTENT-REFUSED"
    CONTEXT_FULL = "E-X-CONTEXT-FULL"
    EMPTY = "E-X-EMPTY"
    FORM_TOO_LARGE = "E-X-FORM-TOO-LARGE"
    FOUR_EYES = "E-X-FOUR-EYES"
    INTERNAL = "E-X-INTERNAL"
    LENGTH = "E-X-LENGTH"
    LINK = "E-X-LINK"
    LINKED_ELSEWHERE = "E-X-LINKED-ELSEWHERE"
    NO_ANSWER = "E-X-NO-ANSWER"
    NO_MORE = "E-X-NO-MORE"
    NO_SUCH_MODEL = "E-X-NO-SUCH-MODEL"
    NOT_FOUND = "E-X-NOT-FOUND"
    ONLY_THINKING = "E-X-ONLY-THINKING"
    OPT_IN = "E-X-OPT-IN"
    COMMAND = "E-X-COMMAND"
    QUESTION_TOO_LONG = "E-X-QUESTION-TOO-LONG"
    QUOTA_DAY = "E-X-QUOTA-DAY"
    QUOTA_MONTH = "E-X-QUOTA-MONTH"
    RATE = "E-X-RATE"
    REASON = "E-X-REASON"
    SERVER_BUSY = "E-X-SERVER-BUSY"
    SIGN_IN_AWAY = "E-X-SIGN-IN-AWAY"
    SIGN_IN_FAILED = "E-X-SIGN-IN-FAILED"
    SIGN_IN_REFUSED = "E-X-SIGN-IN-REFUSED"
    SIGNED_OUT = "E-X-SIGNED-OUT"
    STORAGE_FULL = "E-X-STORAGE-FULL"
    SUMMARY_BLOCKED = "E-X-SUMMARY-BLOCKED"
    TIMEOUT = "E-X-TIMEOUT"
    TOOL = "E-X-TOOL"
    TOOL_DECLINED = "E-X-TOOL-DECLINED"
    TOOL_FAILED = "E-X-TOOL-FAILED"
    TOO_LARGE = "E-X-TOO-LARGE"
    TOO_MANY = "E-X-TOO-MANY"
    OTHER_RELEASE = "E-X-OTHER-RELEASE"
    TOO_MANY_PAGES = "E-X-TOO-MANY-PAGES"
    WITHHELD = "E-X-WITHHELD"
    WRONG_HOST = "E-X-WRONG-HOST"
    WRONG_PROXY = "E-X-WRONG-PROXY"

    @property
    def sentence(self) -> str:
        """The message for this code, in English. It never says what the hidden text was."""
        return _SENTENCES[self]


def counted(codes: Iterable[ErrorCode]) -> str:
    """The codes with the number of times that each occurs, for a log line; empty if there are none."""
    return ", ".join(f"{code} × {count}" for code, count in sorted(Counter(codes).items()))


def code_of(value: str) -> ErrorCode:
    """The code that a database row stores as text. Raises ValueError for an unknown code."""
    try:
        return ProductCode(value)
    except ValueError:
        return Code(value)


def noop(sentence: str) -> str:
    """Marks a sentence for translators. Django has the same function, but backends use these codes and must not import Django."""
    return sentence


_SENTENCES: dict[ProductCode, str] = {
    ProductCode.ACCOUNT_CLOSED: noop("This account is closed. Ask an administrator."),
    ProductCode.ANSWER_NOW: noop("Thinking ended early because you asked for the answer now."),
    ProductCode.BACKEND: noop("The model server could not answer."),
    ProductCode.BACKEND_BUSY: noop("The model server is busy. Try again in a moment."),
    ProductCode.BACKEND_REFUSED: noop("The model server rejected this request."),
    ProductCode.BACKEND_SETUP: noop("This model is not configured correctly. Tell an administrator."),
    ProductCode.BACKEND_UNREACHABLE: noop("The model server cannot be reached. Try again in a moment, or choose another model."),
    ProductCode.BUSY: noop("An answer is still being written in this conversation."),
    ProductCode.CONTENT_REFUSED: noop("The model server's content rules do not allow this. Try rephrasing your message."),
    ProductCode.CONTEXT_FULL: noop("The answer stopped because the conversation has reached the maximum length for this model."),
    ProductCode.EMPTY: noop("There is nothing to send yet."),
    ProductCode.FORM_TOO_LARGE: noop("This form is too large, so nothing was done. Go back, shorten it, and send it again."),
    ProductCode.FOUR_EYES: noop("Somebody else must approve this, because one of you recently created or changed the other's account."),
    ProductCode.INTERNAL: noop("Something went wrong on our side."),
    ProductCode.LENGTH: noop("The answer reached its length limit."),
    ProductCode.LINK: noop("This link does not work: it has expired, was revoked, or never existed."),
    ProductCode.LINKED_ELSEWHERE: noop(
        "This could not be connected: it is already connected to an account, or your account is connected to another one."
    ),
    ProductCode.NO_ANSWER: noop("The model stopped without writing an answer."),
    ProductCode.NO_MORE: noop("The model had nothing to add to its answer."),
    ProductCode.NO_SUCH_MODEL: noop("This model is not available to you. Choose another one."),
    ProductCode.NOT_FOUND: noop("This does not exist, or you do not have access to it."),
    ProductCode.ONLY_THINKING: noop("The model thought about this, but wrote no answer."),
    ProductCode.OPT_IN: noop("Open the debug view of this conversation first."),
    ProductCode.COMMAND: noop("The server did not understand the page's request. Reload the page."),
    ProductCode.QUESTION_TOO_LONG: noop("This question alone is too long for the model."),
    ProductCode.QUOTA_DAY: noop("You have reached your limit for today."),
    ProductCode.QUOTA_MONTH: noop("You have reached your limit for this month."),
    ProductCode.RATE: noop("Too many requests. Wait, then try again."),
    ProductCode.REASON: noop("Enter a reason of 10 to 180 characters, and choose a duration."),
    ProductCode.SERVER_BUSY: noop("The server is too busy to do this now. Try again in a moment."),
    ProductCode.SIGN_IN_AWAY: noop("The sign-in service is not responding correctly. Try again in a moment."),
    ProductCode.SIGN_IN_FAILED: noop("You could not be signed in. Start again on the sign-in page."),
    ProductCode.SIGN_IN_REFUSED: noop("The sign-in service recognized you, but you do not have access to this site. Ask an administrator."),
    ProductCode.SIGNED_OUT: noop("You are signed out. Sign in again to continue."),
    ProductCode.STORAGE_FULL: noop("The server's storage is full, so this was not saved. Tell an administrator."),
    ProductCode.SUMMARY_BLOCKED: noop("A line of a reasoning summary could not be shown."),
    ProductCode.TIMEOUT: noop("The model server took too long."),
    ProductCode.TOOL: noop("The answer could not be finished: the model kept calling tools that are not available here."),
    ProductCode.TOOL_DECLINED: noop("A tool call was declined."),
    ProductCode.TOOL_FAILED: noop("A tool failed."),
    ProductCode.TOO_LARGE: noop("The message is too long."),
    ProductCode.TOO_MANY: noop("Several of your answers are still being written. Wait for one, or stop it."),
    ProductCode.OTHER_RELEASE: noop("The server was updated. Reload this page; your text is kept."),
    ProductCode.TOO_MANY_PAGES: noop("Too many pages are open. Close some, then reload this one."),
    ProductCode.WITHHELD: noop("Part of this answer was withheld because it looked like the model's private reasoning."),
    ProductCode.WRONG_HOST: noop("This site is not set up for this address. Its operator can add the host name to CHATUI_HOSTS."),
    ProductCode.WRONG_PROXY: noop(
        "This site or its proxy is not set up for this address. Its operator finds the reason in the server's log."
    ),
}
