"""The doctor examines a real llama.cpp server with a tiny gpt-oss model: configured correctly, and with reasoning in its answers."""

import pytest

from renderer.harmony.vocabulary import Vocabulary
from tests.support.examinations import Examined, examined

pytestmark = pytest.mark.llama


@pytest.mark.parametrize(("kind", "code"), [("harmony-llamacpp", 0), ("chat", 1)])
async def test_a_server_in_its_normal_mode_is_healthy_by_token_ids_and_has_its_known_faults_otherwise(
    llama_server: str, vocabulary: Vocabulary, kind: str, code: int
) -> None:
    report = await examined(llama_server, vocabulary=vocabulary, kind=kind, seconds=55)
    by_ids = kind if kind.startswith("harmony") else "harmony"
    assert report.found_by_format == {
        by_ids: {},
        "responses": {"cut-unsaid": "fault", "preamble-glued": "fault"},
        "chat": {"preamble-glued": "fault"},
    }
    assert report.exit_code == code
    assert report.best == by_ids
    assert [report.as_json[name] for name in ("product", "models", "gpt_oss", "context")] == ["llama.cpp", ["gpt-oss-tiny"], True, 4096]
    assert report.as_json["version"]
    holds_no_word_of_the_model(report)


@pytest.mark.parametrize(("kind", "code"), [("harmony", 0), ("chat", 1)])
async def test_a_server_that_puts_reasoning_into_its_answers_is_told_so_and_that_the_guard_catches_it(
    llama_server_unparsed: str, vocabulary: Vocabulary, kind: str, code: int
) -> None:
    report = await examined(llama_server_unparsed, vocabulary=vocabulary, kind=kind, seconds=55)
    for mixed in ("chat", "responses"):
        faults = report.found_by_format[mixed]
        assert faults["leak-markers"] == "fault" and "answer-hidden" not in faults, mixed
    assert report.found_by_format["harmony"] == {}
    assert report.exit_code == code
    assert report.best == "harmony"
    seen = next(finding["seen"] for one in report.as_json["formats"] if one["kind"] == "chat" for finding in one["findings"])
    assert "catches it" in seen
    holds_no_word_of_the_model(report)


def holds_no_word_of_the_model(report: Examined) -> None:
    for words in ("Simple arithmetic", "2 + 2 = 4", "itinerary", "Saturday"):
        assert words not in report.everything
