"""What a server sends as token ids, read by both readers: agreement says nothing, disagreement is a finding that quotes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatui.backends.base import Endpoint
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.codes import Fault
from chatui.operations.doctor.examination import ExaminedServer, examine, read_again
from chatui.operations.doctor.faults import Level, ServerFault
from chatui.operations.doctor.report import DoctorReport, as_json, as_text
from chatui.operations.doctor.trial import IdEvent, Trial, attempt, sampled_ids
from chatui.operations.second_reader import SecondReader
from renderer.harmony.pieces import ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.harmony.test_backend import EXPECTED, server_of
from tests.chatui.backends.wire import SGLANG, recorded, sse
from tests.chatui.operations.doctor.peers import THOUGHT, VLLM, WORDS, Answer, chat_answers, id_answers, peer, vllm_ids
from tests.chatui.operations.fakes import crashing, hanging, lying
from tests.support import stub
from tests.support.sampling import PATIENT, sample_request

pytestmark = pytest.mark.served

CANARY = "CANARY-OF-THE-REASONING"
HIDDEN = f"<|channel|>analysis<|message|>{CANARY} {THOUGHT}"
FINAL = "<|start|>assistant<|channel|>final<|message|>4<|return|>"


@pytest.fixture
def second(rank_file: Path) -> SecondReader:
    return SecondReader(lambda: rank_file, 120)


async def examined(answers: dict[str, Answer], vocabulary: Vocabulary, second: SecondReader | None, seconds: float = 60.0) -> DoctorReport:
    async with peer({**chat_answers(), **answers}, VLLM) as server:
        target = ExaminedServer("here", server.url, lambda: vocabulary, "harmony", second=second)
        return await examine(target, seconds=seconds, questions=WORDS)


def found(report: DoctorReport) -> dict[Fault, tuple[Level, str]]:
    return {finding.fault: (finding.level, finding.seen) for finding in report.formats[0].findings}


async def test_a_server_whose_ids_both_read_alike_is_healthy(vocabulary: Vocabulary, second: SecondReader) -> None:
    report = await examined(id_answers(vocabulary), vocabulary, second)
    assert (found(report), report.level.exit_code) == ({}, 0)


@pytest.mark.parametrize(
    ("raw", "differs", "people"),
    [
        # A lost end: the second reader takes the answer for more reasoning.
        (HIDDEN + FINAL, "message 1, read-otherwise (body)", "People see something that they would not by the other."),
        # Another author ends the turn for us; nothing of his is an answer either way.
        (
            f"{HIDDEN}<|end|><|start|>user<|message|>{CANARY}<|end|>{FINAL}",
            "message 2",
            "People see less than they would by the other.",
        ),
        # A word too many in the header of a thought: hidden by both, but the second reader guesses.
        (f"<|channel|>analysis guess<|message|>{CANARY}<|end|>{FINAL}", "message 1, header-hidden", "People see the same by either."),
        (f"{HIDDEN}<|end|>{CANARY}{FINAL}", "message 2, not-read (no-start)", "People see the same by either."),
    ],
)
async def test_a_disagreement_is_a_fault_and_says_what_people_see_and_quotes_nothing(
    raw: str, differs: str, people: str, vocabulary: Vocabulary, second: SecondReader
) -> None:
    report = await examined(id_answers(vocabulary, sum=vllm_ids(vocabulary, raw)), vocabulary, second)
    level, seen = found(report)[ServerFault.READERS_DIFFER]
    # Where another author ended the turn there is no answer, which is worse.
    assert (level, report.level.exit_code) == (Level.FAULT, 3 if ServerFault.ANSWER_HIDDEN in found(report) else 1)
    assert "question “sum”" in seen and differs in seen and people in seen
    words = as_text(report)
    assert ServerFault.READERS_DIFFER.sentence.split(",")[0] in words and CANARY not in words + json.dumps(as_json(report)) + repr(report)


async def test_a_second_reader_that_lies_is_a_disagreement_of_which_ours_noticed_nothing(vocabulary: Vocabulary, rank_file: Path) -> None:
    report = await examined(id_answers(vocabulary), vocabulary, lying(rank_file, "another channel"))
    level, seen = found(report)[ServerFault.READERS_DIFFER]
    assert level is Level.FAULT and "(channel)" in seen and "Our reader noticed nothing." in seen


async def test_without_a_second_reading_a_server_is_as_healthy_as_before(vocabulary: Vocabulary, rank_file: Path, tmp_path: Path) -> None:
    for reader, sentence in (
        (crashing(rank_file), "crashed"),
        (hanging(rank_file, tmp_path / "pid"), "did not answer within"),
        (SecondReader(lambda: None), "fetch_vocabulary"),
    ):
        report = await examined(id_answers(vocabulary), vocabulary, reader)
        [(fault, (level, seen))] = found(report).items()
        assert (fault, level, report.level.exit_code) == (ServerFault.READ_ONCE, Level.NOTE, 0) and sentence in seen
    assert found(await examined(id_answers(vocabulary), vocabulary, None)) == {}


async def test_the_second_reader_has_no_more_time_than_the_examination_has_left(vocabulary: Vocabulary, rank_file: Path) -> None:
    given: list[float] = []

    class Noting(SecondReader):
        def within(self, seconds: float) -> SecondReader:
            given.append(seconds)
            return super().within(seconds)

    await examined(id_answers(vocabulary), vocabulary, Noting(lambda: rank_file, 600), seconds=50)
    assert len(given) == 1 and 0 < given[0] < 50
    assert SecondReader(lambda: rank_file, 600).within(given[0]).seconds == given[0]
    assert SecondReader(lambda: rank_file, 3).within(50).seconds == 3


async def tried(raw: bytes, server: dict[str, Any], vocabulary: Vocabulary) -> Trial:
    async with stub.running(stub.plays(raw), **server) as running:
        backend = HarmonyCompletionsBackend(Endpoint(running.url, limits=PATIENT), vocabulary=lambda: vocabulary)
        try:
            return await attempt(backend, sample_request("Hello!"), 60)
        finally:
            await backend.aclose()


async def test_both_read_the_same_in_every_recording_of_real_servers_but_the_one_with_a_bad_header(
    vocabulary: Vocabulary, second: SecondReader
) -> None:
    for product in ("llamacpp", "vllm"):
        names = [name for name in EXPECTED if name.startswith(product)]
        trials = {name: await tried(recorded(name), server_of(name), vocabulary) for name in names}
        assert len(trials) > 3 and all(trial.observed.id_events for trial in trials.values()), "the premise: ids were sent"
        [finding] = read_again(trials, vocabulary, second, is_llama=product == "llamacpp")
        assert finding.fault is ServerFault.READERS_DIFFER and "badheader" in finding.seen


async def test_an_answer_that_was_cut_anywhere_is_no_disagreement(vocabulary: Vocabulary, second: SecondReader) -> None:
    text = "<|channel|>analysis<|message|>Hm 👩‍👩‍👧.<|end|><|start|>assistant<|channel|>final<|message|>日本<|return|>"
    ids = ids_of_pieces(pieces_of_text(text), vocabulary)
    trials = {}
    for length in range(1, len(ids) + 1):
        chunk = {"choices": [{"index": 0, "text": "x", "token_ids": ids[:length], "finish_reason": "length"}]}
        trials[str(length)] = await tried(sse(chunk) + stub.DONE, {"models": VLLM}, vocabulary)
    assert list(read_again(trials, vocabulary, second, is_llama=False)) == []
    assert all(trial.error is None for trial in trials.values()), "the premise: each was read"


async def test_sglangs_ids_are_counted_once_whether_it_repeats_them_or_not(vocabulary: Vocabulary, second: SecondReader) -> None:
    ids = ids_of_pieces(pieces_of_text(HIDDEN + "<|end|>" + FINAL), vocabulary)

    def event(sent: list[int], total: int) -> dict[str, Any]:
        finished = {"type": "stop", "matched": 200_002} if total == len(ids) else None
        return {"text": "x", "output_ids": sent, "meta_info": {"completion_tokens": total, "finish_reason": finished}}

    for at_once in ([event(ids[:n], n) for n in range(1, len(ids) + 1)], [event([id_], n) for n, id_ in enumerate(ids, 1)]):
        trial = await tried(sse(*at_once) + stub.DONE, SGLANG, vocabulary)
        assert sampled_ids(trial.observed.id_events, vocabulary, is_llama=False) == ids
        assert list(read_again({"sum": trial}, vocabulary, second, is_llama=False)) == []


async def test_where_llama_cpp_leaves_ids_out_they_are_those_of_its_text(vocabulary: Vocabulary) -> None:
    whole = vocabulary.encode("👩‍👩‍👧")
    assert len(whole) > 5, "the premise: several tokens to a character"
    for event, ids in (
        (IdEvent("👩‍👩‍👧", tuple(whole[-1:])), whole),
        (IdEvent("👩‍👩‍👧", tuple(whole)), whole),
        (IdEvent("hi<|end|>", (200_007,)), [*vocabulary.encode("hi"), 200_007]),
        (IdEvent("<|end|>", (200_007,)), [200_007]),
        (IdEvent("", (200_002,)), [200_002]),
        (IdEvent("hi", ()), vocabulary.encode("hi")),
        # Ids that differ from the text are believed, so that the readers disagree.
        (IdEvent("hi", tuple(vocabulary.encode("ho"))), vocabulary.encode("ho")),
    ):
        assert sampled_ids([event], vocabulary, is_llama=True) == ids


async def test_what_is_not_recorded_whole_is_not_read_again(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.operations.doctor.trial.MAX_BYTES", 500)
    ids = ids_of_pieces(pieces_of_text(HIDDEN + "<|end|>" + FINAL), vocabulary)
    chunks = [{"choices": [{"index": 0, "text": "x", "token_ids": [number], "finish_reason": None}]} for number in ids]
    trial = await tried(sse(*chunks) + stub.DONE, {"models": VLLM}, vocabulary)
    nobody = SecondReader(lambda: pytest.fail("somebody was asked"))
    assert not trial.is_recorded_whole and list(read_again({"sum": trial}, vocabulary, nobody, is_llama=False)) == []
