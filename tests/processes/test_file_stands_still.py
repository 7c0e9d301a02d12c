"""A file whose reading stands still, of any kind: another person's question is answered meanwhile, and their own file is read."""

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.chatui.documents import samples
from tests.chatui.documents.other_traps import book, notebook, rtf
from tests.chatui.documents.test_workbooks import ods, open_cell, row
from tests.processes.counting import Reader, counts
from tests.support import stub
from tests.support.limits import limit
from tests.support.served import Deployment, LiveSocket, Server

READERS = limit("chatui.documents.inside", "READERS")

pytestmark = pytest.mark.served

WORDS = 5
PATIENCE_SECONDS = 50
"""Less than a reading may last: one that stands still ends with its file refused."""
WORKBOOKS = Path(samples.__file__).parent / "workbooks"
FILES: dict[str, Callable[[], bytes]] = {
    "docx": lambda: samples.docx(samples.paragraph("words")),
    "eml": lambda: b"Subject: Hi\n\nwords",
    "epub": lambda: book("<p>words</p>"),
    "html": lambda: b"<p>words</p>",
    "ipynb": lambda: notebook({"cell_type": "markdown", "source": "words"}),
    "odp": lambda: samples.odt(
        "<draw:page><draw:frame><draw:text-box><text:p>words</text:p></draw:text-box></draw:frame></draw:page>", kind="presentation"
    ),
    "ods": lambda: ods(f'<table:table table:name="A">{row(open_cell("words"))}</table:table>'),
    "odt": lambda: samples.odt("<text:p>words</text:p>"),
    "pdf": lambda: samples.pdf_of(["words"]),
    "pptx": lambda: samples.pptx([samples.shape("words")]),
    "rtf": lambda: rtf("words"),
    "txt": lambda: "Wörter".encode("cp1252"),
    "xls": lambda: (WORKBOOKS / "everything.xls").read_bytes(),
    "xlsx": lambda: samples.xlsx({"A": '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>words</t></is></c></row></sheetData>'}),
}


def test_every_reader_is_tried() -> None:
    assert {*FILES, "plain"} - {"txt"} == {name for name in READERS if name not in ("probes", "web page") and not name.startswith("bomb")}


async def bring(client: httpx.Client, name: str, content: bytes) -> bool:
    """Upload a file; returns whether it was read."""
    page = await asyncio.to_thread(client.get, "/")
    token = re.search(r'name="csrf-token" content="([^"]+)"', page.text)
    assert token
    headers = {"X-CSRFToken": token[1], "X-File-Name": name}
    answer = await asyncio.to_thread(client.post, "/files/", content=content, headers=headers, timeout=120)
    return bool(answer.json()["ok"])


def readers(server: Server) -> list[int]:
    """The processes of a server that read files."""
    found: list[int] = []
    for task in Path(f"/proc/{server.process.pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread or the process has ended meanwhile
            children = map(int, task.read_text(encoding="ascii").split())
            found += [each for each in children if b"documents.inside" in Path(f"/proc/{each}/cmdline").read_bytes()]
    return found


async def stopped(server: Server, is_over: Callable[[], bool]) -> int:
    """Stop the next process that reads a file, and return its number."""
    while not is_over():
        for each in readers(server):
            os.kill(each, signal.SIGSTOP)
            return each
        await asyncio.sleep(0.001)
    raise AssertionError("the file was read before its process was seen")


async def test_a_file_of_any_kind_that_is_being_read_holds_up_nobody_else(tmp_path: Path) -> None:
    async with stub.running(counts(WORDS)) as model:
        deployment = Deployment(tmp_path, CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub")
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []), bela=(False, []))
            ada, bela = [await asyncio.to_thread(server.sign_in, name) for name in ("ada", "bela")]
            async with LiveSocket(server, bela) as socket:
                for kind, made in FILES.items():
                    bringing = asyncio.ensure_future(bring(ada, f"a.{kind}", made()))
                    process = await stopped(server, bringing.done)
                    try:
                        await asyncio.wait_for(
                            asked_and_brought(socket, bring(bela, "own.txt", f"Größe {kind}".encode("cp1252"))), PATIENCE_SECONDS
                        )
                        assert not bringing.done(), kind
                    finally:
                        os.kill(process, signal.SIGCONT)
                    assert await bringing, kind
        finally:
            await asyncio.to_thread(deployment.stop)


async def asked_and_brought(socket: LiveSocket, bringing: Awaitable[bool]) -> None:
    """Ask and read the whole answer, then wait for the file."""
    reader = Reader(socket)
    await reader.ask()
    await reader.read()
    assert reader.end is not None and reader.end["state"] == "completed" and reader.last_seen() == WORDS
    assert await bringing
