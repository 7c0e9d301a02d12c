"""The product's own error codes, each with the message that people see: a closed list, in addition to the eight of the specification.

An error keeps its code from the database to the page. The message never quotes a transcript. It is in English, for logs and commands;
people read its translation (``chatui.site.languages``). Beside it is the one table of causes: what administrators read of a failed answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

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
    ProductCode.STORAGE_FULL: noop("The server's storage is full, so this was not saved. Its operator must make room."),
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


class Cause(StrEnum):
    """What an answer failed for, as administrators read it: on pages, in logs, and in the doctor's reports, where the values are names.

    ``chatui.backends.failures`` decides it, from what a server says but never in its words. OTHER: the error code says all.
    """

    OUT_OF_MEMORY = "out-of-memory"
    LOADING = "loading"
    BUSY = "busy"
    QUOTA = "quota-used-up"
    KEY_MISSING = "key-missing"
    KEY_REFUSED = "key-refused"
    MODEL_UNKNOWN = "model-unknown"
    NO_MODELS = "no-models"
    ADDRESS_OF_ENDPOINT = "address-of-endpoint"
    KIND_NOT_SPOKEN = "kind-not-spoken"
    WEB_PAGE = "web-page"
    REDIRECTED = "redirected"
    CERTIFICATE = "certificate"
    WRONG_SCHEME = "wrong-scheme"
    NAME_UNKNOWN = "name-unknown"
    NOTHING_LISTENS = "nothing-listens"
    PROXY = "proxy"
    UNREACHABLE = "unreachable"
    GATEWAY = "gateway"
    SILENT = "silent"
    CONTEXT_EXCEEDED = "context-exceeded"
    CONTENT_RULES = "content-rules"
    TOO_LARGE = "request-too-large"
    REFUSED = "refused"
    SETUP = "wrong-settings"
    FAILED = "failed"
    UNREADABLE = "unreadable"
    BROKEN_OFF = "broken-off"
    EMPTY = "empty-answer"
    LENGTH = "length-limit"
    PROCESS_ENDED = "process-ended"
    STORAGE = "storage-full"
    INTERNAL = "internal"
    OTHER = "other"

    @property
    def sentence(self) -> str:
        """What went wrong, in English; empty for OTHER."""
        return _CAUSES[self].sentence

    @property
    def advice(self) -> str:
        """What an administrator can do about it, in English."""
        return _CAUSES[self].advice

    @property
    def may_pass(self) -> bool:
        """Whether the same question may be answered if it is asked again, with nothing changed."""
        return _CAUSES[self].may_pass

    @property
    def is_of_server(self) -> bool:
        """Whether the settings of a model server, or the server itself, can change it."""
        return self not in (Cause.CONTENT_RULES, Cause.PROCESS_ENDED, Cause.STORAGE, Cause.INTERNAL, Cause.OTHER)

    @classmethod
    def of(cls, code: ErrorCode) -> Cause:
        """The cause of an error of which nothing but its code is known."""
        return _OF_CODES.get(code, cls.OTHER)

    @classmethod
    def read(cls, stored: str, code: ErrorCode) -> tuple[Cause, str]:
        """The cause and the evidence that ``told`` has written; rows of earlier releases have the evidence alone."""
        name, _, seen = stored.partition(": ")
        return (cls(name), seen) if name in set(cls) else (cls.of(code), stored)

    def told(self, seen: str) -> str:
        """For a log and for a row: the name and the evidence, in our words, such as ``key-refused: HTTP 401, invalid_api_key``."""
        return f"{self.value}: {seen}" if seen else self.value


class _Known(NamedTuple):
    sentence: str
    advice: str
    may_pass: bool = True


_CAUSES: dict[Cause, _Known] = {
    Cause.OUT_OF_MEMORY: _Known(
        noop("The model server ran out of memory."),
        noop("Give the model a smaller context or fewer slots, or the server more memory."),
    ),
    Cause.LOADING: _Known(
        noop("The model server is still loading the model."),
        noop("Wait for it. If it goes on, read the server's log."),
    ),
    Cause.BUSY: _Known(
        noop("The model server is rejecting requests for now."),
        noop("Give the server more slots or a larger plan, or set limits."),
    ),
    Cause.QUOTA: _Known(
        noop("The quota or credit at the provider of the model server is used up."),
        noop("Raise it at the provider, or name the key of another account."),
        may_pass=False,
    ),
    Cause.KEY_MISSING: _Known(
        noop("The key for the model server is not available, so nothing was sent."),
        noop("Put it where the configuration expects it."),
        may_pass=False,
    ),
    Cause.KEY_REFUSED: _Known(
        noop("The model server refuses the key, or does not allow this with it."),
        noop(
            "Configure the right one: key name, key_env or key_file of the back end, or CHATUI_BACKEND_KEY. It is sent as a bearer token."
        ),
        may_pass=False,
    ),
    Cause.MODEL_UNKNOWN: _Known(
        noop("The model server does not have the requested model."),
        noop("Configure one that it has, or leave the model out to take its first."),
        may_pass=False,
    ),
    Cause.NO_MODELS: _Known(
        noop("The model server lists no model, and none is configured."),
        noop("Load a model there, or name one in the configuration."),
        may_pass=False,
    ),
    Cause.ADDRESS_OF_ENDPOINT: _Known(
        noop("The configured address is that of one endpoint, not that of the model server."),
        noop("Remove the end of the address, from /chat/completions or the like on; a final /v1 may stay."),
        may_pass=False,
    ),
    Cause.KIND_NOT_SPOKEN: _Known(
        noop("Nothing answers this wire format at the address."),
        noop("Check the path of the address. If it is right, use a kind that the server supports, or enable this one there."),
        may_pass=False,
    ),
    Cause.WEB_PAGE: _Known(
        noop("A web page answers instead of a model server."),
        noop("Check the address. If it is right, a proxy in front of the server asks for a sign-in."),
        may_pass=False,
    ),
    Cause.REDIRECTED: _Known(
        noop("The model server sends on to another address, which is not followed: the key would go there, too."),
        noop("Configure the address that it sends on to."),
        may_pass=False,
    ),
    Cause.CERTIFICATE: _Known(
        noop("The certificate of the model server is not trusted here."),
        noop(
            "If your own authority issued it, name that authority's file as ca_file or CHATUI_BACKEND_CA_FILE. "
            "Otherwise it may have expired, or be for another host name."
        ),
        may_pass=False,
    ),
    Cause.WRONG_SCHEME: _Known(
        noop("No secure connection can be made: one side speaks TLS and the other does not."),
        noop("Begin the address with http:// instead of https://, or the other way round; or check the port."),
        may_pass=False,
    ),
    Cause.NAME_UNKNOWN: _Known(
        noop("The host name of the model server cannot be resolved."),
        noop("Check the address, and this machine's name service."),
    ),
    Cause.NOTHING_LISTENS: _Known(
        noop("The connection to the model server is refused: nothing listens there."),
        noop("Check that the server is running, and the address and the port."),
    ),
    Cause.PROXY: _Known(
        noop("The proxy on the way to the model server does not let the request through."),
        noop("Check the proxy's address, name and password, and that it allows this server."),
    ),
    Cause.UNREACHABLE: _Known(
        noop("No HTTP server answers at the model server's address."),
        noop("Check the address and the port, that the server is running, and that this machine can reach it."),
    ),
    Cause.GATEWAY: _Known(
        noop("A proxy answers, but the model server behind it does not."),
        noop("Check that the model server is running, and the time limit of the proxy."),
    ),
    Cause.SILENT: _Known(
        noop("The model server accepted the question but did not answer in time."),
        noop("It may still be loading the model or be overloaded. Otherwise allow it more time: first_token_seconds, or --seconds."),
    ),
    Cause.CONTEXT_EXCEEDED: _Known(
        noop("The conversation is longer than the model's context."),
        noop(
            "Give the model a larger context (llama.cpp: -c, which its slots share; Ollama: OLLAMA_CONTEXT_LENGTH; vLLM: --max-model-len)."
        ),
        may_pass=False,
    ),
    Cause.CONTENT_RULES: _Known(
        noop("The content rules of the model server do not allow this question or answer."),
        noop("Its provider decides these rules. The person can rephrase the question."),
        may_pass=False,
    ),
    Cause.TOO_LARGE: _Known(
        noop("The request is too large for the model server, or for a proxy in front of it."),
        noop("Raise the limit on request bodies there (nginx: client_max_body_size)."),
        may_pass=False,
    ),
    Cause.REFUSED: _Known(
        noop("The model server refuses this kind of request."),
        noop("Examine the server, and apply the recommended settings. manage.py ask --as staff shows its message."),
        may_pass=False,
    ),
    Cause.SETUP: _Known(
        noop("The settings of the model server do not fit it."),
        noop("Compare its address, key and model with the server, or examine it."),
        may_pass=False,
    ),
    Cause.FAILED: _Known(
        noop("The model server failed, and did not say why."),
        noop("Read the server's log for that time, or examine it. manage.py ask --as staff shows its message."),
    ),
    Cause.UNREADABLE: _Known(
        noop("The model server sent something that cannot be read as an answer."),
        noop("Examine the server: another kind or a newer version of it may help."),
    ),
    Cause.BROKEN_OFF: _Known(
        noop("The stream ended before the model server had said that the answer is over, or for a reason of its own."),
        noop("Look for a proxy with its own time limit, and check the server's log."),
    ),
    Cause.EMPTY: _Known(
        noop("The model ended without writing an answer."),
        noop("Examine the server: its prompt template may not fit the model, or its limit for answers be too low."),
    ),
    Cause.LENGTH: _Known(
        noop("The answer reached its length limit."),
        noop("Raise max_answer_tokens of the back end, or the server's own limit."),
    ),
    Cause.PROCESS_ENDED: _Known(
        noop("The process of this product that wrote the answer ended."),
        noop("After a restart that is expected. Otherwise read this product's log for that time."),
    ),
    Cause.STORAGE: _Known(
        noop("The storage of this product is full."),
        noop("Make room on its disk, or in its database."),
    ),
    Cause.INTERNAL: _Known(
        noop("This is a bug in the product."),
        noop("Find the number in its log, and report it."),
    ),
    Cause.OTHER: _Known("", noop("Open the debug view of the conversation to see what was sent and what came back.")),
}
_OF_CODES: dict[ErrorCode, Cause] = {
    ProductCode.BACKEND: Cause.FAILED,
    ProductCode.BACKEND_BUSY: Cause.BUSY,
    ProductCode.BACKEND_REFUSED: Cause.REFUSED,
    ProductCode.BACKEND_SETUP: Cause.SETUP,
    ProductCode.BACKEND_UNREACHABLE: Cause.UNREACHABLE,
    ProductCode.CONTENT_REFUSED: Cause.CONTENT_RULES,
    ProductCode.CONTEXT_FULL: Cause.CONTEXT_EXCEEDED,
    ProductCode.INTERNAL: Cause.INTERNAL,
    ProductCode.LENGTH: Cause.LENGTH,
    ProductCode.NO_ANSWER: Cause.EMPTY,
    ProductCode.NO_SUCH_MODEL: Cause.MODEL_UNKNOWN,
    ProductCode.ONLY_THINKING: Cause.EMPTY,
    ProductCode.QUESTION_TOO_LONG: Cause.CONTEXT_EXCEEDED,
    ProductCode.STORAGE_FULL: Cause.STORAGE,
    ProductCode.TIMEOUT: Cause.SILENT,
    Code.STREAM_TRUNCATED: Cause.BROKEN_OFF,
}
