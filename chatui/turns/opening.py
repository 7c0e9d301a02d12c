"""Prepares a turn that begins: chooses its model server, builds its first request, and tells pages that it has begun.

The model server may run hosted tools by itself in a person's turn. In a program's turn, the model may call the program's functions, and the
product's tools that its key allows. It is also decided here whether the turn's reasoning is summarized.

Everything that a turn needs is loaded in one database running, because each running waits for a thread. A first question needs none.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from django.core.exceptions import SynchronousOnlyOperation
from django.db import Error

from chatui import wire
from chatui.backends.base import Effort, SampleRequest
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
from chatui.turns.running_turn import RunningTurn
from renderer.frame_kinds import is_document
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


def first_request(running: RunningTurn, spec: BackendSpec, answer_format: AnswerFormat | None = None) -> SampleRequest:
    """The first request of the turn, without hosted tools."""
    most = spec.max_answer_tokens or environment().max_answer_tokens or None
    model = split_choice(running.turn.choice)[1]
    request = SampleRequest(
        running.frames,
        model=model,
        sampling={**spec.sampling_of(model), **running.sampling},
        effort=_effort(running.turn.effort),
        max_tokens=most,
        cut_answer=running.cut_answer,
        tools=tuple(tool.definition for tool in running.tools.values()),
        answer_format=answer_format,
        today=running.today,
        counted=running.counted,
        wants_summary=spec.summaries == "server",
    )
    program = running.program
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


async def offered(spec: BackendSpec, running: RunningTurn, request: SampleRequest) -> HostedTools | None:
    """The hosted tools to offer. None if the server has none, a program asks, an answer is only continued, the tools may not be combined
    with the others of the conversation, or the database is busy."""
    turn = running.turn
    if not spec.server_tools or turn.key_id is not None or request.cut_answer is not None:
        return None
    if not await pools.turns.run_with_retries(partial(server_tools_combine_with, running.tools.values(), turn.conversation)):
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


log = logging.getLogger(__name__)


def created(running: RunningTurn) -> wire.TurnCreated:
    """The event, with the question if it is new."""
    language = fragments.language_of(running.language)
    html = _shown_question(running, language)
    return wire.TurnCreated(
        str(running.turn.conversation_id),
        str(running.turn.question_id),
        str(running.after) if running.after else None,
        running.kind,
        str(running.continued_turn) if running.continued_turn else None,
        html,
        language if html else None,
    )


def _shown_question(running: RunningTurn, language: str) -> SafeHtml | None:
    if running.kind not in (AskKind.SEND, AskKind.EDIT):
        return None
    try:
        return fragments.question(running.turn.question, running.versions, language, running.documents)
    except Exception as error:  # noqa: BLE001 - the question is answered all the same, and the page loads it from where it is stored
        log_without_content(log, running.turn.pk, error)
        return None


def _tools_of_program(turn: Turn, program: ProgramAsk, *, is_demo: bool) -> Mapping[str, Tool]:
    """The program's functions, and those of the product's tools that its key names and that run without approval: nobody is there to
    approve a call.

    A program's function replaces a tool of the same name. Functions may return text by strangers, and send data out. So beside them only
    tools are offered that neither read private data nor send data outside, unless the operator allows all combinations.
    """
    offer = program.offer
    found = tools_in(turn.asked_by, turn.conversation, is_demo=is_demo).offered if offer.own_tools else {}
    allowed = {name: tool for name, tool in found.items() if name in offer.own_tools and not catalogue.needs_approval(tool)}
    if offer.functions and environment().tool_combinations != "any":
        allowed = {name: tool for name, tool in allowed.items() if not (tool.reads_private_data or tool.sends_outside)}
    return {**{name: tool for name, tool in allowed.items() if name not in offer.names}, **offer.functions}


SHORT_CHARS = 8_000
"""Up to this length, preparing a question takes so little time that the event loop can do it."""


def load(running: RunningTurn) -> BackendSpec:
    """Load what the turn needs, and return its model server. Call it in a thread: it may read the database and import packages. Safe to
    run twice.

    Raises:
        BackendError: there is no model server. The rest is loaded.
    """
    ledger.load(running)
    running.pages = _pages(running)
    spec = spec_for(running.turn)
    running.tools = _tools(running, spec)
    return spec


def load_at_once(running: RunningTurn) -> BackendSpec | None:
    """The same on the event loop, for a short first question that needs nothing from the database: the transaction that stored it has just
    read everything else. None if ``load`` has to run in a thread."""
    turn = running.turn
    is_first = turn.question.parent_id is None and turn.continued_message_id is None
    if not is_first or running.program is not None or len(turn.question.text) > SHORT_CHARS or environment().tools:
        return None
    if "DJANGO_ALLOW_ASYNC_UNSAFE" in os.environ:
        return None  # Django would not refuse to read the database here
    try:
        return load(running)
    except (SynchronousOnlyOperation, Error):
        return None  # there is something to read after all, such as the instructions of a folder


def _pages(running: RunningTurn) -> Mapping[int, CitableSource]:
    texts = [frame.body for frame in (*running.frames, *(frame for _, frame in running.shown_before))]
    if _has_documents(running) or "browser" in environment().tools or any(map(citations.may_cite, texts)):
        return opened_pages.of_conversation(running.turn.conversation_id)
    return {}


def _tools(running: RunningTurn, spec: BackendSpec) -> Mapping[str, Tool]:
    """The tools that the model may call in this turn: none if it continues a cut answer."""
    turn = running.turn
    if running.program is not None:
        return _tools_of_program(turn, running.program, is_demo=spec.is_demo)
    if running.cut_answer is not None or not (_has_documents(running) or catalogue.has_any(is_demo=spec.is_demo)):
        return {}
    return tools_in(turn.asked_by, turn.conversation, is_demo=spec.is_demo).offered


def _has_documents(running: RunningTurn) -> bool:
    return any(is_document(frame.header) for frame in running.frames)
