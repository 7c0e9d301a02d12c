"""An uploaded transcript becomes a conversation of the person who uploads it. All of it is kept, or nothing.

OpenChatML text is read leniently: what can be kept is kept, and hidden where in doubt; JSON by its own strict reading. Who may see what
of it is the gate's business, as everywhere: system, developer, analysis and tool frames stay hidden from their importer, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db import transaction

from chatui.codes import ProductCode
from chatui.models import Conversation, Message, User
from chatui.models.conversation import Effort
from chatui.models.message import Author
from chatui.store import transcripts
from renderer.errors import OpenChatMLError, Problem
from renderer.events import Finished
from renderer.frame_kinds import PRODUCT_NAMES
from renderer.frames import Frame, Transcript
from renderer.gate import Audience, VisibleText, show, visible
from renderer.ocml import document, interchange

MAX_BYTES = 5 * 1024 * 1024
MAX_FRAMES = 5_000
TITLE_CHARS = 60
UNTITLED = "Imported conversation"


class ImportRefusedError(Exception):
    """Nothing was imported. ``problem`` says which rule was broken and where; it never quotes the file."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Imported:
    """The new conversation, how many of its frames were kept, and how many problems were passed over."""

    conversation: Conversation
    frames: int
    problems: int


def import_transcript(person: User, data: bytes) -> Imported:
    """Keep an uploaded transcript as a conversation.

    Raises:
        ImportRefusedError: too large, no transcript, or nothing in it that its owner may see.
    """
    if len(data) > MAX_BYTES:
        raise ImportRefusedError(Problem(ProductCode.TOO_LARGE, f"the file is larger than {MAX_BYTES // (1024 * 1024)} MB"))
    header, finished, problems = _read(data)
    if len(finished) > MAX_FRAMES:
        raise ImportRefusedError(Problem(ProductCode.TOO_LARGE, f"the transcript has more than {MAX_FRAMES} frames"))
    frames = [replace(item, frame=_as_imported(item.frame)) for item in finished]
    seen = [show(frame, Audience.END_USER) for frame in visible((item.frame for item in frames), Audience.END_USER)]
    if not seen:
        raise ImportRefusedError(Problem(ProductCode.EMPTY, "the transcript holds no message that you may see"))
    with transaction.atomic():
        conversation = _conversation(person, header, _title(seen[0]))
        _keep(conversation, person, frames)
    return Imported(conversation, len(frames), problems)


def _read(data: bytes) -> tuple[Transcript, list[Finished], int]:
    try:
        if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            transcript = interchange.parse_json(data)
            return transcript, [Finished(frame) for frame in transcript.frames], 0
        reading = document.read_leniently(data)
    except OpenChatMLError as error:
        raise ImportRefusedError(error.problem) from None
    refused = next((problem for problem in reading.problems if problem.is_refused), None)
    if refused is not None and not reading.finished:
        raise ImportRefusedError(refused)
    return reading.transcript, list(reading.finished), len(reading.problems)


def _as_imported(frame: Frame) -> Frame:
    """Names that the product signs its own frames with are taken off: nobody forges them. So is what PostgreSQL cannot hold."""
    header = replace(frame.header, name=None) if frame.header.name in PRODUCT_NAMES else frame.header
    return replace(frame, header=header, body=transcripts.storable(frame.body))


def _conversation(person: User, header: Transcript, title: str) -> Conversation:
    effort = str(header.settings.get("reasoning_effort", ""))
    return Conversation.objects.create(
        owner=person,
        title=title,
        model=transcripts.header_text(header.model or ""),
        effort=effort if effort in Effort.values else Effort.MEDIUM,
    )


def _title(first: VisibleText) -> str:
    """From the first visible message, never from the file's header, which could hold anything; and not to be mistaken for the original."""
    title = transcripts.title_of(first, TITLE_CHARS)
    return f"{title} (import)" if title else UNTITLED


def _keep(conversation: Conversation, person: User, frames: list[Finished]) -> None:
    parent: Message | None = None
    for item in frames:
        parent = transcripts.append(
            conversation, parent, item.frame, Author.IMPORT, transcripts.Kept(is_complete=item.complete, error_code=item.error or "")
        )
    if parent is not None:
        transcripts.activate(conversation, person, parent)
