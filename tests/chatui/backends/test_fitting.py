"""Trimming a request that is too long: whole turns are left out, the oldest first, and no call without its reply."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from chatui.backends.base import SampleRequest
from chatui.backends.chat.messages import messages
from chatui.backends.context_fitting import fit
from chatui.backends.context_window import weight, weight_of
from chatui.backends.responses.backend import prompt
from renderer import history
from renderer.frame_kinds import ANALYSIS, ANSWER, DOCUMENT
from renderer.frames import Channel, Frame, Header, Role, Terminator
from tests.support.cases import example_count
from tests.support.cost import cost

INSTRUCTIONS = Frame(Header(Role.DEVELOPER), "Be kind. " * 20)


def question(text: str) -> Frame:
    return Frame(Header(Role.USER), text)


def answer(text: str) -> Frame:
    return Frame(ANSWER, text)


def call(call_id: str, text: str = "{}") -> Frame:
    return Frame(Header(Role.ASSISTANT, Channel.COMMENTARY, "functions.look", call_id), text, Terminator.CALL)


def reply(call_id: str, text: str = "found") -> Frame:
    return Frame(Header(Role.TOOL, Channel.COMMENTARY, "assistant", call_id, name="functions.look"), text)


def turn(number: int, words: int = 50) -> list[Frame]:
    return [question(f"Question {number}? " + "word " * words), answer(f"Answer {number}.")]


def long_request(turns: int = 20) -> SampleRequest:
    return SampleRequest((INSTRUCTIONS, *(frame for number in range(turns) for frame in turn(number)), question("And now?")))


def test_a_request_that_fits_is_unchanged() -> None:
    request = long_request()
    for most in (None, 1e9):
        found = fit(request, most)
        assert found.request is request and found.turns_left_out == 0 and not found.is_minimal


def test_the_oldest_turns_are_left_out_and_instructions_stay() -> None:
    whole = fit(long_request(), None).weight
    found = fit(long_request(), whole / 2)
    assert 5 < found.turns_left_out < 15 and found.weight <= whole / 2
    assert found.request.frames[0] == INSTRUCTIONS and found.request.frames[-1].body == "And now?"
    assert found.request.frames[1].body.startswith(f"Question {found.turns_left_out}?")


def test_the_last_question_and_the_instructions_are_never_left_out() -> None:
    found = fit(long_request(), 1)
    assert found.request.frames == (INSTRUCTIONS, question("And now?")) and found.turns_left_out == 20 and found.is_minimal


def test_an_answer_without_a_question_is_left_out_first_and_not_counted() -> None:
    request = SampleRequest((answer("Once upon a time. " * 200), *turn(0), question("And now?")))
    found = fit(request, fit(request, None).weight - 100)
    assert found.turns_left_out == 0 and found.request.frames[0].header.role == Role.USER


def test_a_cut_answer_loses_its_reasoning_first_and_then_its_beginning() -> None:
    thought = Frame(ANALYSIS, "hm " * 400)
    cut = answer("\n".join(f"Line {number} of the answer." for number in range(400)))
    request = SampleRequest((INSTRUCTIONS, *turn(0), question("Write a lot."), thought), cut_answer=cut)
    whole = fit(request, None).weight
    without_turns = fit(request, whole - 50)
    assert without_turns.turns_left_out == 1 and thought in without_turns.request.frames
    without_thought = fit(request, whole - 400)
    assert thought not in without_thought.request.frames and without_thought.request.cut_answer == cut
    shorter = fit(request, 1000)
    cut_answer = shorter.request.cut_answer
    assert cut_answer is not None and shorter.weight <= 1000 and cut.body.endswith(cut_answer.body) and cut_answer.body.startswith("Line ")
    assert shorter.request.frames == (INSTRUCTIONS, question("Write a lot."))
    assert not shorter.is_minimal and fit(request, 10).is_minimal
    assert weight((fit(request, 10).request.cut_answer or cut).body) > 40, "the model still sees where it continues"


def test_a_call_and_its_later_reply_are_left_out_together() -> None:
    request = SampleRequest((*turn(0), question("Look!"), call("c1"), question("Well?"), reply("c1"), answer("It is."), question("Now?")))
    _, turns = history.turns(request.frames)
    assert [history.questions(each) for each in turns] == [1, 2, 1]
    found = fit(request, 1)
    assert (found.request.frames, found.turns_left_out) == ((question("Now?"),), 3)


def test_fitting_takes_linear_time() -> None:
    short, long = long_request(500), long_request(5000)
    assert cost(lambda: fit(long, 1000)) < 30 * cost(lambda: fit(short, 1000))


def document(name: str, words: int = 300) -> Frame:
    return Frame(DOCUMENT, f'[Attached document "{name}", a text file.]\n\n' + "word " * words)


def test_a_document_stays_while_later_messages_are_left_out() -> None:
    request = SampleRequest(
        (INSTRUCTIONS, document("a.txt"), *(frame for number in range(20) for frame in turn(number)), question("And now?"))
    )
    whole = fit(request, None).weight
    found = fit(request, whole - 800)
    assert found.request.frames[:2] == (INSTRUCTIONS, document("a.txt")) and 5 < found.turns_left_out < 19
    assert found.request.frames[2].body.startswith(f"Question {found.turns_left_out}?") and found.weight <= whole - 800
    assert not fit(request, weight_of(request.frames[:2]) + 200).is_minimal, "the document could still go"


def test_a_document_that_does_not_fit_leaves_a_line_and_newer_ones_go_first() -> None:
    old, new = document("old.txt", 600), document("new.txt", 600)
    request = SampleRequest((old, *turn(0), new, *turn(1), question("And now?")))
    found = fit(request, fit(request, None).weight - 300)
    line, *others = found.request.frames
    assert line.header == DOCUMENT
    assert line.body == '[The document "old.txt" was attached here. It does not fit any more, so its text is left out.]'
    assert others == [*turn(0), new, *turn(1), question("And now?")] and found.turns_left_out == 1 and not found.is_minimal
    least = fit(request, 1)
    assert least.request.frames == (question("And now?"),) and least.turns_left_out == 2 and least.is_minimal


def test_documents_use_their_counted_tokens_not_the_learnt_ratio() -> None:
    table = document("table.csv", 20_000)
    request = SampleRequest((INSTRUCTIONS, table, question("Q1"), answer("A1"), question("Q2")), counted={table: 5_000})
    for factor in (0.5, 1.0, 2.0):
        found = fit(request, 6_000 / factor, factor)
        assert found.turns_left_out == 0 and found.weight * factor < 6_000 and found.counted * factor >= 5_000
    assert fit(replace(request, counted={}), 6_000).turns_left_out == 1, "the premise: by its characters it weighs far more"


TEXTS = st.sampled_from(["", "a", "word " * 40, "語" * 60])
IDS = st.sampled_from(["c1", "c2", "c3"])
FRAMES = st.one_of(
    st.builds(question, TEXTS),
    st.builds(answer, TEXTS),
    st.builds(lambda text: Frame(ANALYSIS, text), TEXTS),
    st.builds(call, IDS, TEXTS),
    st.builds(reply, IDS, TEXTS),
)


@settings(max_examples=example_count(400))
@given(st.lists(FRAMES, max_size=24), st.floats(0, 600), st.booleans())
def test_a_call_is_never_separated_from_its_reply(frames: list[Frame], most: float, is_cut: bool) -> None:
    seen = (INSTRUCTIONS, *history.frames_for_prompt([*frames, question("Now?")]))
    request = SampleRequest(seen, cut_answer=answer("It begins") if is_cut else None)
    found = fit(request, most)
    remaining = found.request.frames
    assert remaining[0] == INSTRUCTIONS and remaining[-1] == question("Now?")
    assert remaining[1:] == seen[len(seen) - len(remaining) + 1 :], "a part was left out in the middle"
    assert found.turns_left_out == history.questions(seen) - history.questions(remaining)
    assert found.weight <= max(most, found.weight if found.is_minimal else 0)
    written = messages(remaining, found.request.cut_answer)
    call_ids = [each["id"] for message in written for each in message.get("tool_calls", [])]  # type: ignore[attr-defined]
    assert call_ids == [message["tool_call_id"] for message in written if message["role"] == "tool"]
    items = prompt(remaining).items
    called = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert called == [item["call_id"] for item in items if item["type"] == "function_call_output"]
    for position, frame in enumerate(remaining):
        if frame.header.role == Role.TOOL and frame.header.call_id is not None:
            before = [each.header.call_id for each in seen[: len(seen) - len(remaining) + position] if each.terminator is Terminator.CALL]
            here = [each.header.call_id for each in remaining[:position] if each.terminator is Terminator.CALL]
            assert frame.header.call_id in here or frame.header.call_id not in before, "its call was left out"


def test_a_whole_request_is_not_changed_by_its_own_weight() -> None:
    request = replace(long_request(3), cut_answer=answer("It begins"))
    found = fit(request, None)
    assert fit(request, found.weight).request is request
