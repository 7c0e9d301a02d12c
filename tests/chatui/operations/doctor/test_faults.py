"""Every fault that an examination knows, of a server that has it and nothing else wrong; and servers without any."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatui.backends.base import Endpoint
from chatui.backends.registry import build
from chatui.codes import Cause, Fault
from chatui.operations.doctor import examination
from chatui.operations.doctor.examination import ExaminedServer, examine
from chatui.operations.doctor.faults import Level, ServerFault
from chatui.operations.doctor.judging import judge_pace
from chatui.operations.doctor.report import DoctorReport, as_json, as_text
from chatui.operations.doctor.trial import attempt
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.chatui.operations.doctor.peers import (
    ANNOUNCED,
    HARMONY,
    MODELS,
    PLANNED,
    THOUGHT,
    VLLM,
    WORDS,
    Answer,
    chat,
    chat_answers,
    id_answers,
    later,
    message,
    peer,
    reasoning,
    responses,
    responses_answers,
    tokenize,
    vllm_ids,
)
from tests.support import stub

pytestmark = pytest.mark.served

N, F, A, U, L = Level.NOTE, Level.FAULT, Level.UNASKED, Level.UNUSABLE, Level.LEAK


def no_vocabulary() -> Vocabulary:
    raise VocabularyError("not here")


async def examined(
    answers: dict[str, Answer], *, models: object = MODELS, seconds: float = 20.0, server: Any = None, **target: Any
) -> DoctorReport:
    vocabulary = target.pop("vocabulary", no_vocabulary)
    async with peer(answers, models, **(server or {})) as running:
        return await examine(ExaminedServer("here", running.url, vocabulary, **target), seconds=seconds, questions=WORDS)


def found(report: DoctorReport) -> dict[Fault, Level]:
    """What is about the model server as it is configured."""
    configured = [finding for one in report.formats if one.kind == report.configured for finding in one.findings]
    return {finding.fault: finding.level for finding in (*report.general, *configured)}


def detail_of(report: DoctorReport, fault: Fault) -> str:
    return next(finding.seen for one in report.formats for finding in one.findings if finding.fault is fault)


def content_event(content: str) -> bytes:
    """The answer field alone, as of servers that keep nothing apart."""
    return chat(*({"content": content[at : at + 7]} for at in range(0, len(content), 7)))


async def test_a_server_without_a_fault_is_healthy_by_chat() -> None:
    report = await examined(chat_answers())
    assert (found(report), report.level.exit_code) == ({}, 0)
    assert report.best is not None and report.best.kind == "chat"


async def test_a_server_without_a_fault_is_healthy_by_responses() -> None:
    report = await examined({**chat_answers(), **responses_answers()}, kind="responses")
    assert (found(report), report.level.exit_code) == ({}, 0)
    assert report.best is not None and report.best.kind == "responses"


async def test_a_server_without_a_fault_is_healthy_by_token_ids(vocabulary: Vocabulary) -> None:
    answers = {**chat_answers(), **responses_answers(), **id_answers(vocabulary)}
    report = await examined(
        answers, models=VLLM, kind="harmony", vocabulary=lambda: vocabulary, server={"extra": {"/version": {"version": "0.32"}}}
    )
    assert (found(report), report.level.exit_code) == ({}, 0)
    assert report.best is not None and report.best.kind == "harmony"
    identity = report.identity
    assert (identity.product, identity.version, identity.context, identity.is_gpt_oss) == ("vLLM", "0.32", 40_960, True)


HALF = f"<|channel|>analysis<|message|>{THOUGHT}<|end|>4"
WHOLE = f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>4"
COLLAPSED = f"analysis{THOUGHT}assistantfinal4"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # What the leak guard catches, and what is left of the answer.
        (WHOLE, {ServerFault.LEAK_MARKERS: F}),
        (HALF, {ServerFault.LEAK_MARKERS: F}),
        (f"{HALF}<|end|>4", {ServerFault.LEAK_MARKERS: F, ServerFault.ANSWER_HIDDEN: U}),
        (COLLAPSED, {ServerFault.LEAK_COLLAPSED: F}),
        (f"<think>{THOUGHT}</think>4", {ServerFault.LEAK_TAGS: F}),
        (f"<reasoning>{THOUGHT}</reasoning>4", {ServerFault.LEAK_TAGS: F}),
        (f"Sure. {WHOLE}", {ServerFault.LEAK_MARKERS: F}),
        (f"[THINK]{THOUGHT}[/THINK]4", {ServerFault.LEAK_TAGS: F}),
        # What it does not: it takes it for code.
        (f"Sure.\n\n```\n{WHOLE}\n```\n", {ServerFault.LEAK_MARKERS: L}),
        (f"```\n[THINK]{THOUGHT}[/THINK]\n```\n4", {ServerFault.LEAK_TAGS: L}),
        (f"{THOUGHT}\n\n4", {ServerFault.LEAK_THOUGHT: L}),
    ],
)
async def test_reasoning_in_the_answer_is_named_by_its_form_and_by_whether_people_would_see_it(
    answer: str, expected: dict[Fault, Level]
) -> None:
    report = await examined(chat_answers(sum=content_event(answer)))
    assert found(report) == expected
    assert report.level.exit_code == (1 if max(expected.values()) is F else 3)


async def test_half_harmony_is_told_as_such() -> None:
    half, whole = [await examined(chat_answers(sum=content_event(answer))) for answer in (HALF, WHOLE)]
    assert "half Harmony" in detail_of(half, ServerFault.LEAK_MARKERS)
    assert "half Harmony" not in detail_of(whole, ServerFault.LEAK_MARKERS)


async def test_reasoning_that_comes_apart_and_in_the_answer_too_is_a_leak() -> None:
    report = await examined(
        chat_answers(sum=chat({"reasoning": THOUGHT}, {"content": f"This is how I found what the sum of the two is: {THOUGHT} 4"}))
    )
    assert found(report) == {ServerFault.LEAK_THOUGHT: L}


async def test_a_model_that_says_the_word_although_it_was_told_not_to_is_no_leak_of_the_server() -> None:
    report = await examined(chat_answers(sum=chat({"reasoning": THOUGHT}, {"content": f"4, and {WORDS.thought}"})))
    assert found(report) == {}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sum": chat({"content": "4"}, tokens=60)}, {ServerFault.REASONING_LOST: F}),
        ({"sum": chat({"content": "4"}, tokens=9, reasoned=5)}, {ServerFault.REASONING_LOST: F}),
        ({"sum": chat({"content": "4"}, tokens=9)}, {}),
        (
            {
                "sum": chat({"content": "4"}, tokens=9),
                "cut": chat({"content": "1, 2"}, finish="length", tokens=24),
                "plan": chat({"content": PLANNED}),
            },
            {ServerFault.SEPARATION_UNPROVEN: N},
        ),
        ({"sum": chat({"reasoning": THOUGHT})}, {ServerFault.NO_ANSWER: U}),
        ({"sum": chat({"reasoning": THOUGHT}, finish="length", tokens=400)}, {ServerFault.NOT_JUDGED: A}),
        ({"plan": content_event(f"<think>{THOUGHT}</think>{PLANNED}")}, {ServerFault.LEAK_TAGS: F}),
        ({"plan": content_event(f"{PLANNED} <|channel|>analysis<|message|>{THOUGHT}")}, {ServerFault.LEAK_MARKERS: F}),
        ({"cut": chat({"content": f"analysis{THOUGHT}"}, finish="length", tokens=24)}, {ServerFault.LEAK_COLLAPSED: F}),
        ({"cut": chat({"reasoning": "I count."}, tokens=24)}, {ServerFault.CUT_UNSAID: F}),
        ({"cut": chat({"content": "1, 2"}, tokens=None)}, {ServerFault.CUT_UNSAID: F}),
        ({"cut": chat({"content": "I would rather not."}, tokens=8)}, {}),
        ({"cut": chat({"content": "1, 2, … 199, 200."}, tokens=None)}, {ServerFault.LIMIT_IGNORED: F}),
        ({"cut": chat({"reasoning": "I count."}, finish="length", tokens=700)}, {ServerFault.LIMIT_IGNORED: F}),
        ({"plan": chat({"content": ANNOUNCED}, {"content": PLANNED})}, {ServerFault.PREAMBLE_GLUED: F}),
        ({"plan": chat({"content": f"{ANNOUNCED}."}, {"content": f"\n\n{PLANNED}"})}, {ServerFault.PREAMBLE_UNMARKED: F}),
        ({"sum": b": nothing\n\n"}, {Cause.BROKEN_OFF: U}),
        ({"sum": stub.chunk(content="4")}, {Cause.BROKEN_OFF: U}),
        ({"sum": b'data: {"error": {"code": 500, "message": "SECRET"}}\n\n'}, {Cause.FAILED: U}),
    ],
)
async def test_other_faults_of_chat(changes: dict[str, Answer], expected: dict[Fault, Level]) -> None:
    report = await examined(chat_answers(**changes))
    assert found(report) == expected
    assert report.level.exit_code == (0 if not expected else max(expected.values()).exit_code)


@pytest.mark.parametrize(
    ("deltas", "target", "is_proved"),
    [
        (({"reasoning": THOUGHT}, {"content": "4"}), {}, True),
        (({"content": "4"}, {"reasoning": THOUGHT}), {}, False),
        (({"reasoning": " "}, {"content": "4"}), {}, False),
        (({"reasoning": THOUGHT}, {"content": "4"}), {"asks_for_reasoning": False}, False),
        (({"content": "4"},), {"separates": "always", "asks_for_reasoning": False}, True),
        (({"content": "4"},), {"separates": "never reasons"}, True),
    ],
)
async def test_a_brief_test_says_whether_what_people_ask_would_be_held(
    deltas: tuple[dict[str, str], ...], target: dict[str, Any], *, is_proved: bool
) -> None:
    report = await examined(chat_answers(sum=chat(*deltas, tokens=9)), models=VLLM, is_brief=True, **target)
    assert (ServerFault.SEPARATION_UNPROVEN not in found(report)) is is_proved
    if not is_proved:
        advice = [finding.advice for one in report.formats for finding in one.findings if finding.fault is ServerFault.SEPARATION_UNPROVEN]
        assert "--reasoning-parser" in advice[0] and "llama.cpp" not in advice[0], "the remedy for this product"


async def test_an_automatic_format_says_that_only_the_vocabulary_is_missing_for_token_ids(vocabulary: Vocabulary) -> None:
    answers = chat_answers() | {"tokenize": tokenize()}
    for load, is_missing in ((no_vocabulary, True), (lambda: vocabulary, False)):
        report = await examined(answers, models=VLLM, kind="auto", vocabulary=load, is_brief=True)
        assert (ServerFault.VOCABULARY_MISSING in [finding.fault for finding in report.general]) is is_missing


REFUSALS: list[tuple[str, bytes, dict[Fault, Level], int]] = [
    ("401 Unauthorized", b'{"error": "bad key"}', {Cause.KEY_REFUSED: U}, 3),
    ("403 Forbidden", b"", {Cause.KEY_REFUSED: U}, 3),
    ("404 Not Found", b'{"error": {"message": "The model `gpt` does not exist."}}', {Cause.MODEL_UNKNOWN: U}, 3),
    ("400 Bad Request", b'{"detail": "Unknown model: gpt"}', {Cause.MODEL_UNKNOWN: U}, 3),
    ("404 Not Found", b'{"detail": "Not Found"}', {Cause.KIND_NOT_SPOKEN: U}, 3),
    ("405 Method Not Allowed", b"", {Cause.KIND_NOT_SPOKEN: U}, 3),
    ("400 Bad Request", b'{"error": "reasoning_effort is not allowed"}', {Cause.REFUSED: U}, 3),
    ("400 Bad Request", b'{"error": "\'max_tokens\' is not supported with this model"}', {Cause.REFUSED: U}, 3),
    ("307 Temporary Redirect", b"", {Cause.REDIRECTED: U}, 3),
    ("404 Not Found", b"<html>", {Cause.WEB_PAGE: U}, 3),
    ("429 Too Many Requests", b'{"error": {"type": "insufficient_quota"}}', {Cause.QUOTA: U}, 3),
    ("400 Bad Request", b'{"error": {"code": "context_length_exceeded"}}', {Cause.CONTEXT_EXCEEDED: U}, 3),
    ("500 Internal Server Error", b'{"error": {"message": "CUDA out of memory"}}', {Cause.OUT_OF_MEMORY: U}, 3),
    ("502 Bad Gateway", b"<html>", {Cause.GATEWAY: U}, 3),
    ("500 Internal Server Error", b"", {Cause.FAILED: U}, 3),
    ("429 Too Many Requests", b"", {Cause.BUSY: A}, 2),
    ("503 Service Unavailable", b'{"error": "Loading model"}', {Cause.LOADING: A}, 2),
]


@pytest.mark.parametrize(("status", "body", "expected", "code"), REFUSALS)
async def test_refusals_are_told_apart(status: str, body: bytes, expected: dict[Fault, Level], code: int) -> None:
    report = await examined({"chat": stub.responds(status, body), **responses_answers()})
    assert (found(report), report.level.exit_code) == (expected, code)


async def test_an_unknown_model_is_told_with_those_that_there_are() -> None:
    refusal = stub.responds("404 Not Found", b'{"error": {"message": "model \\"x\\" not found, try pulling it first"}}')
    report = await examined({"chat": refusal}, model="x")
    assert "gpt-oss-20b" in detail_of(report, Cause.MODEL_UNKNOWN)


async def test_a_model_that_is_none_of_the_servers_and_answers_all_the_same_is_named() -> None:
    assert found(await examined(chat_answers(), model="gpt-oss-120b")) == {ServerFault.MODEL_OTHER: F}
    assert found(await examined(chat_answers(), model="gpt-oss-20b")) == {}
    latest = {"data": [{"id": "gpt-oss:latest"}]}
    assert found(await examined(chat_answers(), models=latest, model="gpt-oss")) == {}


def speaks_no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    writer.close()


async def test_a_server_that_is_not_there_could_not_be_asked() -> None:
    report = await examine(ExaminedServer("here", "http://127.0.0.1:9", no_vocabulary), seconds=5)
    assert (found(report), report.level.exit_code) == ({Cause.NOTHING_LISTENS: A}, 2)
    server = await asyncio.start_server(speaks_no_tls, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        report = await examine(ExaminedServer("here", f"https://127.0.0.1:{port}", no_vocabulary), seconds=5)
    assert found(report) == {Cause.WRONG_SCHEME: A}
    report = await examine(ExaminedServer("here", "http://no-such-name.invalid", no_vocabulary), seconds=5)
    assert found(report) == {Cause.NAME_UNKNOWN: A}


async def test_a_server_that_says_nothing_in_time_could_not_be_asked() -> None:
    report = await examined(chat_answers(sum=later(30, b"")), seconds=3)
    assert (found(report), report.level.exit_code) == ({Cause.SILENT: A}, 2)
    assert report.seconds < 6


async def test_a_slow_server_is_asked_as_much_as_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "MIN_SECONDS", 18.5)
    slow = later(2.0, chat({"reasoning": THOUGHT}, {"content": "4"}))
    report = await examined(chat_answers(sum=slow), seconds=20)
    assert found(report) == {ServerFault.OUT_OF_TIME: F}
    monkeypatch.setattr(examination, "MIN_SECONDS", 21.0)
    report = await examined(chat_answers(), seconds=20)
    assert (found(report), report.level.exit_code) == ({ServerFault.OUT_OF_TIME: A}, 2)
    assert [one.not_tried for one in report.formats if one.kind == "responses"] == ["the time was up"]


async def test_a_server_that_is_too_slow_for_an_examination_is_told_from_one_that_is_silent() -> None:
    async def drips(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD)
        while True:
            writer.write(stub.chunk(reasoning="hm "))
            await writer.drain()
            await asyncio.sleep(0.05)

    report = await examined({"chat": drips}, seconds=3)
    assert (found(report), report.level.exit_code) == ({ServerFault.OUT_OF_TIME: A}, 2)


async def test_a_gateway_that_names_itself_in_a_header_is_known() -> None:
    named = {"server_header": "uvicorn\r\nx-litellm-version: 1.106.2"}
    identity = (await examined(chat_answers(), server=named)).identity
    assert (identity.product, identity.version) == ("LiteLLM", "1.106.2")


async def test_a_word_for_the_end_that_could_be_anything_is_not_quoted() -> None:
    report = await examined(chat_answers(cut=chat({"content": "1, 2"}, finish="SECRET words", tokens=24)))
    assert found(report) == {Cause.BROKEN_OFF: U}
    assert "It says a word of its own." in detail_of(report, Cause.BROKEN_OFF) and "SECRET" not in as_text(report)


async def test_an_answer_that_repeats_itself_is_named() -> None:
    words = PLANNED.split()
    pieces = [" ".join(words[: count + 1]) for count in range(len(words))]
    report = await examined(chat_answers(plan=chat(*({"content": piece} for piece in pieces), tokens=60)))
    assert found(report) == {ServerFault.TEXT_REPEATED: F}
    assert "1 of 3" in detail_of(report, ServerFault.TEXT_REPEATED)


async def test_an_answer_that_comes_in_one_piece_is_named() -> None:
    whole = json.dumps({"choices": [{"index": 0, "message": {"reasoning": THOUGHT, "content": "4"}, "finish_reason": "stop"}]}).encode()
    report = await examined(
        chat_answers(sum=stub.responds("200 OK", whole), cut=stub.responds("200 OK", whole), plan=stub.responds("200 OK", whole))
    )
    assert ServerFault.NO_STREAM in found(report)
    at_once = chat(*({"content": f"{word} "} for word in PLANNED.split() * 4), tokens=60)
    report = await examined(chat_answers(plan=later(2.1, at_once)))
    assert found(report) == {ServerFault.NO_STREAM: F}
    assert "at once" in detail_of(report, ServerFault.NO_STREAM)


@pytest.mark.parametrize(("delays", "level"), [((0.3, 0.3), F), ((0.3, 0.0), N), ((0.0, 0.0), None)])
async def test_a_long_wait_for_the_first_word_is_named(delays: tuple[float, ...], level: Level | None) -> None:
    trials = []
    short = chat({"content": "4"})
    for wait in delays:
        async with peer({"chat": later(wait, short)}) as server:
            backend = build(Endpoint(server.url), kind="chat")
            trials.append(await attempt(backend, WORDS.sum(), 5))
            await backend.aclose()
    findings = [(finding.fault, finding.level) for finding in judge_pace(trials, slow_seconds=0.2)]
    assert findings == ([] if level is None else [(ServerFault.SLOW_FIRST, level)])


@pytest.mark.parametrize(
    ("length", "expected"), [(2048, {ServerFault.CONTEXT_SMALL: F}), (8192, {ServerFault.CONTEXT_SMALL: N}), (32_768, {})]
)
async def test_a_small_context_is_named(length: int, expected: dict[Fault, Level]) -> None:
    models = {"data": [{"id": "gpt-oss-20b", "owned_by": "vllm", "max_model_len": length}]}
    assert found(await examined({**chat_answers(), "tokenize": tokenize()}, models=models)) == expected


async def test_the_context_that_ollama_has_loaded_is_found() -> None:
    models = {"data": [{"id": "gpt-oss:20b", "owned_by": "library"}]}
    running = {"/api/ps": {"models": [{"name": "gpt-oss:20b", "model": "gpt-oss:20b", "context_length": 4095}]}}
    report = await examined(chat_answers(), models=models, server={"extra": {**running, "/api/version": {"version": "0.12.0"}}})
    assert (report.identity.product, report.identity.version, report.identity.context) == ("Ollama", "0.12.0", 4095)
    assert found(report) == {ServerFault.CONTEXT_SMALL: F}


SUMMARY = "The sum is small."
PROVED = {ServerFault.SUMMARY_RAW: F}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # Without being requested, though it is short: as Ollama and LiteLLM do.
        ({"sum": responses(reasoning("", SUMMARY), message("4"))}, PROVED),
        # Only when requested: as SGLang does.
        ({"summary": responses(reasoning(THOUGHT.replace(WORDS.thought, "x"), THOUGHT.replace(WORDS.thought, "x")), message("4"))}, PROVED),
        ({"summary": responses(reasoning("", THOUGHT), message("4"))}, PROVED),
        ({"summary": responses(reasoning("", SUMMARY, sealed=SUMMARY), message("4"))}, PROVED),
        ({"summary": responses(reasoning(THOUGHT, SUMMARY, sealed="gAAAA"), message("4"))}, {ServerFault.SUMMARY_UNPROVEN: N}),
        ({"summary": responses(reasoning(THOUGHT), message("4"))}, {}),
    ],
)
async def test_a_summary_that_is_raw_reasoning_is_named_and_is_no_leak_because_nobody_reads_it(
    changes: dict[str, Answer], expected: dict[Fault, Level]
) -> None:
    answers = {**responses_answers(**changes)}
    for summaries in ("built-in", "server"):
        assert found(await examined(answers, kind="responses", summaries=summaries)) == expected


async def test_summaries_in_chat_are_judged_too() -> None:
    def details(summary: str) -> dict[str, Any]:
        return {"reasoning_details": [{"type": "reasoning.summary", "summary": summary}]}

    raw = chat_answers(sum=chat(details(THOUGHT), {"content": "4"}))
    assert found(await examined(raw)) == {ServerFault.SUMMARY_RAW: F}
    assert found(await examined(chat_answers(sum=chat(details(SUMMARY), {"content": "4"})))) == {ServerFault.SUMMARY_UNPROVEN: N}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cut": responses(reasoning("I count."), tokens=24)}, {ServerFault.CUT_UNSAID: F}),
        ({"cut": responses(reasoning("I count."), status="incomplete", tokens=24)}, {}),
        ({"plan": responses(reasoning(), message(ANNOUNCED), message(PLANNED))}, {ServerFault.PREAMBLE_UNMARKED: F}),
        ({"plan": responses(reasoning(), message(ANNOUNCED + PLANNED))}, {ServerFault.PREAMBLE_GLUED: F}),
        ({"sum": responses(message(f"<think>{THOUGHT}</think>4"))}, {ServerFault.LEAK_TAGS: F}),
        ({"sum": b'data: {"type": "response.created", "response": {}}\n\n'}, {Cause.BROKEN_OFF: U}),
    ],
)
async def test_other_faults_of_responses(changes: dict[str, Answer], expected: dict[Fault, Level]) -> None:
    assert found(await examined(responses_answers(**changes), kind="responses")) == expected


async def test_a_cut_that_this_product_notices_by_itself_is_told_from_one_that_it_does_not() -> None:
    noticed = await examined(responses_answers(cut=responses(reasoning("I count."), tokens=24)), kind="responses")
    assert "notices" in detail_of(noticed, ServerFault.CUT_UNSAID)
    missed = await examined(chat_answers(cut=chat({"reasoning": "I count."}, tokens=24)))
    assert "notices" not in detail_of(missed, ServerFault.CUT_UNSAID)


def stripped_text(text: str) -> bytes:
    """What vLLM sends without its options: text alone, without a marker."""
    return (
        b"".join(b"data: " + json.dumps({"choices": [{"index": 0, "text": part}]}).encode() + b"\n\n" for part in text.split("|"))
        + stub.DONE
    )


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda _: {"sum": stripped_text("analysisTwo| and |two.assistantfinal4")}, ServerFault.IDS_MISSING),
        (lambda words: {"sum": vllm_ids(words, HARMONY["sum"], lost=3)}, ServerFault.IDS_INCOMPLETE),
    ],
)
async def test_lost_token_ids_make_that_kind_unusable(
    vocabulary: Vocabulary, change: Callable[[Vocabulary], dict[str, Answer]], fault: ServerFault
) -> None:
    answers = {**chat_answers(), **id_answers(vocabulary, **change(vocabulary))}
    report = await examined(answers, models=VLLM, kind="harmony", vocabulary=lambda: vocabulary)
    assert (found(report), report.level.exit_code) == ({fault: U}, 3)
    assert report.best is not None and report.best.kind == "chat"


async def test_token_ids_need_a_server_that_speaks_them_a_gpt_oss_model_and_the_vocabulary(vocabulary: Vocabulary) -> None:
    good = {**chat_answers(), **id_answers(vocabulary)}
    other = {**good, "tokenize": tokenize([27, 91, 11])}
    for answers, models, load, fault in (
        (good, MODELS, lambda: vocabulary, Cause.KIND_NOT_SPOKEN),
        (other, VLLM, lambda: vocabulary, ServerFault.NOT_GPT_OSS),
        (good, VLLM, no_vocabulary, ServerFault.VOCABULARY_MISSING),
    ):
        report = await examined(answers, models=models, kind="harmony", vocabulary=load)
        assert found(report) == {fault: U}
        by_chat = await examined(answers, models=models, kind="chat", vocabulary=load)
        assert by_chat.level.exit_code == 0
        assert [fault.sentence in one.not_tried for one in by_chat.formats if one.kind == "harmony"] == [True]


async def test_by_token_ids_it_is_seen_what_another_format_does_to_an_announcement(vocabulary: Vocabulary) -> None:
    announced, planned = ANNOUNCED.replace(WORDS.first, "now"), PLANNED.replace(WORDS.last, "So:")
    text = f"<|channel|>commentary<|message|>{announced}<|end|><|start|>assistant<|channel|>final<|message|>{planned}<|return|>"
    for content, fault in (
        (announced + planned, ServerFault.PREAMBLE_GLUED),
        (f"{announced}\n{planned}", ServerFault.PREAMBLE_UNMARKED),
        (planned, ServerFault.PREAMBLE_LOST),
        ("Something else this time.", None),
    ):
        answers = {**chat_answers(plan=chat({"content": content})), **id_answers(vocabulary, plan=vllm_ids(vocabulary, text))}
        report = await examined(answers, models=VLLM, vocabulary=lambda: vocabulary)
        assert found(report) == ({fault: F} if fault else {})


async def test_every_fault_has_words_and_a_test_here() -> None:
    assert all(fault.sentence.endswith(".") and fault.advice.endswith(".") for fault in ServerFault)
    source = Path(__file__).read_text(encoding="utf-8")
    untested = [fault for fault in ServerFault if f"Fault.{fault.name}" not in source]
    assert untested == []


async def test_a_report_quotes_nothing_that_a_model_wrote_but_the_marker_words() -> None:
    hidden = "CANARY-IN-THE-REASONING"
    raw = f"<|channel|>analysis<|message|>{hidden} {WORDS.thought}<|end|>{hidden}"
    answers = {**chat_answers(sum=content_event(raw)), **responses_answers(sum=responses(reasoning("", hidden), message("4")))}
    answers["responses summary"] = stub.responds("400 Bad Request", hidden.encode())
    for kind in ("chat", "responses"):
        report = await examined(answers, kind=kind)
        assert report.level > N, "nothing was found, so this proves nothing"
        assert hidden not in as_text(report) + json.dumps(as_json(report)) + repr(report)


async def test_a_key_is_in_no_report_and_goes_to_its_server() -> None:
    async with peer(chat_answers()) as server:
        target = ExaminedServer("here", server.url, no_vocabulary, key="sk-secret-1")
        report = await examine(target, seconds=20, questions=WORDS)
        assert server.requests[-1].headers["authorization"] == "Bearer sk-secret-1"
    assert "sk-secret-1" not in as_text(report) + json.dumps(as_json(report)) + repr(report) + repr(target)


async def test_a_server_that_never_ends_is_left_in_time_and_its_memory_is_bounded() -> None:
    async def endless(writer: Any) -> None:
        writer.write(stub.SSE_HEAD)
        while True:
            writer.write(stub.chunk(reasoning="hm " * 1000))
            await writer.drain()

    report = await examined({"chat": endless, "responses": endless}, seconds=4)
    assert report.seconds < 7
    assert found(report)[ServerFault.LIMIT_IGNORED] is F
