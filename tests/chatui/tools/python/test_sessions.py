"""Interpreter sessions: one per conversation, limited in number, and ended when unused."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import UUID, uuid4

import pytest

from chatui.tools.file_access import ConversationFile, CreatedFile, StoredFileInfo
from chatui.tools.python import tool
from chatui.tools.python.answers import CodeOutcome, CodeRequest
from chatui.tools.python.interpreter import Interpreter, InterpreterEndedError
from chatui.tools.python.launch import CannotLaunchError
from chatui.tools.python.sessions import SessionLimits, Sessions
from chatui.tools.tool import ToolError
from tests.support.sandbox import recorded, sandbox

pytestmark = pytest.mark.slow

T = TypeVar("T")

ADA, BOB = uuid4(), uuid4()
ONE, TWO, THREE = uuid4(), uuid4(), uuid4()


def code_request(code: str, conversation: UUID = ONE, person: UUID = ADA, seconds: float = 20.0) -> CodeRequest:
    return CodeRequest(conversation, person, code, seconds, 2000)


def with_sessions(task: Callable[[Sessions], Awaitable[T]], most: int = 4, of_person: int = 4, idle: float = 60.0) -> T:
    async def run() -> T:
        sessions = Sessions(lambda: Interpreter.start(sandbox()), SessionLimits(most, of_person, idle))
        try:
            return await task(sessions)
        finally:
            await sessions.close()

    return asyncio.run(run())


def test_two_conversations_do_not_see_each_other() -> None:
    async def task(sessions: Sessions) -> list[CodeOutcome]:
        return [
            await sessions.run(code_request("x = 1; open('mine', 'w').close()")),
            await sessions.run(code_request("import os; print(os.listdir()); x", TWO)),
            await sessions.run(code_request("x")),
        ]

    first, other, again = with_sessions(task)
    assert first.is_new and other.is_new and not again.is_new and again.text == "1\n"
    assert other.text.startswith("[]\n") and "NameError" in other.text


def test_calls_of_one_conversation_run_one_at_a_time() -> None:
    async def task(sessions: Sessions) -> list[CodeOutcome]:
        await sessions.run(code_request("x = 0"))
        return await asyncio.gather(*(sessions.run(code_request("import time; n = x; time.sleep(0.05); x = n + 1; x")) for _ in range(4)))

    assert sorted(outcome.text for outcome in with_sessions(task)) == ["1\n", "2\n", "3\n", "4\n"]


def test_a_person_at_the_limit_loses_the_oldest_session() -> None:
    async def task(sessions: Sessions) -> list[bool]:
        for conversation, person in ((TWO, BOB), (ONE, ADA), (THREE, ADA)):
            await sessions.run(code_request("x = 1", conversation, person))
        return [(await sessions.run(code_request("x", *whose))).has_failed for whose in ((TWO, BOB), (THREE, ADA), (ONE, ADA))]

    assert with_sessions(task, of_person=1) == [False, False, True]


def test_a_full_process_ends_the_oldest_idle_session_and_no_busy_one() -> None:
    async def task(sessions: Sessions) -> tuple[bool, bool]:
        await sessions.run(code_request("x = 1"))
        await sessions.run(code_request("x = 1", TWO, BOB))
        evicting = await sessions.run(code_request("x = 1", THREE))
        working = [asyncio.create_task(sessions.run(code_request("import time; time.sleep(30)", each))) for each in (TWO, THREE)]
        await asyncio.sleep(0.1)
        with pytest.raises(ToolError, match="Too many interpreters"):
            await sessions.run(code_request("x", uuid4()))
        is_alive = not any(each.done() for each in working)
        for each in working:
            each.cancel()
        await asyncio.wait(working)
        return evicting.is_new, is_alive

    assert with_sessions(task, most=2) == (True, True)


def test_an_idle_interpreter_ends() -> None:
    async def task(sessions: Sessions) -> str:
        await sessions.run(code_request("x = 1"))
        await sessions.run(code_request("x"))
        await asyncio.sleep(0.5)
        return tool.reply(await sessions.run(code_request("x")))

    output = with_sessions(task, idle=0.2)
    note = "[This call began with a new interpreter, without the variables and files of earlier calls.]"
    assert "NameError" in output and output.endswith(note)


def test_a_forgotten_session_is_gone() -> None:
    async def task(sessions: Sessions) -> CodeOutcome:
        await sessions.run(code_request("x = 1"))
        await sessions.forget(ONE)
        await sessions.forget(TWO)
        return await sessions.run(code_request("x"))

    assert with_sessions(task).is_new


def test_forgetting_a_conversation_with_a_waiting_call_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    async def task(sessions: Sessions) -> list[str]:
        begun = recorded(monkeypatch)
        running = [
            asyncio.create_task(sessions.run(code_request(code))) for code in ("import time; time.sleep(30)", "import os; os.getppid()")
        ]
        async with asyncio.timeout(20):
            while not begun:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        await sessions.forget(ONE)
        first, second = await asyncio.gather(*running, return_exceptions=True)
        await sessions.close()
        assert not sessions.has(ONE) and isinstance(first, CodeOutcome) and isinstance(second, ToolError)
        return [first.ended, str(second)]

    first, second = with_sessions(task)
    assert "ended by itself, or was killed" in first and "was ended" in second


def test_forgetting_a_conversation_while_its_interpreter_starts_ends_it() -> None:
    async def task(sessions: Sessions) -> None:
        running = asyncio.create_task(sessions.run(code_request("import time; time.sleep(30)")))
        while not sessions.has(ONE):
            await asyncio.sleep(0)
        await sessions.forget(ONE)
        with pytest.raises(ToolError, match="was ended"):
            await running

    with_sessions(task)


def test_the_model_is_told_that_its_interpreter_ended_and_gets_a_new_one() -> None:
    async def task(sessions: Sessions) -> tuple[str, CodeOutcome]:
        ended = tool.reply(await sessions.run(code_request("print('last', flush=True); import os; os._exit(1)")))
        return ended, await sessions.run(code_request("1"))

    ended, after = with_sessions(task)
    assert ended.startswith("last\n[The interpreter ended: it ended by itself") and "next call begins with a new one" in ended
    assert after.is_new and after.text == "1\n"


def test_a_cancelled_call_frees_its_place() -> None:
    async def task(sessions: Sessions) -> CodeOutcome:
        running = asyncio.create_task(sessions.run(code_request("while True: pass")))
        await asyncio.sleep(0.3)
        running.cancel()
        await asyncio.wait({running})
        return await sessions.run(code_request("2"))

    assert with_sessions(task, most=1).text == "2\n"


class Files:
    """A ``TurnFiles`` with one file of the user's, read like real ones."""

    file = ConversationFile(uuid4(), "mine.txt", b"mine")

    async def store(self, made: CreatedFile) -> StoredFileInfo:
        raise NotImplementedError

    async def of_conversation(self, max_bytes: int, known: Collection[UUID] | None = None) -> Sequence[ConversationFile]:
        return [self.file] if not known or self.file.id not in known else []

    async def deleted(self, known: Collection[UUID]) -> Collection[UUID]:
        return ()


@pytest.mark.parametrize(("deaths", "expected"), [(0, "['mine.txt']"), (1, "['mine.txt']"), (2, "[]")])
def test_an_interpreter_killed_by_its_files_fails_no_call(deaths: int, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had no files when it began, so the first that they end was already in use."""
    with_files = replace(code_request("import os; print(os.listdir())"), files=Files())
    copy_in = Interpreter.copy_in
    tried: list[ConversationFile] = []

    async def dies(self: Interpreter, files: Sequence[ConversationFile]) -> tuple[str, ...]:
        tried.extend(files)
        if files and len(tried) <= deaths:
            self.kill()
            raise InterpreterEndedError("it died")
        return await copy_in(self, files)

    async def task(sessions: Sessions) -> list[CodeOutcome]:
        begun = recorded(monkeypatch)
        await sessions.run(code_request("x = 1"))
        begun[0].files_inside = {}
        return [await sessions.run(with_files), await sessions.run(with_files)]

    monkeypatch.setattr(Interpreter, "copy_in", dies)
    first, second = with_sessions(task)
    assert first.is_new == (deaths > 0) and not second.is_new and first.text == second.text == f"{expected}\n"
    assert first.copied_in == (("mine.txt",) if deaths < 2 else ()) and second.copied_in == second.not_copied_in == ()
    assert ("could not be put into /mnt/data: mine.txt]" in tool.reply(first)) == (deaths == 2)


def test_a_sandbox_that_cannot_start_is_an_error_without_details() -> None:
    async def fails() -> Interpreter:
        raise CannotLaunchError("secret reason")

    async def run() -> None:
        await Sessions(fails, SessionLimits(1, 1, 1)).run(code_request("1"))

    with pytest.raises(ToolError, match=r"^Python cannot be used at the moment\.$"):
        asyncio.run(run())


def test_control_characters_are_removed_from_output() -> None:
    assert tool.reply(CodeOutcome("a\x00b\x1b[2J\rc\r\nd\te\x9b\x7f")) == "a\ufffdb\ufffd[2J\nc\nd\te\ufffd\ufffd"


def test_the_reply_contains_output_errors_and_files() -> None:
    assert tool.reply(CodeOutcome("")).startswith("[No output.")
    assert tool.reply(CodeOutcome("4\n", is_new=True)) == "4"
    assert (
        tool.reply(CodeOutcome("", files=(("a.png", 3), ("b", 0)))) == "[Files made or changed in /mnt/data: a.png (3 bytes), b (0 bytes)]"
    )
