"""The product's own error codes, each with the message that people see: a closed list, in addition to the eight of the specification.

An error keeps its code from the database to the page. The message never quotes a transcript. It is in English, for logs and commands;
people read its translation (``chatui.site.languages``). No sentence is marked for that, because backends use the codes and know no Django:
``make messages`` reads the lists. Beside the codes is the one table of causes: what administrators read of a failed answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from chatui.program import command
from renderer.errors import Code, ErrorCode


class ProductCode(ErrorCode):
    """An error code of the product. Those of the specification are in ``renderer.errors.Code``."""

    ACCOUNT_CLOSED = "E-X-ACCOUNT-CLOSED", "This account is closed. Ask an administrator."
    ANSWER_NOW = "E-X-ANSWER-NOW", "Thinking ended early because you asked for the answer now."
    BACKEND = "E-X-BACKEND", "The model server could not answer."
    BACKEND_BUSY = "E-X-BACKEND-BUSY", "The model server is busy. Try again in a moment."
    BACKEND_REFUSED = "E-X-BACKEND-REFUSED", "The model server rejected this request."
    BACKEND_SETUP = "E-X-BACKEND-SETUP", "This model is not configured correctly. Tell an administrator."
    BACKEND_UNREACHABLE = "E-X-BACKEND-UNREACHABLE", "The model server cannot be reached. Try again in a moment, or choose another model."
    BUSY = "E-X-BUSY", "An answer is still being written in this conversation."
    CONTENT_REFUSED = "E-X-CONTENT-REFUSED", "The model server's content rules do not allow this. Try rephrasing your message."
    CONVERSATION_TOO_LONG = "E-X-CONVERSATION-TOO-LONG", "The conversation is too long for the model, and nothing may be left out of it."
    CONTEXT_FULL = "E-X-CONTEXT-FULL", "The answer stopped because the conversation has reached the maximum length for this model."
    EMPTY = "E-X-EMPTY", "There is nothing to send yet."
    FORM_TOO_LARGE = "E-X-FORM-TOO-LARGE", "This form is too large, so nothing was done. Go back, shorten it, and send it again."
    FOUR_EYES = "E-X-FOUR-EYES", "Somebody else must approve this, because one of you recently created or changed the other's account."
    INTERNAL = "E-X-INTERNAL", "Something went wrong on our side."
    LENGTH = "E-X-LENGTH", "The answer reached its length limit."
    LINK = "E-X-LINK", "This link does not work: it has expired, was revoked, or never existed."
    LINK_USED = "E-X-LINK-USED", "This link was used. It works once."
    LINKED_ELSEWHERE = (
        "E-X-LINKED-ELSEWHERE",
        "This could not be connected: it is already connected to an account, or your account is connected to another one.",
    )
    NO_ANSWER = "E-X-NO-ANSWER", "The model stopped without writing an answer."
    NO_MORE = "E-X-NO-MORE", "The model had nothing to add to its answer."
    NO_SUCH_MODEL = "E-X-NO-SUCH-MODEL", "This model is not available to you. Choose another one."
    NOT_FOUND = "E-X-NOT-FOUND", "This does not exist, or you do not have access to it."
    ONLY_THINKING = "E-X-ONLY-THINKING", "The model thought about this, but wrote no answer."
    OPT_IN = "E-X-OPT-IN", "Open the debug view of this conversation first."
    COMMAND = "E-X-COMMAND", "The server did not understand the page's request. Reload the page."
    QUESTION_TOO_LONG = "E-X-QUESTION-TOO-LONG", "This question alone is too long for the model."
    QUOTA_DAY = "E-X-QUOTA-DAY", "You have reached your limit for today."
    QUOTA_MONTH = "E-X-QUOTA-MONTH", "You have reached your limit for this month."
    RATE = "E-X-RATE", "Too many requests. Wait, then try again."
    REASON = "E-X-REASON", "Enter a reason of 10 to 180 characters, and choose a duration."
    SERVER_BUSY = "E-X-SERVER-BUSY", "The server is too busy to do this now. Try again in a moment."
    SIGN_IN_AWAY = "E-X-SIGN-IN-AWAY", "The sign-in service is not responding correctly. Try again in a moment."
    SIGN_IN_FAILED = "E-X-SIGN-IN-FAILED", "You could not be signed in. Start again on the sign-in page."
    SIGN_IN_REFUSED = (
        "E-X-SIGN-IN-REFUSED",
        "The sign-in service recognized you, but you do not have access to this site. Ask an administrator.",
    )
    SIGNED_OUT = "E-X-SIGNED-OUT", "You are signed out. Sign in again to continue."
    STORAGE_FULL = "E-X-STORAGE-FULL", "The server's storage is full, so this was not saved. Its operator must make room."
    SUMMARY_BLOCKED = "E-X-SUMMARY-BLOCKED", "A line of a reasoning summary could not be shown."
    TIMEOUT = "E-X-TIMEOUT", "The model server took too long."
    TOOL = "E-X-TOOL", "The answer could not be finished: the model kept calling tools that are not available here."
    TOOL_DECLINED = "E-X-TOOL-DECLINED", "A tool call was declined."
    TOOL_ACCOUNT = "E-X-TOOL-ACCOUNT", "Your account could not be connected. Try again, or ask an administrator."
    TOOL_ACCOUNT_AWAY = (
        "E-X-TOOL-ACCOUNT-AWAY",
        "The service is not responding correctly, so your account could not be connected. Try again later.",
    )
    TOOL_FAILED = "E-X-TOOL-FAILED", "A tool failed."
    TOOL_SIGN_IN = "E-X-TOOL-SIGN-IN", "A tool needs your own account at its service."
    TOO_LARGE = "E-X-TOO-LARGE", "The message is too long."
    TOO_MANY = "E-X-TOO-MANY", "Several of your answers are still being written. Wait for one, or stop it."
    OTHER_RELEASE = "E-X-OTHER-RELEASE", "The server was updated. Reload this page; your text is kept."
    TOO_MANY_PAGES = "E-X-TOO-MANY-PAGES", "Too many pages are open. Close some, then reload this one."
    WITHHELD = "E-X-WITHHELD", "Part of this answer was withheld because it looked like the model's private reasoning."
    WRONG_HOST = "E-X-WRONG-HOST", "This site is not set up for this address. Its operator can add the host name to CHATUI_HOSTS."
    WRONG_PROXY = (
        "E-X-WRONG-PROXY",
        "This site or its proxy is not set up for this address. Its operator finds the reason in the server's log.",
    )


def counted(codes: Iterable[ErrorCode]) -> str:
    """The codes with the number of times that each occurs, for a log line; empty if there are none."""
    return ", ".join(f"{code} × {count}" for code, count in sorted(Counter(codes).items()))


def code_of(value: str) -> ErrorCode:
    """The code that a database row stores as text. Raises ValueError for an unknown code."""
    try:
        return ProductCode(value)
    except ValueError:
        return Code(value)


class Fault(StrEnum):
    """Base class for lists of what may be wrong with a model server or its answers. The values are names, in reports and logs."""

    _value_: str
    sentence: str
    """What is wrong, in English; empty for ``Cause.OTHER``."""
    advice: str
    """What an administrator can do about it, in English, as a page says it: fields are called as in the form of a model server."""
    may_pass: bool
    """Whether the same question may be answered if it is asked again, with nothing changed."""
    settings: str
    """Which settings and options the advice is about, for logs and commands, where nobody has a form; empty if it names none."""

    def __new__(cls, name: str, sentence: str = "", advice: str = "", may_pass: bool = True, settings: str = "") -> Self:
        member = str.__new__(cls, name)
        member._value_, member.sentence, member.advice, member.may_pass = name, sentence, advice, may_pass
        member.settings = settings
        return member

    @property
    def to_do(self) -> str:
        """The advice for logs and commands."""
        return f"{self.advice} {self.settings}".rstrip()


class Cause(Fault):
    """What an answer failed for, as administrators read it: on pages, in logs, and in the doctor's reports.

    ``chatui.backends.failures`` decides it, from what a server says but never in its words. OTHER: the error code says all.
    """

    OUT_OF_MEMORY = (
        "out-of-memory",
        "The model server ran out of memory.",
        "Give the model a smaller context or fewer slots, or the server more memory.",
    )
    LOADING = "loading", "The model server is still loading the model.", "Wait for it. If it goes on, read the server's log."
    BUSY = "busy", "The model server is rejecting requests for now.", "Give the server more slots or a larger plan, or set limits."
    QUOTA = (
        "quota-used-up",
        "The quota or credit at the provider of the model server is used up.",
        "Raise it at the provider, or name the key of another account.",
        False,
    )
    KEY_MISSING = (
        "key-missing",
        "The key for the model server is not available, so nothing was sent.",
        "Enter it in the settings of the model server, or put it where its key name expects it.",
        False,
        "Files of model servers name it as key_env, key_file or key_name.",
    )
    KEY_REFUSED = (
        "key-refused",
        "The model server refuses the key, or does not allow this with it.",
        "Enter the right API key in the settings of the model server. It is sent as a bearer token.",
        False,
        "Outside of Administration it is key_env or key_file in the file of model servers, or CHATUI_BACKEND_KEY.",
    )
    MODEL_UNKNOWN = (
        "model-unknown",
        "The model server does not have the requested model.",
        "Configure one that it has, or leave the model out to take its first.",
        False,
    )
    NO_MODELS = (
        "no-models",
        "The model server lists no model, and none is configured.",
        "Load a model there, or name one in the configuration.",
        False,
    )
    ADDRESS_OF_ENDPOINT = (
        "address-of-endpoint",
        "The configured address is that of one endpoint, not that of the model server.",
        "Remove the end of the address, from /chat/completions or the like on; a final /v1 may stay.",
        False,
    )
    KIND_NOT_SPOKEN = (
        "kind-not-spoken",
        "Nothing answers this wire format at the address.",
        "Check the path of the address. If it is right, use a wire format that the server supports, or enable this one there.",
        False,
    )
    WEB_PAGE = (
        "web-page",
        "A web page answers instead of a model server.",
        "Check the address. If it is right, a proxy in front of the server asks for a sign-in.",
        False,
    )
    REDIRECTED = (
        "redirected",
        "The model server sends on to another address, which is not followed: the key would go there, too.",
        "Configure the address that it sends on to.",
        False,
    )
    CERTIFICATE = (
        "certificate",
        "The certificate of the model server is not trusted here.",
        (
            "If your own authority issued it, the operator of this product has to name that authority's file. "
            "Otherwise it may have expired, or be for another host name."
        ),
        False,
        "The file is ca_file or CHATUI_BACKEND_CA_FILE.",
    )
    WRONG_SCHEME = (
        "wrong-scheme",
        "No secure connection can be made: one side speaks TLS and the other does not.",
        "Begin the address with http:// instead of https://, or the other way round; or check the port.",
        False,
    )
    NAME_UNKNOWN = (
        "name-unknown",
        "The host name of the model server cannot be resolved.",
        "Check the address, and this machine's name service.",
    )
    NOTHING_LISTENS = (
        "nothing-listens",
        "The connection to the model server is refused: nothing listens there.",
        "Check that the server is running, and the address and the port.",
    )
    PROXY = (
        "proxy",
        "The proxy on the way to the model server does not let the request through.",
        "Check the proxy's address, name and password, and that it allows this server.",
    )
    UNREACHABLE = (
        "unreachable",
        "No HTTP server answers at the model server's address.",
        "Check the address and the port, that the server is running, and that this machine can reach it.",
    )
    GATEWAY = (
        "gateway",
        "A proxy answers, but the model server behind it does not.",
        "Check that the model server is running, and the time limit of the proxy.",
    )
    SILENT = (
        "silent",
        "The model server accepted the question but did not answer in time.",
        "It may still be loading the model or be overloaded. Otherwise allow it more seconds for the first token.",
        True,
        "That is first_token_seconds, or --seconds of the doctor.",
    )
    CONTEXT_EXCEEDED = (
        "context-exceeded",
        "The conversation is longer than the model's context.",
        "Give the model a larger context (llama.cpp: -c, which its slots share; Ollama: OLLAMA_CONTEXT_LENGTH; vLLM: --max-model-len).",
        False,
    )
    CONTENT_RULES = (
        "content-rules",
        "The content rules of the model server do not allow this question or answer.",
        "Its provider decides these rules. The person can rephrase the question.",
        False,
    )
    TOO_LARGE = (
        "request-too-large",
        "The request is too large for the model server, or for a proxy in front of it.",
        "Raise the limit on request bodies there (nginx: client_max_body_size).",
        False,
    )
    REFUSED = (
        "refused",
        "The model server refuses this kind of request.",
        "Examine the server, and apply the recommended settings.",
        False,
        f"{command('ask --as staff')} shows its message.",
    )
    SETUP = (
        "wrong-settings",
        "The settings of the model server do not fit it.",
        "Compare its address, key and model with the server, or examine it.",
        False,
    )
    FAILED = (
        "failed",
        "The model server failed, and did not say why.",
        "Read the server's log for that time, or examine it.",
        True,
        f"{command('ask --as staff')} shows its message.",
    )
    UNREADABLE = (
        "unreadable",
        "The model server sent something that cannot be read as an answer.",
        "Examine the server: another wire format or a newer version of it may help.",
    )
    BROKEN_OFF = (
        "broken-off",
        "The stream ended before the model server had said that the answer is over, or for a reason of its own.",
        "Look for a proxy with its own time limit, and check the server's log.",
    )
    EMPTY = (
        "empty-answer",
        "The model ended without writing an answer.",
        "Examine the server: its prompt template may not fit the model, or its limit for answers be too low.",
    )
    LENGTH = (
        "length-limit",
        "The answer reached its length limit.",
        "Raise the maximum length of an answer in the settings of the model server, or the server's own limit.",
        True,
        "That is max_answer_tokens, or CHATUI_MAX_ANSWER_TOKENS.",
    )
    PROCESS_ENDED = (
        "process-ended",
        "The product was restarted while it wrote this.",
        "If nobody restarted it, read this product's log for that time.",
    )
    STORAGE = "storage-full", "The storage of this product is full.", "Make room on its disk, or in its database."
    INTERNAL = "internal", "This is a bug in the product.", "Find the number in its log, and report it."
    OTHER = "other", "", "Open the debug view of the conversation to see what was sent and what came back."

    @property
    def is_of_server(self) -> bool:
        """Whether the settings of a model server, or the server itself, can change it."""
        return self not in (Cause.CONTENT_RULES, Cause.PROCESS_ENDED, Cause.STORAGE, Cause.INTERNAL, Cause.OTHER)

    @classmethod
    def of(cls, code: ErrorCode) -> Cause:
        """The cause of an error, if only its code is known."""
        return _OF_CODES.get(code, cls.OTHER)

    @classmethod
    def read(cls, stored: str, code: ErrorCode) -> tuple[Cause, str]:
        """The cause and the evidence that ``log_text`` has written; rows of earlier releases have the evidence alone."""
        name, _, evidence = stored.partition(": ")
        return (cls(name), evidence) if name in set(cls) else (cls.of(code), stored)

    def log_text(self, evidence: str) -> str:
        """For a log and for a row: the name and the evidence, in our words, such as ``key-refused: HTTP 401, invalid_api_key``."""
        return f"{self.value}: {evidence}" if evidence else self.value


_OF_CODES: dict[ErrorCode, Cause] = {
    ProductCode.BACKEND: Cause.FAILED,
    ProductCode.BACKEND_BUSY: Cause.BUSY,
    ProductCode.BACKEND_REFUSED: Cause.REFUSED,
    ProductCode.BACKEND_SETUP: Cause.SETUP,
    ProductCode.BACKEND_UNREACHABLE: Cause.UNREACHABLE,
    ProductCode.CONTENT_REFUSED: Cause.CONTENT_RULES,
    ProductCode.CONTEXT_FULL: Cause.CONTEXT_EXCEEDED,
    ProductCode.CONVERSATION_TOO_LONG: Cause.CONTEXT_EXCEEDED,
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
