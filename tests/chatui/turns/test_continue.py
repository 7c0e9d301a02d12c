"""Continuing an answer that did not end: what the model is asked, what is stored, what the page shows, and who may not."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.backends.base import BackendError, EndReason
from chatui.codes import ProductCode
from chatui.display import windows
from chatui.display.conversation import shown_exchange
from chatui.model_servers import choice as model_choice
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import transcripts
from chatui.turns import running, sweep
from chatui.turns.asks import Ask, AskKind, AskRefusedError
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import RunningTurn
from chatui.wire.bus import PROCESS
from renderer.activities.activity import Activity
from renderer.activities.frame import frame_of
from renderer.errors import ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frame_kinds import SUMMARY
from renderer.frames import Frame, Header, Terminator
from renderer.markup import html
from renderer.ocml import document as ocml
from tests.chatui.conftest import signed_in
from tests.chatui.store import pieces
from tests.support.answer_rows import rows_of
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.messages import add_message, open_branch, stored_messages
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, Step, answer, ended, frame
from tests.support.turns import ask, begin, loaded, run, store, stored

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "RAW-COT-CANARY-7391"


def cut(header: Header, text: str, error: ErrorCode = ProductCode.LENGTH) -> list[Step]:
    return [FrameOpened(header), FrameText(text), FrameClosed(None, error)]


def cut_answer(text: str = "Two and ", thought: str = SECRET) -> list[Step]:
    return [*frame(ANALYSIS, thought), *cut(FINAL, text), ended(EndReason.LENGTH)]


def continuation_steps(text: str = "two are four.") -> list[Step]:
    return [FrameOpened(FINAL), FrameText(text), FrameClosed(Terminator.RETURN), ended()]


def continued(turn: Turn, **fields: object) -> Ask:
    return ask(AskKind.CONTINUE, "", **({"effort": "", "conversation": turn.conversation_id, "continued_turn": turn.pk} | fields))


async def ask_and_continue(person: User, backend: ScriptedBackend, *scripts: Sequence[Step]) -> list[Turn]:
    """Run the first script as an answer and each further one as a continuation of the turn before."""
    turns: list[Turn] = []
    for script in scripts:
        backend.script = script
        turns.append(await run(person, continued(turns[-1]) if turns else ask()))
    return turns


@database_sync_to_async
def shown_answer(person: User, turn: Turn) -> Any:
    answer = windows.latest(turn.conversation).exchanges[-1].answer
    assert answer is not None
    return answer


@database_sync_to_async
def page(person: User, turn: Turn) -> str:
    return signed_in(person).get(f"/c/{turn.conversation_id}/").content.decode()


def body(message: Message) -> str:
    return transcripts.frame_of(message).body


async def test_a_cut_answer_and_its_continuation_are_one_message(ada: User, backend: ScriptedBackend) -> None:
    first, second = await ask_and_continue(ada, backend, cut_answer(), continuation_steps())
    assert (first.state, second.state, second.error_code) == ("incomplete", "completed", "")
    messages = await stored_messages(first.conversation, ada)
    assert [body(message) for message in messages[1:]] == [f"{SECRET} ", "Two and two are four."]
    assert (messages[-1].is_complete, messages[-1].terminator, messages[-1].turn_id) == (True, "<|return|>", second.pk)
    left = await Message.objects.aget(turn=first, channel="final")
    assert (body(left), left.parent_id) == ("Two and ", messages[-1].parent_id), "nothing is lost"
    assert (first.effort, second.effort) == ("medium", "medium"), "the settings of the turn that is continued"
    assert second.question_id == first.question_id and await Message.objects.filter(role="user").acount() == 1


async def test_the_lines_of_a_summary_are_shown_beside_the_continued_answer_and_not_in_it(ada: User, backend: ScriptedBackend) -> None:
    lines = (Activity("compare", ("tea", "coffee")), Activity("calc"))
    [first] = await ask_and_continue(ada, backend, [*cut(ANALYSIS, SECRET), ended(EndReason.LENGTH)])

    @database_sync_to_async
    def going_on() -> RunningTurn:
        """As if that answer had had lines and a beginning."""
        row, fields = first.conversation, {"turn_id": first.pk}
        summary = add_message(row, transcripts.active_leaf(row, ada), frame_of(lines), Author.PRODUCT, activities=lines, **fields)
        open_branch(row, ada, add_message(row, summary, Frame(FINAL, "Two and "), Author.MODEL, is_complete=False, **fields))
        return loaded(store(ada, continued(first)))

    job = await going_on()
    assert ([item.body for _, item in job.shown_before], job.steps_before) == (["Two and "], lines)


async def test_the_model_is_asked_with_its_reasoning_and_the_open_answer(ada: User, backend: ScriptedBackend) -> None:
    await ask_and_continue(ada, backend, cut_answer(), continuation_steps())
    request = backend.requests[-1]
    assert [(one.header.role, one.header.channel, one.body) for one in request.frames] == [
        ("user", None, "What is 2 + 2?"),
        ("assistant", "analysis", f"{SECRET} "),
    ]
    assert request.cut_answer == Frame(FINAL, "Two and ")


async def test_an_answer_that_never_came_is_finished_without_more_reasoning(ada: User, backend: ScriptedBackend) -> None:
    scripts = ([*frame(ANALYSIS, SECRET), ended()], continuation_steps("Four."))
    first, second = await ask_and_continue(ada, backend, *scripts)
    assert (first.state, first.error_code, second.state) == ("failed", "E-X-ONLY-THINKING", "completed")
    assert backend.requests[-1].cut_answer == Frame(Header("assistant", "final"), "")
    assert [one.header.channel for one in backend.requests[-1].frames] == [None, "analysis"]
    assert [body(message) for message in (await stored_messages(first.conversation, ada))[1:]] == [f"{SECRET} ", "Four."]


async def test_reasoning_that_was_cut_is_known_if_the_model_repeats_it(ada: User, backend: ScriptedBackend) -> None:
    """No prompt has a cut thought again, so only the request can say what it was."""
    await ask_and_continue(ada, backend, [*cut(ANALYSIS, SECRET), ended(EndReason.LENGTH)], continuation_steps("Four."))
    request = backend.requests[-1]
    assert [one.header.channel for one in request.frames] == [None] and request.thoughts == (SECRET,)


async def test_the_later_history_holds_one_whole_answer(ada: User, backend: ScriptedBackend) -> None:
    first, _ = await ask_and_continue(ada, backend, cut_answer(), continuation_steps())
    backend.script = answer()
    await run(ada, ask(text="Thanks!", conversation=first.conversation_id))
    assert [(one.header.role, one.body) for one in backend.requests[-1].frames] == [
        ("user", "What is 2 + 2?"),
        ("assistant", "Two and two are four."),
        ("user", "Thanks!"),
    ]
    assert backend.requests[-1].cut_answer is None


async def test_an_answer_can_be_continued_several_times(ada: User, backend: ScriptedBackend) -> None:
    more = [*cut(FINAL, "two "), ended(EndReason.LENGTH)]
    turns = await ask_and_continue(ada, backend, cut_answer(), more, more, continuation_steps("are four."))
    assert body((await stored_messages(turns[0].conversation, ada))[-1]) == "Two and two two are four."
    answer = await shown_answer(ada, turns[-1])
    assert [part.kind for part in answer.parts] == ["final"]
    assert answer.siblings is not None and (answer.siblings.index, answer.siblings.count) == (4, 4)
    assert [request.cut_answer.body for request in backend.requests[1:] if request.cut_answer] == [
        "Two and ",
        "Two and two ",
        "Two and two two ",
    ]


async def test_a_cut_code_block_continues_as_one_block(ada: User, backend: ScriptedBackend) -> None:
    turns = await ask_and_continue(
        ada, backend, cut_answer("Look:\n\n```python\nfor x in "), continuation_steps("y:\n    print(x)\n```\n\nDone.")
    )
    answer = await shown_answer(ada, turns[-1])
    whole = "Look:\n\n```python\nfor x in y:\n    print(x)\n```\n\nDone."
    assert answer.parts[0].blocks == tuple(html.render_blocks(whole)) and len(answer.parts[0].blocks) == 3
    text = await database_sync_to_async(
        lambda: signed_in(ada).get(f"/c/{turns[0].conversation_id}/messages/{answer.parts[0].message_id}/text/")
    )()
    assert text.content.decode() == whole
    document = await database_sync_to_async(lambda: signed_in(ada).get(f"/c/{turns[0].conversation_id}/download/").content.decode())()
    assert [one.body for one in ocml.parse(document).frames] == ["What is 2 + 2?", whole]


async def test_reasoning_before_the_continuation_is_hidden_and_the_cut_text_stays_visible(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    [first] = await ask_and_continue(ada, backend, cut_answer())
    backend.script = [*frame(ANALYSIS, "again"), gate, *continuation_steps()]
    started = await begin(ada, continued(first))
    await asyncio.wait_for(backend.waiting.wait(), 5)
    meanwhile = await shown_answer(ada, first)
    assert (meanwhile.turn_id, meanwhile.state, meanwhile.continuation) == (str(started.turn.pk), "running", "")
    assert [part.blocks for part in meanwhile.parts] == [html.render_blocks(body(await Message.objects.aget(channel="final")))]
    gate.set()
    await running.settle()
    messages = await stored_messages(first.conversation, ada)
    assert [(message.channel, body(message)) for message in messages[1:]] == [
        ("analysis", f"{SECRET} "),
        ("analysis", "again "),
        ("final", "Two and two are four."),
    ]


@pytest.mark.parametrize(
    ("script", "state", "code"),
    [
        (continuation_steps(""), "failed", "E-X-NO-MORE"),
        ([ended()], "failed", "E-X-NO-MORE"),
        ([*frame(ANALYSIS, "again"), ended()], "failed", "E-X-NO-MORE"),
        ([*frame(ANALYSIS, "again"), *frame(PREAMBLE, "I go on."), ended()], "failed", "E-X-NO-MORE"),
        ([*cut(FINAL, ""), ended(EndReason.LENGTH)], "incomplete", "E-X-LENGTH"),
        ([BackendError(ProductCode.BACKEND)], "failed", "E-X-BACKEND"),
    ],
    ids=["nothing", "no frame", "reasoning only", "announced only", "cut at once", "no server"],
)
async def test_e_x_no_more_an_empty_continuation_leaves_the_cut_answer_with_a_sentence(
    script: list[Step], state: str, code: str, ada: User, backend: ScriptedBackend
) -> None:
    first, second = await ask_and_continue(ada, backend, cut_answer(), script)
    assert (second.state, second.error_code) == (state, code)
    assert await Message.objects.filter(channel="final").acount() == 1
    answer = await shown_answer(ada, first)
    assert (answer.turn_id, answer.state, answer.siblings) == (str(second.pk), state, None)
    assert answer.notice is not None and answer.notice.code == code
    assert answer.continuation == ("" if code == "E-X-NO-MORE" else "continue")
    if answer.continuation:
        backend.script = continuation_steps()
        await run(ada, continued(second))
        assert body((await stored_messages(first.conversation, ada))[-1]) == "Two and two are four."


async def test_each_version_can_be_reopened_and_continued_again(ada: User, backend: ScriptedBackend) -> None:
    first, second = await ask_and_continue(ada, backend, cut_answer(), continuation_steps())
    before = (await shown_answer(ada, second)).siblings
    assert before is not None and before.previous_id is not None and before.next_id is None
    await database_sync_to_async(lambda: signed_in(ada).post(f"/c/{first.conversation_id}/branch/", {"message": before.previous_id}))()
    old = await shown_answer(ada, first)
    assert (old.turn_id, old.continuation) == (str(first.pk), "continue")
    assert old.siblings is not None and (old.siblings.index, old.siblings.count) == (1, 2)
    backend.script = continuation_steps("two make four.")
    await run(ada, continued(first))
    assert body((await stored_messages(first.conversation, ada))[-1]) == "Two and two make four."
    assert await Message.objects.filter(channel="final").acount() == 3


async def test_a_question_after_a_cut_answer_stays_on_its_own_branch(ada: User, backend: ScriptedBackend) -> None:
    [first] = await ask_and_continue(ada, backend, cut_answer())
    backend.script = answer("You are welcome.")
    later = await run(ada, ask(text="Thanks!", conversation=first.conversation_id))
    backend.script = continuation_steps()
    await run(ada, continued(first))
    assert [body(message) for message in (await stored_messages(first.conversation, ada))[::2]] == [
        "What is 2 + 2?",
        "Two and two are four.",
    ]
    assert await Message.objects.filter(turn=later, channel="final").aexists()


@pytest.mark.parametrize(("header", "way"), [(FINAL, "continue"), (ANALYSIS, "finish"), (PREAMBLE, "finish")])
async def test_a_stopped_answer_can_be_continued(header: Header, way: str, ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [FrameOpened(header), FrameText("Half "), gate]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 5)
    await running.stop(TurnPlace(started.turn.pk, PROCESS))
    await running.settle()
    turn = await Turn.objects.select_related("conversation").aget(pk=started.turn.pk)
    assert (turn.state, (await shown_answer(ada, turn)).continuation) == ("stopped", way)
    label = "Continue" if way == "continue" else "Finish the answer"
    assert f"<span>{label}</span>" in await page(ada, turn)
    backend.script = continuation_steps("of it.")
    await run(ada, continued(turn))
    assert body((await stored_messages(turn.conversation, ada))[-1]) == ("Half of it." if way == "continue" else "of it.")


async def test_a_complete_answer_cannot_be_continued(ada: User, backend: ScriptedBackend) -> None:
    turn = await run(ada, ask())
    [row] = rows_of(await page(ada, turn))
    assert (await shown_answer(ada, turn)).continuation == "" and "regenerate" in row["has"] and "continue" not in row["has"]
    with pytest.raises(AskRefusedError) as caught:
        await begin(ada, continued(turn))
    assert caught.value.code is ProductCode.COMMAND


async def test_an_empty_answer_can_only_be_retried(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [BackendError(ProductCode.BACKEND)]
    turn = await run(ada, ask())
    assert (await shown_answer(ada, turn)).continuation == ""
    with pytest.raises(AskRefusedError):
        await begin(ada, continued(turn))


async def test_leaked_reasoning_in_hidden_frames_of_a_continuation_stays_hidden(ada: User, backend: ScriptedBackend) -> None:
    leak = Header("assistant", channel="analysis", intent="debug")
    script = [*frame(leak, f"analysis {SECRET}"), *cut(FINAL, "two"), *frame(ANALYSIS, SECRET), ended(EndReason.LENGTH)]
    first, second = await ask_and_continue(ada, backend, cut_answer(), script)
    assert SECRET not in await page(ada, first)
    assert body(await Message.objects.aget(turn=second, channel="final")) == "Two and two"


async def _swept(person: User, text: str) -> tuple[list[Message], RunningTurn]:
    first = await Turn.objects.aget()
    started = await stored(person, continued(first), "a process that died")
    await database_sync_to_async(pieces.leave)(started.turn.pk, text)
    assert len(await database_sync_to_async(sweep.interrupt_abandoned)()) == 1
    return await stored_messages(await Conversation.objects.aget(), person), started


async def test_the_saved_continuation_of_a_dead_process_replaces_the_cut_answer(ada: User, backend: ScriptedBackend) -> None:
    await ask_and_continue(ada, backend, cut_answer())
    messages, started = await _swept(ada, "Two and two")
    assert [body(message) for message in messages[1:]] == [f"{SECRET} ", "Two and two"]
    turn = await Turn.objects.select_related("conversation").aget(pk=started.turn.pk)
    answer = await shown_answer(ada, turn)
    assert (answer.state, answer.continuation) == ("interrupted", "continue")


async def test_saved_pieces_without_new_text_are_not_stored_again(ada: User, backend: ScriptedBackend) -> None:
    await ask_and_continue(ada, backend, cut_answer())
    messages, _ = await _swept(ada, "Two and ")
    assert body(messages[-1]) == "Two and " and await Message.objects.filter(channel="final").acount() == 1


LONG = "# Title\n\nA paragraph.\n\n- one\n- two\n\n```python\nprint("


async def test_a_page_with_the_cut_answer_gets_only_the_new_text(ada: User, backend: ScriptedBackend) -> None:
    [first] = await ask_and_continue(ada, backend, cut_answer(LONG))
    old = await Message.objects.aget(channel="final")
    backend.script = continuation_steps("'x')\n```\n\nThe end.")
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(first.conversation_id))
        await socket.until("chatui:idle")
        await socket.send("continue", client_id=str(uuid4()), conversation=str(first.conversation_id), turn=str(first.pk))
        events = await socket.until(*ENDS)
    created = next(event for event in events if event["type"] == "response.created")
    assert (created["kind"], created["continued_turn"]) == ("continue", str(first.pk))
    opening = next(event for event in events if event["type"] == "chatui:message")
    assert (opening["continued_message"], opening["blocks"]) == (str(old.pk), 3)
    assert min(event["block"] for event in events if "block" in event) == 3, "final text is not sent again"
    whole = [block.html for block in html.render_blocks(f"{LONG}'x')\n```\n\nThe end.")]
    assert "".join(whole[:3]) + shown_text(events) == "".join(whole)
    assert SECRET not in "".join(socket.raw)


async def test_a_page_that_comes_late_gets_the_whole_text(ada: User, backend: ScriptedBackend) -> None:
    thinking, writing = asyncio.Event(), asyncio.Event()
    script = [*frame(ANALYSIS, SECRET), *frame(PREAMBLE, "I count."), *cut(FINAL, LONG), ended(EndReason.LENGTH)]
    [first] = await ask_and_continue(ada, backend, script)
    backend.script = [*frame(ANALYSIS, SECRET), thinking, FrameOpened(FINAL), FrameText("'x'"), writing, *continuation_steps("")[2:]]
    await begin(ada, continued(first))
    await asyncio.wait_for(backend.waiting.wait(), 5)
    expected = [[block.html for block in html.render_blocks(text)] for text in ("I count. ", LONG, f"{LONG}'x'")]
    snapshots = []
    for gate in (thinking, writing):
        await asyncio.sleep(0.1)
        async with BrowserSocket(ada) as socket:
            await socket.send("subscribe", conversation=str(first.conversation_id))
            snapshots.append([message["blocks"] for message in (await socket.until("chatui:snapshot"))[-1]["messages"]])
            assert SECRET not in "".join(socket.raw)
        gate.set()
    await running.settle()
    assert snapshots == [[expected[0], expected[1]], [expected[0], expected[2]]]


async def test_a_continuation_that_turns_out_to_be_a_preamble_is_relabelled(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [FrameOpened(FINAL), FrameText("I will look."), FrameClosed(Terminator.END, header=PREAMBLE), gate, *answer("Four.")]
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        conversation = (await socket.until("chatui:accepted"))[-1]["conversation"]
        await asyncio.wait_for(backend.waiting.wait(), 5)
        await socket.send("subscribe", conversation=conversation)
        snapshot = (await socket.until("chatui:snapshot"))[-1]
        gate.set()
        await socket.until(*ENDS)
    assert [message["kind"] for message in snapshot["messages"]] == ["preamble"]
    turn = await Turn.objects.select_related("conversation").aget()
    assert [part.kind for part in (await shown_answer(ada, turn)).parts] == ["preamble", "final"]


async def test_a_continuation_stored_while_the_page_is_rendered_is_not_mistaken_for_the_cut_answer(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    [first] = await ask_and_continue(ada, backend, cut_answer())
    gate = asyncio.Event()
    backend.script = [gate, *continuation_steps()]
    second = (await begin(ada, continued(first))).turn
    await asyncio.wait_for(backend.waiting.wait(), 5)

    def stored_meanwhile(conversation: Conversation, leaf: Message | None, since: UUID | None = None) -> list[Message]:
        old = Message.objects.get(turn=first, channel="final")
        if not Message.objects.filter(turn=second).exists():
            add_message(conversation, old.parent, Frame(FINAL, "Two and two."), Author.MODEL, turn_id=second.pk)
        return branch(conversation, leaf, since)

    branch = transcripts.branch
    monkeypatch.setattr(transcripts, "branch", stored_meanwhile)
    shown_now = (await database_sync_to_async(shown_exchange)(first.conversation, second)).answer
    monkeypatch.setattr(transcripts, "branch", branch)
    assert shown_now is not None and (shown_now.turn_id, shown_now.state) == (str(second.pk), "running")
    gate.set()
    await running.settle()


async def test_losing_access_to_the_model_refuses_the_continuation(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    [first] = await ask_and_continue(ada, backend, cut_answer())

    with monkeypatch.context() as patch, pytest.raises(AskRefusedError) as caught:
        patch.setattr(model_choice, "choices_for", lambda person: ())
        await begin(ada, continued(first))
    assert caught.value.code is model_choice.NoSuchModelError.code
    assert await Turn.objects.acount() == 1


@database_sync_to_async
def opened(turn: Turn) -> RunningTurn:
    """The turn as it is loaded to be continued."""
    row = Turn.objects.select_related("conversation", "question", "continued_message").get(pk=turn.pk)
    return loaded(RunningTurn(row, None, ask(AskKind.CONTINUE, "", effort="low")))


@pytest.mark.parametrize(
    ("thought", "seconds", "sentence"),
    [(frame(ANALYSIS, "More thought."), (40, 25), "Thought for 1 min 5 s"), ([], (3, None), "Thought for 3 s")],
)
async def test_the_thinking_time_of_all_turns_of_an_answer_is_added_up(
    thought: list[Step], seconds: tuple[int, int | None], sentence: str, ada: User, backend: ScriptedBackend
) -> None:
    turns = await ask_and_continue(ada, backend, cut_answer(), [*thought, *continuation_steps()])
    for turn, took in zip(turns, seconds, strict=True):
        if took is not None:
            await Turn.objects.filter(pk=turn.pk).aupdate(thought_seconds=took)
    shown = (await shown_answer(ada, turns[1])).thought
    assert shown is not None and shown.sentence == sentence
    assert [(await opened(turn)).thought_before for turn in turns] == [None, seconds[0]]


@pytest.mark.slow
def test_the_cost_of_a_page_with_many_continued_answers_stays_linear(ada: User, conversation: Conversation) -> None:
    def work(answers: int) -> int:
        """Function calls, whose number is the same on every machine."""
        leaf = transcripts.active_leaf(conversation, ada)
        for number in range(answers):
            question = add_message(conversation, leaf, Frame(Header("user"), f"And {number}?"), Author.PERSON)
            first, continued = (
                Turn(conversation=conversation, question=question, asked_by=ada, client_id=uuid4(), state=state, lease_until=timezone.now())
                for state in ("stopped", "completed")
            )
            first.save()
            half = add_message(conversation, question, Frame(FINAL, "Two"), Author.MODEL, turn_id=first.pk, is_complete=False)
            continued.continued_message = half
            continued.save()
            leaf = add_message(conversation, question, Frame(FINAL, "Two and two"), Author.MODEL, turn_id=continued.pk)
            open_branch(conversation, ada, leaf)
        calls = [0]

        def count(*_: object) -> None:
            calls[0] += 1

        sys.setprofile(count)
        try:
            list(windows.whole(conversation))
        finally:
            sys.setprofile(None)
        return calls[0]

    work(2)
    few, many = work(8), work(80)
    assert many < 12 * few, f"{few} calls for 10 answers, {many} for 90"


async def test_a_summary_by_the_server_is_known_if_the_continuation_begins_with_it(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt leaves it out, and servers call the reasoning itself a summary."""
    known = connected.spec_of
    monkeypatch.setattr(connected, "spec_of", lambda choice: known(choice).model_copy(update={"summaries": "server"}))
    await ask_and_continue(ada, backend, [*frame(SUMMARY, SECRET), *cut_answer()], continuation_steps())
    assert [[text.strip() for text in request.thoughts] for request in backend.requests] == [[], [SECRET]]
