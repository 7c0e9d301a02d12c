"""Prepares a conversation for the chat page. Every text in the result has passed the gate.

A message has its position among the versions of the same question or answer. The sources under an answer are the pages that its text cites,
and those that its model server reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from chatui import wire
from chatui.audit_log.record import Visitor
from chatui.backends.demo import DemoBackend
from chatui.backends.spec import split_choice
from chatui.codes import code_of
from chatui.display import activities, failures, tool_cards
from chatui.display import files as display_files
from chatui.display.activities import ActivityLine
from chatui.display.conversation_list import address
from chatui.display.failures import Notice
from chatui.display.files import DocumentChip, ShownFile
from chatui.display.ratings import ShownRating, unrated, verdicts_of
from chatui.display.tool_cards import AnyCard
from chatui.model_servers import connected
from chatui.models.conversation import Conversation, Effort
from chatui.models.message import Author, Message
from chatui.models.turn import Turn, TurnState
from chatui.permissions import access
from chatui.permissions.files import titled
from chatui.store import bulk_append, context_use, continuation, exchanges, transcripts
from chatui.store.exchanges import StoredExchanges, Versions
from renderer.activities.activity import from_stored
from renderer.frame_kinds import is_document, is_preamble, is_tool_line
from renderer.frames import Terminator
from renderer.gate import Audience, VisibleText, show
from renderer.markup import citations, html
from renderer.markup.citations import CitableSource, Pages
from renderer.markup.html import SafeHtml


@dataclass(frozen=True, slots=True)
class Siblings:
    """The position of a message among its siblings: ``index`` counts from 1; the ids of its neighbors are for switching to them."""

    index: int
    count: int
    previous_id: str | None
    next_id: str | None


def siblings(groups: Sequence[Sequence[Message]], current: Message) -> Siblings | None:
    """``groups``: the siblings, each as its first messages. The sibling that contains ``current`` is the one that is shown."""
    place = next((index for index, group in enumerate(groups) if current in group), None)
    return None if place is None else siblings_at([group[0].pk for group in groups], place)


def siblings_at(keys: Sequence[UUID], place: int) -> Siblings | None:
    if len(keys) < 2:
        return None
    before = str(keys[place - 1]) if place > 0 else None
    after = str(keys[place + 1]) if place + 1 < len(keys) else None
    return Siblings(place + 1, len(keys), before, after)


def sources_of(answers: Sequence[str], pages: Pages, turns: Iterable[Turn]) -> tuple[CitableSource, ...]:
    """The sources, each once, in the order of the text; none if there is no answer. ``pages``: those opened in the conversation. ``turns``:
    those that wrote the answers."""
    if not answers:
        return ()
    reported = [source for turn in turns for source in _reported(turn.by_server)]
    return tuple(dict.fromkeys([*citations.cited("\n".join(answers), pages), *reported]))


def _reported(by_server: object) -> list[CitableSource]:
    sources = by_server.get("sources") if isinstance(by_server, dict) else None
    return [page for url, title in sources or () if (page := CitableSource(url, title or url)).host]


EFFORTS = Effort.choices
"""The reasoning efforts to choose from, with their labels."""


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A user's message, ready for a page. ``message_id`` is empty until it is stored."""

    message_id: str
    html: SafeHtml
    text: VisibleText = field(repr=False)
    siblings: Siblings | None
    is_long: bool = False
    documents: tuple[DocumentChip, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownPart:
    """One visible message of an answer."""

    message_id: str
    kind: str
    """``final``, ``preamble``, ``tool`` for the line about a tool call, or ``note`` for imported text that claims to be the product's own.
    """
    blocks: tuple[SafeHtml, ...]
    fault: str = ""
    """What an import found wrong with it; empty if nothing."""


@dataclass(frozen=True, slots=True)
class ShownThought:
    """The hidden work before an answer: how long it took, and the lines of its summary, if any."""

    sentence: str
    steps: tuple[ActivityLine, ...]
    message_id: str


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One answer, ready for a page."""

    turn_id: str
    """Empty for an imported answer."""
    state: str
    parts: tuple[ShownPart, ...] = ()
    notice: Notice | None = None
    siblings: Siblings | None = None
    thought: ShownThought | None = None
    label: str = ""
    """The display name of its model server, if there are several."""
    model: str = ""
    is_scripted: bool = False
    """Whether the demo wrote it."""
    turns_left_out: int = 0
    context: int | None = None
    """How full the model's context was afterwards, in per cent; None if unknown."""
    continuation: str = ""
    """How it can be continued, a value of ``Continuation``; empty for a complete answer."""
    sources: tuple[CitableSource, ...] = ()
    """The pages that it cites, each once."""
    cards: tuple[AnyCard, ...] = ()
    """The calls that need, or needed, the person's decision."""
    rated: ShownRating | None = None
    """Its rating buttons, if any."""
    files: tuple[ShownFile, ...] = ()
    """The files that its tools made."""
    at: datetime | None = None
    """When it ended, or the imported time, if known."""
    url: str = ""
    """The address of its conversation."""
    has_question: bool = True

    @property
    def row(self) -> wire.AnswerRow:
        """The row below it: its buttons, names and time."""
        has = {
            "thumbs": self.rated is not None,
            self.continuation: self.continuation and not self.notice,
            "regenerate": self.has_question and not (self.notice and self.notice.can_retry),
            "again": self.has_question,
            "compare": self.siblings is not None,
        }
        return wire.AnswerRow(
            has=tuple(name for name, holds in has.items() if holds),
            finals=tuple(f"{self.url}messages/{key}/" for key in _finals(self.parts)),
            facts=tuple(filter(None, self._facts())),
            at=self.at.isoformat() if self.at else None,
            verdict=self.rated.verdict if self.rated else None,
        )

    def _facts(self) -> Iterator[str]:
        if count := self.turns_left_out:
            yield ngettext(
                "Oldest %(count)s question left out: the conversation is longer than the model can read",
                "Oldest %(count)s questions left out: the conversation is longer than the model can read",
                count,
            ) % {"count": count}
        if self.state == TurnState.STOPPED and not self.notice:
            yield pgettext("an answer", "Stopped")
        yield from dict.fromkeys((self.label, self.model))
        if self.is_scripted and not connected.is_demo():
            yield _("Scripted, no model")


@dataclass(frozen=True, slots=True)
class ShownExchange:
    """A question and its answer. An imported transcript may start with an answer that has no question."""

    question: ShownQuestion | None
    answer: ShownAnswer | None


_NOTHING = VisibleText.joined([])
BLANK_EXCHANGE = ShownExchange(ShownQuestion("", html.plain(_NOTHING), _NOTHING, None), ShownAnswer("", TurnState.RUNNING))
"""An empty exchange, which scripts copy for a new message."""


def shown_exchanges(found: StoredExchanges) -> list[ShownExchange]:
    """Part of a branch as questions and answers, with the ratings of the conversation's owner."""
    shown = _Page(found).exchanges()
    answers = [each.answer for each in shown if each.answer]
    verdicts = verdicts_of(found.conversation, [answer.rated.message_id for answer in answers if answer.rated])
    return [replace(each, answer=_rated(each.answer, verdicts)) for each in shown] if verdicts else shown


def _rated(answer: ShownAnswer | None, verdicts: Mapping[str, str]) -> ShownAnswer | None:
    verdict = verdicts.get(answer.rated.message_id) if answer and answer.rated else None
    return replace(answer, rated=replace(answer.rated, verdict=verdict)) if answer and answer.rated and verdict else answer


def shown_exchange(row: Conversation, turn: Turn) -> ShownExchange:
    """The exchange of one turn. The cost depends only on that turn, not on the length of the conversation."""
    versions = Versions([turn.question_id])
    messages = [turn.question, *turn.messages.select_related("turn").defer("turn__request").order_by("position")]
    if turn.continued_message_id:
        messages = transcripts.branch(row, continuation.end_of(turn), since=turn.question_id)
    return shown_exchanges(exchanges.of_messages(row, messages, versions))[0]


def shown_answer(row: Conversation, messages: Sequence[Message], versions: Versions) -> ShownAnswer | None:
    """A single answer. ``messages``: its question, and everything up to its end. None if none of it is visible."""
    return _Page(exchanges.of_messages(row, messages, versions)).exchanges()[0].answer


def shown_question(message: Message, versions: Sequence[UUID] = (), documents: tuple[DocumentChip, ...] = ()) -> ShownQuestion:
    """A single question. ``versions``: the keys of all its versions, including this one; without them it is shown as the only one."""
    text, key = _text_of(message), message.pk
    siblings = siblings_at(versions, versions.index(key)) if key in versions else None
    return ShownQuestion(str(key), html.question(text), text, siblings, html.is_long(text), documents)


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that has just ended, with its question, conversation and continued message."""

    turn: Turn
    parts: Sequence[ShownPart]
    is_first: bool
    """Whether the question is known to have no other answer."""
    written: Sequence[Message] | None = field(default=None, repr=False)
    """The messages of the turn; None if they have to be read from the database."""

    @property
    def reads_nothing(self) -> bool:
        """Whether the part below the answer needs no database query, as for most first answers."""
        has_calls = self.written is None or any(message.terminator == Terminator.CALL for message in self.written)
        is_for_staff = self.turn.error_code and self.turn.asked_by.is_staff
        return self.is_first and self.turn.continued_message_id is None and not has_calls and not is_for_staff


def ended_answer(ended: EndedTurn) -> ShownAnswer:
    """The answer, for pages that already show its text. The cost does not depend on the length of the conversation."""
    turn, parts = ended.turn, ended.parts
    messages = transcripts.written_by(turn) if ended.written is None else ended.written
    end = continuation.end_among(turn, messages)
    siblings = None if ended.is_first else _siblings_of(turn, [end] if turn.continued_message_id and end else messages)
    makes_files = turn.continued_message_id is not None or any(message.terminator == Terminator.CALL for message in messages)
    files = display_files.of_ended(turn) if makes_files else ()
    rated = unrated(turn.conversation, str(turn.pk), turn.state, _finals(parts))
    return _ending(
        turn,
        end,
        _labels(),
        turn.question,
        parts=tuple(parts),
        siblings=siblings,
        files=files,
        rated=rated,
        url=address(turn.conversation_id),
        at=turn.finished_at,
    )


def _siblings_of(turn: Turn, messages: Sequence[Message]) -> Siblings | None:
    versions = Versions([turn.question_id])
    # Continued answers may branch off anywhere below the question, so its children are not queried.
    needed = set() if versions.ends(turn.question) else {turn.question_id}
    return _answer_siblings(turn.question, messages, versions, transcripts.siblings(turn.conversation, needed) if needed else {})


def visible_text(visitor: Visitor, conversation_id: object, message_id: object) -> VisibleText:
    """The Markdown source of a visible message. A hidden message raises NotFoundError, like one that does not exist."""
    return _text_of(access.visible_message(visitor, conversation_id, message_id, action="message text"))


def _text_of(message: Message) -> VisibleText:
    return show(transcripts.frame_of(message), Audience.END_USER)


class _Page:
    """Converts what is stored of one branch."""

    def __init__(self, found: StoredExchanges) -> None:
        self._found, self._row, self._url = found, found.conversation, address(found.conversation.pk)
        self._labels = _labels()
        self._documents = {key: tuple(map(display_files.shown, rows)) for key, rows in found.documents.items()}
        # A call is stored before the person is asked about it, so a page without calls needs no statement for this.
        callers = {message.turn_id for message in found.messages if message.terminator == Terminator.CALL and message.turn_id}
        self._cards = tool_cards.of_turns(callers) if callers else {}
        self._pages = titled(self._row, found.pages) if found.pages else found.pages

    def exchanges(self) -> list[ShownExchange]:
        groups: list[tuple[Message | None, list[Message]]] = []
        for message in self._found.messages:
            if message.is_question:
                groups.append((message, []))
            elif groups:
                groups[-1][1].append(message)
            elif message.is_visible:
                groups.append((None, [message]))
        return [
            ShownExchange(self._question(question) if question else None, self._answer(question, answer)) for question, answer in groups
        ]

    def _question(self, message: Message) -> ShownQuestion:
        documents = self._documents.get(message.pk, ())
        versions = transcripts.versions_of(self._row, message, self._found.children, has_documents=bool(documents))
        return shown_question(message, versions, documents)

    def _answer(self, question: Message | None, messages: Sequence[Message]) -> ShownAnswer | None:
        end = continuation.last_of([message for message in messages if message.turn_id])
        found = self._found
        turn = found.versions.attempt(end) or end.turn if end else found.latest.get(question.pk) if question and not messages else None
        if turn is None and not any(message.is_visible for message in messages):
            return None
        shown = [message for message in messages if message.is_visible and not (message.is_summary or message.is_old_summary)]
        turns = dict.fromkeys(message.turn_id for message in messages if message.turn_id)
        texts = [_text_of(message) for message in shown]
        written = list(dict.fromkeys(message.turn for message in messages if message.turn))
        parts = tuple(_part(message, text, self._pages) for message, text in zip(shown, texts, strict=True))
        answers = [text for part, text in zip(parts, texts, strict=True) if part.kind == "final"]
        key, state = (str(turn.pk), turn.state) if turn else ("", TurnState.COMPLETED)
        return _ending(
            turn,
            end,
            self._labels,
            question,
            parts=parts,
            url=self._url,
            has_question=question is not None,
            at=turn.finished_at if turn else bulk_append.written_at(self._row, shown),
            rated=unrated(self._row, key, state, _finals(parts)),
            sources=sources_of(answers, self._pages, written),
            siblings=_answer_siblings(question, messages, found.versions, found.children),
            thought=_thought({turn, *written} if turn else set(), messages, lambda: self._named(question)),
            cards=tuple(card for key in turns for card in self._cards.get(key, ())),
            files=tuple(display_files.shown_file(file) for key in turns for file in found.files.get(key, ())),
        )

    def _named(self, question: Message | None) -> list[str]:
        """The texts on the page from which a line of an answer's summary may quote: its question, and the names of files."""
        files = [document.name for documents in self._documents.values() for document in documents]
        return files if question is None else [_text_of(question), *files]


def _finals(parts: Sequence[ShownPart]) -> list[str]:
    return [part.message_id for part in parts if part.kind == "final"]


def _labels() -> dict[str, str]:
    specs = connected.specs()
    return {spec.name: spec.shown for spec in specs} if len(specs) > 1 else {}


def _ending(turn: Turn | None, end: Message | None, labels: Mapping[str, str], question: Message | None, **more: Any) -> ShownAnswer:
    """The answer. ``more``: its text, time, siblings, thought and whatever else a turn does not know."""
    if turn is None:
        return ShownAnswer("", TurnState.COMPLETED, **more)
    return ShownAnswer(
        turn_id=str(turn.pk),
        state=turn.state,
        notice=_notice(turn, question),
        label=labels.get(split_choice(turn.choice)[0], ""),
        model=turn.model,
        is_scripted=turn.backend == DemoBackend.name,
        turns_left_out=turn.turns_left_out,
        context=context_use.percent(context_use.of_turn(turn), code_of(turn.error_code) if turn.error_code else None),
        continuation=continuation.continuation_of(turn, end) or "",
        **more,
    )


def _answer_siblings(
    question: Message | None,
    messages: Sequence[Message],
    versions: Versions,
    children: Mapping[UUID | None, Sequence[Message]],
) -> Siblings | None:
    if question is None or not messages:
        return None
    if ends := versions.ends(question):
        return siblings([[end] for end in ends], messages[-1])
    by_turn: dict[UUID | None, list[Message]] = {}
    for child in children[question.pk]:
        if not child.is_question and not is_document(transcripts.header_of(child)):
            by_turn.setdefault(child.turn_id or child.pk, []).append(child)  # without a turn, each child is a separate answer
    return siblings(list(by_turn.values()), messages[0])


def _part(message: Message, text: VisibleText, pages: Pages) -> ShownPart:
    markdown = html.as_markdown(transcripts.frame_of(message).header, text)
    blocks = html.render_blocks(markdown, is_cut=not message.is_complete, pages=pages)
    has_fault = message.author == Author.IMPORT and message.error_code
    return ShownPart(str(message.pk), _kind(message), blocks, _(code_of(message.error_code).sentence) if has_fault else "")


def _kind(message: Message) -> str:
    header = transcripts.header_of(message)
    if message.is_imported_note:
        return "note"
    is_tool = is_tool_line(header) and message.author == Author.PRODUCT
    return "tool" if is_tool else "preamble" if is_preamble(header) else "final"


def _notice(turn: Turn, question: Message | None) -> Notice | None:
    if turn.state == TurnState.RUNNING or not turn.error_code:
        return None
    chars = len(transcripts.frame_of(question).body) if question and turn.context_size else 0
    return failures.notice_of(turn, chars)


def _thought(turns: set[Turn], messages: Sequence[Message], texts: Callable[[], Sequence[str]]) -> ShownThought | None:
    """One line for the whole answer, however many turns wrote it. For a running turn, the socket sends it. ``texts``: those on the page
    from which the lines may quote."""
    ended = {turn for turn in turns if turn.state != TurnState.RUNNING}
    seconds = continuation.thought_seconds(ended)
    summaries = [message for message in messages if message.is_summary and (message.turn in ended or message.author == Author.IMPORT)]
    if seconds is None and not summaries:
        return None
    lines = [line for summary in summaries for line in from_stored(summary.activities)]
    found = texts() if any(line.about for line in lines) else ()
    shown = tuple(activities.in_language(line.seen_in(found)) for line in lines)
    sentence = _("Thought before answering") if seconds is None else thought_sentence(seconds)
    return ShownThought(sentence, shown, str(summaries[0].pk) if summaries else "")


def thought_sentence(seconds: int) -> str:
    """The sentence for how long the hidden work took. The page's scripts use the same sentences."""
    if seconds < 1:
        return _("Thought for a moment")
    if seconds < 60:
        return _("Thought for %(seconds)d s") % {"seconds": seconds}
    return _("Thought for %(minutes)d min %(seconds)d s") % {"minutes": seconds // 60, "seconds": seconds % 60}
