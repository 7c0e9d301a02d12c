"""The events outside a turn: replies to commands, changes of the conversation list, the reason why the socket closes."""

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
"""What Refused and Closing say. Pages have the sentences, each in its own language; for any other code they have a general one."""


@dataclass(frozen=True, slots=True)
class Accepted(Event):
    """The question of the command ``client_id`` is stored, and ``turn`` will answer it. ``url`` is the path of the conversation's page.

    From here on the socket follows the conversation, as after ``subscribe``. ``percent``: the person has used so much of what they
    may use until ``until``, a time in ISO 8601; absent where there is much left.
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
    """A command was refused, for a code of REFUSALS. ``client_id`` is absent where the command had none. ``until``: when a limit of usage
    ends, a time in ISO 8601; ``contact``: what the operator says to whoever has reached one.
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
    """One of this person's conversations belongs into their list or a folder: it is new, was asked something, was moved, was pinned or not
    any more, or is back from the bin or the archive.

    ``updated_at`` is its place in the list, the latest first: a time in ISO 8601. ``is_running``: an answer is being written there.
    ``has_news``: an answer ended there that the person has not seen. ``is_pinned``: it stands on top. ``folder``: the id of
    the folder that it is in; empty where it is in none.
    """

    types = ("chatui:listed",)
    conversation: str
    url: str
    title: str
    updated_at: str
    is_imported: bool
    is_running: bool
    has_news: bool
    is_pinned: bool
    folder: str


@dataclass(frozen=True, slots=True)
class FolderKept(Event):
    """One of this person's folders is new or has another name. ``before`` is the id of the one that follows it; empty for the last."""

    types = ("chatui:folder",)
    folder: str
    name: str
    before: str


@dataclass(frozen=True, slots=True)
class FolderGone(Event):
    """One of this person's folders was deleted. The conversations in it are in the list again."""

    types = ("chatui:folder.gone",)
    folder: str


@dataclass(frozen=True, slots=True)
class Archived(Event):
    """One of this person's conversations was put into the archive: it is not in the list any more, and can be opened and asked in."""

    types = ("chatui:archived",)
    conversation: str


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """In one of this person's conversations an answer ended. ``updated_at`` as in Listed. ``has_news``: until a page shows it."""

    types = ("chatui:answered",)
    conversation: str
    updated_at: str
    has_news: bool


@dataclass(frozen=True, slots=True)
class AnswerSeen(Event):
    """In one of this person's conversations nothing is new to them any more: a page of theirs shows it."""

    types = ("chatui:seen",)
    conversation: str


@dataclass(frozen=True, slots=True)
class Rated(Event):
    """This person has rated one of their answers, or removed the rating, perhaps in another tab. ``verdict``: ``up``, ``down`` or
    empty."""

    types = ("chatui:rated",)
    conversation: str
    message: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Unlisted(Event):
    """One of this person's conversations was deleted, perhaps in another tab."""

    types = ("chatui:unlisted",)
    conversation: str


@dataclass(frozen=True, slots=True)
class Alive(Event):
    """The answer to the command ``probe``."""

    types = ("chatui:alive",)


@dataclass(frozen=True, slots=True)
class Closing(Event):
    """The server closes the socket, for a code of REFUSALS."""

    types = ("chatui:closing",)
    code: str


@dataclass(frozen=True, slots=True)
class Ping(Event):
    """The page answers with the command ``pong`` and the same number, which tells the server how much of what it sent has been read."""

    types = ("chatui:ping",)
    number: int
