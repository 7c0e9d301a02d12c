"""What proves that a server separates reasoning, what takes it back, and what of it other requests may rely on."""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from chatui.answer_formats import AnswerFormat
from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.discovery import Discovered
from chatui.backends.separation import MAX_UPSTREAMS, OwnProofs, Read, Separates, Separation, Separations, upstream_of
from renderer.frame_kinds import ANALYSIS, PREAMBLE
from renderer.frames import Frame
from tests.support import stub
from tests.support.places import RECORDINGS
from tests.support.sampling import PATIENT, outcome, sample_request

PROVED = Read(Separation.STRUCTURED, proves=True, has_sign=False, has_text=True, is_whole=True)
SILENT = Read(Separation.UNPROVEN, proves=False, has_sign=False, has_text=True, is_whole=True)
SIGN = Read(Separation.STRUCTURED, proves=False, has_sign=True, has_text=True, is_whole=True)


def learned(*reads: Read, model: str | None = "alpha", separates: Separates = "proved") -> Separation:
    known = Separations(separates)
    for read in reads:
        known.learn(model, read)
    return known.of(model)


def test_proof_is_remembered_for_a_model_until_a_sign_and_proved_anew() -> None:
    assert [learned(), learned(PROVED), learned(PROVED, SILENT)] == [Separation.UNPROVEN, Separation.STRUCTURED, Separation.STRUCTURED]
    assert [learned(PROVED, SIGN), learned(PROVED, SIGN, PROVED)] == [Separation.UNPROVEN, Separation.STRUCTURED]
    known = Separations()
    known.learn("alpha", PROVED)
    assert known.of("beta") is Separation.UNPROVEN


def test_a_model_that_never_reasoned_in_twenty_answers_is_plain_unless_it_is_gpt_oss() -> None:
    assert [learned(*[SILENT] * count) for count in (19, 20)] == [Separation.UNPROVEN, Separation.PLAIN]
    for model in ("openai/gpt-oss-120b", "GPT_OSS", "gptoss-tiny", None):
        assert learned(*[SILENT] * 50, model=model) is Separation.UNPROVEN
    cut = Read(Separation.UNPROVEN, proves=False, has_sign=False, has_text=True, is_whole=False)
    assert learned(*[cut] * 50) is Separation.UNPROVEN
    assert learned(*[SILENT] * 20, SIGN, *[SILENT] * 19) is Separation.UNPROVEN


def test_a_model_with_the_vocabulary_of_gpt_oss_is_never_plain_whatever_its_name() -> None:
    known = Separations()
    for _ in range(2):
        for _ in range(20):
            known.learn("our-own", SILENT)
        known.is_gpt_oss()
        assert known.of("our-own") is Separation.UNPROVEN


async def test_the_finding_of_auto_is_passed_on() -> None:
    backend = ChatCompletionsBackend(Endpoint("http://127.0.0.1:1", model="our-own"))
    backend.use_discovery(Discovered("vLLM", ("our-own",), is_gpt_oss=True))
    assert learned(*[SILENT] * 20) is Separation.PLAIN
    for _ in range(20):
        backend._separations.learn("our-own", SILENT)
    assert backend._separations.of("our-own") is Separation.UNPROVEN
    await backend.aclose()


def test_the_operator_decides() -> None:
    assert learned(SIGN, separates="always") is Separation.STRUCTURED
    assert [learned(*reads, separates="never reasons") for reads in ([], [SILENT], [SIGN])] == [
        *[Separation.PLAIN] * 2,
        Separation.UNPROVEN,
    ]


@pytest.mark.parametrize("model", ["alpha", None])
def test_one_sign_does_not_end_the_streaming_for_good_where_the_operator_says_that_the_model_never_reasons(model: str | None) -> None:
    held = [learned(SIGN, *[SILENT] * count, model=model, separates="never reasons") for count in (19, 20)]
    assert held == [Separation.UNPROVEN, Separation.PLAIN]
    assert learned(SIGN, *[SILENT] * 20, SIGN, model=model, separates="never reasons") is Separation.UNPROVEN


def test_gpt_oss_that_gave_a_sign_does_reason_whatever_the_operator_says() -> None:
    assert learned(SIGN, *[SILENT] * 50, model="gpt-oss-20b", separates="never reasons") is Separation.UNPROVEN


@pytest.mark.parametrize("separates", ["proved", "never reasons"])
def test_the_twenty_answers_are_in_a_row_however_many_signs_there_were(separates: Separates) -> None:
    twice = [SIGN, *[SILENT] * 10] * 2
    assert learned(*twice, *[SILENT] * 9, separates=separates) is Separation.UNPROVEN
    assert learned(*twice, *[SILENT] * 10, separates=separates) is Separation.PLAIN


def test_what_is_known_says_why_and_counts_what_was_held_and_withheld() -> None:
    known = Separations()
    for read in (SILENT, SILENT, PROVED, SIGN):
        known.learn("alpha", read)
    of_alpha = known.known()["alpha"]
    assert (of_alpha.held, of_alpha.withheld) == (2, 1)
    assert of_alpha.since and "signs" in of_alpha.why


def test_a_proof_counts_in_all_processes_and_a_sign_takes_it_back_in_all() -> None:
    proofs = OwnProofs()
    one, two = Separations(proofs=proofs), Separations(proofs=proofs)
    two.learn("alpha", SILENT)
    one.learn("alpha", PROVED)
    assert [each.of("alpha") for each in (one, two, Separations(proofs=proofs))] == [Separation.STRUCTURED] * 3
    assert two.known()["alpha"].separation is Separation.STRUCTURED
    two.learn("alpha", SIGN)
    assert [each.of("alpha") for each in (one, two, Separations(proofs=proofs))] == [Separation.UNPROVEN] * 3
    one.learn("alpha", PROVED)
    assert [each.of("alpha") for each in (one, two)] == [Separation.STRUCTURED] * 2


def test_the_word_of_an_operator_needs_no_proof_and_gives_none() -> None:
    proofs = OwnProofs()
    proofs.keep("alpha", "", "")
    assert Separations("never reasons", proofs).of("alpha") is Separation.PLAIN
    told = Separations("never reasons", proofs)
    told.learn("alpha", SIGN)
    assert told.of("alpha") is Separation.UNPROVEN


def test_a_proof_ends_when_the_server_names_another_version() -> None:
    of_version = {name: replace(SILENT, version=name) for name in ("", "one", "two")}
    proved = replace(PROVED, version="one")
    assert learned(proved, of_version["one"], of_version[""], of_version["one"]) is Separation.STRUCTURED
    assert learned(proved, of_version["two"]) is Separation.UNPROVEN
    assert learned(proved, of_version["two"], of_version["one"]) is Separation.UNPROVEN
    assert learned(proved, replace(proved, version="two"), of_version["two"]) is Separation.STRUCTURED


def test_each_upstream_proves_it_for_itself_and_only_so_many_are_remembered() -> None:
    known = Separations()
    known.learn("alpha", replace(PROVED, upstream="one"))
    assert [known.of("alpha", upstream) for upstream in ("one", "two", "")] == [Separation.STRUCTURED, *[Separation.UNPROVEN] * 2]
    known.learn("alpha", replace(SIGN, upstream="two"))
    assert known.of("alpha", "one") is Separation.STRUCTURED
    for number in range(3 * MAX_UPSTREAMS):
        known.learn("alpha", replace(SILENT, upstream=str(number)))
    assert len(known._known) == MAX_UPSTREAMS


def named(name: str, **delta: object) -> bytes:
    """A chunk of the upstream of that name."""
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return b"data: " + json.dumps({"choices": [choice], "provider": name, "system_fingerprint": name and f"fp_{name}"}).encode() + b"\n\n"


@pytest.mark.parametrize(("stream", "is_held"), [
    (named("one", content="Hi"), False),
    (named("one", role="assistant") + named("", content="Hi"), False),
    (named("two", content="Hi"), True),
    (named("", content="Hi"), True),
    (named("", content="Hi") + named("one", content=" there"), True),
    (named("two", role="assistant") + named("one", content="Hi"), False),
    (named("two", content="Hi") + named("one", content=" there"), True),
])  # fmt: skip
async def test_behind_a_gateway_only_the_upstream_counts_that_is_named_before_the_first_text(stream: bytes, *, is_held: bool) -> None:
    told: list[str] = []
    answers = iter([named("one", reasoning="Hm.") + named("one", content="Hi") + END, stream + END])
    async with stub.running(lambda writer: stub.plays(next(answers))(writer)) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT))
        for _ in range(2):
            told.clear()
            await outcome(backend, replace(sample_request("Hello!"), on_held=lambda: told.append("held")))
        assert bool(told) is is_held
        await backend.aclose()


def response(begins: dict[str, Any], ends: dict[str, Any], *, thought: str = "") -> bytes:
    """An answer over Responses, with what the response says of itself when it begins and when it ends."""
    message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    items = [{"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": thought}]}] if thought else []
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"status": "in_progress", "output": [], **begins}},
        *({"type": "response.output_item.done", "output_index": 0, "item": item} for item in items),
        {"type": "response.output_item.added", "output_index": len(items), "item": {**message, "content": []}},
        {"type": "response.output_text.delta", "item_id": "m", "output_index": len(items), "content_index": 0, "delta": "Hi"},
        {"type": "response.completed", "response": {"status": "completed", "output": [*items, message], **ends}},
    ]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def of_version(model: str, version: str | None = None) -> dict[str, Any]:
    return {"model": model, "system_fingerprint": version}


ONE, TWO = ({"provider": name, "system_fingerprint": f"fp_{name}"} for name in ("one", "two"))


async def are_held(*answers: bytes) -> list[bool]:
    """Of each answer that one server gives over Responses, whether it was held until it was whole."""
    held: list[bool] = []
    coming = iter(answers)
    async with stub.running(lambda writer: stub.plays(next(coming))(writer)) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT), kind="responses")
        for _ in answers:
            told: list[str] = []
            got = await outcome(backend, replace(sample_request("Hello!"), on_held=partial(told.append, "held")))
            assert got.visible == "Hi"
            held.append(bool(told))
        await backend.aclose()
    return held


@pytest.mark.parametrize(("proved", "other"), [
    (of_version("m-2026-01"), of_version("m-2026-02")),
    (of_version("m", "fp_1"), of_version("m", "fp_2")),
])  # fmt: skip
async def test_over_responses_too_a_proof_ends_when_the_server_names_another_version(proved: dict[str, Any], other: dict[str, Any]) -> None:
    same, changed = response({"model": "m"}, proved), response({"model": "m"}, other)
    assert await are_held(response({"model": "m"}, proved, thought="Hm."), same, changed, same) == [False, False, False, True]


@pytest.mark.parametrize(("begins", "ends", "is_held"), [
    (ONE, ONE, False),
    (ONE, {}, False),
    (TWO, TWO, True),
    (TWO, ONE, True),
    ({}, {}, True),
    ({}, ONE, True),
])  # fmt: skip
async def test_over_responses_too_each_upstream_proves_it_for_itself(
    begins: dict[str, Any], ends: dict[str, Any], *, is_held: bool
) -> None:
    assert await are_held(response(ONE, ONE, thought="Hm."), response(begins, ends)) == [False, is_held]


async def test_another_model_that_is_named_before_the_first_text_has_no_proof_of_the_first() -> None:
    one, two = ({"model": name} for name in ("m", "a model behind it"))
    assert await are_held(response(one, one, thought="Hm."), response(two, two), response(one, one)) == [False, True, False]


def test_who_answers_is_told_apart_whatever_the_names_hold() -> None:
    names = [{"provider": "a", "system_fingerprint": "b"}, {"system_fingerprint": "a\nb"}, {"provider": "a\nb"}, {"model": "a\nb"}, {}]
    assert len({upstream_of(each) for each in names}) == len(names) and upstream_of({"provider": "", "model": None}) == ""


@pytest.mark.parametrize("thought", ["\u200b", "…", "<think>", "<|channel|>", "[THINK]\n"])
@pytest.mark.parametrize("way", ["chat", "responses"])
async def test_reasoning_without_a_word_proves_nothing(way: str, thought: str) -> None:
    answer = chunk(reasoning=thought) + chunk(content="Hi") + END if way == "chat" else response({}, {}, thought=thought)
    told: list[str] = []
    async with stub.running(stub.plays(answer)) as server:
        endpoint = Endpoint(server.url, model="m", limits=PATIENT)
        backend = registry.build(endpoint, kind=way)
        got = await outcome(backend, replace(sample_request("Hello!"), on_held=partial(told.append, "held")))
        await backend.aclose()
    assert (got.visible, told) == ("Hi", ["held"])


@pytest.mark.parametrize("way", ["chat", "responses"])
@pytest.mark.parametrize("separates", ["proved", "always"])
async def test_a_thought_of_an_earlier_round_that_begins_the_answer_is_hidden(way: str, separates: Separates) -> None:
    thought = "The user asks for the weather, so I look it up."
    before = [Frame(ANALYSIS, "Hm."), Frame(ANALYSIS, thought), Frame(PREAMBLE, "I look it up, as I was asked to do.")]
    request = sample_request("Hello!", *before)
    preamble = f"{before[-1].body} It rains."
    for text, shown in ((f"{thought}\n\nIt rains.", "It rains."), ("Hm. It rains.", "Hm. It rains."), (preamble, preamble)):
        message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        over_responses = b"data: " + json.dumps({"type": "response.completed", "response": {"output": [message]}}).encode() + b"\n\n"
        ends = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
        answer = chunk(content=text) + ends if way == "chat" else over_responses
        async with stub.running(stub.plays(answer)) as server:
            endpoint = Endpoint(server.url, model="m", limits=PATIENT, separates=separates)
            backend = registry.build(endpoint, kind=way)
            got = await outcome(backend, request)
            await backend.aclose()
        assert got.visible.strip() == shown


def chunk(**delta: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}).encode() + b"\n\n"


END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(("deltas", "expected"), [
    ([{"reasoning_content": "Hm."}, {"content": "Hi"}], Separation.STRUCTURED),
    ([{"content": "Hi"}, {"reasoning_content": "Hm."}], Separation.UNPROVEN),
    ([{"reasoning": " "}, {"content": "Hi"}], Separation.UNPROVEN),
    ([{"reasoning_content": "Hm.", "content": "Hm."}, {"content": " So."}], Separation.STRUCTURED),
    ([{"content": " \n"}, {"thinking": "Hm."}, {"content": "Hi"}], Separation.STRUCTURED),
])  # fmt: skip
async def test_reasoning_in_a_field_of_its_own_before_the_first_text_is_proof(deltas: list[Any], expected: Separation) -> None:
    async with stub.running(stub.plays(b"".join(chunk(**delta) for delta in deltas) + END)) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT))
        await outcome(backend, sample_request("Hello!"))
        assert backend.known_separations()["m"].separation is expected
        await backend.aclose()


@pytest.mark.parametrize(("thought", "expected"), [
    ({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]}, Separation.STRUCTURED),
    ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}, Separation.STRUCTURED),
    ({"type": "reasoning", "content": [], "summary": []}, Separation.UNPROVEN),
    (None, Separation.UNPROVEN),
])  # fmt: skip
async def test_reasoning_in_an_item_of_its_own_is_proof(thought: Any, expected: Separation) -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    body = {"status": "completed", "output": [message] if thought is None else [thought, message]}
    async with stub.running(stub.responds("200 OK", json.dumps(body).encode())) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT), kind="responses")
        assert (await outcome(backend, sample_request("Hello!"))).visible == "Hi"
        assert backend.known_separations()["m"].separation is expected
        await backend.aclose()


@pytest.mark.parametrize(("deltas", "times"), [
    ([{"content": "Hi"}, {"content": " there"}], 1),
    ([{"reasoning": "Hm."}, {"content": "Hi"}, {"content": " there"}], 0),
    ([{"reasoning": "Hm."}], 0),
])  # fmt: skip
async def test_a_request_is_told_once_that_an_answer_is_held(deltas: list[Any], times: int) -> None:
    told: list[str] = []
    async with stub.running(stub.plays(b"".join(chunk(**delta) for delta in deltas) + END)) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT))
        await outcome(backend, replace(sample_request("Hello!"), on_held=lambda: told.append("held")))
        await backend.aclose()
    assert len(told) == times


PROVED_BY = "vllm/v-chat-greet vllm/v-chat-langs vllm/v-chat-unknown llamacpp/x-chat-greet llamacpp/x-chat-langs transformers/tt-chat-greet"
NOT_PROVED_BY = [f"transformers/t-chat-{name}" for name in ("greet", "python", "literal")]
NOT_PROVED_BY += ["vllm/v-chat-ping", "llamacpp/x-chat-trip-reasoning-format-none"]


@pytest.mark.parametrize("name", [*PROVED_BY.split(), *NOT_PROVED_BY])
async def test_recorded_servers_with_thought_prove_it_with_their_first_answer_and_those_without_a_parser_never(name: str) -> None:
    async with stub.running(stub.plays((RECORDINGS / f"{name}.sse").read_bytes())) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT))
        assert (await outcome(backend, sample_request("Hello!"))).error is None
        await backend.aclose()
    [known] = backend.known_separations().values()
    assert known.separation is (Separation.STRUCTURED if name in PROVED_BY.split() else Separation.UNPROVEN)


THOUGHT = "The user says hello, so SECRET we greet."


@pytest.mark.parametrize("deltas", [
    [{"reasoning": THOUGHT}, {"content": f"{THOUGHT}\n\n"}, {"content": "Hi there"}],
    [{"reasoning": THOUGHT}, {"content": f"{THOUGHT}assistantfinal"}, {"content": "Hi there"}],
    [*({field: word} for word in THOUGHT.split() for field in ("reasoning", "content")), {"content": " Hi there"}],
    [{"content": THOUGHT}, {"reasoning": THOUGHT}, {"content": "Hi there"}],
])  # fmt: skip
async def test_a_thought_that_the_answer_field_repeats_is_not_shown_with_the_answer(deltas: list[Any]) -> None:
    async with stub.running(stub.plays(b"".join(chunk(**delta) for delta in deltas) + END)) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT))
        assert (await outcome(backend, sample_request("Hello!"))).visible.strip() == "Hi there"
        await backend.aclose()


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_message_item_that_repeats_the_thought_shows_only_its_answer(is_first: bool) -> None:
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": THOUGHT}]}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"{THOUGHT}\nHi there"}]}
    body = {"status": "completed", "output": [thought, message] if is_first else [message, thought]}
    async with stub.running(stub.responds("200 OK", json.dumps(body).encode())) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT), kind="responses")
        assert (await outcome(backend, sample_request("Hello!"))).visible.strip() == "Hi there"
        await backend.aclose()


@pytest.mark.parametrize(("end", "visible"), [(END, "Hi"), (b"data: [DONE]\n\n", "")])
async def test_what_no_server_says_has_ended_is_shown_only_where_separation_is_proved(end: bytes, visible: str) -> None:
    async with stub.running(stub.plays(chunk(content="Hi") + end)) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT))
        assert (await outcome(backend, sample_request("Hello!"))).visible == visible
        await backend.aclose()


@pytest.mark.parametrize(("name", "visible"), [("thinking", "Hi"), ("response.reasoning.delta", "Hi"), ("message", "SECRETHi")])
async def test_the_name_of_an_event_is_a_label(name: str, visible: str) -> None:
    events = f"event: {name}\n".encode() + chunk(content="SECRET") + chunk(content="Hi") + END
    async with stub.running(stub.plays(events)) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT, separates="always"))
        assert (await outcome(backend, sample_request("Hello!"))).visible == visible
        await backend.aclose()


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_json_that_was_asked_for_in_words_alone_may_have_any_key(kind: str) -> None:
    answer = '{"reasoning": "it is even", "answer": 4}'

    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answer}]}
    whole = {"status": "completed", "output": [message], "choices": [{"message": {"content": answer}, "finish_reason": "stop"}]}
    refusal = stub.responds("400 Bad Request", b'{"error": {"message": "response_format is not supported"}}')
    answers = iter([refusal, stub.responds("200 OK", json.dumps(whole).encode())])
    async with stub.running(lambda writer: next(answers)(writer)) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT), kind=kind)
        wanted = replace(sample_request("Hello!"), answer_format=AnswerFormat("sum", None))
        assert (await outcome(backend, wanted)).visible == answer
        await backend.aclose()
