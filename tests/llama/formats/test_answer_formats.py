"""Answers with a schema from a real llama.cpp server, over each wire format: the grammar constrains the answer, but not the reasoning."""

import json
from dataclasses import replace

import pytest

from chatui.answer_formats import AnswerFormat, answer_format
from chatui.backends.base import Backend, EndReason
from renderer.frame_kinds import is_answer
from renderer.frames import Channel
from tests.support.sampling import outcome, sample_request

pytestmark = pytest.mark.llama

SUM = answer_format(
    "sum",
    {
        "type": "object",
        "properties": {"sum": {"enum": [3, 4, 5]}, "is_even": {"type": "boolean"}},
        "required": ["sum", "is_even"],
        "additionalProperties": False,
    },
)
EITHER = answer_format("either", {"enum": ["yes", "no"]})


@pytest.mark.parametrize("expected_format", [SUM, EITHER], ids=["object", "choice"])
async def test_the_answer_fits_the_schema_and_the_reasoning_is_unconstrained(backend: Backend, expected_format: AnswerFormat) -> None:
    found = await outcome(backend, replace(sample_request("What is 2 + 2?"), answer_format=expected_format, max_tokens=400))
    print([done.frame.body for done in found.finished], found.ended)
    assert found.ended is not None and found.ended.reason is EndReason.STOP
    assert expected_format.fault(found.visible) is None
    [answer] = [done.frame for done in found.finished if is_answer(done.frame.header)]
    assert json.loads(answer.body) is not None
    thoughts = [done.frame.body for done in found.finished if done.frame.header.channel == Channel.ANALYSIS]
    assert thoughts and not any(thought.startswith(("{", '"')) for thought in thoughts)
