"""Answers with a required format: checked when they end, retried once by the model, and otherwise reported as not matching."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chatui.answer_formats import AnswerFormat, answer_format
from chatui.backends.base import EndReason
from chatui.models.conversation import Conversation
from chatui.models.message import Author
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from chatui.turns.asks import AskKind, ProgramAsk
from chatui.turns.streams.program import Closed, Ended, MoreProgramText, Opened, ProgramEvent, ProgramStream
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frames import Header, Role, Terminator
from renderer.gate import Audience, show
from renderer.ocml import document
from tests.chatui.turns.calls import calling
from tests.support.messages import stored_messages
from tests.support.page import opened
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, Step, answer, ended, frame
from tests.support.staff_pages import failure_number
from tests.support.turns import ask, begin, run

pytestmark = pytest.mark.django_db(transaction=True)

WANTED = answer_format("sum", {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}, "The sum.")
FITS, PROSE = '{"sum": 4 }', "It is four, of course."


def answer_steps(text: str) -> Sequence[Step]:
    return answer(text)


async def shown_frames(turn: Turn, person: User) -> list[tuple[str, str]]:
    rows = [message for message in await stored_messages(turn.conversation, person) if message.is_visible]
    frames = [document.parse_frame(message.text) for message in rows]
    return [(str(each.header.constrain), show(each, Audience.END_USER).strip()) for each in frames if each.header.role == Role.ASSISTANT]


async def test_a_matching_answer_is_stored_as_json(ada: User, backend: ScriptedBackend) -> None:
    backend.script = answer_steps(FITS)
    turn = await run(ada, ask(answer_format=WANTED))
    assert (turn.state, turn.error_code) == ("completed", "")
    assert await shown_frames(turn, ada) == [("json", FITS)]
    [request] = backend.requests
    assert request.answer_format == WANTED


@pytest.mark.parametrize(("body", "state", "code"), [(FITS, "completed", ""), (PROSE, "failed", Code.BODY_CONSTRAINT_VIOLATION)])
async def test_an_answer_that_the_model_itself_announced_as_json_must_be_json(
    body: str, state: str, code: str, ada: User, backend: ScriptedBackend
) -> None:
    backend.script = [FrameOpened(replace(FINAL, constrain="json")), FrameText(body), FrameClosed(Terminator.RETURN), ended()]
    turn = await run(ada, ask())
    assert (turn.state, turn.error_code) == (state, code)
    assert await shown_frames(turn, ada) == [("json", body)], "what was written stays"
    if code:
        page = await opened(ada, f"/c/{turn.conversation_id}/")
        assert "The answer does not have the required format." in page and failure_number(turn.pk) in page


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (PROSE, "it is not JSON"),
        ('{"sum": "four"}', "is not of type"),
        ("[4]", "is not of type"),
        ('{"sum": 4} and more', "it is not JSON"),
        ("", "it is not JSON"),
    ],
)
async def test_a_mismatch_is_withdrawn_and_the_model_is_told_once(ada: User, backend: ScriptedBackend, first: str, expected: str) -> None:
    backend.script, backend.following = answer_steps(first), [answer_steps(FITS)]
    turn = await run(ada, ask(answer_format=WANTED))
    assert (turn.state, turn.error_code) == ("completed", "")
    assert await shown_frames(turn, ada) == [("json", FITS)]
    _, again = backend.requests
    tried, correction = again.frames[-2:]
    assert (tried.header, tried.body.strip()) == (FINAL, first.strip())
    assert correction.header == Header(Role.USER)
    assert Code.BODY_CONSTRAINT_VIOLATION.value in correction.body
    assert expected in correction.body
    assert not any(each.header == ANALYSIS for each in again.frames)
    assert again.answer_format == WANTED
    assert again.tools == ()
    hidden = [message for message in await stored_messages(turn.conversation, ada) if message.error_code == Code.BODY_CONSTRAINT_VIOLATION]
    assert [(message.is_visible, message.channel) for message in hidden] == [(False, "analysis")]
    assert all(message.author == Author.MODEL for message in hidden)


async def test_a_second_mismatch_ends_the_turn_with_the_code(ada: User, backend: ScriptedBackend) -> None:
    backend.script, backend.following = answer_steps(PROSE), [answer_steps('{"sum": null}')]
    turn = await run(ada, ask(answer_format=WANTED))
    assert (turn.state, turn.error_code) == ("failed", Code.BODY_CONSTRAINT_VIOLATION)
    assert await shown_frames(turn, ada) == [("json", '{"sum": null}')]
    assert len(backend.requests) == 2


async def test_the_next_request_contains_nothing_of_the_first_try(ada: User, backend: ScriptedBackend) -> None:
    backend.script, backend.following = answer_steps(PROSE), [answer_steps(FITS), answer_steps(FITS)]
    turn = await run(ada, ask(answer_format=WANTED))
    await run(ada, ask(conversation=turn.conversation_id, text="And 3 + 3?"))
    *_, last = backend.requests
    assert last.answer_format == WANTED
    assert [(each.header.role, each.body.strip()) for each in last.frames] == [
        ("user", "What is 2 + 2?"), ("assistant", FITS), ("user", "And 3 + 3?"),
    ]  # fmt: skip


async def test_a_cleared_format_applies_to_no_later_answer(ada: User, backend: ScriptedBackend) -> None:
    backend.script, backend.following = answer_steps(FITS), [answer_steps(PROSE)]
    turn = await run(ada, ask(answer_format=WANTED))
    await Conversation.objects.filter(pk=turn.conversation_id).aupdate(answer_format=None)
    later = await run(ada, ask(conversation=turn.conversation_id))
    assert (later.state, await shown_frames(later, ada)) == ("completed", [("json", FITS), ("None", PROSE)])


async def test_a_cut_answer_is_not_checked_and_its_continuation_has_no_format(ada: User, backend: ScriptedBackend) -> None:
    opened: list[Step] = [FrameOpened(FINAL), FrameText('{"sum":'), FrameClosed(None)]
    backend.script = [*frame(ANALYSIS, "hm"), *opened, ended(EndReason.LENGTH)]
    backend.following = [[FrameOpened(FINAL), FrameText(" 4}"), FrameClosed(None), ended()]]
    turn = await run(ada, ask(answer_format=WANTED))
    assert (turn.state, turn.error_code) == ("incomplete", "E-X-LENGTH")
    assert len(backend.requests) == 1
    assert await shown_frames(turn, ada) == [("json", '{"sum":')]
    more = await run(ada, ask(AskKind.CONTINUE, text="", conversation=turn.conversation_id, continued_turn=turn.pk))
    assert backend.requests[1].answer_format is None
    assert await shown_frames(more, ada) == [("json", '{"sum": 4}')]


async def test_reasoning_is_not_checked_and_calls_go_on(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support import offering

    offering.offer(monkeypatch, calling.fetch)
    first = [*frame(ANALYSIS, "not JSON at all"), *calling.calls(calling.call("fetch", "c1", key="a"))]
    backend.script, backend.following = first, [answer_steps(PROSE), answer_steps(FITS)]
    turn = await run(ada, ask(answer_format=WANTED))
    assert (turn.state, [text for _, text in await shown_frames(turn, ada)][-1]) == ("completed", FITS)
    assert [bool(request.tools) for request in backend.requests] == [True, True, False]
    assert len(await calling.replies(turn)) == 1


async def by_program(ada: User, answer_format: AnswerFormat) -> tuple[Turn, list[ProgramEvent]]:
    stream = ProgramStream()
    program_ask = ask(effort="low", answer_format=answer_format, program=ProgramAsk(stream))
    started = await begin(ada, program_ask)
    events: list[ProgramEvent] = []
    while not events or not isinstance(events[-1], Ended):
        event = await stream.next()
        events += [event] if event is not None else []
    await running.settle()
    return await Turn.objects.select_related("conversation").aget(pk=started.turn.pk), events


def texts(events: Sequence[ProgramEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, MoreProgramText)).strip()


async def test_a_program_gets_only_a_matching_answer(ada: User, backend: ScriptedBackend) -> None:
    backend.script, backend.following = answer_steps(PROSE), [answer_steps(FITS)]
    turn, events = await by_program(ada, WANTED)
    assert (turn.state, texts(events)) == ("completed", FITS)
    assert [event.is_whole for event in events if isinstance(event, Closed)] == [True]
    assert sum(isinstance(event, Opened) for event in events) == 1


async def test_a_program_gets_nothing_of_two_mismatches(ada: User, backend: ScriptedBackend) -> None:
    backend.script, backend.following = answer_steps(PROSE), [answer_steps(PROSE)]
    turn, events = await by_program(ada, WANTED)
    assert (turn.state, texts(events)) == ("failed", "")
    assert isinstance(events[-1], Ended)
    assert events[-1].code is Code.BODY_CONSTRAINT_VIOLATION


async def test_a_program_gets_the_part_of_a_cut_answer(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [FrameOpened(FINAL), FrameText('{"sum":'), FrameClosed(None), ended(EndReason.LENGTH)]
    turn, events = await by_program(ada, WANTED)
    assert (turn.state, texts(events)) == ("incomplete", '{"sum":')
