"""Recordings of real servers, played to an examination: the faults that are known of them are found."""

import pytest

from chatui.codes import Cause
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.operations.doctor.peers import VLLM, Answer, chat_answers, examined, responses_answers, tokenize
from tests.support import stub
from tests.support.places import RECORDINGS

pytestmark = pytest.mark.served

CAUGHT, UNUSABLE = "fault", "unusable"
# recording: by which kind and as the answer to which question it is played, and what is found
FOUND: dict[str, tuple[str, dict[str, str]]] = {
    "vllm/v-chat-greet.sse": ("chat sum", {}),
    "llamacpp/x-chat-greet.sse": ("chat sum", {}),
    "llamacpp/x-chat-trip-reasoning-format-none.sse": ("chat sum", {"leak-markers": CAUGHT}),
    "llamacpp/x-chat-badheader.sse": ("chat sum", {Cause.FAILED: UNUSABLE}),
    "transformers/t-chat-greet.sse": ("chat sum", {"leak-collapsed": CAUGHT}),
    "transformers/tt-chat-greet.sse": ("chat sum", {}),
    "synthetic/synth_30_chat_harmony_tokens_leak.txt": ("chat sum", {"leak-markers": CAUGHT}),
    "synthetic/synth_34_chat_eof_without_done.txt": ("chat sum", {Cause.BROKEN_OFF: UNUSABLE}),
    "vllm/v-chat-python.sse": ("chat sum", {"no-answer": UNUSABLE}),
    "responses-vllm-greet.sse": ("responses sum", {}),
    "responses-llamacpp-greet.sse": ("responses sum", {}),
    "responses-gptoss-reference-greet.sse": ("responses sum", {}),
    "responses-transformers-template-greet.sse": ("responses sum", {}),
    "responses-transformers-greet.sse": ("responses sum", {"leak-collapsed": CAUGHT}),
    "responses-synth_08_eof_without_terminal_event.txt": ("responses sum", {Cause.BROKEN_OFF: UNUSABLE}),
}


@pytest.mark.parametrize("name", FOUND)
async def test_the_known_faults_of_recorded_servers_are_found(name: str) -> None:
    place, expected = FOUND[name]
    answers: dict[str, Answer] = {**chat_answers(), **responses_answers(), place: (RECORDINGS / name).read_bytes()}
    report = await examined(answers, kind=place.split()[0])
    assert report.found == expected


async def test_vllm_without_its_options_is_found_to_keep_ids_to_itself(vocabulary: Vocabulary) -> None:
    text = (RECORDINGS / "vllm" / "v-raw-completions-greet-text-default.sse").read_bytes()
    answers: dict[str, Answer] = {**chat_answers(), "tokenize": tokenize(), "ids": text}
    report = await examined(answers, models=VLLM, kind="harmony-vllm", vocabulary=vocabulary)
    assert report.found == {"ids-missing": UNUSABLE}


async def test_no_text_of_a_recording_is_in_a_report() -> None:
    """Of what was hidden and of what was answered alike: a report can be sent to anybody."""
    for name in ("transformers/t-chat-greet.sse", "llamacpp/x-chat-trip-reasoning-format-none.sse"):
        report = await examined({**chat_answers(), "chat sum": (RECORDINGS / name).read_bytes()})
        assert report.found
        for words in ("greets", "Hello", "itinerary", "Saturday"):
            assert words not in report.everything


async def test_a_refusal_that_quotes_a_secret_is_not_quoted() -> None:
    report = await examined({"chat": stub.responds("400 Bad Request", b"SECRET-7391")})
    assert report.found == {Cause.REFUSED: UNUSABLE}
    assert "SECRET" not in report.everything
