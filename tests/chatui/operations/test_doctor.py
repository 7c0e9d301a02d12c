"""``manage.py doctor``: which servers are examined, what is printed, and exit codes."""

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chatui.model_servers import configured, connected
from renderer.harmony.vocabulary import VocabularyError
from tests.chatui.operations.doctor.peers import (
    THOUGHT,
    chat,
    chat_answers,
    message,
    peer,
    responses,
    responses_answers,
)
from tests.support import examinations, stub
from tests.support.environment import change
from tests.support.new_process import begin_anew
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = [pytest.mark.served, pytest.mark.django_db]

KEY = "sk-this-is-the-key"
# A cut that is reported wrongly: a fault of chat that responses has not.
FAULTY = {**chat_answers(cut=chat({"reasoning": "I count."}, tokens=24)), **responses_answers()}
# In a code block, where the guard takes it for an example.
LEAKY = {**chat_answers(sum=chat({"content": f"```\n[THINK]{THOUGHT}[/THINK]\n```\n4"})), **responses_answers()}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The operator's environment; what a test puts in here is set. There are no admin pages and no vocabulary."""
    values: dict[str, Any] = {"backend_url": "", "backend_key": "", "backends_file": None}

    def no_vocabulary() -> None:
        raise VocabularyError("not here")

    change(monkeypatch, values)
    monkeypatch.setattr(connected, "gpt_oss_vocabulary", no_vocabulary)
    begin_anew(connected)
    configured.file.cache_clear()
    yield values
    configured.file.cache_clear()
    begin_anew(connected)


async def run(*arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors; in a thread, because the command has its own event loop."""
    out, err = io.StringIO(), io.StringIO()

    def call() -> int:
        try:
            call_command("doctor", *map(str, arguments), stdout=out, stderr=err)
        except SystemExit as ended:
            return int(ended.code or 0)
        except CommandError as error:
            err.write(str(error))
            return error.returncode
        return 0

    return await asyncio.to_thread(call), out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("answers", "code", "verdict"),
    [
        (chat_answers(), 0, "Healthy"),
        (FAULTY, 1, "with the faults listed"),
        (LEAKY, 3, "Do not use it"),
        (responses_answers(), 3, "cannot be used as configured"),
    ],
)
async def test_the_verdict_and_the_exit_code_say_the_same(
    environment: dict[str, Any], answers: dict[str, Any], code: int, verdict: str
) -> None:
    async with peer(answers) as server:
        exited, output, complaint = await run("--url", server.url)
        assert (exited, complaint) == (code, "")
        assert verdict in output
        assert ('Set kind = "' in " ".join(output.split())) == (code in (1, 3))
        exited, output, _ = await run("--json", "--url", server.url)
    assert (exited, json.loads(output)["exit"]) == (code, code)


async def test_a_fault_of_two_formats_is_explained_once(environment: dict[str, Any]) -> None:
    raw = f"<think>{THOUGHT}</think>4"
    answers = {**chat_answers(sum=chat({"content": raw})), **responses_answers(sum=responses(message(raw)))}
    async with peer(answers) as server:
        _, output, _ = await run("--url", server.url)
        _, report, _ = await run("--json", "--url", server.url)
    text, fault = " ".join(output.split()), examinations.fault("leak-tags")
    assert text.count("leak-tags: ") == 2 and text.count(fault.sentence) == text.count(fault.to_do) == text.count("as above.") == 1
    assert report.count(json.dumps(fault.to_do)) == 2, "a script reads each format by itself"


async def test_a_script_gets_one_object_with_everything_in_it(environment: dict[str, Any]) -> None:
    async with peer(FAULTY) as server:
        _, output, _ = await run("--json", "--url", server.url)
    [report] = json.loads(output)["backends"]
    assert (report["configured"], report["best"], report["model"], report["models"]) == (
        "chat",
        "responses",
        "gpt-oss-20b",
        ["gpt-oss-20b"],
    )
    by_chat, by_ids, by_responses = report["formats"]
    assert [one["kind"] for one in report["formats"]] == ["chat", "harmony", "responses"]
    assert (by_chat["works"], by_chat["findings"][0]["fault"], by_chat["findings"][0]["level"]) == (True, "cut-unsaid", "fault")
    assert (by_ids["tried"], by_responses["findings"]) == (False, [])


async def test_without_a_name_every_configured_back_end_is_examined_and_the_worst_counts(
    environment: dict[str, Any], tmp_path: Path
) -> None:
    async with peer(chat_answers()) as good, peer(LEAKY) as bad:
        environment["backends_file"] = tmp_path / "backends.toml"
        (tmp_path / "backends.toml").write_text(
            f'[[backend]]\nname = "good"\nurl = "{good.url}"\n\n[[backend]]\nname = "bad"\nurl = "{bad.url}"\n\n'
            f'[[backend]]\nname = "keyless"\nurl = "{good.url}"\nkey_env = "NO_SUCH_KEY"\n\n[[backend]]\nname = "demo"\nkind = "demo"\n'
        )
        code, output, _ = await run("--json")
        report = json.loads(output)
        assert [(one["name"], one["exit"]) for one in report["backends"]] == [("good", 0), ("bad", 3), ("keyless", 2)]
        assert (code, report["exit"]) == (3, 3)
        assert report["backends"][2]["findings"][0]["fault"] == "key-missing"
        count = len(bad.requests)
        code, output, complaint = await run("good")
        assert (code, complaint) == (0, "") and output.startswith("good: ")
        assert len(bad.requests) == count, "a model server other than the named one was asked"


async def test_a_configured_key_is_sent_to_its_server_and_never_printed(environment: dict[str, Any]) -> None:
    async with peer(FAULTY) as server, peer(chat_answers()) as other:
        environment.update(backend_url=server.url, backend_key=KEY)
        output = "".join(map(str, (*await run("main"), *await run("--json", "main"))))
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
        await run("--url", other.url)
        assert not any("authorization" in request.headers for request in other.requests)
    assert KEY not in output


async def test_a_key_is_taken_from_the_variable_that_is_named(environment: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", KEY)
    async with peer(chat_answers()) as server:
        code, output, _ = await run("--url", server.url, "--key-env", "OTHER_KEY")
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert code == 0 and KEY not in output


async def test_what_cannot_be_asked_is_said_in_plain_words(environment: dict[str, Any]) -> None:
    for arguments, words in (
        ([], "built-in demo"),
        (["nobody"], "no model server"),
        (["--url", "ftp://x"], "url"),
        (["--url", "http://127.0.0.1:9", "main"], "not both"),
        (["--url", "http://127.0.0.1:9", "--key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
    ):
        code, output, complaint = await run(*arguments)
        assert (code, output) == (2, "") and words in complaint


async def test_a_missing_server_is_reported(environment: dict[str, Any]) -> None:
    code, output, complaint = await run("--url", "http://127.0.0.1:9")
    assert code == 2 and "nothing listens there" in output and "Best wire format" not in output and not complaint


async def test_control_sequences_in_names_from_a_server_are_escaped(environment: dict[str, Any]) -> None:
    async with peer(chat_answers(), {"data": [{"id": "evil\x1b[2J\u202e"}]}) as server:
        code, output, _ = await run("--url", server.url)
    assert code == 0 and "\x1b" not in output and "\u202e" not in output and "evil\\x1b[2J\\x202e" in output


async def test_a_broken_answer_to_the_first_question_does_not_hide_that_the_server_is_there(environment: dict[str, Any]) -> None:
    async with peer({"chat": stub.responds("500 Internal Server Error", b"SECRET")}) as server:
        code, output, complaint = await run("--url", server.url)
    assert code == 3 and "[unusable] failed" in output and "SECRET" not in output + complaint
