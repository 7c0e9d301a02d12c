"""``manage.py ask`` and ``manage.py record_backend``: what each audience sees, exit codes, and which server receives a key."""

import asyncio
import io
import json
import os
import signal
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chatui.model_servers import vocabulary
from renderer.harmony.vocabulary import Vocabulary
from tests.backends.recorded import GREETING
from tests.support import stub
from tests.support.environment import change
from tests.support.places import RECORDINGS, ROOT
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary_of_gpt_oss  # noqa: F401 -- a fixture

pytestmark = [pytest.mark.served, pytest.mark.django_db]

KEY = "sk-this-is-the-key"
REASONING = "The user greets me. I reply briefly and kindly."
PARIS = '{"location":"Paris","unit":"celsius"}'


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The operator's environment; what a test puts in here is set."""
    values: dict[str, Any] = {"backend_url": "", "backend_key": "", "demo_tokens_per_second": 0.0}
    change(monkeypatch, values)
    return values


async def run(command: str, *arguments: object, terminal: io.StringIO | None = None) -> tuple[int, str, str]:
    """Exit code, output and errors; in a thread, because the command has its own event loop. ``terminal``: takes the output."""
    out, err = terminal or io.StringIO(), io.StringIO()

    def call() -> int:
        try:
            call_command(command, *map(str, arguments), stdout=out, stderr=err)
        except SystemExit as ended:
            return int(ended.code or 0)
        except CommandError as error:
            err.write(str(error))
            return error.returncode
        return 0

    return await asyncio.to_thread(call), out.getvalue(), err.getvalue()


def recorded(name: str) -> bytes:
    return (RECORDINGS / name).read_bytes()


async def test_an_end_user_is_shown_the_answer_and_nothing_else(environment: dict[str, Any]) -> None:
    async with stub.running(stub.plays(recorded("vllm/v-chat-greet.sse"))) as server:
        assert await run("ask", "--url", server.url, "Hello!") == (0, f"{GREETING}\n", "")
    assert server.posted["messages"][-1] == {"role": "user", "content": "Hello!"}


async def test_staff_are_shown_every_frame_with_its_header(environment: dict[str, Any]) -> None:
    async with stub.running(stub.plays(recorded("vllm/v-chat-greet.sse"))) as server:
        code, output, _ = await run("ask", "--url", server.url, "--as", "staff", "Hello!")
    assert code == 0
    assert output == f"── assistant channel=analysis\n{REASONING}\n\n── assistant channel=final\n{GREETING}\n"


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("vllm/v-chat-greet.sse", 0, {"status": "completed", "visible": GREETING, "tool_calls": [], "error": None}),
        ("vllm/v-chat-weather-tool.sse", 0, {"status": "completed", "visible": "", "error": None}),
        ("vllm/v-chat-long-cut-in-analysis.sse", 1, {"status": "incomplete", "visible": "", "tool_calls": [], "error": "E-X-LENGTH"}),
        ("vllm/v-chat-python.sse", 1, {"status": "completed", "visible": "", "tool_calls": [], "error": "E-X-NO-ANSWER"}),
        ("llamacpp/x-chat-badheader.sse", 3, {"status": "failed", "visible": "", "tool_calls": [], "error": "E-X-BACKEND"}),
        (
            "synthetic/synth_34_chat_eof_without_done.txt",
            4,
            {"status": "interrupted", "visible": "Half", "tool_calls": [], "error": "E-STREAM-TRUNCATED"},
        ),
    ],
)
async def test_the_json_object_and_the_exit_code_report_the_result(
    environment: dict[str, Any], name: str, code: int, expected: dict[str, Any]
) -> None:
    async with stub.running(stub.plays(recorded(name))) as server:
        exited, output, _ = await run("ask", "--json", "--url", server.url, "Hello!")
    summary = json.loads(output)
    assert set(summary) == {"status", "visible", "tool_calls", "error"}
    assert expected.items() <= summary.items()
    assert exited == code


async def test_calls_are_pairs_of_name_and_arguments(environment: dict[str, Any]) -> None:
    async with stub.running(stub.plays(recorded("vllm/v-chat-trip-preamble-tool.sse"))) as server:
        _, output, _ = await run("ask", "--json", "--url", server.url, "Hello!")
    assert json.loads(output)["tool_calls"] == [["get_weather", PARIS]]


async def test_the_reasoning_is_in_the_object_for_staff_only(environment: dict[str, Any]) -> None:
    for audience, expected in (("end-user", GREETING), ("staff", REASONING + GREETING)):
        async with stub.running(stub.plays(recorded("vllm/v-chat-greet.sse"))) as server:
            _, output, _ = await run("ask", "--json", "--as", audience, "--url", server.url, "Hello!")
        assert json.loads(output)["visible"] == expected


@pytest.mark.django_db(transaction=True)
async def test_the_text_of_a_servers_own_summary_is_for_staff(environment: dict[str, Any]) -> None:
    details = [{"type": "reasoning.summary", "summary": "SECRET plans"}]
    raw = stub.chunk(reasoning_details=details) + stub.chunk("stop", content="By train.") + stub.DONE
    for audience, options in product(("end-user", "staff"), ((), ("--json",))):
        async with stub.running(stub.plays(raw)) as server:
            environment.update(backend_url=server.url, backend_summaries="server", backend_model="tiny")
            _, output, _ = await run("ask", "--as", audience, *options, "Hello!")
        assert "By train." in output and ("SECRET" in output) == (audience == "staff")


async def test_a_servers_error_message_is_for_staff(environment: dict[str, Any]) -> None:
    refusal = stub.responds("400 Bad Request", b'{"error": "the model said SECRET \\u001b[2J"}'.replace(b"\\u001b", b"\x1b"))
    for audience in ("end-user", "staff"):
        async with stub.running(refusal) as server:
            code, output, complaint = await run("ask", "--as", audience, "--url", server.url, "Hello!")
        assert (code, output) == (3, "")
        assert complaint.startswith("E-X-BACKEND-REFUSED: The model server rejected this request.")
        assert ("SECRET" in complaint) == (audience == "staff")
        assert "\x1b" not in complaint


async def test_control_characters_are_spelled_out(environment: dict[str, Any]) -> None:
    nasty = stub.chunk(content="a\x1b[2J\u202eb\r") + stub.chunk("stop", content="\ud83d\tc\n") + stub.DONE
    async with stub.running(stub.plays(nasty)) as server:
        _, output, _ = await run("ask", "--url", server.url, "Hello!")
    assert output == "a\\x1b[2J\\x202eb\\x0d\\xd83d\tc\n"


async def test_text_is_shown_while_it_is_written(environment: dict[str, Any]) -> None:
    may_end, loop = asyncio.Event(), asyncio.get_running_loop()

    class Terminal(io.StringIO):
        def write(self, text: str) -> int:
            if "First part" in text:
                loop.call_soon_threadsafe(may_end.set)
            return super().write(text)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD + stub.chunk(reasoning="hm") + stub.chunk(content="First part of it. "))
        await writer.drain()
        await asyncio.wait_for(may_end.wait(), 10)
        writer.write(stub.chunk("stop", content="Second.") + stub.DONE)
        await writer.drain()

    async with stub.running(answer) as server:
        code, shown, _ = await run("ask", "--url", server.url, "Hello!", terminal=Terminal())
    assert (code, shown.strip()) == (0, "First part of it. Second.")


async def test_the_question_can_come_from_standard_input(environment: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("What is\n2 + 2?"))
    async with stub.running(stub.plays(recorded("vllm/v-chat-greet.sse"))) as server:
        await run("ask", "--url", server.url, "--model", "mine", "--effort", "high", "--max-tokens", "9", "-")
    sent = server.posted
    assert sent["messages"][-1]["content"] == "What is\n2 + 2?"
    assert (sent["model"], sent["reasoning_effort"], sent["max_tokens"]) == ("mine", "high", 9)


@pytest.mark.django_db(transaction=True)
async def test_without_an_address_the_configured_back_end_is_asked_with_its_instructions(environment: dict[str, Any]) -> None:
    code, output, _ = await run("ask", "Hello!")
    assert code == 0 and output.strip()
    async with stub.running(stub.plays(recorded("vllm/v-chat-greet.sse"))) as server:
        environment.update(backend_url=server.url, backend_key=KEY, instructions="Be kind.", backend_model="tiny")
        assert (await run("ask", "Hello!"))[1] == f"{GREETING}\n"
    assert server.posted["messages"][0] == {"role": "system", "content": "Be kind."}
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.django_db(transaction=True)
async def test_one_of_several_back_ends_is_asked_by_name_and_model_with_its_own_key(
    environment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECOND_KEY", KEY)
    async with (
        stub.running(stub.plays(recorded("vllm/v-chat-greet.sse"))) as first,
        stub.running(stub.plays(recorded("vllm/v-chat-greet.sse"))) as second,
    ):
        file = tmp_path / "backends.toml"
        tables = (
            f'[[backend]]\nname="one"\nurl="{first.url}"\nmodels=["a"]\n'
            f'[[backend]]\nname="two"\nurl="{second.url}"\nmodels=["b","c"]\nkey_env="SECOND_KEY"\nmax_answer_tokens=9\n'
        )
        file.write_text(tables, encoding="utf-8")
        environment.update(backends_file=file)
        for arguments, server, model, key in (
            ([], first, "a", None),
            (["--backend", "one"], first, "a", None),
            (["--backend", "two"], second, "b", f"Bearer {KEY}"),
            (["--backend", "two/c"], second, "c", f"Bearer {KEY}"),
            (["--backend", "two", "--model", "d"], second, "d", f"Bearer {KEY}"),
            (["--url", second.url + "/v1", "--model", "e"], second, "e", f"Bearer {KEY}"),
        ):
            assert (await run("ask", *arguments, "Hello!"))[1] == f"{GREETING}\n", arguments
            assert (server.posted["model"], server.requests[-1].headers.get("authorization")) == (model, key)
        assert [request.body["max_tokens"] for request in second.requests if request.body and request.body["model"] == "c"] == [9]
        code, output, _ = await run("record_backend", "--backend", "two", "--out", tmp_path / "new", "greet", "Hello!")
        assert code == 0 and json.loads((tmp_path / "new" / "greet.req.json").read_text())["body"]["model"] == "b"
        for arguments, words in (
            (["--backend", "three"], "Configured: one, two"),
            (["--backend", "one", "--url", "http://127.0.0.1:9"], "not both"),
        ):
            code, output, complaint = await run("ask", *arguments, "Hello!")
            assert (code, output) == (2, "") and words in complaint
        monkeypatch.delenv("SECOND_KEY")
        count = len(second.requests)
        code, output, complaint = await run("ask", "--backend", "two", "Hello!")
        assert (code, output) == (2, "") and "SECOND_KEY holds no key" in complaint and len(second.requests) == count


async def test_the_configured_key_goes_to_no_other_server(environment: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    environment.update(backend_url="http://127.0.0.1:9", backend_key=KEY)
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    async with stub.running(stub.plays(recorded("vllm/v-chat-greet.sse"))) as server:
        await run("ask", "--url", server.url, "Hello!")
        assert all("authorization" not in request.headers for request in server.requests)
        await run("ask", "--url", server.url, "--key-env", "OTHER_KEY", "Hello!")
        assert server.requests[-1].headers["authorization"] == "Bearer sk-other"
        environment.update(backend_url=server.url + "/v1")
        await run("ask", "--url", server.url, "--kind", "chat", "Hello!")
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.django_db(transaction=True)
async def test_what_cannot_be_asked_is_said_in_plain_words(environment: dict[str, Any]) -> None:
    for arguments, words in (
        (["--url", "ftp://x", "Hello!"], "http://"),
        (["  "], "empty"),
        (["--key-env", "NO_SUCH_VARIABLE", "Hello!"], "NO_SUCH_VARIABLE"),
    ):
        code, output, complaint = await run("ask", *arguments)
        assert (code, output) == (2, "") and words in complaint


async def test_the_token_id_format_works_from_the_shell(
    environment: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    vocabulary_of_gpt_oss: Vocabulary,  # noqa: F811
) -> None:
    monkeypatch.setattr(vocabulary, "load", lambda data_dir: vocabulary_of_gpt_oss)
    async with stub.running(stub.plays(recorded("vllm/v-raw-completions-trip.sse"))) as server:
        code, output, _ = await run("ask", "--json", "--url", server.url, "--kind", "harmony-vllm", "Hello!")
    assert code == 0
    assert json.loads(output)["tool_calls"] == [["get_weather", PARIS]]


@pytest.mark.django_db(transaction=True)
async def test_a_recording_has_the_received_bytes_and_can_be_replayed(environment: dict[str, Any], tmp_path: Path) -> None:
    raw = recorded("vllm/v-chat-greet.sse")
    async with stub.running(stub.plays(raw, seed=1)) as server:
        environment.update(backend_url=server.url, backend_key=KEY)
        code, output, _ = await run("record_backend", "--out", tmp_path / "new", "greet", "Hello!")
    assert code == 0 and "read as completed" in output
    names = {"greet.sse", "greet.req.json", "greet.meta.json"}
    assert {path.name for path in (tmp_path / "new").iterdir()} == names
    assert (tmp_path / "new" / "greet.sse").read_bytes() == raw
    request = json.loads((tmp_path / "new" / "greet.req.json").read_text())
    assert (request["method"], request["path"], request["body"]) == ("POST", "/v1/chat/completions", server.posted)
    about = json.loads((tmp_path / "new" / "greet.meta.json").read_text())
    assert about["status"] == 200 and sum(size for _, size in about["chunks"]) == len(raw)
    assert not any(KEY in path.read_text() for path in (tmp_path / "new").iterdir())


async def test_a_refusal_is_a_recording_too(environment: dict[str, Any], tmp_path: Path) -> None:
    async with stub.running(stub.responds("404 Not Found", b'{"error": "no such model"}', "Set-Cookie: a=b\r\n")) as server:
        code, output, _ = await run("record_backend", "--url", server.url, "--out", tmp_path, "refused", "Hello!")
    assert code == 0 and "HTTP 404" in output and "E-X-BACKEND-SETUP" in output
    assert (tmp_path / "refused.json").read_bytes() == b'{"error": "no such model"}'
    assert "cookie" not in (tmp_path / "refused.meta.json").read_text().lower()


@pytest.mark.django_db(transaction=True)
async def test_an_exchange_that_quotes_the_key_is_not_kept(environment: dict[str, Any], tmp_path: Path) -> None:
    async with stub.running(stub.responds("401 Unauthorized", f'{{"error": "bad key {KEY}"}}'.encode())) as server:
        environment.update(backend_url=server.url, backend_key=KEY)
        code, _, complaint = await run("record_backend", "--out", tmp_path, "refused", "Hello!")
    assert code == 3 and "nothing was written" in complaint
    assert KEY not in complaint and list(tmp_path.iterdir()) == []


@pytest.mark.django_db(transaction=True)
async def test_a_recording_is_not_overwritten_by_chance_and_not_written_elsewhere(environment: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "greet.req.json").write_text("{}")
    for arguments, words in ((["greet"], "--force"), (["../greet"], "NAME may hold")):
        code, _, complaint = await run("record_backend", "--url", "http://127.0.0.1:9", "--out", tmp_path, *arguments, "Hello!")
        assert code == 2 and words in complaint
    code, _, complaint = await run("record_backend", "--out", tmp_path, "demo", "Hello!")
    assert code == 2 and "no requests" in complaint
    code, _, complaint = await run("record_backend", "--url", "http://127.0.0.1:9", "--force", "--out", tmp_path, "greet", "Hello!")
    assert code == 3 and "did not answer" in complaint
    assert [path.name for path in tmp_path.iterdir()] == ["greet.req.json"]


async def test_ctrl_c_closes_the_connection_and_prints_the_partial_answer(tmp_path: Path) -> None:
    has_come = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD + stub.chunk(reasoning="hm") + stub.chunk(content="Half an answer, "))
        await writer.drain()
        has_come.set()
        await asyncio.sleep(60)

    async with stub.running(answer) as server:
        command = (sys.executable, "manage.py", "ask", "--json", "--url", server.url, "Hello!")
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "CHATUI_DATA_DIR": str(tmp_path)},
            # What is started in the background ignores Ctrl-C, and its children with it; a person's shell does not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            await asyncio.wait_for(has_come.wait(), 30)
            await asyncio.sleep(0.3)
            process.send_signal(signal.SIGINT)
            output, _ = await asyncio.wait_for(process.communicate(), 10)
            await asyncio.wait_for(server.dropped.wait(), 1)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 4
    assert json.loads(output) == {"status": "interrupted", "visible": "Half an answer, ", "tool_calls": [], "error": "E-STREAM-TRUNCATED"}
