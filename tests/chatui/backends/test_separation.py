"""What proves that a server separates reasoning, what takes it back, and what of it other requests may rely on."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from chatui.answer_formats import AnswerFormat
from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.backends.discovery import DetectedServer, Discovered
from chatui.backends.separation import Known, OwnProofs, Separates, Separation
from renderer.frame_kinds import ANALYSIS, PREAMBLE
from renderer.frames import Frame
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.support import stub
from tests.support.limits import limit
from tests.support.places import RECORDINGS
from tests.support.sampling import PATIENT, outcome, sample_request


def chunk(**delta: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}).encode() + b"\n\n"


END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
PROVED = chunk(reasoning="Hm.") + chunk(content="Hi") + END
SILENT = chunk(content="Hi") + END
SIGN = chunk(content="So it is, they say.</think>Hi") + END
CUT = chunk(content="Hi") + b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'


def of(name: str, answer: bytes, field: str = "system_fingerprint") -> bytes:
    """The answer of a version, or of an upstream behind a gateway, that names itself in every chunk."""
    return answer.replace(b'{"choices"', b'{"%b": "%b", "choices"' % (field.encode(), name.encode()))


class Peer:
    """A model server that gives each answer that it is asked for, and a backend that reads it over Chat Completions."""

    def __init__(self, server: stub.Stub, model: str | None, **options: Any) -> None:
        self._server, self._model = server, model or ""
        self.backend = registry.build(Endpoint(server.url, model=model, limits=PATIENT, **options), kind="chat")

    async def says(self, answer: bytes, times: int = 1) -> bool:
        """Whether the answer was held until it was whole, the last of so many times."""
        for _ in range(times):
            told: list[str] = []
            self._server.answer = stub.plays(answer)
            await outcome(self.backend, replace(sample_request("Hello!"), on_held=partial(told.append, "held")))
        return bool(told)

    def known(self) -> Known:
        return self.backend.known_separations()[self._model]


@asynccontextmanager
async def peer(model: str | None = "alpha", **options: Any) -> AsyncIterator[Peer]:
    async with stub.running(stub.plays(b"")) as server:
        found = Peer(server, model, **options)
        yield found
        await found.backend.aclose()


async def learned(*answers: bytes, model: str | None = "alpha", separates: Separates = "proved") -> Separation:
    """What is known of a model after these answers."""
    async with peer(model, separates=separates) as asked:
        for answer in answers:
            await asked.says(answer)
        return asked.known().separation


async def test_proof_is_remembered_until_a_sign_and_proved_anew() -> None:
    assert [await learned(SILENT), await learned(PROVED), await learned(PROVED, SILENT)] == [
        Separation.UNPROVEN,
        *[Separation.STRUCTURED] * 2,
    ]
    assert [await learned(PROVED, SIGN), await learned(PROVED, SIGN, PROVED)] == [Separation.UNPROVEN, Separation.STRUCTURED]


async def test_the_proof_of_a_model_is_none_of_another_model() -> None:
    proofs = OwnProofs()
    async with peer(proofs=proofs) as alpha, peer("beta", proofs=proofs) as beta:
        await alpha.says(PROVED)
        assert [await beta.says(SILENT), await alpha.says(SILENT)] == [True, False]


async def test_a_model_that_never_reasoned_in_twenty_answers_is_plain_unless_it_is_gpt_oss() -> None:
    assert [await learned(*[SILENT] * count) for count in (19, 20)] == [Separation.UNPROVEN, Separation.PLAIN]
    for model in ("openai/gpt-oss-120b", "GPT_OSS", "gptoss-tiny", None):
        assert await learned(*[SILENT] * 30, model=model) is Separation.UNPROVEN, model
    assert await learned(*[CUT] * 30) is Separation.UNPROVEN
    assert await learned(*[SILENT] * 20, SIGN, *[SILENT] * 19) is Separation.UNPROVEN


async def test_a_model_with_the_vocabulary_of_gpt_oss_is_never_plain_whatever_its_name() -> None:
    """Which ``auto`` asks the server for, though it then speaks Chat Completions."""

    def no_vocabulary() -> Vocabulary:
        raise VocabularyError("not here")

    for tokens, expected in (([200005, 200008], Separation.UNPROVEN), ([27, 91, 8], Separation.PLAIN)):
        async with stub.running(stub.plays(b""), models={"data": [{"id": "our-own", "owned_by": "vllm"}]}) as server:

            async def answer(writer: asyncio.StreamWriter) -> None:
                tokenized = stub.responds("200 OK", json.dumps({"tokens": tokens}).encode())  # noqa: B023 - called within this round
                await (tokenized if server.requests[-1].path == "/tokenize" else stub.plays(SILENT))(writer)

            server.answer = answer
            backend = registry.build(Endpoint(server.url, model="our-own", limits=PATIENT), kind="auto", vocabulary=no_vocabulary)
            for _ in range(20):
                assert (await outcome(backend, sample_request("Hello!"))).visible == "Hi"
            assert backend.known_separations()["our-own"].separation is expected
            await backend.aclose()


async def test_a_model_that_is_found_to_have_the_vocabulary_of_gpt_oss_is_plain_no_more() -> None:
    """A server may not have said so at first; ``auto`` asks it again."""
    async with peer("our-own") as asked:
        await asked.says(SILENT, times=20)
        assert asked.known().separation is Separation.PLAIN, "the premise"
        assert isinstance(asked.backend, DetectedServer)
        asked.backend.use_discovery(Discovered("vLLM", ("our-own",), is_gpt_oss=True))
        assert await asked.says(SILENT), "held until it is whole"
        assert asked.known().separation is Separation.UNPROVEN


async def test_the_operator_decides() -> None:
    assert await learned(SIGN, separates="always") is Separation.STRUCTURED
    async with peer(separates="never reasons") as asked:
        assert not await asked.says(SILENT), "the first answer need not be held"
        assert asked.known().separation is Separation.PLAIN
    assert await learned(SIGN, separates="never reasons") is Separation.UNPROVEN


@pytest.mark.parametrize("model", ["alpha", None])
async def test_one_sign_does_not_end_the_streaming_for_good_where_the_operator_says_that_the_model_never_reasons(model: str | None) -> None:
    held = [await learned(SIGN, *[SILENT] * count, model=model, separates="never reasons") for count in (19, 20)]
    assert held == [Separation.UNPROVEN, Separation.PLAIN]
    assert await learned(SIGN, *[SILENT] * 20, SIGN, model=model, separates="never reasons") is Separation.UNPROVEN


async def test_gpt_oss_that_gave_a_sign_does_reason_whatever_the_operator_says() -> None:
    assert await learned(SIGN, *[SILENT] * 30, model="gpt-oss-20b", separates="never reasons") is Separation.UNPROVEN


@pytest.mark.parametrize("separates", ["proved", "never reasons"])
async def test_the_twenty_answers_are_in_a_row_however_many_signs_there_were(separates: Separates) -> None:
    twice = [SIGN, *[SILENT] * 10] * 2
    assert await learned(*twice, *[SILENT] * 9, separates=separates) is Separation.UNPROVEN
    assert await learned(*twice, *[SILENT] * 10, separates=separates) is Separation.PLAIN


async def test_what_is_known_says_why_and_counts_what_was_held_and_withheld() -> None:
    async with peer() as asked:
        for answer in (SILENT, SILENT, PROVED, SIGN):
            await asked.says(answer)
        assert (asked.known().held, asked.known().withheld) == (2, 1)
        assert asked.known().since and "signs" in asked.known().why


async def test_a_proof_counts_in_all_processes_and_a_sign_takes_it_back_in_all() -> None:
    proofs = OwnProofs()
    async with peer(proofs=proofs) as one, peer(proofs=proofs) as two, peer(proofs=proofs) as third, peer(proofs=proofs) as fourth:
        assert await two.says(SILENT), "the premise: held without a proof"
        await one.says(PROVED)
        assert two.known().separation is Separation.STRUCTURED
        assert [await each.says(SILENT) for each in (one, two, third)] == [False] * 3
        await two.says(SIGN)
        assert [await each.says(SILENT) for each in (one, two, fourth)] == [True] * 3
        await one.says(PROVED)
        assert [await each.says(SILENT) for each in (one, two)] == [False] * 2


async def test_the_word_of_an_operator_needs_no_proof_and_gives_none() -> None:
    proofs = OwnProofs()
    proofs.keep("alpha", "", "")
    async with peer(separates="never reasons", proofs=proofs) as told:
        await told.says(SILENT)
        assert told.known().separation is Separation.PLAIN
        await told.says(SIGN)
        assert told.known().separation is Separation.UNPROVEN


async def test_a_proof_ends_when_the_server_names_another_version_at_the_end_of_an_answer() -> None:
    proof = {name: response({}, {"system_fingerprint": name}, thought="Hm.") for name in ("1", "2")}
    said = {name: response({}, {"system_fingerprint": name}) for name in ("1", "2", None)}
    assert await are_held(proof["1"], said["1"], said[None], said["1"]) == [False] * 4
    assert await are_held(proof["1"], said["2"], said["2"], said["1"]) == [False, False, True, True]
    assert await are_held(proof["1"], proof["2"], said["2"], said["2"]) == [False] * 4


async def test_each_upstream_proves_it_for_itself_and_only_so_many_are_remembered() -> None:
    async with peer() as asked:
        await asked.says(of("one", PROVED, "provider"))
        assert [await asked.says(of(name, SILENT, "provider")) for name in ("one", "two")] == [False, True] and await asked.says(SILENT)
        await asked.says(of("two", SIGN, "provider"))
        assert not await asked.says(of("one", SILENT, "provider"))
        most = limit("chatui.backends", "MAX_UPSTREAMS")
        for _ in range(15):
            for number in range(2):
                await asked.says(of(str(number), SILENT, "provider"))
        for number in range(2, most + 2):
            await asked.says(of(str(number), SILENT, "provider"))
        await asked.says(of("0", SILENT, "provider"), times=19)
        assert asked.known().separation is Separation.UNPROVEN, "the fifteen answers were forgotten"


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


async def test_who_answers_is_told_apart_whatever_the_names_hold() -> None:
    names = [{"provider": "a", "system_fingerprint": "b"}, {"system_fingerprint": "a\nb"}, {"provider": "a\nb"}, {"model": "a\nb"}, {}]
    for proving in names:
        answers = [response(proving, proving, thought="Hm."), *(response(each, each) for each in names if each != proving)]
        assert await are_held(*answers) == [False, *[True] * (len(names) - 1)], proving
    unnamed = {"provider": "", "model": None}
    assert await are_held(response({}, {}, thought="Hm."), response(unnamed, unnamed)) == [False, False]


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
