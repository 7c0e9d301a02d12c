"""Starts a turn: checks the question, stores it, and creates the turn's row, in one transaction.

If a person has a token limit, tokens are reserved for the turn, estimated from the conversation. A question's documents are prepared, and
stored before the question.

Nothing is sent to a model here. ``running.ask`` runs this in the writer, and then launches the new turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
from chatui.permissions import access
from chatui.store import context_use, continuation, passages, temporary, transcripts
from chatui.store import documents as store_documents
from chatui.store.documents import NoSuchFileError, PlacesError, TooLargeError
from chatui.store.transcripts import TreePosition
from chatui.turns import sweep
from chatui.turns.asks import Ask as Ask
from chatui.turns.asks import AskKind
from chatui.turns.asks import AskRefusedError as AskRefusedError
from chatui.turns.leases import LEASE
from chatui.turns.running_turn import RunningTurn
from chatui.usage import counting, reserving
from chatui.usage.limits import limits_of
from chatui.usage.reserving import LimitReachedError, Reserved
from renderer.frames import Frame, Header, Role
from renderer.gate import Audience, show


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


TITLE_CHARS = 60


def start(person: User, ask: Ask, lease_owner: str, created: NewConversation | None = None) -> RunningTurn:
    """Store the question and create the turn. Call inside a transaction. ``created``: the conversation of ``ask``, if the same transaction
    has created it: then it is not read again.

    Raises:
        IntegrityError: another process was faster, with the same request or another one in this conversation; see ``started_before``.
        AskRefusedError: the person has been signed out or has reached a limit, the text is empty or too long, an answer is being written in
            this conversation or too many in others, the answer cannot be continued, or the model is not available to this person.
        access.NotFoundError: the conversation, the folder, the question or the answer does not belong to this person.
    """
    if ask.kind is not AskKind.CONTINUE and ask.effort not in Effort:
        raise AskRefusedError(ProductCode.COMMAND)
    text = _checked(ask)
    person, has_asked, elsewhere, groups = _locked(person, ask)
    if has_asked:
        return started_before(person, ask)
    reservation = reserved_for(person, ask.conversation, text, ask.tokens_before + tokens_of(ask))
    started = _start(person, _Wanted(ask, text, lease_owner, elsewhere, reservation.tokens if reservation else None, created))
    return replace(started, groups=groups, language=ask.language, near=reservation.near if reservation else None)


def _locked(person: User, ask: Ask) -> tuple[User, bool, int, frozenset[str]]:
    """The person, if they are still signed in; whether the same request has already started a turn; how many answers are being written for
    them in other conversations; and those of their groups that limit answers.

    Their row is locked, because a page may repeat its request over a new socket, in another process, while the first is still being stored.

    Raises:
        AskRefusedError: the person has been signed out.
    """
    limited = tuple(environment().group_answers_at_once)
    also = (_HAS_ASKED, _ELSEWHERE + connections.after_sql(timedelta()) + ")", *[_IS_IN] * len(limited))
    values, end = (ask.client_id, ask.conversation or _NONE, *limited), locking("chatui_user")
    if ask.session:
        found = sessions.read_again(ask.session, end, *values, also=also)
    else:
        found = next(iter(read(User, "id = %s" + end, *values, person.pk, also=also)), None)
    if found is None:
        raise AskRefusedError(ProductCode.SIGNED_OUT)
    person, (has_asked, elsewhere, *is_in) = found
    return person, bool(has_asked), elsewhere, frozenset(compress(limited, is_in))


_NONE = UUID(int=0)
_HAS_ASKED = "EXISTS (SELECT 1 FROM chatui_turn WHERE asked_by_id = chatui_user.id AND client_id = %s)"
_ELSEWHERE = (
    "(SELECT COUNT(*) FROM chatui_turn WHERE asked_by_id = chatui_user.id AND conversation_id <> %s AND state = 'running' "
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
    return replace(started_again(turn, ask.kind), language=ask.language)


def started_again(turn: Turn, kind: AskKind | None = None) -> RunningTurn:
    """A turn that is already stored. ``turn`` must come with its conversation, question, continued message and asking person."""
    cut = turn.continued_message
    kind = kind or (AskKind.CONTINUE if cut else AskKind.SEND)
    question = access.message_of(turn.conversation, turn.question_id, after=transcripts.question_before())
    started = RunningTurn(turn, vars(question)["after"], kind, is_new=False, continued_turn=cut.turn_id if cut else None)
    limited = environment().group_answers_at_once
    return replace(started, groups=frozenset(limited.keys() & set(turn.asked_by.group_names()) if limited else ()))


def _checked(ask: Ask) -> str:
    text = transcripts.storable(ask.text)
    if ask.kind in (AskKind.SEND, AskKind.EDIT) and not text.strip():
        raise AskRefusedError(ProductCode.EMPTY)
    if len(text) > environment().max_message_chars:
        raise AskRefusedError(ProductCode.TOO_LARGE)
    return text


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A conversation that the same transaction has created, with the model and effort of the request. ``is_empty``: it has no messages."""

    conversation: Conversation
    is_empty: bool


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A checked request: its storable text, the process that will run it, and how many other answers are being written."""

    ask: Ask
    text: str = field(repr=False)
    lease_owner: str
    running: int
    reserved_tokens: int | None
    created: NewConversation | None = None

    def turn(self, person: User, question: Message, choice: str, effort: str, continued: Message | None = None) -> Turn:
        turn = new(
            Turn,
            conversation=question.conversation,
            question=question,
            asked_by=person,
            client_id=self.ask.client_id,
            effort=effort,
            choice=choice,
            continued_message=continued,
            lease_owner=self.lease_owner,
            is_queued=self.ask.is_queued,
            key_id=self.ask.key,
            reserved_tokens=self.reserved_tokens,
            error_cause="",
        )
        insert([turn], lease_until=connections.after_sql(LEASE))
        return turn


@dataclass(frozen=True, slots=True)
class Tree:
    """A conversation, and the end of its open branch: the keys of its last message and last question, and the next free position."""

    conversation: Conversation
    leaf_id: UUID | None = None
    last_question: UUID | None = None
    position: int = 0


def _start(person: User, wanted: _Wanted) -> RunningTurn:
    ask = wanted.ask
    # None: the question starts a new conversation.
    tree = Tree(wanted.created.conversation) if wanted.created and wanted.created.is_empty else None
    if tree is None and ask.conversation is not None:
        tree = _own(person, ask.conversation)
    if wanted.running >= environment().max_running_answers:
        raise AskRefusedError(ProductCode.TOO_MANY)
    if tree is not None and ask.kind is AskKind.CONTINUE:
        return _continue_answer(person, tree.conversation, wanted) if ask.question is None else _continue_exchange(person, tree, wanted)
    chosen = _chosen(person, ask.choice, tree.conversation if tree else None)
    if tree is None:
        tree = Tree(_new_conversation(person, wanted, chosen))
    else:
        _touch_with_settings(tree.conversation, _remembered(person, ask, chosen, tree.conversation), wanted)
    question, after, base = _question(tree, wanted)
    transcripts.activate(tree.conversation, person, question)
    is_old = ask.kind is AskKind.REGENERATE or ask.conversation is None or wanted.created is not None
    documents = of_question(question) if ask.documents or ask.kind is AskKind.EDIT else ()
    others = () if is_old else transcripts.question_versions(tree.conversation, base)
    return RunningTurn(wanted.turn(person, question, chosen, ask.effort), after, ask.kind, versions=others, documents=documents)


def _own(person: User, key: object) -> Tree:
    row, is_late, (leaf, last_question, last) = access.own_opened(person, key, *transcripts.TREE_END)
    row.owner = person
    if is_late and sweep.interrupt_abandoned(row):
        return _own(person, key)
    leaf, last_question = (each and connections.as_uuid(each) for each in (leaf, last_question))
    return Tree(row, leaf, last_question, 0 if last is None else last + 1)


def _continue_answer(person: User, conversation: Conversation, wanted: _Wanted) -> RunningTurn:
    """A turn that continues the answer of an earlier turn. Messages after that answer stay, on a branch of their own."""
    cut = access.turn_of(conversation, wanted.ask.continued_turn, after=transcripts.question_before())
    end = continuation.end_of(cut, with_text=True)
    if cut.state == TurnState.RUNNING:
        raise AskRefusedError(ProductCode.BUSY)
    if end is None or continuation.continuation_of(cut, end) is None:
        raise AskRefusedError(ProductCode.COMMAND)
    cut.question.conversation = conversation
    if end.turn_id == cut.pk:
        end.turn = cut
    transcripts.activate(conversation, person, end)
    turn = wanted.turn(person, cut.question, _chosen_before(person, cut, conversation), cut.effort, end)
    touch(conversation)
    return RunningTurn(turn, vars(cut)["after"], AskKind.CONTINUE, continued_turn=cut.pk)


def _continue_exchange(person: User, tree: Tree, wanted: _Wanted) -> RunningTurn:
    """A turn that continues an exchange after the replies of a program's functions: its answer follows the last message."""
    ask, conversation = wanted.ask, tree.conversation
    question = access.message_of(conversation, ask.question, after=transcripts.question_before())
    question.conversation = conversation
    chosen = _chosen(person, ask.choice, conversation)
    _touch_with_settings(conversation, chosen, wanted)
    last = access.message_of(conversation, tree.leaf_id) if ask.continued_turn else None
    turn = wanted.turn(person, question, chosen, ask.effort, last)
    return RunningTurn(turn, vars(question)["after"], AskKind.CONTINUE, continued_turn=last.turn_id if last else None)


def _touch_with_settings(conversation: Conversation, choice: str, wanted: _Wanted) -> None:
    """As ``touch``, and store the model and effort of the request. A conversation that was just created has them already."""
    if wanted.created is None:
        conversation.effort, conversation.choice = wanted.ask.effort, choice
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


def first_title(text: str) -> str:
    """The provisional title of a conversation that starts with this question."""
    return transcripts.title_of(show(Frame(Header(Role.USER), text), Audience.END_USER), TITLE_CHARS) or "New conversation"


def _new_conversation(person: User, wanted: _Wanted, choice: str) -> Conversation:
    folder = access.own_folder(person, wanted.ask.folder, locked=True) if wanted.ask.folder and not wanted.ask.temporary else None
    # A temporary conversation has no title, because it would appear in the browser's history.
    title, until = ("", temporary.end()) if wanted.ask.temporary else (first_title(wanted.text), None)
    answers = wanted.ask.answer_format.stored() if wanted.ask.answer_format else None
    row = new(
        Conversation,
        owner=person,
        title=title,
        effort=wanted.ask.effort,
        choice=choice,
        folder=folder,
        answer_format=answers,
        temporary_until=until,
    )
    insert([row])
    if wanted.ask.tools_off:
        ToolRule.objects.bulk_create(ToolRule(conversation=row, tool=name, is_allowed=False) for name in sorted(wanted.ask.tools_off))
    return row


def _question(tree: Tree, wanted: _Wanted) -> tuple[Message, UUID | None, UUID | None]:
    """The question of the new turn, the question before it on its branch, and the message above all its versions and their documents."""
    ask, conversation = wanted.ask, tree.conversation
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
    return transcripts.append_at(conversation, place, Frame(Header(Role.USER), wanted.text), Author.PERSON), after, base


def _end(tree: Tree) -> TreePosition:
    """The place after the open branch. In an empty conversation, the operator's instructions are stored first, so that the transcript is
    complete, and the place is after them."""
    instructions = "" if tree.leaf_id is not None else instructions_for(tree.conversation.owner.group_names)
    if not instructions:
        return TreePosition(tree.leaf_id, tree.position)
    start = TreePosition(None, tree.position)
    root = transcripts.append_at(tree.conversation, start, Frame(Header(Role.DEVELOPER), instructions), Author.PRODUCT)
    return TreePosition(root.pk, tree.position + 1)
