"""Prepares a turn that begins: chooses its model server, loads its branch and its instructions, builds its first request, and tells pages
that it has begun.

The instructions are the operator's, then those of the conversation's assistant and the person's preferences, or the program's. In a
program's turn, the model may call the program's functions, and the product's tools that its key allows. It is also decided here whether the
turn's reasoning is summarized.

Everything that a turn needs is loaded in one job of a pool, because each job waits for a thread. A first question mostly needs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import dropwhile
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.exceptions import SynchronousOnlyOperation

from chatui import wire
from chatui.backends.base import BackendError, Effort, SampleRequest
from chatui.backends.context_window import SEEN_CHARS
from chatui.backends.spec import BackendSpec, split_choice
from chatui.codes import ProductCode
from chatui.display import fragments
from chatui.env import environment
from chatui.instructions import instructions_for
from chatui.model_servers import connected
from chatui.models.conversation import Conversation, Folder
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.observability.error_reports import log_without_content
from chatui.permissions import access, assistants, files, shares
from chatui.permissions.tools import tools_in
from chatui.prompts import format_assistant_instructions, format_preferences, format_program_instructions
from chatui.store import continuation, document_headers, documents, opened_pages, transcripts
from chatui.store.transcripts import PromptMessage
from chatui.tools import catalogue
from chatui.tools.tool import Tool
from chatui.turns.asks import AskKind, ProgramAsk
from chatui.turns.running_turn import RunningTurn
from renderer import history
from renderer.activities.activity import from_stored
from renderer.frame_kinds import ANSWER, DOCUMENT_NAME, SUMMARY_NAME, TOOL_LINE_NAME, is_answer, is_document
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.markup import citations
from renderer.markup.citations import CitableSource
from renderer.markup.html import SafeHtml
from renderer.ocml import document

log = logging.getLogger(__name__)


def spec_for(turn: Turn) -> BackendSpec:
    """The model server of a turn, with summaries turned off if none are made for this person. Call it in a thread: it takes at most one
    statement, and those that load a server from the database.

    Raises:
        BackendError: see ``connected.spec_of``.
    """
    spec = connected.spec_of(turn.choice)
    if spec.summaries == "none" or shares.may_have_summaries(turn.asked_by):
        return spec
    return spec.model_copy(update={"summaries": "none", "summarizer": ""})


def first_request(running: RunningTurn, spec: BackendSpec, **more: Any) -> SampleRequest:
    """The first request of the turn: what was loaded, with the settings of the model server and of the program, and ``more`` fields."""
    loaded, program, model = running.request, running.ask.program, split_choice(running.turn.choice)[1]
    most = spec.max_answer_tokens or environment().max_answer_tokens or None
    return replace(
        loaded,
        model=model,
        sampling={**spec.sampling_of(model), **loaded.sampling, **(program.sampling if program else {})},
        effort=_effort(running.turn.effort),
        max_tokens=min(filter(None, (most, program.max_tokens if program else None)), default=None),
        tools=tuple(tool.definition for tool in running.tools.values()),
        wants_summary=spec.summaries == "server",
        thoughts=running.cut_thoughts,
        must_fit=bool(program and program.must_fit),
        must_call=bool(program and program.offer.must_call),
        **more,
    )


def _effort(value: str) -> Effort:
    return "low" if value == "low" else "high" if value == "high" else "medium"


def created(running: RunningTurn) -> wire.TurnCreated:
    """The event, with the question if it is new."""
    language = fragments.language_of(running.ask.language)
    html = _shown_question(running, language)
    # Continuing an answer changes neither.
    conversation = None if running.ask.kind is AskKind.CONTINUE else running.turn.conversation
    return wire.TurnCreated(
        str(running.turn.conversation_id),
        str(running.turn.question_id),
        str(running.after) if running.after else None,
        running.ask.kind,
        str(running.continued_turn) if running.continued_turn else None,
        html,
        language if html else None,
        conversation.choice if conversation else None,
        conversation.effort if conversation else None,
    )


def _shown_question(running: RunningTurn, language: str) -> SafeHtml | None:
    if running.ask.kind not in (AskKind.SEND, AskKind.EDIT):
        return None
    try:
        return fragments.question(running.turn.question, running.versions, language, running.documents)
    except Exception as error:  # noqa: BLE001 - the question is answered all the same, and the page loads it from where it is stored
        log_without_content(log, running.turn.pk, error)
        return None


def _tools_of_program(turn: Turn, program: ProgramAsk, *, is_demo: bool) -> Mapping[str, Tool]:
    """The program's functions, and those of the product's tools that its key names and that run without approval: nobody is there to
    approve a call, or to be asked.

    A program's function replaces a tool of the same name. Functions may return text by strangers, and send data out. So beside them only
    tools are offered that neither read private data nor send data outside, unless the operator allows all combinations.
    """
    offer = program.offer
    found = tools_in(turn.asked_by, turn.conversation, is_demo=is_demo).offered if offer.own_tools else {}
    allowed = {name: tool for name, tool in found.items() if name in offer.own_tools and catalogue.is_for_programs(tool)}
    if offer.functions and environment().tool_combinations != "any":
        allowed = {name: tool for name, tool in allowed.items() if not (tool.reads_private_data or tool.sends_outside)}
    return {**{name: tool for name, tool in allowed.items() if name not in offer.names}, **offer.functions}


def load(running: RunningTurn) -> BackendSpec:
    """Load what the turn needs, and return its model server. Call it in a thread: it may read the database and import packages. Safe to
    run twice.

    Raises:
        BackendError: there is no model server. The rest is loaded.
    """
    load_branch(running)
    running.pages = _pages(running)
    spec = spec_for(running.turn)
    running.tools = _tools(running, spec)
    return spec


def load_at_once(running: RunningTurn) -> BackendSpec | None:
    """As ``load``, in the event loop, if the turn needs nothing from the database, as most first questions; otherwise None.

    Raises:
        BackendError: as ``load``.
    """
    if running.turn.question.parent_id is not None or catalogue.has_any(is_demo=False):
        return None
    try:
        return load(running)
    except SynchronousOnlyOperation:  # Django lets no event loop read the database
        return None


def load_branch(running: RunningTurn) -> None:
    """Load the branch up to the question as the model may see it again, and the answer that the turn continues.

    At most one statement, and one more for each of these: a cut answer, one that was continued before, a conversation that is longer than
    any model reads, a folder, an assistant, documents. A program's instructions come below the operator's, and its turn never continues a
    cut answer.
    """
    turn, program, sampling = running.turn, running.ask.program, {}
    if turn.conversation.document_header:
        sampling = document_headers.sampling_of(turn.conversation)
        if hints := document_headers.unmet_capabilities(turn.conversation):
            log.info("turn %s: %s", turn.pk, "; ".join(hints))
    cut = continuation.cut_answer(turn)
    place_id = (cut.parent_id if cut else running.place_id or turn.continued_message_id) or turn.question_id
    messages = _branch(turn, place_id)
    left_out = transcripts.questions_from(messages[0].parent_id) if messages[0].parent_id else 0
    if left_out and program and program.must_fit:
        raise BackendError(ProductCode.CONVERSATION_TOO_LONG, f"more than {SEEN_CHARS} characters")
    if left_out:
        messages = list(dropwhile(lambda message: message.role != Role.USER, messages))
    sent = _documents(messages)
    known = {turn.question_id: transcripts.frame_of(turn.question)}
    # Stored system and developer frames are only a record: an import must not give instructions, and the operator's may have changed.
    said = (message for message in messages if message.role not in (Role.SYSTEM, Role.DEVELOPER))
    seen = [known.get(message.key) or document.parse_frame(message.text) for message in said]
    frames, begun = history.frames_for_prompt(seen), None if program or turn.continued_message is None else _NO_ANSWER_YET
    if program and program.is_prefilled and is_answer(frames[-1].header):
        frames, begun = frames[:-1], frames[-1]
    running.request = SampleRequest(
        (*_instructions(turn, program), *frames),
        cut_answer=transcripts.frame_of(cut) if cut else begun,
        sampling=sampling,
        today=None if program else today(turn.asked_by),
        counted={document.parse_frame(message.text): tokens for message, _, tokens in sent},
    )
    running.place_id = place_id
    running.turns_left_out = left_out
    questions = (message for message in messages if message.role == Role.USER and message.author in (Author.IMPORT, Author.FORMER))
    running.imported = frozenset(document.parse_frame(message.text).body for message in questions)
    running.files = tuple(name for message, name, _ in sent if message.author == Author.PERSON)
    running.call_ids = frozenset(frame.header.call_id for frame in seen if frame.terminator is Terminator.CALL and frame.header.call_id)
    if turn.continued_message is not None:
        _load_cut(running, turn.continued_message, cut, messages)


def _load_cut(running: RunningTurn, end: Message, cut: Message | None, messages: Sequence[PromptMessage]) -> None:
    """What the turn continues: the answer that was cut at ``end``. ``cut``: the same message, if it has text of the answer."""
    answer = list(dropwhile(lambda message: message.key != running.turn.question_id, messages))[1:]
    summaries = [message.key for message in answer if message.is_visible and message.name == SUMMARY_NAME]
    shown = [(message.key, document.parse_frame(message.text)) for message in answer if message.is_visible and message.name in _SHOWN_NAMES]
    running.shown_before = (*shown, *([(cut.pk, transcripts.frame_of(cut))] if cut else []))
    running.thought_before = _thought_before(end, answer)
    if summaries:
        rows = Message.objects.filter(pk__in=summaries).order_by("position").values_list("activities", flat=True)
        running.steps_before = tuple(line for stored in rows for line in from_stored(stored))
    running.cut_message_id = cut.pk if cut else None
    running.cut_stays = continuation.came_apart(cut)
    thoughts = [end] if end.channel == Channel.ANALYSIS else []
    if _sends_summaries(running.turn.choice):
        own = Message.objects.filter(turn=end.turn_id, channel=Channel.ANALYSIS, name=SUMMARY_NAME).exclude(pk=end.pk)
        thoughts = [*own.order_by("position"), *thoughts]
    running.cut_thoughts = tuple(transcripts.frame_of(message).body for message in thoughts)


def _sends_summaries(choice: str) -> bool:
    """Whether this model server may have sent summaries of its own. Nearly always it is the one that wrote what is continued."""
    try:
        return connected.spec_of(choice).summaries == "server"
    except BackendError:
        return False  # the turn fails for the same reason


def _documents(messages: Sequence[PromptMessage]) -> list[tuple[PromptMessage, str, int]]:
    """The documents among these messages, without deleted ones, each with its name and its token count."""
    found = [message for message in messages if message.role == Role.USER and message.name == DOCUMENT_NAME]
    known = documents.names_and_tokens([message.key for message in found]) if found else {}
    return [(message, *known[message.key]) for message in found if message.key in known]


def _thought_before(cut: Message, answer: Sequence[PromptMessage]) -> int | None:
    # Nearly always a single turn wrote the cut answer, and that turn is already loaded.
    if cut.turn is not None and cut.turn.continued_message_id is None:
        return cut.turn.thought_seconds
    writers = Turn.objects.filter(messages__in=[cut.pk, *(message.key for message in answer)])
    return continuation.thought_seconds(writers.only("thought_seconds").distinct())


def _branch(turn: Turn, place_id: UUID) -> list[PromptMessage]:
    question = turn.question
    if place_id == question.pk and question.parent_id is None:
        return [PromptMessage(question.pk, None, question.role, question.name, question.is_visible, question.text, question.author)]
    return transcripts.prompt_messages(place_id, SEEN_CHARS)


_NO_ANSWER_YET = Frame(ANSWER, "")
_SHOWN_NAMES = (None, "", TOOL_LINE_NAME)


def _instructions(turn: Turn, program: ProgramAsk | None) -> tuple[Frame, ...]:
    """All instructions for one request, from above. A statement each in a folder, with an assistant, and if groups have instructions."""
    conversation, operators = turn.conversation, instructions_for(turn.asked_by.group_names)
    # A person's own can be turned off in a conversation; those of its folder are read for each request. A program gets neither.
    is_own = program is None and conversation.owner_id == turn.asked_by_id and not conversation.without_instructions
    preferences = [turn.asked_by.instructions] if is_own else []
    if program is None and conversation.folder_id:
        folder = Folder.objects.filter(pk=conversation.folder_id, owner=conversation.owner_id)
        preferences += folder.values_list("instructions", flat=True)
    preferred = "\n\n".join(filter(None, preferences))
    ordered = program.all_instructions if program else ""
    if ordered and operators:  # with which they could be confused
        ordered = format_program_instructions(ordered)
    made = _of_assistant(conversation) if program is None and conversation.assistant_version_id else ""
    texts = (operators, made, format_preferences(preferred) if preferred else "", ordered)
    return tuple(Frame(Header(Role.DEVELOPER), text) for text in texts if text)


def _of_assistant(conversation: Conversation) -> str:
    version = assistants.applying(conversation)
    return format_assistant_instructions(version.instructions) if version and version.instructions else ""


def today(person: User) -> date | None:
    """The date in the person's time zone; None if they have not set one."""
    try:
        return datetime.now(UTC).astimezone(ZoneInfo(person.time_zone)).date() if person.time_zone else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None  # a zone that this machine does not know


def _pages(running: RunningTurn) -> Mapping[int, CitableSource]:
    texts = [frame.body for frame in (*running.request.frames, *(frame for _, frame in running.shown_before))]
    turn = running.turn
    asks = running.ask.program is None and access.asks_collections(turn.conversation)
    if asks or _has_documents(running) or catalogue.is_on("browser") or any(map(citations.may_cite, texts)):
        return files.titled(turn.conversation, opened_pages.of_conversation(turn.conversation_id))
    return {}


def _tools(running: RunningTurn, spec: BackendSpec) -> Mapping[str, Tool]:
    """The tools that the model may call in this turn: none if it continues a cut answer."""
    turn = running.turn
    if (program := running.ask.program) is not None:
        return _tools_of_program(turn, program, is_demo=spec.is_demo)
    is_any = spec.is_demo or catalogue.has_any(is_demo=False) or _has_documents(running) or access.asks_collections(turn.conversation)
    if running.request.cut_answer is not None or not is_any:
        return {}
    return tools_in(turn.asked_by, turn.conversation, is_demo=spec.is_demo).offered


def _has_documents(running: RunningTurn) -> bool:
    return any(is_document(frame.header) for frame in running.request.frames)
