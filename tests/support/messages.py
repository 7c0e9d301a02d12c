"""Messages that tests put into conversations, without a turn that writes them: the one place where these are stored, opened and read."""

from collections.abc import Iterable
from typing import Any

from channels.db import database_sync_to_async

from chatui.models.conversation import Conversation
from chatui.models.files import DocumentUse, StoredFile
from chatui.models.message import Author, Message
from chatui.models.user import User
from chatui.store import documents, transcripts
from chatui.store.context_use import Room
from chatui.store.documents import QuestionFile
from renderer.frames import Frame


def add_message(conversation: Conversation, parent: Message | None, frame: Frame, author: Author | str, **stored: Any) -> Message:
    """Store a frame below ``parent``, found by searches like any other. ``stored``: what else the row says, such as ``turn_id``."""
    return add_messages(conversation, parent, [(frame, author)], **stored)[-1]


def add_messages(
    conversation: Conversation, parent: Message | None, frames: Iterable[tuple[Frame, Author | str]], **stored: Any
) -> list[Message]:
    """The same for several frames, each below the previous one. Returns their messages."""
    rows = [(frame, Author(author), transcripts.FrameMetadata(**stored)) for frame, author in frames]
    return transcripts.append_chain(conversation, parent, rows)


def add_documents(conversation: Conversation, *files: StoredFile, use: str = DocumentUse.WHOLE) -> Message:
    """Begin a branch with these documents. Returns the last one's message, below which their question belongs. ``use``: of all of them."""
    ready = documents.prepare(conversation.owner_id, [QuestionFile(file.pk, use) for file in files], Room(10**6))
    end = documents.put(conversation, transcripts.TreePosition(None, transcripts.count_in(conversation)), ready)
    return Message.objects.get(conversation=conversation, position=end.position - 1)


def open_branch(conversation: Conversation, person: User, leaf: Message) -> None:
    """From now on the person has the branch open that ends there."""
    transcripts.activate(conversation, person, leaf)


def branch_of(conversation: Conversation, person: User) -> list[Message]:
    """The messages of the branch that the person has open, in order."""
    return transcripts.branch(conversation, transcripts.active_leaf(conversation, person))


stored_messages = database_sync_to_async(branch_of)
"""The same for a test with an event loop."""
