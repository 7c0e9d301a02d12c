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
    """The question of the command ``client_id`` is stored, and ``turn`` will answer it. ``url`` is the path of the conversation's page.

    From now on the socket follows the conversation, as after ``subscribe``. ``percent``: how much of their limit the person has used;
    ``until``: when the limit resets, in ISO 8601. Both are absent if much is left.
    """

    types = ("chatui:accepted",)
    client_id: str
    conversation: str
    turn: str
    question: str
    url: str
    title: str
    percent: int | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """A command was refused, with a code of REFUSALS. ``client_id`` is absent if the command had none. ``until``: when a usage limit ends,
    in ISO 8601; ``contact``: the operator's message to people who have reached a limit.
    """

    types = ("chatui:refused",)
    client_id: str | None
    code: str
    until: str | None = None
    contact: str | None = None


@dataclass(frozen=True, slots=True)
class Idle(Event):
    """No turn is running in the followed conversation. ``turn`` is the last one, if any, and ``state`` is how it ended."""

    types = ("chatui:idle",)
    conversation: str
    turn: str | None
    state: str | None


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

    ``updated_at``: by which the list is sorted, latest first; in ISO 8601. ``is_imported``: it was uploaded. ``is_copy``: it was copied
    from a shared conversation. ``is_running``: an answer is being written there. ``has_news``: an answer ended there that the person has
    not seen. ``is_pinned``: it is at the top. ``folder``: the id of its folder; empty if none.
    """

    types = ("chatui:listed",)
    conversation: str
    url: str
    title: str
    updated_at: str
    is_imported: bool
    is_copy: bool
    is_running: bool
    has_news: bool
    is_pinned: bool
    folder: str


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """An answer ended in one of this person's conversations. ``updated_at``: as in Listed. ``has_news``: until a page shows it."""

    types = ("chatui:answered",)
    conversation: str
    updated_at: str
    has_news: bool


@dataclass(frozen=True, slots=True)
class AnswerSeen(Event):
    """One of this person's conversations no longer has news, because one of their pages shows it."""

    types = ("chatui:seen",)
    conversation: str


@dataclass(frozen=True, slots=True)
class AnswerWaits(Event):
    """An answer in one of this person's conversations began to wait for their decision about a call, or waits no longer. Nothing of the
    call is in it."""

    types = ("chatui:waits",)
    conversation: str
    waits: bool


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
    """One of this person's folders was created or renamed. ``before`` is the id of the folder that follows it; empty for the last one."""

    types = ("chatui:folder",)
    folder: str
    name: str
    before: str


@dataclass(frozen=True, slots=True)
class FolderGone(Event):
    """One of this person's folders was deleted. Its conversations are back in the list."""

    types = ("chatui:folder.gone",)
    folder: str


@dataclass(frozen=True, slots=True)
class Rated(Event):
    """This person has rated one of their answers, or removed the rating, perhaps in another tab. ``verdict``: ``up``, ``down`` or
    empty."""

    types = ("chatui:rated",)
    conversation: str
    message: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Closing(Event):
    """The server closes the socket, with a code of REFUSALS."""

    types = ("chatui:closing",)
    code: str


@dataclass(frozen=True, slots=True)
class Ping(Event):
    """The page replies with the command ``pong`` and the same number, which tells the server how much the page has read."""

    types = ("chatui:ping",)
    number: int


@dataclass(frozen=True, slots=True)
class Alive(Event):
    """The reply to the command ``probe``."""

    types = ("chatui:alive",)
