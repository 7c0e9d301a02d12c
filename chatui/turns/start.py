"""Starts a turn: checks the question, stores it, and creates the turn's row, in one transaction.

If a person has a token limit, tokens are reserved for the turn, estimated from the conversation. A question's documents are prepared, and
stored before the question.

Nothing is sent to a model here. ``running.ask`` runs this in the writer, and then launches the new turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import compress
from uuid import UUID

from django.utils import timezone

from chatui.accounts import sessions
from chatui.codes import ProductCode
from chatui.database import connections
from chatui.database.statements import insert, locking, new, read, update
from chatui.env import environment
from chatui.instructions import instructions_for
from chatui.model_servers import choice as model_choice
from chatui.model_servers.choice import NoSuchModelError
from chatui.models.conversation import Conversation, Effort
from chatui.models.files import DocumentUse, SentDocument
from chatui.models.message import Author, Message
from chatui.models.tools import ToolRule
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access, assistants, collections
from chatui.permissions.collections import MAX_ASKED
from chatui.store import context_use, continuation, passages, temporary, titles, transcripts
from chatui.store import documents as store_documents
from chatui.store.document_frames import PlacesError, TooLargeError
from chatui.store.documents import NoSuchFileError
from chatui.store.transcripts import TreePosition
from chatui.turns import program_start, sweep
from chatui.turns.asks import Ask as Ask
from chatui.turns.asks import AskKind
from chatui.turns.asks import AskRefusedError as AskRefusedError
from chatui.turns.leases import LEASE
from chatui.turns.program_start import BegunProgram
from chatui.turns.running_turn import RunningTurn
from chatui.usage import counting, reserving
from chatui.usage.limits import limits_of
from chatui.usage.reserving import LimitReachedError, Reserved
from renderer import characters
from renderer.frames import Frame, Header, Role


def reserved_for(person: User, conversation: UUID | None, text: str, tokens_before: int) -> Reserved | None:
    """The reservation; None if the person has no limit. If nobody has one, this takes no statement. Call with the person's row locked.

    Raises:
        AskRefusedError: a limit is reached.
    """
    limits = limits_of(person)
    if not limits:
        return None
    before = tokens_before
    if conversation is not None and not limits.day_tokens == limits.month_tokens is None:
        # The next answer reads about as much as the last one read and wrote.
        last = Turn.objects.filter(conversation=conversation, asked_by=person).order_by("-started_at")
        before += sum(number or 0 for number in last.values_list("input_tokens", "output_tokens").first() or ())
    try:
        return reserving.reserve(person, limits, counting.tokens_to_reserve(text, before))
    except LimitReachedError as reached:
        raise AskRefusedError(reached.code, reached.until) from None


def prepared(person: User, ask: Ask) -> Ask:
    """The request with its documents. This can take seconds, so it must not run in the writer. A repeated request is returned unchanged.

    Raises:
        NotFoundError: a file does not exist, has no text, or lacks the requested pages.
        AskRefusedError: the documents do not fit together, or one is to be searched and the model cannot search.
    """
    if Turn.objects.filter(asked_by=person, client_id=ask.client_id).exists():
        return ask
    choice = _choice(person, ask)
    if any(use.use == DocumentUse.SEARCH for use in ask.files) and not context_use.can_search(choice):
        raise AskRefusedError(ProductCode.TOO_LARGE)
    room = context_use.room(person, context_use.context_of(person, choice), ask.text)
    try:
        documents = tuple(store_documents.prepare(person.pk, ask.files, room, _of_edited(person, ask)))
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
    if ask.kind is not AskKind.EDIT:
        return frozenset()
    question = access.message_of(access.own_conversation(person, ask.conversation), ask.question)
    return frozenset(row.file_id for row in of_question(question) if row.file_id)


def of_question(question: Message) -> tuple[SentDocument, ...]:
    """The documents that came with a question, as pages show them. One statement; none for a conversation's first question without any."""
    return store_documents.of_questions([question]).get(question.pk, ())


def tokens_of(ask: Ask) -> int:
    return sum(each.given.tokens for each in ask.documents)


def _choice(person: User, ask: Ask) -> str:
    """The model that will read the documents. Whether it exists is only checked when the turn starts."""
    try:
        if ask.choice:
            return model_choice.validated(person, ask.choice)
        return model_choice.unnamed(person, access.own_conversation(person, ask.conversation) if ask.conversation else None)
    except NoSuchModelError:
        return ask.choice or ""


def start(person: User, ask: Ask, lease_owner: str, is_queued: bool = False) -> RunningTurn:
    """Store the question, and what a program sent with it, and create the turn. Call inside a transaction. ``is_queued``: there may be no
    slot for the turn when it is launched, so its row says from the start that it waits.

    Raises:
        IntegrityError: another process was faster, with the same request or another one in this conversation; see ``started_before``.
        AskRefusedError: the person has been signed out or has reached a limit, the text is empty or too long, an answer is being written in
            this conversation or too many in others, the answer cannot be continued, or the model is not available to this person.
        access.NotFoundError: the conversation, the folder, the assistant, a collection, the question or the answer is not this person's.
        Others: of a program, see ``program_start.begin``.
    """
    if ask.kind is not AskKind.CONTINUE and ask.effort not in Effort:
        raise AskRefusedError(ProductCode.COMMAND)
    ask = _checked(ask)
    person, has_asked, has_key, elsewhere, groups = _locked(person, ask)
    if has_asked:
        return started_before(person, ask)
    if ask.key and not has_key:
        ask = replace(ask, key=None)
    sent = program_start.begin(person, ask, ask.program) if ask.program else None
    ask = sent.ask if sent else ask
    reservation = reserved_for(person, ask.conversation, ask.text, tokens_of(ask) + (sent.tokens if sent else 0))
    if ask.program is None and elsewhere >= environment().max_running_answers:  # programs wait for a slot instead
        raise AskRefusedError(ProductCode.TOO_MANY)
    started = _start(person, ask, sent)
    turn, started.groups, started.near = started.turn, groups, reservation.near if reservation else None
    turn.client_id, turn.key_id, turn.reserved_tokens = ask.client_id, ask.key, reservation.tokens if reservation else None
    turn.lease_owner, turn.is_queued = lease_owner, is_queued
    if ask.documents or (ask.program and ask.program.before):  # they may be large, and are stored
        started.ask = replace(ask, documents=(), program=ask.program and replace(ask.program, before=()))
    insert([turn], lease_until=connections.after_sql(LEASE))
    if sent:
        started.place_id = program_start.complete(person, sent, turn)
    return started


def _locked(person: User, ask: Ask) -> tuple[User, bool, bool, int, frozenset[str]]:
    """The person, if they are still signed in; whether the same request has already started a turn; whether a program's key was not deleted
    meanwhile; how many answers are being written for them in other conversations; and those of their groups that limit answers.

    Their row is locked, because a page may repeat its request over a new socket, in another process, while the first is still being stored.

    Raises:
        AskRefusedError: the person has been signed out.
    """
    limited = tuple({**environment().group_answers_at_once, **(environment().group_api_at_once if ask.program else {})})
    also = (_HAS_ASKED, _HAS_KEY, _ELSEWHERE + connections.after_sql(timedelta()) + ")", *[_IS_IN] * len(limited))
    values, end = (ask.client_id, ask.key, ask.conversation or _NONE, *limited), locking("chatui_user")
    if ask.session:
        found = sessions.read_again(ask.session, end, *values, also=also)
    else:
        found = next(iter(read(User, "id = %s" + end, *values, person.pk, also=also)), None)
    if found is None:
        raise AskRefusedError(ProductCode.SIGNED_OUT)
    person, (has_asked, has_key, elsewhere, *is_in) = found
    return person, bool(has_asked), bool(has_key), elsewhere, frozenset(compress(limited, is_in))


_NONE = UUID(int=0)
_HAS_ASKED = "EXISTS (SELECT 1 FROM chatui_turn WHERE asked_by_id = chatui_user.id AND client_id = %s)"
_HAS_KEY = "EXISTS (SELECT 1 FROM chatui_apikey WHERE id = %s)"
_ELSEWHERE = (
    "(SELECT COUNT(*) FROM chatui_turn WHERE asked_by_id = chatui_user.id AND conversation_id <> %s AND state = 'running' "
    "AND key_id IS NULL "
    "AND lease_until >= "
)
_IS_IN = (
    "EXISTS (SELECT 1 FROM chatui_user_groups JOIN auth_group ON auth_group.id = group_id WHERE user_id = chatui_user.id AND name = %s)"
)


def started_before(person: User, ask: Ask) -> RunningTurn:
    """The turn that the same request has already started. Database constraints allow each request once, and one running turn per
    conversation: checks in code could race.

    Raises:
        AskRefusedError: there is none; another request's answer is being written in this conversation.
    """
    turns = Turn.objects.filter(asked_by=person, client_id=ask.client_id)
    turn = turns.select_related("conversation", "question", "continued_message", "asked_by").first()
    if turn is None:
        raise AskRefusedError(ProductCode.BUSY)
    return started_again(turn, ask)


def started_again(turn: Turn, ask: Ask | None = None, kind: AskKind = AskKind.SEND) -> RunningTurn:
    """A turn that is already stored. ``turn`` must come with its conversation, question, continued message and asking person. ``kind``:
    of its request, if that is not known, and its turn continues no answer."""
    cut = turn.continued_message
    ask = ask or Ask(AskKind.CONTINUE if cut else kind, turn.client_id, turn.effort)
    question = access.message_of(turn.conversation, turn.question_id, after=transcripts.question_before())
    started = RunningTurn(turn, vars(question)["after"], ask, is_new=False, continued_turn=cut.turn_id if cut else None)
    limited = environment().group_answers_at_once
    started.groups = frozenset(limited.keys() & set(turn.asked_by.group_names()) if limited else ())
    started.place_id = program_start.place_of(turn) if ask.program else None
    return started


def _checked(ask: Ask) -> Ask:
    text = characters.storable(ask.text)
    if ask.program is None and ask.kind in (AskKind.SEND, AskKind.EDIT) and not text.strip():
        raise AskRefusedError(ProductCode.EMPTY)
    if ask.program is None and len(text) > environment().max_message_chars:  # that of a message box: what a program sends, the model limits
        raise AskRefusedError(ProductCode.TOO_LARGE)
    return ask if text == ask.text else replace(ask, text=text)


def _turn(person: User, question: Message, choice: str, effort: str, continued: Message | None = None) -> Turn:
    """The row of the turn, as far as it is known where its question is."""
    return new(
        Turn,
        conversation=question.conversation,
        question=question,
        asked_by=person,
        effort=effort,
        choice=choice,
        continued_message=continued,
        error_cause="",
    )


@dataclass(frozen=True, slots=True)
class Tree:
    """A conversation, and the end of its open branch: the keys of its last message and last question, and the next free position."""

    conversation: Conversation
    leaf_id: UUID | None = None
    last_question: UUID | None = None
    position: int = 0


def _start(person: User, ask: Ask, sent: BegunProgram | None) -> RunningTurn:
    """Store the question. The turn is not stored yet."""
    is_begun = sent is not None and sent.place is None
    # None: the question starts a new conversation.
    tree = Tree(sent.conversation) if sent and sent.is_empty else None
    if tree is None and ask.conversation is not None:
        tree = _own(person, ask.conversation)
    if tree is not None and ask.kind is AskKind.CONTINUE:
        return _continue_answer(person, tree.conversation, ask) if ask.question is None else _continue_exchange(person, tree, ask, is_begun)
    chosen = _chosen(person, ask.choice, tree.conversation if tree else None)
    if tree is None:
        tree = Tree(_new_conversation(person, ask, chosen))
    elif not is_begun:  # otherwise it has these settings already
        _touch_with_settings(tree.conversation, ask.effort, _remembered(person, ask, chosen, tree.conversation))
    question, after, base = _question(tree, ask)
    transcripts.activate(tree.conversation, person, question)
    is_old = ask.kind is AskKind.REGENERATE or ask.conversation is None or is_begun
    documents = of_question(question) if ask.documents or ask.kind is AskKind.EDIT else ()
    others = () if is_old else transcripts.question_versions(tree.conversation, base)
    return RunningTurn(_turn(person, question, chosen, ask.effort), after, ask, versions=others, documents=documents)


def _own(person: User, key: object) -> Tree:
    row, is_late, (leaf, last_question, last) = access.own_opened(person, key, *transcripts.TREE_END)
    row.owner = person
    if is_late and sweep.interrupt_abandoned(row):
        return _own(person, key)
    leaf, last_question = (each and connections.as_uuid(each) for each in (leaf, last_question))
    return Tree(row, leaf, last_question, 0 if last is None else last + 1)


def _continue_answer(person: User, conversation: Conversation, ask: Ask) -> RunningTurn:
    """A turn that continues the answer of an earlier turn. Messages after that answer stay, on a branch of their own."""
    cut = access.turn_of(conversation, ask.continued_turn, after=transcripts.question_before())
    end = continuation.end_of(cut, with_text=True)
    if cut.state == TurnState.RUNNING:
        raise AskRefusedError(ProductCode.BUSY)
    if end is None or continuation.continuation_of(cut, end) is None:
        raise AskRefusedError(ProductCode.COMMAND)
    cut.question.conversation = conversation
    if end.turn_id == cut.pk:
        end.turn = cut
    transcripts.activate(conversation, person, end)
    turn = _turn(person, cut.question, _chosen_before(person, cut, conversation), cut.effort, end)
    touch(conversation)
    return RunningTurn(turn, vars(cut)["after"], ask, continued_turn=cut.pk)


def _continue_exchange(person: User, tree: Tree, ask: Ask, is_begun: bool) -> RunningTurn:
    """A turn that continues an exchange after the replies of a program's functions: its answer follows the last message."""
    conversation = tree.conversation
    question = access.message_of(conversation, ask.question, after=transcripts.question_before())
    question.conversation = conversation
    chosen = _chosen(person, ask.choice, conversation)
    if not is_begun:
        _touch_with_settings(conversation, ask.effort, chosen)
    last = access.message_of(conversation, tree.leaf_id) if ask.continued_turn else None
    turn = _turn(person, question, chosen, ask.effort, last)
    return RunningTurn(turn, vars(question)["after"], ask, continued_turn=last.turn_id if last else None)


def _touch_with_settings(conversation: Conversation, effort: str, choice: str) -> None:
    """As ``touch``, and store the model and effort of the request."""
    conversation.effort, conversation.choice = effort, choice
    touch(conversation, "effort", "choice")


def touch(conversation: Conversation, *changed: str) -> None:
    """Move the conversation to the top of the list, even from the archive, and mark it as read, since the person has it open. Store
    ``changed``, too.

    Raises:
        NotFoundError: the conversation was erased meanwhile.
    """
    conversation.active_at, conversation.has_news, conversation.archived_at = timezone.now(), False, None
    names = ("active_at", "has_news", "archived_at", *changed)
    if not update("chatui_conversation", {name: getattr(conversation, name) for name in names}, "id = %s", conversation.pk):
        raise access.NotFoundError
    if conversation.temporary_until is not None:
        temporary.ask(conversation)


def _chosen(person: User, choice: str | None, conversation: Conversation | None = None) -> str:
    """The model to use, checked for each turn: a model that the person could use yesterday may have been withdrawn. ``conversation``: the
    one that says which, if ``choice`` names none."""
    try:
        return model_choice.validated(person, choice) if choice else model_choice.unnamed(person, conversation)
    except model_choice.NoSuchModelError as error:
        raise AskRefusedError(error.code) from None


def _remembered(person: User, ask: Ask, chosen: str, conversation: Conversation) -> str:
    """The choice that the conversation stays with after this question: the one of its message box."""
    if ask.stays_with is None:
        return chosen
    try:
        return model_choice.validated(person, ask.stays_with)
    except model_choice.NoSuchModelError:
        return model_choice.remembered(conversation)


def _chosen_before(person: User, cut: Turn, conversation: Conversation) -> str:
    """The model that wrote the answer which is to be continued. No other continues it, not even one of the same server.

    If that is not known, as of an answer from before choices were stored, it is the one that the conversation stays with.
    """
    if not cut.choice:
        return _chosen(person, None, conversation)
    found = model_choice.current(model_choice.choices_for(person), cut.choice, cut.model)
    if found is None:
        raise AskRefusedError(ProductCode.NO_SUCH_MODEL)
    return cut.choice if cut.choice in (found.value, found.exact) else found.exact


def _new_conversation(person: User, ask: Ask, choice: str) -> Conversation:
    """Store a conversation with everything that the person has chosen for it before their first question."""
    folder = access.own_folder(person, ask.folder, locked=True) if ask.folder and not ask.temporary else None
    version = assistants.to_begin_with(person, ask.assistant, locked=True) if ask.assistant else None
    asked = [collections.to_use(person, key) for key in ask.collections[:MAX_ASKED]]
    # A temporary conversation has no title, because it would appear in the browser's history.
    title = "" if ask.temporary else titles.first_title(ask.text)
    answers = ask.answer_format.stored() if ask.answer_format else None
    row = new(
        Conversation,
        owner=person,
        title=title,
        effort=ask.effort,
        choice=choice,
        folder=folder,
        answer_format=answers,
        temporary_until=timezone.now() if ask.temporary else None,
        began_with_assistant=version is not None,
        assistant_version=version,
        has_collections=bool(asked),
    )
    insert([row])
    if ask.temporary:
        temporary.ask(row)  # which says until when, by the database's clock
    if asked:
        row.collections.set(asked)
    if ask.tools_off:
        ToolRule.objects.bulk_create(ToolRule(conversation=row, tool=name, is_allowed=False) for name in sorted(ask.tools_off))
    return row


def _question(tree: Tree, ask: Ask) -> tuple[Message, UUID | None, UUID | None]:
    """The question of the new turn, the question before it on its branch, and the message above all its versions and their documents."""
    conversation = tree.conversation
    if ask.kind is AskKind.SEND:
        place, after = _end(tree), tree.last_question
        base = place.parent_id
    else:
        old = access.message_of(conversation, ask.question, after=transcripts.question_before())
        if not old.is_question:
            raise access.NotFoundError
        old.conversation = conversation
        after = vars(old)["after"]
        base = transcripts.base_of(old)
        if ask.kind is AskKind.REGENERATE:
            return old, after, base
        place = TreePosition(base if ask.has_own_files else old.parent_id, tree.position)
    if ask.documents:
        try:
            place = store_documents.put(conversation, place, ask.documents)
        except NoSuchFileError:  # one was sent or deleted meanwhile
            raise access.NotFoundError from None
    return transcripts.append_at(conversation, place, Frame(Header(Role.USER), ask.text), Author.PERSON), after, base


def _end(tree: Tree) -> TreePosition:
    """The place after the open branch. In an empty conversation, the operator's instructions are stored first, so that the transcript is
    complete, and the place is after them."""
    instructions = "" if tree.leaf_id is not None else instructions_for(tree.conversation.owner.group_names)
    if not instructions:
        return TreePosition(tree.leaf_id, tree.position)
    start = TreePosition(None, tree.position)
    root = transcripts.append_at(tree.conversation, start, Frame(Header(Role.DEVELOPER), instructions), Author.PRODUCT)
    return TreePosition(root.pk, tree.position + 1)
