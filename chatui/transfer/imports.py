"""Imports an uploaded transcript as a conversation of the uploader, completely or not at all; and stores the frames of every import.

The gate decides visibility, as everywhere: system, developer, analysis and tool frames are hidden from the uploader, too. The conversation
remains marked as imported, even if it is renamed. Its frames are stored in short transactions, and it is visible only when all of them are
stored. In a tree each parent comes before its children, even if some parent keys are wrong.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from django.db import DatabaseError
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from chatui.codes import ProductCode, counted
from chatui.database.connections import release_request_connection
from chatui.models.conversation import Conversation, Effort
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import bulk_append, document_headers, erasure, titles, transcripts
from chatui.store.bulk_append import ImportLostError, Placed
from chatui.store.transcripts import FrameMetadata
from chatui.transfer import upload
from chatui.transfer.other_products.conversation_tree import DroppedKind, ExportedConversation, Node
from chatui.transfer.upload import ImportRefusedError, refuse
from renderer import characters
from renderer.activities.frame import frame_of, lines_in
from renderer.errors import ErrorCode, OpenChatMLError, Problem
from renderer.events import Finished
from renderer.frame_kinds import DOCUMENT_NAME, SUMMARY, SUMMARY_NAME, TOOL_LINE, TOOL_LINE_NAME
from renderer.frames import Frame, Role
from renderer.gate import Audience, VisibleText, may_see, show
from renderer.ocml.document_header import DocumentHeader

log = logging.getLogger(__name__)

_RESERVED = {SUMMARY_NAME: SUMMARY, TOOL_LINE_NAME: TOOL_LINE}


def check_no_other_import(person: User) -> None:
    """Erase unfinished imports of dead processes. Raises ImportRefusedError if another import of this person is running."""
    erasure.sweep()
    if bulk_append.is_in_progress(person):
        refuse(ProductCode.RATE, gettext("another of your imports is still running"))


WAIT_SECONDS = 10.0


def completed(person: User, key: str) -> Conversation | None:
    """The conversation that was imported with that key, also by a request that began a moment ago; None if there is none."""
    until = time.monotonic() + WAIT_SECONDS
    while bulk_append.is_in_progress(person, key) and time.monotonic() < until:
        release_request_connection()
        time.sleep(0.05)
    return access.imported(person, key)


def as_imported(frame: Frame) -> Frame:
    """The frame without characters that PostgreSQL cannot store, and without what it cannot be here.

    An assistant's frame under a name of the product's own keeps the name, so that no model reads it. What people may see of it is a note,
    which pages mark as imported, or a reasoning summary if its lines prove to be ours. A document becomes an ordinary message: a document
    without its file is invisible, and an import must not give a model text that its owner cannot see.
    """
    header, body = frame.header, characters.storable(frame.body)
    if header.role == Role.ASSISTANT and header.name in _RESERVED:
        is_note = may_see(header, Audience.END_USER)
        return Frame(_RESERVED[header.name], body) if is_note else replace(frame, body=body)
    if header.name in (*_RESERVED, DOCUMENT_NAME):
        header = replace(header, name=None)
    return replace(frame, header=header, body=body)


def _chain(frames: Iterable[Finished]) -> list[Placed]:
    """The frames of a transcript, each below the one before it.

    The first reasoning summary after each question becomes one again, if it has only our own sentences about that question.
    """
    chain, texts = list[Placed](), list[str]()
    can_be_summary = True
    for number, item in enumerate(frames):
        frame, lines = item.frame, None
        if frame.header.role == Role.USER and may_see(frame.header, Audience.END_USER):
            texts, can_be_summary = [frame.body], True
        elif frame.header == SUMMARY and can_be_summary:
            can_be_summary = False  # forged ones cost time, too: thousands, each compared with a long question, would take many minutes
            lines = lines_in(frame.body, texts)
            frame = frame_of(lines) if lines else frame
        metadata = FrameMetadata(is_complete=item.complete, error_code=item.error or "", activities=lines)
        chain.append(Placed(frame, number - 1 if number else None, metadata))
    return chain


_MOST_SUMMARIES = 10
"""The most reasoning summaries of one question, in all its versions, that are compared with it: forged ones cost time."""


def with_summaries(placed: Sequence[Placed]) -> list[Placed]:
    """The same frames. A reasoning summary becomes one again, if it has only our own sentences about the question above it."""
    questions, compared = list[int | None](), Counter[int | None]()
    found = list[Placed]()
    for index, item in enumerate(placed):
        above = questions[item.parent] if item.parent is not None else None
        header = item.frame.header
        questions.append(index if header.role == Role.USER and may_see(header, Audience.END_USER) else above)
        if header == SUMMARY and compared[above] < _MOST_SUMMARIES:
            compared[above] += 1
            lines = lines_in(item.frame.body, [placed[above].frame.body] if above is not None else [])
            if lines:
                item = replace(item, frame=frame_of(lines), metadata=replace(item.metadata, activities=lines))
        found.append(item)
    return found


def store_frames(conversation: Conversation, frames: Sequence[Placed], leaf: int) -> None:
    """Store the frames (at least one) of a new conversation, and make it visible to its owner, open at the frame with index ``leaf``.

    Raises:
        ImportRefusedError: it was erased meanwhile, or took too long.
        ImportedMeanwhileError: another upload imported the same conversation first; this one is erased.
    """
    try:
        keys = bulk_append.append_tree(conversation, frames)
        bulk_append.complete(conversation, keys[leaf])
    except ImportLostError:
        refuse(ProductCode.NOT_FOUND, gettext("the import was removed while it was being written"))
    except BaseException:
        with suppress(DatabaseError):  # then its lease expires, and the next sweep erases it
            erasure.erase_conversation(conversation.pk)
        raise


TITLE_CHARS = 60
UNTITLED = noop("Imported conversation")


@dataclass(frozen=True, slots=True)
class TranscriptFindings:
    """What a transcript has: how many frames, how many of them its owner may see, and how many problems, which are ignored."""

    frames: int
    visible: int
    problems: int
    reported: Sequence[Problem] = ()
    """The first of the problems."""
    unheld: Sequence[str] = ()
    """The header's settings that do not hold here (``document_headers``), by name."""
    is_fragment: bool = False
    """Whether the file has no header of version 2."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The new conversation, and what the file had."""

    conversation: Conversation
    findings: TranscriptFindings


def import_transcript(person: User, data: bytes) -> Imported:
    """Store an uploaded transcript as a conversation. Raises ImportRefusedError as ``look_at`` and ``check_no_other_import``."""
    check_no_other_import(person)
    conversation, frames, findings, codes = _read(person, data)
    bulk_append.begin(conversation)
    chain = _chain(frames)
    store_frames(conversation, chain, len(chain) - 1)
    if codes:
        log.info("conversation %s was imported with problems: %s", conversation.pk, counted(codes.elements()))
    return Imported(conversation, findings)


def look_at(person: User, data: bytes) -> TranscriptFindings:
    """What an uploaded transcript has, without storing anything. Raises ImportRefusedError if it is too large, not a transcript, or has
    nothing that its owner may see."""
    return _read(person, data)[2]


def _read(person: User, data: bytes) -> tuple[Conversation, list[Finished], TranscriptFindings, Counter[ErrorCode]]:
    """The conversation of a transcript, not saved yet, its frames, what was found in it, and how often each problem was."""
    read = upload.read(data)
    frames = [replace(item, frame=as_imported(item.frame)) for item in read.finished]
    visible = [item.frame for item in frames if may_see(item.frame.header, Audience.END_USER)]
    if not visible:
        refuse(ProductCode.EMPTY, gettext("the transcript contains no message that you may see"))
    conversation = _conversation(person, read.header, show(visible[0], Audience.END_USER))
    unheld = document_headers.unheld_settings(conversation)
    findings = TranscriptFindings(len(frames), len(visible), read.problems, read.reported, unheld, read.header.is_version_1)
    return conversation, frames, findings, read.codes


def _conversation(person: User, header: DocumentHeader, first: VisibleText) -> Conversation:
    """The conversation's row, not saved yet.

    The title is taken from text that its owner may see, never from the file's header, which could contain anything.
    """
    effort = str(header.settings.get("reasoning_effort", ""))
    try:
        text = document_headers.text_of(header)
    except OpenChatMLError as error:
        raise ImportRefusedError(error.problem) from None
    return Conversation(
        owner=person,
        title=titles.title_of(first, TITLE_CHARS) or gettext(UNTITLED),
        model=transcripts.header_text(header.model or ""),
        effort=effort if effort in Effort.values else Effort.MEDIUM,
        document_header=text,
    )


def tree_of(exported: ExportedConversation) -> tuple[Sequence[Placed], int]:
    """All frames of a conversation, and the index of the last one on the branch that was open there. A node whose parent does not exist is
    a root; duplicates and nodes in cycles are left out and counted."""
    nodes: dict[str, Node] = {}
    for node in exported.nodes:
        nodes.setdefault(node.key, node)
    placed, ends = list[Placed](), dict[str, int | None]()
    for node in _in_order(nodes):
        end = ends.get(node.parent) if node.parent is not None else None
        for frame in node.frames:
            placed.append(Placed(frame, end, FrameMetadata(is_complete=node.is_complete), node.at))
            end = len(placed) - 1
        ends[node.key] = end
    exported.left_out[DroppedKind.UNPLACED] += len(exported.nodes) - len(ends)
    current = ends.get(exported.current)
    return placed, _end_below(placed, len(placed) - 1 if current is None else current)


def _in_order(nodes: dict[str, Node]) -> Iterator[Node]:
    children: dict[str | None, list[Node]] = {}
    for node in nodes.values():
        children.setdefault(node.parent if node.parent in nodes else None, []).append(node)
    waiting = children.get(None, [])[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children.get(node.key, []))


def _end_below(placed: Sequence[Placed], place: int) -> int:
    """The index of the last frame of the branch through a frame: at each fork, the last child."""
    last_child = {item.parent: index for index, item in enumerate(placed)}
    while place in last_child:
        place = last_child[place]
    return place
