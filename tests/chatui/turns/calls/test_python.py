"""``python`` in whole turns: a scripted model writes code that the real sandbox runs, over each wire format."""

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.models.conversation import Conversation
from chatui.models.files import StoredFile
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import documents, file_names, files
from chatui.store.files import FileDestination, NewFile
from chatui.tools import execution
from chatui.tools.python import availability, tool
from chatui.turns import running
from chatui.turns.asks import AskKind
from chatui.turns.running import TurnPlace as TurnPlace
from chatui.wire.bus import PROCESS
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.formats import format_of
from tests.chatui.backends.wire import VLLM, ids_of, posts, sse, vllm
from tests.chatui.store.uploads import uploaded
from tests.chatui.tools.python.test_interpreter import PNG, state_of
from tests.chatui.turns.calls.test_wire_formats import ANSWER, model, model_of, transcript
from tests.chatui.turns.test_documents import edited, with_files
from tests.support import environment
from tests.support.cost import ends_within
from tests.support.new_process import forget
from tests.support.offering import install
from tests.support.other_processes import reap
from tests.support.page import posted
from tests.support.sandbox import recorded, sandbox
from tests.support.stub import DONE, chunk
from tests.support.turns import ask, begin, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]

PLOT = f"open('plot.png', 'wb').write(bytes.fromhex({PNG!r}))"
TO_PYTHON = "<|channel|>analysis to=python code<|message|>"
PICTURE = bytes.fromhex(PNG)
DIGEST = hashlib.sha256(PICTURE).hexdigest()[:12]
PLOTTED = f"{len(PICTURE)}\n[The person now has these files: plot.png ({len(PICTURE)} bytes, sha256 {DIGEST})]"


@pytest.fixture(autouse=True)
async def _sandboxed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Offer Python in the real sandbox, as an unprivileged user; check afterwards that no interpreter is left."""
    monkeypatch.setattr(availability, "launch", sandbox)
    environment.change(monkeypatch, {"tools": {"python": ()}})
    forget(availability, tool)
    assert not availability.why_off(), availability.why_off()
    yield
    executor: Any = tool.executor()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(executor.close(), execution.tools_loop()))
    forget(availability, tool)


def offer(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tool.PYTHON)
    environment.change(
        monkeypatch, {"backend_url": "http://127.0.0.1:9", "tools": {"python": ()}, "tools_without_approval": ["python"], "tool_calls": 25}
    )


def over_chat(*codes: str) -> list[bytes]:
    functions = [{"name": "run_python", "arguments": json.dumps({"code": code})} for code in codes]
    calls = [chunk("tool_calls", tool_calls=[{"index": 0, "id": f"c{n}", "function": each}]) for n, each in enumerate(functions)]
    return [*(call + DONE for call in calls), chunk("stop", content=ANSWER) + DONE]


async def test_over_token_ids_code_is_called_and_answered_in_the_trained_format(
    ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary
) -> None:
    texts = [
        (f"<|channel|>analysis<|message|>I compute.<|end|><|start|>assistant{TO_PYTHON}x = 6*7\nx<|call|>", 200012),
        (f"{TO_PYTHON}{PLOT}<|call|>", 200012),
        ("<|channel|>commentary to=python code<|message|>print(x)\n1/0<|call|>", 200012),
        (f"<|channel|>final<|message|>{ANSWER}<|return|>", 200002),
    ]  # fmt: skip
    answers = [sse(vllm(*ids_of(vocabulary, text), finish="stop", stop=stop)) + DONE for text, stop in texts]

    async with model(monkeypatch, "harmony", *answers, vocabulary=vocabulary, **VLLM) as server:
        offer(monkeypatch)
        turn = await run(ada, ask())
        assert (turn.state, turn.error_code) == ("completed", "")
    frames, seen = await transcript(turn)
    replies = [(frame.header.channel, frame.header.name, frame.body) for frame in frames if frame.header.role == "tool"]
    assert replies[:2] == [("analysis", "python", "42"), ("analysis", "python", PLOTTED)]
    assert replies[2][:2] == ("commentary", "python") and replies[2][2].startswith("42\nTraceback")
    assert [name for name, _ in seen[1:]] == ["tool_activity"] * 3 + [""] and seen[-1][1] == ANSWER
    assert not any("42" in text or "plot" in text for _, text in seen[1:-1])
    assert (
        "Use this tool to execute Python code"
        in vocabulary.decode([token for token in posts(server)[0]["prompt"] if token < 199_998]).decode()
    )


async def test_two_answers_share_the_interpreter(ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary) -> None:
    of = format_of(vocabulary, "responses")
    one, plot, two = (of.called("run_python", {"code": code}) for code in ("x = 5", PLOT, "x + 1"))
    async with model_of(monkeypatch, of, one, plot, of.says(ANSWER), two, of.says(ANSWER)) as server:
        offer(monkeypatch)
        first = await run(ada, ask())
        second = await run(ada, ask(text="And now?", conversation=first.conversation_id))
        assert (first.state, second.state) == ("completed", "completed")
    assert PLOTTED in of.replies(posts(server)[2]) and of.replies(posts(server)[-1])[-1] == "6"


async def test_stop_ends_the_interpreter_within_a_second(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    used = recorded(monkeypatch)

    async def stopped() -> float:
        used.clear()
        async with model(monkeypatch, "chat", *over_chat("import os; os.getpid()", "while True: pass")) as server:
            offer(monkeypatch)
            started = await begin(ada, ask())
            while len(posts(server)) < 2 or len(used) < 2:
                await asyncio.sleep(0.02)
            first_process = used[1].first_process
            await asyncio.sleep(0.3)
            assert state_of(first_process)
            start = time.monotonic()
            await running.stop(TurnPlace(started.turn.pk, PROCESS))
            while state_of(first_process):
                await asyncio.sleep(0.01)
            took = time.monotonic() - start
            sessions: Any = tool.executor()
            assert not sessions.has(started.turn.conversation_id)
            await running.settle()
        assert (await Turn.objects.aget(pk=started.turn.pk)).state == "stopped"
        return took

    await ends_within(1.0, stopped)


@pytest.mark.parametrize("is_temporary", [False, True])
async def test_a_deleted_conversation_loses_its_interpreter(is_temporary: bool, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async with model(monkeypatch, "chat", *over_chat("x = 1")):
        offer(monkeypatch)
        turn = await run(ada, ask())
        sessions: Any = tool.executor()
        assert sessions.has(turn.conversation_id)
        if is_temporary:
            await Conversation.objects.aupdate(temporary_until="2020-01-01T00:00:00Z")
            await reap()
        else:
            await posted(ada, f"/c/{turn.conversation_id}/delete/")
        while sessions.has(turn.conversation_id):
            await asyncio.sleep(0.01)


async def test_files_are_stored_for_the_person_with_the_turn_that_made_them(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = (PLOT, "open('a.csv', 'w').write('a,b'); None", "open('a.csv', 'a').write('c'); None")
    async with model(monkeypatch, "chat", *over_chat(*codes), *over_chat("1")):
        offer(monkeypatch)
        first = await run(ada, ask())
        second = await run(ada, ask(text="And now?", conversation=first.conversation_id))
    stored = await database_sync_to_async(files_of)(first)
    assert stored == [("plot.png", PICTURE, "tool", ada.pk), ("a.csv", b"a,bc", "tool", ada.pk)]
    assert await database_sync_to_async(files_of)(second) == []


async def test_a_new_interpreter_has_only_the_files_of_its_conversation(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = "import os; print(sorted(os.listdir())); open('a.csv').read()"
    async with model(monkeypatch, "chat", *over_chat("open('a.csv', 'w').write('a,b')"), *over_chat(listing) * 2) as server:
        offer(monkeypatch)
        first = await run(ada, ask())
        await database_sync_to_async(files.save)(FileDestination(ada.pk, first.conversation_id), NewFile.of("mine.txt", b"attached"))
        sessions: Any = tool.executor()
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(sessions.close(), execution.tools_loop()))
        await run(ada, ask(text="And now?", conversation=first.conversation_id))
        await run(ada, ask(text="And here?"))
    replies = [message["content"] for message in posts(server)[-1]["messages"] + posts(server)[3]["messages"] if message["role"] == "tool"]
    assert replies[0].startswith("[]\nTraceback") and "FileNotFoundError" in replies[0]
    note = "[This call began with a new interpreter. In /mnt/data were the conversation's files: mine.txt, a.csv]"
    assert replies[-1] == f"['a.csv', 'mine.txt']\n'a,b'\n{note}"
    assert await StoredFile.objects.acount() == 2, "input files are not returned again"


async def test_files_attached_later_are_added_to_the_existing_ones(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = "import os; x, sorted(os.listdir())"
    async with model(monkeypatch, "chat", *over_chat(PLOT + "; x = 1"), *over_chat(listing, listing)) as server:
        offer(monkeypatch)
        first = await run(ada, ask())
        await database_sync_to_async(files.save)(FileDestination(ada.pk, first.conversation_id), NewFile.of("mine.txt", b"attached"))
        await run(ada, ask(text="And now?", conversation=first.conversation_id))
    replies = [message["content"] for message in posts(server)[-1]["messages"] if message["role"] == "tool"]
    there = "(1, ['mine.txt', 'plot.png'])"
    assert replies[-2:] == [f"{there}\n[New files from the person in /mnt/data: mine.txt]", there]
    assert await StoredFile.objects.acount() == 2


async def test_a_file_removed_from_an_edited_question_is_gone_at_the_next_call(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is back for somebody who returns to its version."""
    listing = "import os; x = globals().get('x', 0) + 1; print(x, sorted(os.listdir()), open('both.csv').read())"
    async with model(monkeypatch, "chat", *over_chat(listing) * 4) as server:
        offer(monkeypatch)
        bring = database_sync_to_async(uploaded)
        secret, old, new = [await bring(ada, name, text) for name, text in (("s.csv", "1"), ("both.csv", "old"), ("both.csv", "new"))]
        first = await run(ada, with_files(secret, old))
        second = await run(ada, edited(first, new))
        again = {"conversation": first.conversation_id, "question": first.question_id}
        await run(ada, ask(AskKind.REGENERATE, "", **again))
        await database_sync_to_async(documents.delete)(await StoredFile.objects.aget(pk=secret.pk))
        await run(ada, ask(AskKind.REGENERATE, "", **again))
    replies = [message["content"] for post in posts(server)[1::2] for message in post["messages"] if message["role"] == "tool"]
    gone = "[The person deleted these files, and they are not in /mnt/data any more: s.csv]"
    assert second.state == "completed" and replies[0].startswith("1 ['both.csv', 's.csv'] old\n[This call began with a new interpreter.")
    assert replies[1].startswith("2 ['both.csv'] new\n") and gone in replies[1]
    assert replies[2].startswith("3 ['both.csv', 's.csv'] old\n[New files from the person") and gone not in replies[2]
    assert replies[3].startswith("4 ['both.csv'] old\n") and gone in replies[3]
    assert not await StoredFile.objects.filter(source="tool").aexists(), "input files are not returned again"


async def test_the_model_is_told_which_files_the_person_does_not_get(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "open('a', 'w').write('1'); open('b', 'w').write('2'); open('c', 'wb').write(bytes(2**20 + 1)); None"
    async with model(monkeypatch, "chat", *over_chat(code)) as server:
        offer(monkeypatch)
        environment.change(monkeypatch, {"tools": {"python": ()}, "tools_without_approval": ["python"], "file_mb": 1, "files_of_answer": 1})
        turn = await run(ada, ask())
    (reply,) = [message["content"] for message in posts(server)[-1]["messages"] if message["role"] == "tool"]
    assert reply.startswith("[The person now has these files: a (1 bytes") and reply.endswith(
        "[The person does not get these files: b (too many files at once), c (too many files at once)]"
    )
    assert [name for name, *_ in await database_sync_to_async(files_of)(turn)] == ["a"]


async def test_a_person_at_their_storage_limit_gets_no_more_files(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async with model(monkeypatch, "chat", *over_chat(PLOT)) as server:
        offer(monkeypatch)
        environment.change(monkeypatch, {"tools_without_approval": ["python"], "tools": {"python": ()}, "files_of_person_mb": 0})
        turn = await run(ada, ask())
    (reply,) = [message["content"] for message in posts(server)[-1]["messages"] if message["role"] == "tool"]
    assert "[The person does not get these files: plot.png (the person's files already take the 0 MB that they may)]" in reply
    assert turn.state == "completed" and not await StoredFile.objects.aexists()


async def test_files_can_be_switched_off(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async with model(monkeypatch, "chat", *over_chat(PLOT)) as server:
        offer(monkeypatch)
        environment.change(monkeypatch, {"tools_without_approval": ["python"], "tools": {"python": ()}, "files_of_answer": 0})
        await run(ada, ask())
    (reply,) = [message["content"] for message in posts(server)[-1]["messages"] if message["role"] == "tool"]
    assert "[Files made or changed in /mnt/data: plot.png" in reply and not await StoredFile.objects.aexists()


@pytest.mark.parametrize("error", [DatabaseBusyError()])
async def test_unreadable_files_do_not_keep_code_from_running(error: Exception, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise error

    monkeypatch.setattr(files, "of_conversation", away)
    async with model(monkeypatch, "chat", *over_chat(PLOT)) as server:
        offer(monkeypatch)
        await run(ada, ask())
    assert [message["content"] for message in posts(server)[-1]["messages"] if message["role"] == "tool"] == [PLOTTED]


async def test_files_are_examined_before_the_write_lock_is_taken(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def seen(name: str) -> str:
        threads.append(threading.current_thread())
        return name

    monkeypatch.setattr(file_names, "clean", seen)
    async with model(monkeypatch, "chat", *over_chat(PLOT)):
        offer(monkeypatch)
        await run(ada, ask())
    assert len(threads) == 1 and threads[0] not in (await writer.run(threading.current_thread), threading.main_thread())


async def test_a_file_that_cannot_be_stored_affects_nothing_else(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise DatabaseBusyError

    monkeypatch.setattr(files, "save", away)
    async with model(monkeypatch, "chat", *over_chat(PLOT)) as server:
        offer(monkeypatch)
        turn = await run(ada, ask())
    assert turn.state == "completed"
    (reply,) = [message["content"] for message in posts(server)[-1]["messages"] if message["role"] == "tool"]
    assert "[The person does not get these files: plot.png (it could not be stored)]" in reply


def files_of(turn: Turn) -> list[tuple[str, bytes, str, Any]]:
    return [(file.name, files.data_of(file), file.source, file.owner_id) for file in files.of_turns([turn.pk]).get(turn.pk, ())]
