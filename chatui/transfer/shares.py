"""Creates, reads and revokes share links. A link shows everybody who has it a snapshot of the visible text of one branch."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chatui.accounts import profile
from chatui.audit_log.record import Visitor, record
from chatui.database import connections
from chatui.env import environment
from chatui.models.conversation import Conversation, ImportSource
from chatui.models.message import Message
from chatui.models.shares import ShareLink
from chatui.models.user import User
from chatui.permissions import access, shares
from chatui.store import bulk_append, opened_pages, titles, transcripts
from chatui.store import documents as store_documents
from chatui.store.bulk_append import Placed
from chatui.store.titles import own_words
from chatui.store.transcripts import FrameMetadata
from chatui.transfer import imports
from renderer.frame_kinds import PRODUCT_NAMES, is_document, is_preamble
from renderer.frames import Role
from renderer.gate import Audience, VisibleText, show
from renderer.markup import html
from renderer.markup.citations import Pages
from renderer.markup.html import SafeHtml

DAYS = (1, 7, 30)
FOR_EVER = 0
"""The number of days that means "never expires"."""

_TOKEN_BYTES = 16


@dataclass(frozen=True, slots=True)
class SharedMessage:
    """One message of a snapshot. ``kind`` is ``question``, ``final``, ``preamble`` or ``document``; only a document has ``name`` and
    ``text``. It has no id, so that nothing outside the snapshot can be addressed.
    """

    kind: str
    blocks: tuple[SafeHtml, ...]
    is_complete: bool
    is_long: bool = False
    name: str = ""
    text: VisibleText | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SharedConversation:
    """The content that everybody with the link sees."""

    title: VisibleText = field(repr=False)
    name: str
    """Empty if the owner did not want to be named."""
    at: datetime
    messages: tuple[SharedMessage, ...]
    is_imported: bool
    """Whether the conversation was uploaded, so its real author is unknown."""
    imported_from: str
    """The product that it was exported from."""
    is_copy: bool
    """Whether it is a copy of another shared conversation, whose author is unknown as well."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The content that a link created now would show."""

    shared: SharedConversation
    leaf: str
    """The last message of the snapshot, so that exactly the previewed text is shared."""
    documents: tuple[str, ...] = ()
    """Names of documents, which are shared only if the owner chooses to."""


@dataclass(frozen=True, slots=True)
class Link:
    """A share link in its owner's list. ``ends_at`` None: it never expires."""

    id: str
    token: str
    title: str
    conversation_id: str
    made_at: datetime
    ends_at: datetime | None


def days_to_choose() -> list[int]:
    """The lifetimes to choose from, in days, the default first, with FOR_EVER if the operator allows it. Empty: sharing is off."""
    most = environment().share_max_days
    if most == 0:
        return []
    if most < 0:
        return [7, 1, 30, FOR_EVER]
    days = sorted({day for day in (*DAYS, most) if day <= most})
    return sorted(days, key=lambda day: (day != 7, day))


def preview(person: User, conversation_id: object) -> Preview:
    """The snapshot of the branch that is open now, as everybody with the link would see it. Raises NotFoundError if there is no such
    conversation, it has no visible message, or this person may not share."""
    row = _shareable(person, conversation_id)
    branch = transcripts.branch(row, transcripts.active_leaf(row, person), for_page=True)
    messages = _visible_messages(branch)
    if not messages:
        raise access.NotFoundError
    # The snapshot ends at the last visible message: web pages opened after it are not shared.
    snapshot = branch[: branch.index(messages[-1]) + 1]
    shared = SharedConversation(titles.title_text(row), "", timezone.now(), _shared_messages(messages, snapshot), *_origin(row))
    documents_by_question = store_documents.of_questions([message for message in messages if message.role == Role.USER])
    names = tuple(document.file.name for documents in documents_by_question.values() for document in documents if document.file)
    return Preview(shared, str(messages[-1].pk), names)


@dataclass(frozen=True, slots=True)
class ShareOptions:
    """The optional content of a link besides questions and answers: the owner's name, and the documents of the questions."""

    name: bool = False
    documents: bool = False


def create(visitor: Visitor, conversation_id: object, leaf_id: object, days: int, options: ShareOptions) -> Link:
    """Create a link to the branch that ends in a visible message of the person's own conversation. Recorded in the audit log. Raises
    NotFoundError if there is no such conversation or message, the lifetime is not offered, sharing is off, or this person may not share."""
    person = access.person_of(visitor)
    if days not in days_to_choose():
        raise access.NotFoundError
    leaf = access.visible_message(visitor, conversation_id, leaf_id, action="make share link")
    row = _shareable(person, conversation_id)
    with transaction.atomic():
        detail = f"for {days} days" if days != FOR_EVER else "without end"
        record("make share link", visitor, row, detail=f"{detail}, with documents" if options.documents else detail)
        link = ShareLink.objects.create(
            token=secrets.token_urlsafe(_TOKEN_BYTES),
            conversation=row,
            leaf=leaf,
            title=row.title,
            shown_name=profile.shown_name(person) if options.name else "",
            has_documents=options.documents,
            created_by=person,
            expires_at=connections.after(timedelta(days=days)) if days != FOR_EVER else None,
        )
        link.refresh_from_db(fields=["expires_at"])
    return _as_link(link)


def read(token: str) -> SharedConversation:
    """The content of a link. Raises NotFoundError if the link does not exist, has expired, was revoked, or may not be read now."""
    link = shares.share_link(token)
    branch = transcripts.branch(link.conversation, link.leaf, for_page=not link.has_documents)
    title = own_words(link.title)
    messages = _visible_messages(branch, with_documents=link.has_documents)
    return SharedConversation(title, link.shown_name, link.created_at, _shared_messages(messages, branch), *_origin(link.conversation))


@dataclass(frozen=True, slots=True)
class Copyable:
    """What whoever has a link may copy. ``documents``: the names of those that readers of the link see, none of which is copied."""

    title: VisibleText = field(repr=False)
    name: str
    documents: tuple[str, ...]


def copyable(token: str) -> Copyable:
    """Raises NotFoundError as ``read``."""
    link = shares.share_link(token)
    questions = [message for message in _snapshot_of(link) if message.role == Role.USER]
    documents = store_documents.of_questions(questions) if link.has_documents else {}
    names = tuple(document.file.name for found in documents.values() for document in found if document.file)
    return Copyable(own_words(link.title), link.shown_name, names)


def copy(person: User, token: str, key: UUID) -> Conversation:
    """Store what readers of a link see as a new conversation of this person, without its documents.

    It is an import, as a transcript of the same would be: the person did not write it. Revoking the link does not reach it. ``key``: of the
    page with the button; a second click on it leads to the copy that the first one made.

    Raises:
        NotFoundError: as ``read``.
        ImportRefusedError: another import of this person is running, or this one was erased while it ran.
    """
    link = shares.share_link(token)
    import_key = f"copy {key}"
    if (made := imports.completed(person, import_key)) is not None:
        return made
    imports.check_no_other_import(person)
    messages = _snapshot_of(link)
    frames = transcripts.transcript(link.conversation, messages, Audience.END_USER).frames
    chain = [
        Placed(imports.as_imported(frame), number - 1 if number else None, FrameMetadata(is_complete=message.is_complete))
        for number, (frame, message) in enumerate(zip(frames, messages, strict=True))
    ]
    conversation = Conversation(
        owner=person, title=link.title, effort=link.conversation.effort, imported_from=ImportSource.SHARED, import_key=import_key
    )
    bulk_append.begin(conversation)
    try:
        imports.store_frames(conversation, chain, len(chain) - 1)
    except bulk_append.ImportedMeanwhileError:
        return access.existing(imports.completed(person, import_key))
    return conversation


def _snapshot_of(link: ShareLink) -> list[Message]:
    """What readers of a link see, without documents."""
    return _visible_messages(transcripts.branch(link.conversation, link.leaf, for_page=True))


def _origin(row: Conversation) -> tuple[bool, str, bool]:
    """Whether a conversation was uploaded, the name of the product that it was exported from, and whether it is a copy of a shared one."""
    if row.imported_from == ImportSource.SHARED:
        return False, "", True
    return row.imported_at is not None, row.get_imported_from_display(), False


def links(person: User, conversation_id: object | None = None) -> list[Link]:
    """The person's active links, newest first, of one conversation or of all."""
    found = shares.own_share_links(person)
    if conversation_id is not None:
        found = found.filter(conversation=access.own_conversation(person, conversation_id))
    return [_as_link(link) for link in found]


def revoke(visitor: Visitor, *, link_id: UUID | None = None, conversation_id: UUID | None = None) -> int:
    """Revoke one of the person's links, those to one conversation, or all. Each is recorded. Returns the number of links."""
    person = access.person_of(visitor)
    found = shares.own_share_links(person)
    if link_id is not None:
        found = found.filter(pk=link_id)
    if conversation_id is not None:
        found = found.filter(conversation=access.own_conversation(person, conversation_id))
    revoked = list(found)
    if link_id is not None and not revoked:
        raise access.NotFoundError
    with transaction.atomic():
        for link in revoked:
            record("revoke share link", visitor, link.conversation)
        ShareLink.objects.filter(pk__in=[link.pk for link in revoked]).update(revoked_at=timezone.now())
    return len(revoked)


def _shareable(person: User, conversation_id: object) -> Conversation:
    row = access.own_permanent(person, conversation_id)
    if not shares.may_share(person):
        raise access.NotFoundError
    return row


def _visible_messages(branch: Sequence[Message], *, with_documents: bool = False) -> list[Message]:
    """The messages of a branch that readers of the link see.

    Reasoning summaries and notes about tools are only for the person who asked.
    """
    return [
        message
        for message in branch
        if (message.is_visible and message.name not in PRODUCT_NAMES) or (with_documents and _is_document(message))
    ]


def _is_document(message: Message) -> bool:
    return is_document(transcripts.header_of(message))


def _shared_messages(messages: Sequence[Message], branch: Sequence[Message]) -> tuple[SharedMessage, ...]:
    """The messages as readers see them. ``branch`` includes hidden messages, such as the tool calls of an unfinished answer."""
    turns = {message.turn_id for message in branch if message.turn_id}
    pages = opened_pages.of_turns(turns, (message.text for message in messages))
    named = store_documents.names_and_tokens([message.pk for message in messages if _is_document(message)])
    shown = []
    for message in messages:
        if message.pk in named:  # a document that the owner chose to share: text that they uploaded
            text = own_words(transcripts.frame_of(message).body)
            shown.append(SharedMessage("document", (), is_complete=True, name=named[message.pk][0], text=text))
        elif not _is_document(message):
            shown.append(_message(message, pages))
    return tuple(shown)


def _message(message: Message, pages: Pages) -> SharedMessage:
    frame = transcripts.frame_of(message)
    text = show(frame, Audience.END_USER)
    if message.role == Role.USER:
        return SharedMessage("question", (html.question(text),), is_complete=True, is_long=html.is_long(text))
    kind = "preamble" if is_preamble(frame.header) else "final"
    return SharedMessage(
        kind, html.render_blocks(html.as_markdown(frame.header, text), is_cut=not message.is_complete, pages=pages), message.is_complete
    )


def _as_link(link: ShareLink) -> Link:
    most = environment().share_max_days
    limit = link.created_at + timedelta(days=most) if most > 0 else None
    ends = [end for end in (link.expires_at, limit) if end is not None]
    return Link(str(link.pk), link.token, link.title, str(link.conversation_id), link.created_at, min(ends, default=None))
