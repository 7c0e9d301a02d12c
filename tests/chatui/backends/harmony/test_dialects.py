"""The chunks and requests of each token-id server, without a server: which ids are read, and which chunks are refused."""

from typing import Any

import pytest

from chatui.backends.base import BackendError, EndReason, Usage
from chatui.backends.harmony.dialects import DIALECTS, Chunks, CompletionRequest
from chatui.codes import ProductCode
from renderer.harmony.pieces import Marker, Piece, ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import Vocabulary
from renderer.tokens import Token

RETURN, CALL, START, END = 200002, 200012, 200006, 200007
END_OF_TEXT = 199999
HALF_A_CHARACTER = 101
STOP, LENGTH = EndReason.STOP, EndReason.LENGTH


@pytest.fixture
def ids(vocabulary: Vocabulary) -> Any:
    return lambda text: ids_of_pieces(pieces_of_text(text), vocabulary)


def chunks(dialect: str, vocabulary: Vocabulary) -> Chunks:
    return DIALECTS[dialect](vocabulary)


def vllm(ids: object, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": "x", "token_ids": ids, **more}]}


def sglang(ids: object, count: object, **more: Any) -> dict[str, Any]:
    return {"text": "x", "output_ids": ids, "meta_info": {"completion_tokens": count, "prompt_tokens": 9, **more}}


def text_of(pieces: list[Piece]) -> str:
    return "".join(piece.token if isinstance(piece, Marker) else piece for piece in pieces)


def test_vllm_reads_the_ids_of_the_first_choice_only(vocabulary: Vocabulary, ids: Any) -> None:
    reader = chunks("vLLM", vocabulary)
    first, other = vllm(ids("Hi")), vllm(ids("SECRET"))
    assert text_of(reader.feed(first)) == "Hi"
    assert text_of(reader.feed({"choices": first["choices"] + other["choices"]})) == "Hi"
    others: list[Any] = [{}, {"choices": []}, {"choices": None}, {"choices": ["x"]}, {"choices": {"0": 1}}, vllm(ids("SECRET"), index=1)]
    for nothing in others:
        assert reader.feed(nothing) == []
    assert text_of(reader.feed(vllm(ids("Hi"), index=None))) == "Hi"


@pytest.mark.parametrize("number", [-1, 201_089, 10**30])
def test_ids_of_no_token_are_logged_once_for_an_answer(
    number: int, vocabulary: Vocabulary, ids: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for dialect, chunk in (
        ("vLLM", vllm([*ids("a"), number])),
        ("SGLang", sglang([*ids("a"), number], 2)),
        ("llama.cpp", {"content": "a", "tokens": [number]}),
    ):
        reader = chunks(dialect, vocabulary)
        caplog.clear()
        reader.feed(
            {
                **chunk,
                "choices": [{"token_ids": [0, 201_088]}],
                "output_ids": [0, 201_088],
                "tokens": [0],
                "meta_info": {"completion_tokens": 2},
            }
        )
        assert not caplog.records, "the premise: every other id is one"
        reader = chunks(dialect, vocabulary)
        reader.feed(chunk)
        reader.feed(chunk)
        assert [(line.levelname, dialect.replace(".", "").lower() in line.getMessage().lower()) for line in caplog.records] == [
            ("WARNING", True)
        ]


def test_vllm_counts_tokens_and_names_its_model(vocabulary: Vocabulary) -> None:
    reader = chunks("vLLM", vocabulary)
    assert (reader.model, reader.usage, reader.reason) == (None, None, None)
    reader.feed({"model": "tiny", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}})
    reader.feed({"model": "", "choices": [], "usage": None})
    assert (reader.model, reader.usage) == ("tiny", Usage(9, 4))
    reader.feed({"choices": [], "usage": {"prompt_tokens": True, "completion_tokens": "4"}})
    assert reader.usage == Usage(None, None)


@pytest.mark.parametrize(
    ("reported", "named", "before", "expected"),
    [
        ("stop", RETURN, "Hi", "Hi<|return|>"),
        ("stop", CALL, "Hi", "Hi<|call|>"),
        ("stop", START, "Hi", "Hi<|start|>"),
        ("stop", None, "Hi", "Hi<|end|>"),
        ("stop", "<|return|>", "Hi", "Hi<|end|>"),
        ("stop", 5, "Hi", "Hi"),
        ("stop", "\n\n", "Hi", "Hi"),
        ("stop", RETURN, "Hi<|return|>", "Hi<|return|>"),
        ("stop", RETURN, "Hi<|call|>", "Hi<|call|>"),
        ("stop", None, "Hi<|end|>", "Hi<|end|><|end|>"),
        ("length", RETURN, "Hi", "Hi"),
    ],
)
def test_the_token_that_ended_the_output_is_read_once(
    vocabulary: Vocabulary, ids: Any, reported: str, named: object, before: str, expected: str
) -> None:
    first = chunks("vLLM", vocabulary)
    assert text_of(first.feed(vllm(ids(before), finish_reason=reported, stop_reason=named))) == expected
    second, whole = chunks("SGLang", vocabulary), ids(before)
    finish = {"type": reported, "matched": named}
    assert text_of(second.feed(sglang(whole, len(whole), finish_reason=finish))) == expected
    later = chunks("vLLM", vocabulary)
    parts = [*later.feed(vllm(ids(before))), *later.feed(vllm([], finish_reason=reported, stop_reason=named))]
    assert text_of(parts) == expected
    assert first.reason is second.reason is later.reason is (STOP if reported == "stop" else LENGTH)


def test_the_end_of_a_document_ends_the_output_by_itself(vocabulary: Vocabulary) -> None:
    assert text_of(chunks("vLLM", vocabulary).feed(vllm([END_OF_TEXT], finish_reason="stop"))) == "<|endoftext|>"


@pytest.mark.parametrize("reported", ["stop", "length"])
def test_half_a_character_at_the_end_is_replaced(vocabulary: Vocabulary, reported: str) -> None:
    pieces = chunks("vLLM", vocabulary).feed(vllm([HALF_A_CHARACTER], finish_reason=reported, stop_reason=RETURN))
    assert text_of(pieces) == "\ufffd" + ("<|return|>" if reported == "stop" else "")


def test_sglang_names_the_end_as_a_word_or_as_an_object(vocabulary: Vocabulary, ids: Any) -> None:
    for finish, expected in (("stop", STOP), ({"type": "length"}, LENGTH), (None, None), ({}, None)):
        reader = chunks("SGLang", vocabulary)
        reader.feed(sglang(ids("Hi"), 1, finish_reason=finish))
        assert reader.reason is expected and reader.usage == Usage(9, 1)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([([1, 2], 2), ([1, 2, 3], 3)], [2, 1]),  # all ids so far
        ([([1, 2], 2), ([3], 3)], [2, 1]),  # only the new ones
        ([([1], 1), ([2], 2), ([3, 4], 4)], [1, 1, 2]),
        ([([1, 2], 2), ([1, 2], 2)], [2, 0]),
        ([([1, 2], 2), ([], 2), (None, 2), ([1, 2, 3, 4], 4)], [2, 0, 0, 2]),
        ([([1, 2], 1)], [2]),
        ([([1, 2], 2), ([3], 4)], None),
        ([([1, 2], 3)], None),
        ([([1, 2], 2), ([1], 2)], None),
        ([([1], None)], None),
        ([([1], "1")], None),
    ],
)
def test_sglang_sends_ids_again_or_not_and_none_is_missing(
    vocabulary: Vocabulary, sent: list[tuple[Any, Any]], expected: list[int] | None
) -> None:
    reader = chunks("SGLang", vocabulary)
    numbers = [64, 65, 66, 67]
    if expected is None:
        with pytest.raises(BackendError):
            [reader.feed({"output_ids": each, "meta_info": {"completion_tokens": count}}) for each, count in sent]
        return
    lengths = []
    for each, count in sent:
        each = each and [numbers[number - 1] for number in each]
        lengths.append(len(text_of(reader.feed({"output_ids": each, "meta_info": {"completion_tokens": count}}))))
    assert lengths == expected


def test_llama_cpp_reads_text_and_takes_markers_from_ids(vocabulary: Vocabulary) -> None:
    reader = chunks("llama.cpp", vocabulary)
    assert reader.feed({"content": "<|end|>", "tokens": [64, 65]}) == ["<|end|>"], "quoted"
    assert reader.feed({"content": "x<|end|>", "tokens": [END]}) == ["x", Marker(Token.END)]
    assert reader.feed({"content": "<|end|>", "tokens": [END]}) == [Marker(Token.END)]
    assert reader.feed({"content": "", "tokens": [END]}) == [Marker(Token.END)]
    assert reader.feed({"content": "", "tokens": []}) == reader.feed({"content": None}) == reader.feed({"content": 5, "tokens": [64]}) == []
    assert (reader.reason, reader.usage, reader.model) == (None, None, None)


@pytest.mark.parametrize(
    ("kind", "before", "reason", "expected"),
    [
        ("eos", [], STOP, "Hi<|end|>"),
        ("word", [], STOP, "Hi"),
        ("eos", [RETURN], STOP, "<|return|>Hi"),
        ("eos", [END], STOP, "<|end|>Hi<|end|>"),
        ("limit", [], LENGTH, "Hi"),
        ("none", [], LENGTH, "Hi"),
        (None, [], LENGTH, "Hi"),
    ],
)
def test_llama_cpp_says_at_the_end_why_it_stopped(
    vocabulary: Vocabulary, kind: object, before: list[int], reason: EndReason, expected: str
) -> None:
    reader = chunks("llama.cpp", vocabulary)
    pieces = reader.feed({"content": "", "tokens": before})
    last = {"stop": True, "stop_type": kind, "model": "tiny", "tokens_predicted": 4, "tokens_evaluated": 9}
    pieces += reader.feed({"content": "Hi", "tokens": [64], **last})
    assert (text_of(pieces), reader.reason, reader.usage, reader.model) == (expected, reason, Usage(9, 4), "tiny")


def test_llama_cpp_answers_in_one_piece_must_match_their_ids(vocabulary: Vocabulary, ids: Any) -> None:
    whole = "<|channel|>final<|message|>Hi<|return|>"
    for content in (whole, whole.removesuffix("<|return|>")):
        assert text_of(chunks("llama.cpp", vocabulary).feed({"content": content, "tokens": ids(whole)})) == whole
    for content, sent in (("Hi", whole), (whole, f"{whole[:-10]}"), ("<|message|>", "<|channel|><|message|>"), ("Hi<|end|>", "Hi<|end|>!")):
        with pytest.raises(BackendError):
            chunks("llama.cpp", vocabulary).feed({"content": content, "tokens": ids(sent)})


@pytest.mark.parametrize("label", [{"channel": "analysis"}, {"role": "user"}, {"is_thinking": True}, {"segment": "reasoning"}])
def test_a_chunk_that_is_labelled_as_something_else_is_refused(vocabulary: Vocabulary, ids: Any, label: dict[str, Any]) -> None:
    whole = ids("SECRET")
    for dialect, chunk in (
        ("vLLM", vllm(whole) | label),
        ("vLLM", vllm(whole, **label)),
        ("SGLang", sglang(whole, len(whole)) | label),
        ("llama.cpp", {"content": "SECRET", "tokens": whole} | label),
    ):
        with pytest.raises(BackendError) as raised:
            chunks(dialect, vocabulary).feed(chunk)
        assert raised.value.code is ProductCode.BACKEND


@pytest.mark.parametrize("sent", [["64"], [True], [1.0], "64", {"0": 1}, 5])
def test_ids_that_are_no_whole_numbers_are_refused(vocabulary: Vocabulary, sent: object) -> None:
    for dialect, chunk in (("vLLM", vllm(sent)), ("SGLang", sglang(sent, 1)), ("llama.cpp", {"content": "x", "tokens": sent})):
        with pytest.raises(BackendError) as raised:
            chunks(dialect, vocabulary).feed(chunk)
        assert raised.value.code is ProductCode.BACKEND


def test_text_without_ids_is_refused_and_an_empty_text_is_not(vocabulary: Vocabulary) -> None:
    for dialect, chunk, empty in (
        ("vLLM", vllm(None), vllm(None, text="")),
        ("SGLang", {"text": "x", "meta_info": {}}, {"text": "", "meta_info": None}),
        ("llama.cpp", {"content": "x"}, {"content": ""}),
    ):
        assert chunks(dialect, vocabulary).feed(empty) == []
        with pytest.raises(BackendError) as raised:
            chunks(dialect, vocabulary).feed(chunk)
        assert raised.value.code is ProductCode.BACKEND_SETUP


@pytest.mark.parametrize("reported", ["abort", "content_filter", 1, "STOP"])
def test_any_other_reason_for_the_end_is_a_failure(reported: object, vocabulary: Vocabulary) -> None:
    reader = chunks("vLLM", vocabulary)
    reader.feed({"choices": [{"index": 0, "token_ids": [], "finish_reason": reported}]})
    assert (reader.reason, reader.failure) == (None, repr(reported))


def test_each_request_asks_for_ids_and_for_the_markers() -> None:
    schema, words = {"type": "object"}, ("=a.b", "=c")
    asked = CompletionRequest([1, 2], 7, "tiny", {"temperature": 0.5})
    bound = [CompletionRequest([1], 7, schema=schema), CompletionRequest([1], 7, words=words)]
    payloads = {name: dialect.payload(asked) for name, dialect in DIALECTS.items()}
    common = {"skip_special_tokens": False, "stop_token_ids": [RETURN, CALL]}
    to_vllm = {"model": "tiny", "temperature": 0.5, "prompt": [1, 2], "stream": True, "stream_options": {"include_usage": True}}
    options = {"max_tokens": 7, "return_token_ids": True, "include_stop_str_in_output": True}
    assert payloads["vLLM"] == common | to_vllm | options
    assert not {"model", "structured_outputs"} & DIALECTS["vLLM"].payload(CompletionRequest([1], 7)).keys()
    sampling = {**common, "temperature": 0.5, "max_new_tokens": 7, "no_stop_trim": True}
    assert payloads["SGLang"] == {"input_ids": [1, 2], "stream": True, "sampling_params": sampling}
    fields = payloads["llama.cpp"].pop("response_fields")
    assert fields == ["content", "tokens", "stop", "stop_type", "truncated", "model", "tokens_predicted", "tokens_evaluated"]
    own = {"n_predict": 7, "cache_prompt": True, "stop": [], "return_tokens": True, "stream": True}
    assert payloads["llama.cpp"] == {**own, "temperature": 0.5, "prompt": [1, 2]}
    assert [DIALECTS["vLLM"].payload(each).get("structured_outputs") for each in bound] == [{"json": schema}, {"choice": list(words)}]
    params: list[Any] = [DIALECTS["SGLang"].payload(each)["sampling_params"] for each in bound]
    assert [(each.get("json_schema"), each.get("regex")) for each in params] == [('{"type": "object"}', None), (None, r"=a\.b|=c")]
    named: Any = DIALECTS["SGLang"].payload(CompletionRequest([1], 7, schema={"title": "Zoë"}))
    assert named["sampling_params"]["json_schema"] == '{"title": "Zoë"}', "as long as it is"
    first, second = (DIALECTS["llama.cpp"].payload(each) for each in bound)
    compact = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    assert first["json_schema"] == {"type": "object", "x-guidance": compact} and "grammar" not in first
    assert (second["grammar"], "json_schema" in second) == ('root ::= "=a.b" | "=c"', False)
