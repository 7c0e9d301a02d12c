"""Continuing a cut answer in each wire format: the request, the resulting text, and that nothing hidden comes with it."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint, EndReason, SampleRequest
from renderer.frame_kinds import ANALYSIS, PREAMBLE
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.prompt import FunctionTool, Prompt, SystemMessage, build
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary
from renderer.tokens import Token
from tests.backends.door import TEXT, Door, Row, Told
from tests.backends.said import STOPS, Moment, announces, says, thinks
from tests.chatui.backends.wire import DAY, LLAMA, SGLANG, VLLM, ids_of, llama, prompt, sse, vllm
from tests.support import stub
from tests.support.cases import example_count
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.stub import DONE, chunk

SECRET = "SECRET"
FINAL = Header(Role.ASSISTANT, Channel.FINAL)
QUESTION = Frame(Header(Role.USER), "What is 2 + 2?")
THOUGHT = Frame(Header(Role.ASSISTANT, Channel.ANALYSIS), f"{SECRET} thoughts")
CUT = Frame(FINAL, "Two and two")
OLLAMA = {"models": {"data": [{"id": "gpt-oss:20b", "owned_by": "library"}]}}
CHAT_LLAMA = LLAMA
DEMO = registry.build(Endpoint(""), tokens_per_second=0)


def continued(body: str = CUT.body) -> SampleRequest:
    return SampleRequest((QUESTION, THOUGHT), cut_answer=Frame(FINAL, body))


def _cut(text: str, chooser: random.Random) -> Iterator[str]:
    while text:
        size = chooser.randint(1, 6)
        yield text[:size]
        text = text[size:]


# Token ids


async def continue_by_ids(vocabulary: Vocabulary, answer: Any, server: dict[str, Any], request: SampleRequest) -> tuple[Outcome, Any]:
    async with stub.running(answer, **server) as running:
        backend = registry.build(Endpoint(running.url, limits=PATIENT), kind="harmony", vocabulary=lambda: vocabulary)
        result = await outcome(backend, replace(request, today=DAY))
        await backend.aclose()
    return result, running.posted


@pytest.mark.parametrize("server", [LLAMA, VLLM, SGLANG], ids=["llama.cpp", "vLLM", "SGLang"])
async def test_by_ids_the_prompt_ends_inside_the_answer(vocabulary: Vocabulary, server: dict[str, Any]) -> None:
    ids = [*vocabulary.encode(" are four."), MARKER_IDS[Token.RETURN]]
    answers = {
        "llama.cpp": sse(llama(" are four.", *vocabulary.encode(" are four.")[-1:]), llama("", 200002, stop=True, stop_type="eos")),
        "vLLM": sse(vllm(*ids, finish="stop", stop=200002)),
        "SGLang": sse({"output_ids": ids, "meta_info": {"completion_tokens": len(ids), "finish_reason": {"type": "stop"}}}),
    }
    name = next(name for name, one in {"llama.cpp": LLAMA, "vLLM": VLLM, "SGLang": SGLANG}.items() if one is server)
    result, posted = await continue_by_ids(vocabulary, stub.plays(answers[name]), server, continued())
    assert [(done.frame.header, done.frame.body, done.frame.terminator) for done in result.finished] == [
        (FINAL, " are four.", Terminator.RETURN)
    ]
    written = posted.get("prompt") or posted["input_ids"]
    expected = Prompt((QUESTION, THOUGHT), SystemMessage(date=DAY.isoformat()), cut_answer=CUT)
    assert written == build(expected, vocabulary)
    assert written[-len(vocabulary.encode(CUT.body)) - 3 :] == ids_of(vocabulary, f"<|channel|>final<|message|>{CUT.body}")


async def test_by_ids_an_answer_without_text_is_not_prefilled(vocabulary: Vocabulary) -> None:
    """It would continue its reasoning there, if that was cut: instead it is asked in words and chooses the channel itself."""
    reply = f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Four.<|return|>"
    raw = sse(vllm(*ids_of(vocabulary, reply), finish="stop", stop=200002))
    result, posted = await continue_by_ids(vocabulary, stub.plays(raw), VLLM, continued(""))
    words = prompt("finish")
    question = f"<|start|>user<|message|>{QUESTION.body}<|end|>"
    tail = f"{question}<|start|>user<|message|>{words}<|end|><|start|>assistant"  # and nothing of the cut reasoning
    assert posted["prompt"][-len(ids_of(vocabulary, tail)) :] == ids_of(vocabulary, tail)
    assert (result.visible, result.hidden) == ("Four.", SECRET)


async def test_by_ids_only_the_reasoning_that_was_cut_is_left_out(vocabulary: Vocabulary) -> None:
    raw = sse(vllm(*ids_of(vocabulary, "<|channel|>final<|message|>Four.<|return|>"), finish="stop", stop=200002))
    before, cut = Frame(ANALYSIS, "before the preamble"), Frame(ANALYSIS, "cut")
    request = SampleRequest((QUESTION, before, Frame(PREAMBLE, "I look."), cut, cut), cut_answer=Frame(FINAL, ""))
    _, posted = await continue_by_ids(vocabulary, stub.plays(raw), VLLM, request)
    kept = f"<|channel|>analysis<|message|>{before.body}<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
    tail = f"{kept}<|start|>user<|message|>{prompt('finish')}<|end|><|start|>assistant"
    assert posted["prompt"][-len(ids_of(vocabulary, tail)) :] == ids_of(vocabulary, tail)


async def test_by_ids_later_reasoning_is_hidden_and_quoted_markers_are_text(vocabulary: Vocabulary) -> None:
    channel, message, start = (MARKER_IDS[token] for token in (Token.CHANNEL, Token.MESSAGE, Token.START))
    raw = sse(
        vllm(*vocabulary.encode(" <|end|><|channel|>analysis"), MARKER_IDS[Token.END], start, *vocabulary.encode("assistant"), channel),
        vllm(*vocabulary.encode("analysis"), message, *vocabulary.encode(SECRET), finish="length"),
    )
    result, _ = await continue_by_ids(vocabulary, stub.plays(raw), VLLM, continued())
    assert (result.visible, result.hidden) == (" <|end|><|channel|>analysis", SECRET)


# Chat Completions


async def continue_by_chat(answer: Any, request: SampleRequest, **server: Any) -> tuple[Outcome, list[Any]]:
    async with stub.running(answer, **server) as running:
        backend = registry.build(Endpoint(running.url, limits=PATIENT))
        result = await outcome(backend, request)
        await backend.aclose()
    return result, [request.body for request in running.requests if request.method == "POST"]


@pytest.mark.parametrize("server", [CHAT_LLAMA, OLLAMA, VLLM], ids=["llama.cpp", "Ollama", "vLLM"])
async def test_an_answer_without_text_is_never_prefilled(server: dict[str, Any]) -> None:
    answer = stub.plays(chunk(reasoning_content=SECRET) + chunk(content="Four.") + chunk("stop") + DONE)
    result, [body] = await continue_by_chat(answer, continued(""), **server)
    assert body["messages"][-1] == {"role": "user", "content": prompt("finish")}
    assert "continue_final_message" not in body and "SECRET" not in str(body)
    assert (result.visible, result.hidden) == ("Four.", SECRET)


async def test_ollama_gets_an_answer_that_has_text() -> None:
    answer = stub.plays(chunk(content=" are four.") + chunk("stop") + DONE)
    _, [body] = await continue_by_chat(answer, continued(), **OLLAMA)
    assert body["messages"][-1]["role"] == "assistant"


@pytest.mark.parametrize(
    "leak",
    [
        f"<|channel|>analysis<|message|>{SECRET}<|end|>",
        f"<|start|>assistant<|channel|>analysis<|message|>{SECRET}",
        f"analysisWe {SECRET}. assistantfinal",
        f"assistant<|channel|>analysis<|message|>{SECRET}",
        f"assistantanalysis{SECRET}",
        f"<think>{SECRET}</think>",
        f"to=functions.x {SECRET}",
        f" is.assistantanalysis{SECRET}",
    ],
)
async def test_leaked_reasoning_in_a_continuation_is_hidden(leak: str) -> None:
    for server in (CHAT_LLAMA, VLLM):
        for seed in range(6):
            pieces = b"".join(chunk(content=piece) for piece in _cut(leak, random.Random(seed)))
            result, _ = await continue_by_chat(stub.plays(pieces + chunk("length") + DONE), continued(), **server)
            assert SECRET not in result.visible and SECRET in result.hidden


@pytest.mark.parametrize("leak", [f"analysis We {SECRET}. assistantfinalFour.", f"commentary to=x {SECRET}.assistantfinalFour."])
async def test_an_answer_without_text_is_judged_like_a_new_one(leak: str) -> None:
    for seed in range(6):
        pieces = b"".join(chunk(content=piece) for piece in _cut(leak, random.Random(seed)))
        result, [body] = await continue_by_chat(stub.plays(pieces + chunk("stop") + DONE), continued(""), **CHAT_LLAMA)
        assert body["messages"][-1]["content"] == prompt("finish"), "the premise: it is asked in words"
        assert result.visible == "Four." and SECRET in result.hidden


# The demo


async def test_the_demos_cut_answer_continues_to_its_end() -> None:
    question = sample_request("Please truncate.")
    cut = await outcome(DEMO, question)
    rest = await outcome(DEMO, replace(question, cut_answer=Frame(FINAL, cut.visible)))
    assert cut.visible.endswith("permissions that") and rest.visible.startswith(" their work needs")
    assert rest.ended is not None and rest.ended.reason is EndReason.STOP and not rest.hidden
    half = await outcome(DEMO, replace(question, cut_answer=Frame(FINAL, cut.visible), max_tokens=5))
    assert half.ended is not None and half.ended.reason is EndReason.LENGTH


@pytest.mark.parametrize("text", ["explain", "plan", "hello", "refuse"])
async def test_a_stopped_demo_answer_continues_at_the_same_place(text: str) -> None:
    offered = replace(sample_request(text), tools=(FunctionTool("keep_note", ""),))  # none are where an answer is continued
    whole = next(done.frame.body for done in reversed((await outcome(DEMO, offered)).finished))
    assert text != "hello" or "`plan`" in whole, "the premise: with a tool the greeting names more"
    for position in (0, 1, len(whole) // 2, len(whole)):
        rest = await outcome(DEMO, replace(sample_request(text), cut_answer=Frame(FINAL, whole[:position])))
        assert rest.visible == whole[position:]


# A cut answer that is continued in words: what is asked, what is repeated, and what of the continuation is shown.


BEFORE = "The sum of two and two"
REPEATED = "sum of two and two is four."


def one_by_one(raw: bytes) -> Iterator[bytes]:
    """Each event by itself."""
    yield from (event + b"\n\n" for event in raw.split(b"\n\n")[:-1])


async def joined(*said: Moment, cut: str = BEFORE, column: str = "chat", thought: str = "SECRET") -> Told:
    """What comes of it if a model goes on with ``said``, and each piece is read by itself."""
    asks = {"frames": (QUESTION, Frame(ANALYSIS, thought)), "effort": "high", "cut_answer": Frame(FINAL, cut)}
    return await Door().told(Row("", (*said, STOPS), asks=asks), column, one_by_one)


LONG = "".join(f"{number} " for number in range(1000))
assert len(LONG) > 3000

SEAMS = {
    ("The quick brown fox jum", "brown fox jumps over."): "ps over.",
    ("The quick brown fox", "quick brown fox jumps."): " jumps.",
    ("The quick brown fox", "The quick brown fox jumps."): " jumps.",
    ("The quick brown fox", "\nThe quick brown fox jumps."): " jumps.",
    ("The quick brown fox", "The quick brown fox"): "",
    ("The quick brown fox", "jumps."): " jumps.",
    ("The quick brown fox", " jumps."): " jumps.",
    ("The quick brown fox ", "jumps."): "jumps.",
    ("The quick brown fox.", "Jumps."): "Jumps.",
    ("so (a", "b c"): " b c",
    ("The quick brown fox", "quick brown dog."): " quick brown dog.",
    ("ha ha", "ha ha ha"): " ha",
    ("so it is, is it", "it is."): " it is.",
    ("日本語の", "文章です。"): "文章です。",
    ("日本語の", "text"): "text",
    ("the text", "文章です。"): "文章です。",
    ("x = [1, 2", ", 3]"): ", 3]",
    ("word " * 1000, "word " * 1000 + "end"): "end",
    ("a b c", ""): "",
    ("so 1234567", "1234567 8"): " 1234567 8",
    ("so 12345678", "12345678 9"): " 9",
    ("so 12345678", "\n 12345678 9"): " 9",
    ("as so 12345678", "so 12345678 so 12345678 9"): " so 12345678 9",
    ("ab" * 6, "ab" * 5 + "c"): "c",
    (LONG, LONG[-2000:] + "end"): "end",
    (LONG, LONG[-2010:] + "end"): LONG[-2010:] + "end",
    (LONG, LONG[:100] + "end"): LONG[:100] + "end",
}  # fmt: skip


@pytest.mark.parametrize(("before", "text"), SEAMS)
async def test_repeated_text_at_the_seam_is_removed_at_every_split(before: str, text: str) -> None:
    for seed in range(example_count(3)):
        pieces = list(_cut(text, random.Random(seed))) if seed else [text]
        told = await joined(says(*pieces), cut=before)
        assert told.shown == SEAMS[before, text]


@pytest.mark.parametrize(("before", "pieces", "shown"), [
    ("The quick brown fox", (" ju", "mps", " The quick brown fox"), [" ju", "mps", " The quick brown fox"]),
    ("The quick brown fox", ("quick ", "brown fox", " jumps", " so"), [" jumps", " so"]),
    ("The quick brown fox", ("brown ", "dog", " so"), [" brown dog", " so"]),
    ("ab", (" ", " ", " ", "x", "y"), ["   x", "y"]),
    ("a quick fox a quack", ("quick", "ck", "x"), [" quickck", "x"]),
    ("The quick brown fox", ("quick",), [" quick"]),
    ("The quick brown fox", ("The quick brown",), [" The quick brown"]),
])  # fmt: skip
async def test_text_is_held_only_while_it_may_be_a_repetition(before: str, pieces: tuple[str, ...], shown: list[str]) -> None:
    told = await joined(says(*pieces), cut=before)
    assert (told.shown, told.texts) == ("".join(shown), len(shown))


@pytest.mark.parametrize(("said", "lines"), [
    ([thinks("sum of two and two, says he"), says(REPEATED)], ["thought: sum of two and two, says he", "answer:  is four."]),
    ([announces(REPEATED), says(REPEATED)], [f"preamble: {REPEATED}", "answer:  is four."]),
    ([says("sum of"), says(REPEATED)], [f"answer:  sum of\n\n{REPEATED}"]),
    (
        [says("of two and two, he", "\n</think>\n\n", REPEATED)],
        ["hidden: , he\n</think> [E-X-WITHHELD] [withdrawn]", "answer:  is four."],
    ),
])  # fmt: skip
async def test_only_the_first_answer_that_is_not_withdrawn_is_joined(said: list[Moment], lines: list[str]) -> None:
    assert (await joined(*said, column="responses")).lines == [*lines, "stop"]


@pytest.mark.parametrize(("text", "lines"), [
    ("sum of two and two {} is four.", ["answer:  is four.", "hidden:  {} [E-X-WITHHELD]"]),
    ("sum of two and two {}", ["answer: ", "hidden:  {} [E-X-WITHHELD]"]),
    ("{} is four.", ["hidden: {} [E-X-WITHHELD]", "answer:  is four."]),
    ("sum of two and two is four, as {}", ["answer:  is four, as {}"]),
])  # fmt: skip
@pytest.mark.parametrize("size", [4, 1000])
@pytest.mark.parametrize("column", TEXT)
async def test_a_thought_behind_the_repetition_is_hidden(text: str, lines: list[str], size: int, column: str) -> None:
    thought = "The user wants a SECRET sum, so I add."
    text = text.format(thought)
    told = await joined(says(*(text[at : at + size] for at in range(0, len(text), size))), thought=thought, column=column)
    assert told.lines == [line.format(thought) for line in [*lines, "stop"]]


async def test_an_answer_that_has_text_is_asked_for_with_it_and_one_without_as_a_new_one_with_less_effort() -> None:
    told = await joined(says("x"))
    [body] = told.bodies
    assert [each["content"] for each in body["messages"]] == [QUESTION.body, BEFORE, prompt("continue")]
    assert body["reasoning_effort"] == "high"
    told = await joined(says("Fo", "ur."), cut="")
    assert told.lines == ["answer: Four.", "stop"], "nothing is joined"
    [body] = told.bodies
    assert [each["content"] for each in body["messages"]] == [QUESTION.body, prompt("finish")]
    assert body["reasoning_effort"] == "low"
    cut = "The user wants a SECRET sum, so I add."
    told = await joined(says(f"{cut} Four."), cut="", thought=cut)
    assert (told.visible.strip(), cut not in told.shown) == ("Four.", True), "the model goes on with the reasoning that was cut"
