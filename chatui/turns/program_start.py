"""What is stored for the turn of a program, in the transaction that starts it: the earlier messages first, then what belongs to the turn.

A program sends texts, calls to its own functions, and their results. The sealed texts that it sends back are opened, and become messages
before the question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from django.utils import timezone

from chatui.backends.context_window import weight
from chatui.database.statements import insert, new
from chatui.instructions import instructions_for
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.programs import ProgramAnswer, ProgramConversation
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import programs
from chatui.prompts import notes_message, notes_of
from chatui.store import titles, transcripts
from chatui.turns import sealed
from chatui.turns.asks import FUNCTIONS, Ask, AskKind, EarlierCall, EarlierMessage, EarlierReply, ProgramAsk
from chatui.turns.calls.requested import unanswered
from chatui.turns.sealed import Purpose
from renderer import characters
from renderer.frame_kinds import ANALYSIS, ANSWER, NOTES, PREAMBLE
from renderer.frames import HEADER_VALUE, Channel, Frame, Header, Intent, Role, Terminator

Each = EarlierMessage | EarlierCall | EarlierReply
_Frames = Sequence[tuple[Frame, Author]]


class UnknownCallError(Exception):
    """A program sent the reply of a function, but no call is waiting for it."""


def calls_among(messages: Iterable[Message]) -> dict[str, Header]:
    """The calls among these messages that their program must carry out, by id."""
    frames = [transcripts.frame_of(message) for message in messages]
    # A call whose text was removed is left out of the prompt, and so is the reply to it.
    known = (frame.header for frame in unanswered(frames) if frame.header.intent != Intent.DEBUG)
    return {header.call_id: header for header in known if header.call_id}


def _append(conversation: Conversation, person: User, leaf: Message | None, frames: _Frames, turn: Turn | None = None) -> Message | None:
    """Append frames after ``leaf`` in one go: one by one, thousands of them would block all other writes of the process, and other turns
    would lose their leases. Returns the last message."""
    if frames:
        metadata = transcripts.FrameMetadata(turn_id=turn.pk if turn else None)
        leaf = transcripts.append_chain(conversation, leaf, [(frame, author, metadata) for frame, author in frames])[-1]
        transcripts.activate(conversation, person, leaf)
    return leaf


def frames_of(
    messages: Iterable[Each], waiting: Mapping[str, Header], stored: Callable[[], Iterable[Message]]
) -> Iterator[tuple[Frame, Author]]:
    """The frames of earlier messages. ``waiting``: earlier calls that still wait for a reply, by id. ``stored``: loads the messages that
    they follow. A reply that is one of those, and is sent again, is left out: some programs send all replies each time.

    A call id that is used a second time is replaced, in the call and in its reply: some programs restart their numbering in each answer.

    Raises:
        UnknownCallError: a reply belongs to no call.
    """
    open_calls, used = dict(waiting), set(waiting)
    for message in messages:
        match message:
            case EarlierMessage():
                yield _message(message)
            case EarlierCall(call_id=call_id) if call_id in waiting and call_id in open_calls:
                continue  # repeated next to its reply; it is already stored
            case EarlierCall(call_id=call_id):
                is_free = HEADER_VALUE.fullmatch(call_id) and call_id not in used
                header = _call_header(message, call_id if is_free else f"call_{uuid4().hex}")
                used.add(header.call_id or "")
                open_calls[call_id] = header
                yield Frame(header, characters.storable(message.arguments), Terminator.CALL), Author.IMPORT
            case EarlierReply(call_id=call_id, output=output):
                if (call := open_calls.pop(call_id, None)) is None:
                    if _is_stored(stored(), call_id, characters.storable(output)):
                        continue
                    raise UnknownCallError
                reply = Header(Role.TOOL, Channel.COMMENTARY, recipient=Role.ASSISTANT.value, call_id=call.call_id, name=call.recipient)
                yield Frame(reply, characters.storable(output)), Author.IMPORT


def _is_stored(before: Iterable[Message], call_id: str, output: str) -> bool:
    """Whether a program sent this very reply before. Replies of the product's tools are hidden: no guess may tell."""
    sent = [each for each in before if each.role == Role.TOOL and each.author == Author.IMPORT]
    return any(reply.call_id == call_id and transcripts.frame_of(reply).body == output for reply in sent)


def _message(message: EarlierMessage) -> tuple[Frame, Author]:
    text = characters.storable(message.text)
    if message.is_person:
        return Frame(Header(Role.USER), text), Author.PERSON
    if message.is_compacted:
        # A message in the person's role cannot override the operator's instructions, whatever it contains. A model wrote it, so it must not
        # count as a person's question, become the title, or supply addresses that tools may open; it was sealed, so nobody reads it here.
        return Frame(NOTES, text), Author.IMPORT
    if message.is_thought:
        return Frame(ANALYSIS, text), Author.IMPORT
    # Only the program says that a model wrote this; nothing here can verify it.
    return Frame(PREAMBLE if message.is_preamble else ANSWER, text), Author.IMPORT


def _call_header(call: EarlierCall, call_id: str) -> Header:
    recipient = f"{FUNCTIONS}{call.function}"
    constrain = "json" if _is_object(call.arguments) else None
    return Header(Role.ASSISTANT, Channel.COMMENTARY, recipient=recipient, call_id=call_id, constrain=constrain)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


class UnreadableSummaryError(Exception):
    """A compacted conversation was not sealed here for this person, or its token has expired. Without it the model has no context."""


def unsealed(person: User, message: EarlierMessage) -> tuple[EarlierMessage, ...]:
    """The messages that a token contains. Where reasoning was sealed for somebody else, elsewhere or too long ago, the program's own text
    stands for it, if it sent one.

    Raises:
        UnreadableSummaryError: a compacted conversation cannot be unsealed.
    """
    if not message.is_compacted:
        texts = sealed.unseal(person.pk, Purpose.REASONING, message.sealed) or [message.text]
        return tuple(EarlierMessage(text, is_thought=True) for text in texts if text)
    texts = sealed.unseal(person.pk, Purpose.COMPACTION, message.sealed)
    if not texts:
        raise UnreadableSummaryError
    return tuple(EarlierMessage(notes_message(text), is_compacted=True) for text in texts)


def reseal_notes(person: User, answer_id: UUID, only_key: UUID | None) -> list[str]:
    """The notes before one of this person's stored answers, sealed again, so that no program reads them. ``only_key``: see
    ``permissions.programs.answer_of``.

    Raises:
        NotFoundError: the person has no such answer.
    """
    turn = programs.answer_of(person, answer_id, only_key).turn
    before = transcripts.branch(turn.conversation, turn.continued_message or turn.question)
    frames = [transcripts.frame_of(message) for message in (*before, *transcripts.of_turn(turn))]
    notes = [notes_of(frame.body) for frame in frames if frame.header == NOTES]
    return [token for text in notes if (token := sealed.seal(person.pk, Purpose.COMPACTION, [text])) is not None]


class NotStoredError(Exception):
    """A request that must not be stored cannot continue from what is stored."""


class StillRunningError(Exception):
    """The answer that the program wants to continue from is still being written."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request continues something stored."""

    conversation: Conversation
    leaf: Message | None
    """The message that it follows; None in an empty conversation."""
    turn: Turn | None
    """That of the answer before, if a program asked for it."""
    orders: str = field(repr=False)
    """The instructions so far."""
    own: ProgramConversation | None = None
    """The conversation, if it was named itself."""

    def stored(self) -> list[Message]:
        """The messages before."""
        return transcripts.branch(self.conversation, self.leaf)

    @property
    def waiting(self) -> dict[str, Header]:
        """The calls that its program must carry out, by id."""
        return calls_among(transcripts.of_turn(self.turn) if self.turn and self.own is None else self.stored())

    @property
    def question(self) -> Message | None:
        """The last question, if there is one."""
        if self.turn is not None:
            return self.turn.question
        return next((message for message in reversed(self.stored()) if message.is_question), None)

    @property
    def question_id(self) -> UUID | None:
        if self.turn is not None:
            return self.turn.question_id
        asked = self.question
        return asked.pk if asked else None


def place_in(found: ProgramConversation) -> Place:
    """The end of a program's conversation: after the answer to the last message that the program sent, or after that message."""
    row = found.conversation
    leaf = transcripts.message_in(row, found.leaf) if found.leaf else None
    turn = None
    if leaf is not None:
        turns = Turn.objects.filter(conversation=row, program_answer__key=found.key_id).select_related("question")
        turn = turns.filter(pk=leaf.turn_id).first() if leaf.turn_id else turns.filter(question=leaf).order_by("started_at").last()
    if turn is not None:
        turn.conversation = row
        leaf = next(reversed(transcripts.of_turn(turn)), turn.question)
    return Place(row, leaf, turn, "\n\n".join(each["text"] for each in found.orders if each["text"]), found)


@dataclass(frozen=True, slots=True)
class BegunProgram:
    """What a program sent, stored but for the messages that belong to its turn."""

    ask: Ask
    """For the turn."""
    conversation: Conversation
    """New if there is no ``place`` that it continues."""
    place: Place | None
    is_empty: bool
    """Whether the conversation is new, and has no messages yet."""
    after: _Frames = field(repr=False)
    """The messages that belong to the turn."""
    tokens: int
    """About how many tokens all messages have."""
    orders: str = field(repr=False)
    """The instructions for later turns that came with it."""


def begin(person: User, ask: Ask, asked: ProgramAsk) -> BegunProgram:
    """Store what ``asked``, the program's part of the request, has before the turn.

    Raises:
        NotFoundError: this person has no such previous answer, or this key no such conversation.
        NotStoredError: the request must not be stored, but continues from what is stored.
        StillRunningError: the previous answer is still being written.
        UnknownCallError: there is a reply without a call, or no question at all.
        UnreadableSummaryError: see ``unsealed``.
    """
    asked, orders = _unsealed(person, asked), asked.standing_instructions
    place = _place(person, ask, asked)
    if place is not None:
        asked = replace(asked, standing_instructions="\n\n".join(filter(None, (place.orders, orders))))
    conversation = _conversation(person, ask, asked, place)
    before, after = _earlier_frames(ask, asked, place, instructions_for(person.group_names) if place is None or place.turn is None else "")
    leaf = _append(conversation, person, place.leaf if place else None, before)
    ask = replace(ask, conversation=conversation.pk, program=asked)
    if ask.kind is AskKind.CONTINUE:  # the last question: that of the turn before, or otherwise the last message
        continued = None if before or place is None else place
        question: UUID | None = continued.question_id if continued else leaf.pk if leaf else None
        turn = continued.turn if continued else None
        ask = replace(ask, question=question, continued_turn=turn.pk if turn else None)
    tokens = int(sum(weight(frame.body) for frame, _ in (*before, *after)))
    return BegunProgram(ask, conversation, place, place is None and not before, after, tokens, orders)


def complete(person: User, begun: BegunProgram, turn: Turn) -> UUID | None:
    """Store the rest, once the turn is stored. Returns the message after which its answer comes; None for the question."""
    ask, conversation = begun.ask, begun.conversation
    place = None
    if begun.after:
        place = _append(conversation, person, transcripts.active_leaf(conversation, person), begun.after, turn)
    if (asked := ask.program) is not None:
        own = {"orders": asked.standing_instructions, "given": dict(asked.settings_as_sent)}
        insert([new(ProgramAnswer, id=ask.client_id, turn=turn, key_id=ask.key, is_kept=asked.is_kept, **own)])
    if begun.place is not None:
        if (named := begun.place.own) is not None:
            named.leaf = place.pk if place else turn.question_id
            if begun.orders:
                named.orders = [*named.orders, order(begun.orders, begun.place.leaf, uuid4())]
            named.save(update_fields=["leaf", "orders"])
        # Starting a turn took it out of the archive. Put it back where it was: a program's use must not move a person's conversation.
        Conversation.objects.filter(pk=conversation.pk).update(archived_at=conversation.archived_at)
    return place.pk if place else None


def order(text: str, after: Message | None, key: UUID) -> dict[str, str | None]:
    """An instruction as a conversation keeps it; see ``ProgramConversation``."""
    return {"id": key.hex, "text": characters.storable(text), "after": after.pk.hex if after else None}


def place_of(turn: Turn) -> UUID | None:
    """The key of the message after which a stored turn's answer comes; None for the question."""
    return turn.messages.filter(author=Author.IMPORT).order_by("position").values_list("pk", flat=True).last()


def opened(person: User, message: Each) -> tuple[Each, ...]:
    """The message, or those that its token contains; see ``unsealed``."""
    return unsealed(person, message) if isinstance(message, EarlierMessage) and message.sealed else (message,)


def _unsealed(person: User, asked: ProgramAsk) -> ProgramAsk:
    """The request with its sealed messages opened. Sealed reasoning that is not this person's, or too old, is left out."""
    return replace(asked, before=tuple(each for message in asked.before for each in opened(person, message)))


_QUESTION = Header(Role.USER)


def _place(person: User, ask: Ask, asked: ProgramAsk) -> Place | None:
    """Where the request continues; None if it begins a conversation."""
    if asked.previous is None and asked.conversation is None:
        return None
    if not asked.is_kept:
        raise NotStoredError
    if asked.conversation is not None:
        place = place_in(programs.conversation_of(person, asked.conversation, ask.key, locked=True))
    else:
        previous = programs.answer_of(person, asked.previous or _NONE, asked.only_key)
        turn = previous.turn
        place = Place(turn.conversation, next(reversed(transcripts.of_turn(turn)), turn.question), turn, previous.orders)
    if place.turn is not None and place.turn.state == TurnState.RUNNING:
        raise StillRunningError
    return place


_NONE = UUID(int=0)


def _conversation(person: User, ask: Ask, asked: ProgramAsk, place: Place | None) -> Conversation:
    """The conversation, with its open branch ending at the message after which the program continues."""
    questions = (each.text for each in asked.before if isinstance(each, EarlierMessage) and each.is_person)
    if place is not None and place.leaf is not None:
        transcripts.activate(place.conversation, person, place.leaf)
        return place.conversation
    title = titles.first_title(characters.storable(next(questions, ask.text)))
    if place is not None:
        Conversation.objects.filter(pk=place.conversation.pk, title_is_custom=False).update(title=title)
        return place.conversation
    row = new(Conversation, owner=person, title=title, effort=ask.effort, choice=ask.choice or "", archived_at=timezone.now())
    insert([row])
    return row


def _earlier_frames(ask: Ask, asked: ProgramAsk, place: Place | None, operators: str) -> tuple[_Frames, _Frames]:
    """The instructions, stored only as a record (``operators``: the operator's), and the earlier messages: those up to the question, which
    is not one of them if the program sent it separately, and those after it, which are already part of the answer: calls of the program's
    functions and their replies.

    Raises:
        UnknownCallError: there is a reply without a call, or no question at all.
    """
    instructions = list(_instruction_frames(asked, operators))
    frames = list(frames_of(asked.before, place.waiting if place else {}, place.stored if place else tuple))
    if ask.kind is AskKind.SEND:
        return [*instructions, *frames], []
    if place is not None:
        frames = list(_without_the_same_question(frames, place))
    asked_at = max((at for at, (frame, _) in enumerate(frames) if frame.header == _QUESTION), default=-1)
    if asked_at >= 0:
        return [*instructions, *frames[: asked_at + 1]], frames[asked_at + 1 :]
    if place is None or place.question_id is None or not frames:
        raise UnknownCallError
    return [], [*instructions, *frames]


def _without_the_same_question(frames: _Frames, place: Place) -> Iterator[tuple[Frame, Author]]:
    """Without the question that is being answered, if it comes again before a reply to a call: some programs send it with each reply. A
    model that read it after the reply would begin anew each time."""
    last_reply = max((at for at, (frame, _) in enumerate(frames) if frame.header.role == Role.TOOL), default=-1)
    questions = {at for at, (frame, _) in enumerate(frames[: last_reply + 1]) if frame.header == _QUESTION}
    asked = place.question if questions else None
    text = transcripts.frame_of(asked).body if asked else None
    yield from (each for at, each in enumerate(frames) if at not in questions or each[0].body != text)


def _instruction_frames(asked: ProgramAsk, operators: str) -> Iterator[tuple[Frame, Author]]:
    if operators:
        yield Frame(Header(Role.DEVELOPER), operators), Author.PRODUCT
    if asked.all_instructions:
        yield Frame(Header(Role.DEVELOPER), characters.storable(asked.all_instructions)), Author.PERSON
