"""Loads everything that a turn needs in one database job, because each job waits for a thread. A first question needs none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from django.core.exceptions import SynchronousOnlyOperation
from django.db import Error

from chatui.backends.base import BackendError
from chatui.backends.spec.definition import BackendSpec
from chatui.env import environment
from chatui.permissions.tools import tools_in
from chatui.store.browsing import opened_pages
from chatui.tools import available
from chatui.turns import ledger
from chatui.turns.calls.handing_back import TurnTools
from chatui.turns.ledger import Job
from chatui.turns.opening.first_request import spec_for
from chatui.turns.programs.tools import tools_of
from chatui.turns.start import Started
from renderer.frame_kinds import is_document
from renderer.markup import citations
from renderer.markup.citations import CitableSource

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
    if job.cut_answer is not None or not (_has_documents(job) or available.has_any(is_demo=spec.is_demo)):
        return TurnTools()
    turn = started.turn
    return TurnTools(tools_in(turn.asked_by, turn.conversation, is_demo=spec.is_demo).offered)


def _has_documents(job: Job) -> bool:
    return any(is_document(frame.header) for frame in job.frames)
