"""The doctor examines a real llama.cpp server with a tiny gpt-oss model: configured correctly, and with reasoning in its answers."""

import json

import pytest

from chatui.codes import Fault
from chatui.operations.doctor.examination import ExaminedServer, examine
from chatui.operations.doctor.faults import Level, ServerFault
from chatui.operations.doctor.report import DoctorReport, as_json, as_text
from renderer.harmony.vocabulary import Vocabulary

pytestmark = pytest.mark.llama


async def examined(url: str, vocabulary: Vocabulary, kind: str) -> DoctorReport:
    return await examine(ExaminedServer("here", url, lambda: vocabulary, kind))


def found(report: DoctorReport) -> dict[str, dict[Fault, Level]]:
    return {one.kind: {finding.fault: finding.level for finding in one.findings} for one in report.formats}


@pytest.mark.parametrize(("kind", "code"), [("harmony-llamacpp", 0), ("chat", 1)])
async def test_a_server_in_its_normal_mode_is_healthy_by_token_ids_and_has_its_known_faults_otherwise(
    llama_server: str, vocabulary: Vocabulary, kind: str, code: int
) -> None:
    report = await examined(llama_server, vocabulary, kind)
    by_ids = kind if kind.startswith("harmony") else "harmony"
    assert found(report) == {
        by_ids: {},
        "responses": {ServerFault.CUT_UNSAID: Level.FAULT, ServerFault.PREAMBLE_GLUED: Level.FAULT},
        "chat": {ServerFault.PREAMBLE_GLUED: Level.FAULT},
    }
    assert report.level.exit_code == code
    assert report.best is not None and report.best.kind == by_ids
    identity = report.identity
    assert (identity.product, identity.models, identity.is_gpt_oss) == ("llama.cpp", ("gpt-oss-tiny",), True)
    assert identity.version and identity.context == 4096
    holds_no_word_of_the_model(report)


@pytest.mark.parametrize(("kind", "code"), [("harmony", 0), ("chat", 1)])
async def test_a_server_that_puts_reasoning_into_its_answers_is_told_so_and_that_the_guard_catches_it(
    llama_server_unparsed: str, vocabulary: Vocabulary, kind: str, code: int
) -> None:
    report = await examined(llama_server_unparsed, vocabulary, kind)
    for mixed in ("chat", "responses"):
        faults = found(report)[mixed]
        assert faults[ServerFault.LEAK_MARKERS] is Level.FAULT and ServerFault.ANSWER_HIDDEN not in faults, mixed
    assert found(report)["harmony"] == {}
    assert report.level.exit_code == code
    assert report.best is not None and report.best.kind == "harmony"
    seen = next(finding.seen for one in report.formats if one.kind == "chat" for finding in one.findings)
    assert "catches it" in seen
    holds_no_word_of_the_model(report)


def holds_no_word_of_the_model(report: DoctorReport) -> None:
    for words in ("Simple arithmetic", "2 + 2 = 4", "itinerary", "Saturday"):
        assert words not in as_text(report) + json.dumps(as_json(report)) + repr(report)
