"""The events outside a turn: replies to commands, changes of the conversation list, and the reason why a socket closes."""

from __future__ import annotations

from dataclasses import dataclass

from chatui.codes import ProductCode
from chatui.wire.base import Event
from renderer.errors import Code, ErrorCode

REFUSALS: tuple[ErrorCode, ...] = (
    ProductCode.BUSY,
    ProductCode.COMMAND,
    ProductCode.EMPTY,
    ProductCode.INTERNAL,
    ProductCode.NO_SUCH_MODEL,
    ProductCode.NOT_FOUND,
    ProductCode.OPT_IN,
    ProductCode.OTHER_RELEASE,
    ProductCode.QUOTA_DAY,
    ProductCode.QUOTA_MONTH,
    ProductCode.RATE,
    ProductCode.SERVER_BUSY,
    ProductCode.SIGNED_OUT,
    ProductCode.STORAGE_FULL,
    ProductCode.TOO_LARGE,
    ProductCode.TOO_MANY,
    ProductCode.TOO_MANY_PAGES,
    Code.PERM_VISIBILITY,
)
"""The codes in Refused and Closing. Pages have a sentence for each, in their own language, and a general one for all other codes."""


@dataclass(frozen=True, slots=True)
class Accepted(Event):
    """A question is stored, and a turn will answer it. From now on the socket follows the conversation, as after ``subscribe``."""

    types = ("chatui:accepted",)
    client_id: str
    """That of the command."""
    conversation: str
    turn: str
    """The turn that will answer."""
    question: str
    url: str
    """The path of the conversation's page."""
    title: str
    percent: int | None = None
    """How much of their limit the person has used; absent if much is left."""
    until: str | None = None
    """When the limit resets, in ISO 8601; absent if much is left."""


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """A command was refused."""

    types = ("chatui:refused",)
    client_id: str | None
    """That of the command, if it had one."""
    code: str
    """One of REFUSALS in ``chatui/wire/replies.py``, such as ``E-X-BUSY``."""
    until: str | None = None
    """When a usage limit ends, in ISO 8601."""
    contact: str | None = None
    """The operator's message to people who have reached a limit."""


@dataclass(frozen=True, slots=True)
class Idle(Event):
    """No turn is running in the followed conversation."""

    types = ("chatui:idle",)
    conversation: str
    turn: str | None
    """The last one, if there was any."""
    state: str | None
    """How that one ended."""


@dataclass(frozen=True, slots=True)
class TitleChanged(Event):
    """The title of one of this person's conversations changed, perhaps in another tab."""

    types = ("chatui:title",)
    conversation: str
    title: str


@dataclass(frozen=True, slots=True)
class Listed(Event):
    """One of this person's conversations was added to their list or a folder, or changed its place there: it is new, got a question, was
    moved, pinned or unpinned, or was restored from the bin or the archive.
    """

    types = ("chatui:listed",)
    conversation: str
    url: str
    """The path of its page."""
    title: str
    updated_at: str
    """By which the list is sorted, latest first; in ISO 8601."""
    is_imported: bool
    """It was uploaded."""
    is_copy: bool
    """It was copied from a shared conversation."""
    is_running: bool
    """An answer is being written there."""
    has_news: bool
    """An answer ended there that the person has not seen."""
    is_pinned: bool
    """It is at the top."""
    folder: str
    """The id of its folder; empty if it is in none."""


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """An answer ended in one of this person's conversations."""

    types = ("chatui:answered",)
    conversation: str
    updated_at: str
    """As in Listed."""
    has_news: bool
    """No page of the person has shown the answer yet."""


@dataclass(frozen=True, slots=True)
class AnswerSeen(Event):
    """One of this person's conversations no longer has news, because one of their pages shows it."""

    types = ("chatui:seen",)
    conversation: str


@dataclass(frozen=True, slots=True)
class AnswerWaits(Event):
    """An answer in one of this person's conversations began to wait for their decision about a call, or waits no longer. The event
    contains nothing of the call."""

    types = ("chatui:waits",)
    conversation: str
    waits: bool
    """False: it waits no longer."""


@dataclass(frozen=True, slots=True)
class Archived(Event):
    """One of this person's conversations was archived: it is no longer in the list, but can still be opened and continued."""

    types = ("chatui:archived",)
    conversation: str


@dataclass(frozen=True, slots=True)
class Unlisted(Event):
    """One of this person's conversations was deleted, perhaps in another tab."""

    types = ("chatui:unlisted",)
    conversation: str


@dataclass(frozen=True, slots=True)
class FolderKept(Event):
    """One of this person's folders was created or renamed."""

    types = ("chatui:folder",)
    folder: str
    name: str
    before: str
    """The id of the folder that follows it; empty for the last one."""


@dataclass(frozen=True, slots=True)
class FolderGone(Event):
    """One of this person's folders was deleted. Its conversations are back in the list."""

    types = ("chatui:folder.gone",)
    folder: str


@dataclass(frozen=True, slots=True)
class Rated(Event):
    """This person has rated one of their answers, or removed the rating, perhaps in another tab."""

    types = ("chatui:rated",)
    conversation: str
    message: str
    """The id of the answer's message."""
    verdict: str
    """``up``, ``down``, or empty: the rating was removed."""


@dataclass(frozen=True, slots=True)
class Closing(Event):
    """The server closes the socket."""

    types = ("chatui:closing",)
    code: str
    """One of REFUSALS in ``chatui/wire/replies.py``, such as ``E-X-BUSY``."""


@dataclass(frozen=True, slots=True)
class Ping(Event):
    """The page replies with the command ``pong`` and the same number, which tells the server how much the page has read."""

    types = ("chatui:ping",)
    number: int


@dataclass(frozen=True, slots=True)
class Alive(Event):
    """The reply to the command ``probe``."""

    types = ("chatui:alive",)
