"""Chooses a turn's model server, and builds its first request."""

from __future__ import annotations

from dataclasses import replace

from chatui.backends.base import Effort, SampleRequest
from chatui.backends.spec.choices import split_choice
from chatui.backends.spec.definition import BackendSpec
from chatui.env import environment
from chatui.json_schemas.answer_format import AnswerFormat
from chatui.model_servers import connected
from chatui.models import Turn
from chatui.permissions.by_group import summaries
from chatui.turns.ledger import Job
from chatui.turns.requests.by_program import ProgramAsk
from renderer.harmony.system_messages import FunctionTool


def spec_for(turn: Turn) -> BackendSpec:
    """The model server of a turn, with summaries turned off if none are made for this person. Call it in a thread: it takes at most one
    statement, and those that load a server from the database.

    Raises:
        BackendError: see ``connected.spec_of``.
    """
    spec = connected.spec_of(turn.choice)
    if spec.summaries == "none" or summaries.are_enabled_for(turn.asked_by):
        return spec
    return spec.model_copy(update={"summaries": "none", "summarizer": "", "summary_review": None})


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
