"""Every fault that an examination knows, of a server that has it and nothing else wrong; and servers without any."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from chatui.codes import Cause
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.operations.doctor.peers import (
    ANNOUNCED,
    HARMONY,
    MODELS,
    PLANNED,
    THOUGHT,
    VLLM,
    Answer,
    chat,
    chat_answers,
    examined,
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
from tests.support import examinations, stub
from tests.support.examinations import EXIT_CODES, FAULTS, WORDS
from tests.support.limits import set_limits

pytestmark = pytest.mark.served

N, F, A, U, L = EXIT_CODES


def content_event(content: str) -> bytes:
    """The answer field alone, as of servers that keep nothing apart."""
    return chat(*({"content": content[at : at + 7]} for at in range(0, len(content), 7)))


async def test_a_server_without_a_fault_is_healthy_by_chat() -> None:
    report = await examined(chat_answers())
    assert (report.found, report.exit_code) == ({}, 0)
    assert report.best == "chat"


async def test_a_server_without_a_fault_is_healthy_by_responses() -> None:
    report = await examined({**chat_answers(), **responses_answers()}, kind="responses")
    assert (report.found, report.exit_code) == ({}, 0)
    assert report.best == "responses"


async def test_a_server_without_a_fault_is_healthy_by_token_ids(vocabulary: Vocabulary) -> None:
    answers = {**chat_answers(), **responses_answers(), **id_answers(vocabulary)}
    report = await examined(
        answers, models=VLLM, kind="harmony", vocabulary=vocabulary, server={"extra": {"/version": {"version": "0.32"}}}
    )
    assert (report.found, report.exit_code) == ({}, 0)
    assert report.best == "harmony"
    assert [report.as_json[name] for name in ("product", "version", "context", "gpt_oss")] == ["vLLM", "0.32", 40_960, True]


HALF = f"<|channel|>analysis<|message|>{THOUGHT}<|end|>4"
WHOLE = f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>4"
COLLAPSED = f"analysis{THOUGHT}assistantfinal4"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # What the leak guard catches, and what is left of the answer.
        (WHOLE, {"leak-markers": F}),
        (HALF, {"leak-markers": F}),
        (f"{HALF}<|end|>4", {"leak-markers": F, "answer-hidden": U}),
        (COLLAPSED, {"leak-collapsed": F}),
        (f"<think>{THOUGHT}</think>4", {"leak-tags": F}),
        (f"<reasoning>{THOUGHT}</reasoning>4", {"leak-tags": F}),
        (f"Sure. {WHOLE}", {"leak-markers": F}),
        (f"[THINK]{THOUGHT}[/THINK]4", {"leak-tags": F}),
        # What it does not: it takes it for code.
        (f"Sure.\n\n```\n{WHOLE}\n```\n", {"leak-markers": L}),
        (f"```\n[THINK]{THOUGHT}[/THINK]\n```\n4", {"leak-tags": L}),
        (f"{THOUGHT}\n\n4", {"leak-thought": L}),
    ],
)
async def test_reasoning_in_the_answer_is_named_by_its_form_and_by_whether_people_would_see_it(
    answer: str, expected: dict[str, str]
) -> None:
    report = await examined(chat_answers(sum=content_event(answer)))
    assert report.found == expected
    assert report.exit_code == max(EXIT_CODES[level] for level in expected.values())


async def test_half_harmony_is_told_as_such() -> None:
    half, whole = [await examined(chat_answers(sum=content_event(answer))) for answer in (HALF, WHOLE)]
    assert "half Harmony" in half.detail_of("leak-markers")["seen"]
    assert "half Harmony" not in whole.detail_of("leak-markers")["seen"]


async def test_reasoning_that_comes_apart_and_in_the_answer_too_is_a_leak() -> None:
    report = await examined(
        chat_answers(sum=chat({"reasoning": THOUGHT}, {"content": f"This is how I found what the sum of the two is: {THOUGHT} 4"}))
    )
    assert report.found == {"leak-thought": L}


async def test_a_model_that_says_the_word_although_it_was_told_not_to_is_no_leak_of_the_server() -> None:
    report = await examined(chat_answers(sum=chat({"reasoning": THOUGHT}, {"content": f"4, and {WORDS.thought}"})))
    assert report.found == {}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sum": chat({"content": "4"}, tokens=60)}, {"reasoning-lost": F}),
        ({"sum": chat({"content": "4"}, tokens=9, reasoned=5)}, {"reasoning-lost": F}),
        ({"sum": chat({"content": "4"}, tokens=9)}, {}),
        (
            {
                "sum": chat({"content": "4"}, tokens=9),
                "cut": chat({"content": "1, 2"}, finish="length", tokens=24),
                "plan": chat({"content": PLANNED}),
            },
            {"separation-unproven": N},
        ),
        ({"sum": chat({"reasoning": THOUGHT})}, {"no-answer": U}),
        ({"sum": chat({"reasoning": THOUGHT}, finish="length", tokens=400)}, {"not-judged": A}),
        ({"plan": content_event(f"<think>{THOUGHT}</think>{PLANNED}")}, {"leak-tags": F}),
        ({"plan": content_event(f"{PLANNED} <|channel|>analysis<|message|>{THOUGHT}")}, {"leak-markers": F}),
        ({"cut": chat({"content": f"analysis{THOUGHT}"}, finish="length", tokens=24)}, {"leak-collapsed": F}),
        ({"cut": chat({"reasoning": "I count."}, tokens=24)}, {"cut-unsaid": F}),
        ({"cut": chat({"content": "1, 2"}, tokens=None)}, {"cut-unsaid": F}),
        ({"cut": chat({"content": "I would rather not."}, tokens=8)}, {}),
        ({"cut": chat({"content": "1, 2, … 199, 200."}, tokens=None)}, {"limit-ignored": F}),
        ({"cut": chat({"reasoning": "I count."}, finish="length", tokens=700)}, {"limit-ignored": F}),
        ({"plan": chat({"content": ANNOUNCED}, {"content": PLANNED})}, {"preamble-glued": F}),
        ({"plan": chat({"content": f"{ANNOUNCED}."}, {"content": f"\n\n{PLANNED}"})}, {"preamble-unmarked": F}),
        ({"sum": b": nothing\n\n"}, {Cause.BROKEN_OFF: U}),
        ({"sum": stub.chunk(content="4")}, {Cause.BROKEN_OFF: U}),
        ({"sum": b'data: {"error": {"code": 500, "message": "SECRET"}}\n\n'}, {Cause.FAILED: U}),
    ],
)
async def test_other_faults_of_chat(changes: dict[str, Answer], expected: dict[str, str]) -> None:
    report = await examined(chat_answers(**changes))
    assert report.found == expected
    assert report.exit_code == max((EXIT_CODES[level] for level in expected.values()), default=0)


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
    assert ("separation-unproven" not in report.found) is is_proved


async def test_an_automatic_format_says_that_only_the_vocabulary_is_missing_for_token_ids(vocabulary: Vocabulary) -> None:
    answers = chat_answers() | {"tokenize": tokenize()}
    for installed, is_missing in ((None, True), (vocabulary, False)):
        report = await examined(answers, models=VLLM, kind="auto", vocabulary=installed, is_brief=True)
        assert ("vocabulary-missing" in [finding["fault"] for finding in report.as_json["findings"]]) is is_missing


REFUSALS: list[tuple[str, bytes, dict[str, str], int]] = [
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
async def test_refusals_are_told_apart(status: str, body: bytes, expected: dict[str, str], code: int) -> None:
    report = await examined({"chat": stub.responds(status, body), **responses_answers()})
    assert (report.found, report.exit_code) == (expected, code)


async def test_an_unknown_model_is_told_with_those_that_there_are() -> None:
    refusal = stub.responds("404 Not Found", b'{"error": {"message": "model \\"x\\" not found, try pulling it first"}}')
    report = await examined({"chat": refusal}, model="x")
    assert "gpt-oss-20b" in report.detail_of(Cause.MODEL_UNKNOWN)["seen"]


async def test_a_model_that_is_none_of_the_servers_and_answers_all_the_same_is_named() -> None:
    assert (await examined(chat_answers(), model="gpt-oss-120b")).found == {"model-other": F}
    assert (await examined(chat_answers(), model="gpt-oss-20b")).found == {}
    latest = {"data": [{"id": "gpt-oss:latest"}]}
    assert (await examined(chat_answers(), models=latest, model="gpt-oss")).found == {}


def speaks_no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    writer.close()


async def test_a_server_that_is_not_there_could_not_be_asked() -> None:
    report = await examinations.examined("http://127.0.0.1:9", seconds=5)
    assert (report.found, report.exit_code) == ({Cause.NOTHING_LISTENS: A}, 2)
    server = await asyncio.start_server(speaks_no_tls, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        report = await examinations.examined(f"https://127.0.0.1:{port}", seconds=5)
    assert report.found == {Cause.WRONG_SCHEME: A}
    report = await examinations.examined("http://no-such-name.invalid", seconds=5)
    assert report.found == {Cause.NAME_UNKNOWN: A}


async def test_a_server_that_says_nothing_in_time_could_not_be_asked() -> None:
    report = await examined(chat_answers(sum=later(30, b"")), seconds=3)
    assert (report.found, report.exit_code) == ({Cause.SILENT: A}, 2)
    assert report.seconds < 6


async def test_a_slow_server_is_asked_as_much_as_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.operations.doctor", MIN_SECONDS=18.5)
    slow = later(2.0, chat({"reasoning": THOUGHT}, {"content": "4"}))
    report = await examined(chat_answers(sum=slow), seconds=20)
    assert report.found == {"out-of-time": F}
    set_limits(monkeypatch, "chatui.operations.doctor", MIN_SECONDS=21.0)
    report = await examined(chat_answers(), seconds=20)
    assert (report.found, report.exit_code) == ({"out-of-time": A}, 2)
    assert report.why_not_tried("responses") == "the time was up"


async def test_a_server_that_is_too_slow_for_an_examination_is_told_from_one_that_is_silent() -> None:
    async def drips(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD)
        while True:
            writer.write(stub.chunk(reasoning="hm "))
            await writer.drain()
            await asyncio.sleep(0.05)

    report = await examined({"chat": drips}, seconds=3)
    assert (report.found, report.exit_code) == ({"out-of-time": A}, 2)


async def test_a_gateway_that_names_itself_in_a_header_is_known() -> None:
    named = {"server_header": "uvicorn\r\nx-litellm-version: 1.106.2"}
    report = await examined(chat_answers(), server=named)
    assert (report.as_json["product"], report.as_json["version"]) == ("LiteLLM", "1.106.2")


async def test_a_word_for_the_end_that_could_be_anything_is_not_quoted() -> None:
    report = await examined(chat_answers(cut=chat({"content": "1, 2"}, finish="SECRET words", tokens=24)))
    assert report.found == {Cause.BROKEN_OFF: U}
    assert "It says a word of its own." in report.detail_of(Cause.BROKEN_OFF)["seen"] and "SECRET" not in report.everything


async def test_an_answer_that_repeats_itself_is_named() -> None:
    words = PLANNED.split()
    pieces = [" ".join(words[: count + 1]) for count in range(len(words))]
    report = await examined(chat_answers(plan=chat(*({"content": piece} for piece in pieces), tokens=60)))
    assert report.found == {"text-repeated": F}
    assert "1 of 3" in report.detail_of("text-repeated")["seen"]


async def test_an_answer_that_comes_in_one_piece_is_named() -> None:
    whole = json.dumps({"choices": [{"index": 0, "message": {"reasoning": THOUGHT, "content": "4"}, "finish_reason": "stop"}]}).encode()
    report = await examined(
        chat_answers(sum=stub.responds("200 OK", whole), cut=stub.responds("200 OK", whole), plan=stub.responds("200 OK", whole))
    )
    assert "no-stream" in report.found
    at_once = chat(*({"content": f"{word} "} for word in PLANNED.split() * 4), tokens=60)
    report = await examined(chat_answers(plan=later(2.1, at_once)))
    assert report.found == {"no-stream": F}
    assert "at once" in report.detail_of("no-stream")["seen"]


@pytest.mark.parametrize(("delays", "expected"), [((0.8,) * 3, {"slow-first": F}), ((0.8, 0.0, 0.0), {"slow-first": N}), ((0.0,) * 3, {})])
async def test_a_long_wait_for_the_first_word_is_named(
    delays: tuple[float, ...], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, "chatui.operations.doctor", SLOW_SECONDS=0.5)
    waits = dict(zip(("sum", "cut", "plan"), delays, strict=True))
    answers = chat_answers()
    report = await examined({f"chat {name}": later(wait, cast(bytes, answers[f"chat {name}"])) for name, wait in waits.items()})
    assert report.found == expected


@pytest.mark.parametrize(("length", "expected"), [(2048, {"context-small": F}), (8192, {"context-small": N}), (32_768, {})])
async def test_a_small_context_is_named(length: int, expected: dict[str, str]) -> None:
    models = {"data": [{"id": "gpt-oss-20b", "owned_by": "vllm", "max_model_len": length}]}
    assert (await examined({**chat_answers(), "tokenize": tokenize()}, models=models)).found == expected


async def test_the_context_that_ollama_has_loaded_is_found() -> None:
    models = {"data": [{"id": "gpt-oss:20b", "owned_by": "library"}]}
    running = {"/api/ps": {"models": [{"name": "gpt-oss:20b", "model": "gpt-oss:20b", "context_length": 4095}]}}
    report = await examined(chat_answers(), models=models, server={"extra": {**running, "/api/version": {"version": "0.12.0"}}})
    assert [report.as_json[name] for name in ("product", "version", "context")] == ["Ollama", "0.12.0", 4095]
    assert report.found == {"context-small": F}


SUMMARY = "The sum is small."
PROVED = {"summary-raw": F}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # Without being requested, though it is short: as Ollama and LiteLLM do.
        ({"sum": responses(reasoning("", SUMMARY), message("4"))}, PROVED),
        # Only when requested: as SGLang does.
        ({"summary": responses(reasoning(THOUGHT.replace(WORDS.thought, "x"), THOUGHT.replace(WORDS.thought, "x")), message("4"))}, PROVED),
        ({"summary": responses(reasoning("", THOUGHT), message("4"))}, PROVED),
        ({"summary": responses(reasoning("", SUMMARY, sealed=SUMMARY), message("4"))}, PROVED),
        ({"summary": responses(reasoning(THOUGHT, SUMMARY, sealed="gAAAA"), message("4"))}, {"summary-unproven": N}),
        ({"summary": responses(reasoning(THOUGHT), message("4"))}, {}),
    ],
)
async def test_a_summary_that_is_raw_reasoning_is_named_and_is_no_leak_because_nobody_reads_it(
    changes: dict[str, Answer], expected: dict[str, str]
) -> None:
    answers = {**responses_answers(**changes)}
    for summaries in ("built-in", "server"):
        assert (await examined(answers, kind="responses", summaries=summaries)).found == expected


async def test_summaries_in_chat_are_judged_too() -> None:
    def details(summary: str) -> dict[str, Any]:
        return {"reasoning_details": [{"type": "reasoning.summary", "summary": summary}]}

    raw = chat_answers(sum=chat(details(THOUGHT), {"content": "4"}))
    assert (await examined(raw)).found == {"summary-raw": F}
    assert (await examined(chat_answers(sum=chat(details(SUMMARY), {"content": "4"})))).found == {"summary-unproven": N}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cut": responses(reasoning("I count."), tokens=24)}, {"cut-unsaid": F}),
        ({"cut": responses(reasoning("I count."), status="incomplete", tokens=24)}, {}),
        ({"plan": responses(reasoning(), message(ANNOUNCED), message(PLANNED))}, {"preamble-unmarked": F}),
        ({"plan": responses(reasoning(), message(ANNOUNCED + PLANNED))}, {"preamble-glued": F}),
        ({"sum": responses(message(f"<think>{THOUGHT}</think>4"))}, {"leak-tags": F}),
        ({"sum": b'data: {"type": "response.created", "response": {}}\n\n'}, {Cause.BROKEN_OFF: U}),
    ],
)
async def test_other_faults_of_responses(changes: dict[str, Answer], expected: dict[str, str]) -> None:
    assert (await examined(responses_answers(**changes), kind="responses")).found == expected


async def test_a_cut_that_this_product_notices_by_itself_is_told_from_one_that_it_does_not() -> None:
    noticed = await examined(responses_answers(cut=responses(reasoning("I count."), tokens=24)), kind="responses")
    assert "notices" in noticed.detail_of("cut-unsaid")["seen"]
    missed = await examined(chat_answers(cut=chat({"reasoning": "I count."}, tokens=24)))
    assert "notices" not in missed.detail_of("cut-unsaid")["seen"]


def stripped_text(text: str) -> bytes:
    """What vLLM sends without its options: text alone, without a marker."""
    return (
        b"".join(b"data: " + json.dumps({"choices": [{"index": 0, "text": part}]}).encode() + b"\n\n" for part in text.split("|"))
        + stub.DONE
    )


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda _: {"sum": stripped_text("analysisTwo| and |two.assistantfinal4")}, "ids-missing"),
        (lambda words: {"sum": vllm_ids(words, HARMONY["sum"], lost=3)}, "ids-incomplete"),
    ],
)
async def test_lost_token_ids_make_that_kind_unusable(
    vocabulary: Vocabulary, change: Callable[[Vocabulary], dict[str, Answer]], fault: str
) -> None:
    answers = {**chat_answers(), **id_answers(vocabulary, **change(vocabulary))}
    report = await examined(answers, models=VLLM, kind="harmony", vocabulary=vocabulary)
    assert (report.found, report.exit_code) == ({fault: U}, 3)
    assert report.best == "chat"


async def test_token_ids_need_a_server_that_speaks_them_a_gpt_oss_model_and_the_vocabulary(vocabulary: Vocabulary) -> None:
    good = {**chat_answers(), **id_answers(vocabulary)}
    other = {**good, "tokenize": tokenize([27, 91, 11])}
    for answers, models, installed, fault in (
        (good, MODELS, vocabulary, Cause.KIND_NOT_SPOKEN),
        (other, VLLM, vocabulary, examinations.fault("not-gpt-oss")),
        (good, VLLM, None, examinations.fault("vocabulary-missing")),
    ):
        report = await examined(answers, models=models, kind="harmony", vocabulary=installed)
        assert report.found == {fault: U}
        by_chat = await examined(answers, models=models, kind="chat", vocabulary=installed)
        assert by_chat.exit_code == 0
        assert fault.sentence in by_chat.why_not_tried("harmony")


async def test_by_token_ids_it_is_seen_what_another_format_does_to_an_announcement(vocabulary: Vocabulary) -> None:
    announced, planned = ANNOUNCED.replace(WORDS.first, "now"), PLANNED.replace(WORDS.last, "So:")
    text = f"<|channel|>commentary<|message|>{announced}<|end|><|start|>assistant<|channel|>final<|message|>{planned}<|return|>"
    for content, fault in (
        (announced + planned, "preamble-glued"),
        (f"{announced}\n{planned}", "preamble-unmarked"),
        (planned, "preamble-lost"),
        ("Something else this time.", None),
    ):
        answers = {**chat_answers(plan=chat({"content": content})), **id_answers(vocabulary, plan=vllm_ids(vocabulary, text))}
        report = await examined(answers, models=VLLM, vocabulary=vocabulary)
        assert report.found == ({fault: F} if fault else {})


async def test_every_fault_has_words_and_a_test_here() -> None:
    assert all(fault.sentence.endswith(".") and fault.advice.endswith(".") for fault in FAULTS)
    source = Path(__file__).read_text(encoding="utf-8")
    untested = [fault for fault in FAULTS if f'"{fault}"' not in source]
    assert untested == []


async def test_a_report_quotes_nothing_that_a_model_wrote_but_the_marker_words() -> None:
    hidden = "CANARY-IN-THE-REASONING"
    raw = f"<|channel|>analysis<|message|>{hidden} {WORDS.thought}<|end|>{hidden}"
    answers = {**chat_answers(sum=content_event(raw)), **responses_answers(sum=responses(reasoning("", hidden), message("4")))}
    answers["responses summary"] = stub.responds("400 Bad Request", hidden.encode())
    for kind in ("chat", "responses"):
        report = await examined(answers, kind=kind)
        assert report.exit_code > 0, "nothing was found, so this proves nothing"
        assert hidden not in report.everything


async def test_a_key_is_in_no_report_and_goes_to_its_server() -> None:
    async with peer(chat_answers()) as server:
        report = await examinations.examined(server.url, key="sk-secret-1")
        assert server.requests[-1].headers["authorization"] == "Bearer sk-secret-1"
    assert "sk-secret-1" not in report.everything


async def test_a_server_that_never_ends_is_left_in_time_and_its_memory_is_bounded() -> None:
    async def endless(writer: Any) -> None:
        writer.write(stub.SSE_HEAD)
        while True:
            writer.write(stub.chunk(reasoning="hm " * 1000))
            await writer.drain()

    report = await examined({"chat": endless, "responses": endless}, seconds=4)
    assert report.seconds < 7
    assert report.found["limit-ignored"] == F
