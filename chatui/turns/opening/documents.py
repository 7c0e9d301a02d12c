"""Prepares a question's documents before it is stored, and inserts them before it."""

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
    """The ask with its documents, which may take seconds: not for the writer. An ask that came before comes back as it is.

    Raises:
        NotFoundError: a file is not there, has no text or no such places.
        AskRefusedError: together they do not fit, or the model cannot search in one that is to be searched.
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
    """The files of the question that is edited: they may come with the new one as well."""
    if ask.kind is not Kind.EDIT:
        return frozenset()
    question = access.message_of(access.own_conversation(person, ask.conversation), ask.question)
    return frozenset(row.file_id for row in of_question(question) if row.file_id)


def put(conversation: Conversation, place: TreePosition, documents: Sequence[PreparedDocument]) -> TreePosition:
    """Store the documents at a place, in the caller's transaction. Returns the place of the question.

    Raises:
        NotFoundError: a file was sent or deleted meanwhile.
    """
    if not documents:
        return place
    try:
        return attached.put(conversation, place, documents)
    except NoSuchFileError:
        raise access.NotFoundError from None


def of_question(question: Message) -> tuple[SentDocument, ...]:
    """The documents that came with a question, as pages show them. One statement, and none for the first question without any."""
    return attached.of_questions([question]).get(question.pk, ())


def tokens_of(ask: Ask) -> int:
    """About how many tokens the documents of a question have."""
    return sum(each.given.tokens for each in ask.documents)


def _choice(person: User, ask: Ask) -> str:
    """The model that is to read them, as far as it is known: whether it exists is checked when the turn starts."""
    choice = ask.choice or ""
    if ask.choice is None and ask.conversation is not None:
        choice = access.own_conversation(person, ask.conversation).choice
    try:
        return model_choice.chosen(person, choice)
    except NoSuchModelError:
        return choice
