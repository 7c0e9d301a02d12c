"""Prepares a turn that begins: chooses its model server, builds its first request, and tells pages that it has begun.

The model server may run hosted tools by itself in a person's turn. In a program's turn, the model may call the program's functions, and the
product's tools that its key allows. It is also decided here whether the turn's reasoning is summarized.

Everything that a turn needs is loaded in one database job, because each job waits for a thread. A first question needs none.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from django.core.exceptions import SynchronousOnlyOperation
from django.db import Error

from chatui import wire
from chatui.backends.base import BackendError, Effort, SampleRequest
from chatui.backends.hosted_tools import HostedTools
from chatui.backends.spec import BackendSpec, split_choice
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.display import fragments
from chatui.env import environment
from chatui.json_schemas import AnswerFormat
from chatui.model_servers import connected
from chatui.models.turn import Turn, TurnState
from chatui.observability.error_reports import log_without_content
from chatui.permissions import shares
from chatui.permissions.tools import server_tools_combine_with, tools_in
from chatui.store import opened_pages
from chatui.tools import catalogue
from chatui.tools.tool import Tool
from chatui.turns import ledger
from chatui.turns.asks import AskKind, ProgramAsk
from chatui.turns.calls.requested import TurnTools, questions_of
from chatui.turns.ledger import Job
from chatui.turns.start import Started
from renderer.activities.lines import Written
from renderer.frame_kinds import is_document
from renderer.frames import Role
from renderer.gate import Audience, may_see
from renderer.harmony.prompt import FunctionTool
from renderer.markup import citations
from renderer.markup.citations import CitableSource
from renderer.markup.html import SafeHtml


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


def first_request(
    job: Job,
    spec: BackendSpec,
    program: ProgramAsk | None,
    tools: tuple[FunctionTool, ...] = (),
    answer_format: AnswerFormat | None = None,
) -> SampleRequest:
    """The first request of the turn, without hosted tools."""
    most = spec.max_answer_tokens or environment().max_answer_tokens or None
    model = split_choice(job.choice)[1]
    request = SampleRequest(
        job.frames,
        model=model,
        sampling=spec.sampling_of(model),
        effort=_effort(job.effort),
        max_tokens=most,
        cut_answer=job.cut_answer,
        tools=tools,
        answer_format=answer_format,
        today=job.today,
        counted=job.counted,
        wants_summary=spec.summaries == "server",
    )
    if program is None:
        return request
    most = min(filter(None, (most, program.max_tokens)), default=None)
    must_call = program.offer.must_call
    return replace(
        request, max_tokens=most, sampling={**request.sampling, **program.sampling}, must_fit=program.must_fit, must_call=must_call
    )


def _effort(value: str) -> Effort:
    return "low" if value == "low" else "high" if value == "high" else "medium"


PATIENCE = 2.0
"""How many seconds a request waits for a busy database before it is sent without hosted tools."""


async def offered(spec: BackendSpec, turn: Turn, tools: Collection[Tool], request: SampleRequest) -> HostedTools | None:
    """The hosted tools to offer. None if the server has none, a program asks, an answer is only continued, the tools may not be combined
    with the others of the conversation, or the database is busy."""
    if not spec.server_tools or turn.key_id is not None or request.cut_answer is not None:
        return None
    if not await pools.turns.run_with_retries(partial(server_tools_combine_with, tools, turn.conversation)):
        return None
    try:
        await writer.run(partial(_mark_used, turn), order=turn.pk, patience=PATIENCE)
    except DatabaseBusyError:
        return None
    return HostedTools(spec.server_tools)


def _mark_used(turn: Turn) -> None:
    """Mark the turn, until its end is stored, as one whose server has used a tool: if this process dies, nobody else will know."""
    Turn.objects.filter(pk=turn.pk, state=TurnState.RUNNING).update(by_server={"tools": []})


def forget_sources(hosted: HostedTools | None) -> None:
    """Forget the sources so far, because the model is sampled again: they belong to no answer, or to one that was cut or refused."""
    if hosted is not None:
        hosted.sources.clear()


def used(hosted: HostedTools | None) -> Mapping[str, object] | None:
    """The hosted tools that were used and their sources, for the turn's ``by_server`` column; None if there was no use."""
    if hosted is None or not (hosted.kinds or hosted.sources):
        return None
    return {"tools": list(hosted.kinds), "sources": [[url, title] for url, title in hosted.sources.items()]}


def written_of(job: Job, *, has_tools: bool) -> Written:
    """What the person wrote, from which a line of the turn's summary may name something."""
    questions = questions_of(job.frames, job.imported)
    asked = [frame.body for frame in job.frames if frame.header.role == Role.USER and may_see(frame.header, Audience.END_USER)]
    # A question that somebody else may have written lends no words to a line.
    is_own = bool(questions) and asked[-1:] == [questions[-1]]
    earlier = questions[:-1] if is_own else questions
    return Written(questions[-1] if is_own else "", earlier, job.files, has_tools=has_tools, before=job.steps_before)


log = logging.getLogger(__name__)


def created(started: Started) -> wire.TurnCreated:
    """The event, with the question if it is new."""
    language = fragments.language_of(started.language)
    html = _shown_question(started, language)
    return wire.TurnCreated(
        str(started.turn.conversation_id),
        str(started.turn.question_id),
        str(started.after) if started.after else None,
        started.kind,
        str(started.continued_turn) if started.continued_turn else None,
        html,
        language if html else None,
    )


def _shown_question(started: Started, language: str) -> SafeHtml | None:
    if started.kind not in (AskKind.SEND, AskKind.EDIT):
        return None
    try:
        return fragments.question(started.turn.question, started.versions, language, started.documents)
    except Exception as error:  # noqa: BLE001 - the question is answered all the same, and the page loads it from where it is stored
        log_without_content(log, started.turn.pk, error)
        return None


def tools_of(started: Started, program: ProgramAsk, *, is_demo: bool) -> TurnTools:
    """All these tools. Reads the database if the key names any of the product's tools."""
    own = _own(started, program, is_demo=is_demo) if program.offer.own_tools else {}
    return TurnTools({**own, **program.offer.functions}, program)


def _own(started: Started, program: ProgramAsk, *, is_demo: bool) -> dict[str, Tool]:
    """The product's tools that run without approval: nobody is there to approve a call, so tools that need approval are not offered.

    A program's function replaces a tool of the same name. Functions may return text by strangers, and send data out. So beside them only
    tools are offered that neither read private data nor send data outside, unless the operator allows all combinations.
    """
    turn = started.turn
    found = tools_in(turn.asked_by, turn.conversation, is_demo=is_demo).offered
    allowed = {name: tool for name, tool in found.items() if name in program.offer.own_tools and not catalogue.needs_approval(tool)}
    if program.offer.functions and environment().tool_combinations != "any":
        allowed = {name: tool for name, tool in allowed.items() if not (tool.reads_private_data or tool.sends_outside)}
    return {name: tool for name, tool in allowed.items() if name not in program.offer.names}


SHORT_CHARS = 8_000
"""Up to this length, preparing a question takes so little time that the event loop can do it."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a turn needs. ``pages``: those opened earlier in the conversation, by cursor, which the model may cite or continue reading.
    ``server``: the model server, or the error that explains why there is none."""

    job: Job
    pages: Mapping[int, CitableSource]
    server: BackendSpec | BackendError
    tools: TurnTools

    @property
    def spec(self) -> BackendSpec:
        """The model server of the turn.

        Raises:
            BackendError: there is none.
        """
        if isinstance(self.server, BackendError):
            raise self.server
        return self.server


def opening_of(started: Started) -> Opening:
    """Load what the turn needs. Call it in a thread: it may read the database and import packages. Safe to run twice."""
    job = ledger.load(started.turn, started.program)
    pages = _pages(job)
    try:
        spec = spec_for(started.turn)
    except BackendError as error:
        # Without a server the turn fails, but people must still see the part of the answer that it was to continue.
        return Opening(job, pages, error, TurnTools())
    return Opening(job, pages, spec, _tools(started, job, spec))


def opening_at_once(started: Started) -> Opening | None:
    """The same on the event loop, for a short first question that needs nothing from the database: the transaction that stored it has just
    read everything else. None if ``opening_of`` has to run in a thread."""
    turn = started.turn
    is_first = turn.question.parent_id is None and turn.continued_message_id is None
    if not is_first or started.program is not None or len(turn.question.text) > SHORT_CHARS or environment().tools:
        return None
    if "DJANGO_ALLOW_ASYNC_UNSAFE" in os.environ:
        return None  # Django would not refuse to read the database here
    try:
        return opening_of(started)
    except (SynchronousOnlyOperation, Error):
        return None  # there is something to read after all, such as the instructions of a folder


def _pages(job: Job) -> Mapping[int, CitableSource]:
    texts = [frame.body for frame in (*job.frames, *(frame for _, frame in job.shown_before))]
    if _has_documents(job) or "browser" in environment().tools or any(map(citations.may_cite, texts)):
        return opened_pages.of_conversation(job.conversation_id)
    return {}


def _tools(started: Started, job: Job, spec: BackendSpec) -> TurnTools:
    """The tools that the model may call in this turn: none if it continues a cut answer."""
    if program := started.program:
        return tools_of(started, program, is_demo=spec.is_demo)
    if job.cut_answer is not None or not (_has_documents(job) or catalogue.has_any(is_demo=spec.is_demo)):
        return TurnTools()
    turn = started.turn
    return TurnTools(tools_in(turn.asked_by, turn.conversation, is_demo=spec.is_demo).offered)


def _has_documents(job: Job) -> bool:
    return any(is_document(frame.header) for frame in job.frames)
