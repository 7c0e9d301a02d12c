"""Prepares a question's documents, and stores them before the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from chatui.codes import ProductCode
from chatui.model_servers import model_choice
from chatui.model_servers.model_choice import NoSuchModelError
from chatui.models import Conversation, Message, SentDocument, Turn, User
from chatui.models.files.document import DocumentUse
from chatui.permissions import access
from chatui.store.documents import attached, budget, passages
from chatui.store.documents.attached import NoSuchFileError, PreparedDocument, TooLargeError
from chatui.store.documents.page_ranges import PlacesError
from chatui.store.transcripts import TreePosition
from chatui.turns.requests.by_person import Ask, Kind
from chatui.turns.requests.refusal import AskRefusedError


def prepared(person: User, ask: Ask) -> Ask:
    """The request with its documents. This can take seconds, so it must not run in the writer. A repeated request is returned unchanged.

    Raises:
        NotFoundError: a file does not exist, has no text, or lacks the requested pages.
        AskRefusedError: the documents do not fit together, or one is to be searched and the model cannot search.
    """
    if Turn.objects.filter(asked_by=person, client_id=ask.client_id).exists():
        return ask
    choice = _choice(person, ask)
    if any(use.use == DocumentUse.SEARCH for use in ask.files) and not budget.can_search(choice):
        raise AskRefusedError(ProductCode.TOO_LARGE)
    room = budget.room(person, budget.context_of(person, choice), ask.text)
    try:
        documents = tuple(attached.prepare(person.pk, ask.files, room, _of_edited(person, ask)))
    except (NoSuchFileError, PlacesError):
        raise access.NotFoundError from None
    except TooLargeError:
        raise AskRefusedError(ProductCode.TOO_LARGE) from None
    for each in documents:
        if each.use.use == DocumentUse.SEARCH:
            passages.index(each.file.content_id)
    return replace(ask, documents=documents)


def _of_edited(person: User, ask: Ask) -> frozenset[UUID]:
    """The files of the question that is being edited: the new version may use them too."""
    if ask.kind is not Kind.EDIT:
        return frozenset()
    question = access.message_of(access.own_conversation(person, ask.conversation), ask.question)
    return frozenset(row.file_id for row in of_question(question) if row.file_id)


def put(conversation: Conversation, place: TreePosition, documents: Sequence[PreparedDocument]) -> TreePosition:
    """Store the documents at a place, in the caller's transaction. Returns the place of the question.

    Raises:
        NotFoundError: a file has meanwhile been sent or deleted.
    """
    if not documents:
        return place
    try:
        return attached.put(conversation, place, documents)
    except NoSuchFileError:
        raise access.NotFoundError from None


def of_question(question: Message) -> tuple[SentDocument, ...]:
    """The documents that came with a question, as pages show them. One statement; none for a conversation's first question without any."""
    return attached.of_questions([question]).get(question.pk, ())


def tokens_of(ask: Ask) -> int:
    """The approximate token count of a question's documents."""
    return sum(each.given.tokens for each in ask.documents)


def _choice(person: User, ask: Ask) -> str:
    """The model that will read the documents. Whether it exists is only checked when the turn starts."""
    choice = ask.choice or ""
    if ask.choice is None and ask.conversation is not None:
        choice = access.own_conversation(person, ask.conversation).choice
    try:
        return model_choice.validated(person, choice)
    except NoSuchModelError:
        return choice
