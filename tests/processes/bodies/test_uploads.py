"""Five people upload long or hostile files at once: people who read an answer meanwhile do not notice, and the process's memory stays
bounded."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest

from chatui.documents.kinds import NoTextReason
from tests.chatui.documents import hostile
from tests.chatui.documents.hostile import Made
from tests.processes.bodies.waits import control, longest, seconds
from tests.processes.counting import counts_until
from tests.support import stub
from tests.support.cases import extended
from tests.support.served import Deployment, LiveSocket, Server

pytestmark = [pytest.mark.asyncio, pytest.mark.served]

PEOPLE = [f"person{number}" for number in range(5)]
MEGABYTES = 9
TOKEN_SECONDS = 0.05
PAUSE_SECONDS = 1.0
"""The longest wait that an upload may cause for others, in addition to the delay of the busy machine itself: see ``control``. To read one
of these files takes several seconds."""
MAX_MEGABYTES = {"long": 180, "hostile": 250}
"""Growth of memory. Three files at a time are in memory, each with its text, and the requests' bodies in pieces as well. All five files
at once would take two thirds more."""


async def gaps(socket: LiveSocket, end: asyncio.Event, clock: Callable[[], float]) -> float:
    """The longest time without new text of a running answer, in seconds of the clock."""
    times = [clock()]
    while not end.is_set():
        event = await socket.next()
        if "text" in event or "html" in event:
            times.append(clock())
    assert len(times) > 20, "the premise: an answer was being written"
    return max(after - before for before, after in pairwise(times))


def memory(server: Server, name: str) -> float:
    """``VmRSS`` or ``VmHWM`` of a server process, in megabytes."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{server.process.pid}/status").read_text())
    assert found
    return int(found[1]) / 1024


def bring(server: Server, name: str, file: Path) -> bool:
    """Upload a file; returns whether it was read. On a busy machine a hostile one may take too much time: then "try again", 503."""
    client = server.sign_in(name)
    token = re.search(r'name="csrf-token" content="([^"]+)"', client.get("/").text)
    assert token
    headers = {"X-CSRFToken": token[1], "X-File-Name": file.name}
    answer = client.post("/files/", content=file.read_bytes(), headers=headers, timeout=240)
    assert answer.status_code == 200 or (answer.status_code, answer.json()["why"]) == (503, NoTextReason.SLOW), answer.text
    return bool(answer.json()["ok"])


def long_files() -> list[Made]:
    return [("long.txt", b"a line of a long file, and more\n" * (MEGABYTES * 1024 * 1024 // 32))] * len(PEOPLE)


def hostile_files() -> list[Made]:
    """The hostile files that take a document reader the most time or memory."""
    return [
        hostile.pdf_stream_bomb(),
        hostile.pdf_many_operators(),
        hostile.docx_one_node(),
        hostile.xlsx_two_million_cells(),
        hostile.docx_entity_bomb(),
    ]


@pytest.mark.parametrize(
    ("made_files", "is_read", "max_grown"),
    [extended(long_files, True, MAX_MEGABYTES["long"]), (hostile_files, False, MAX_MEGABYTES["hostile"])],
    ids=["long", "hostile"],
)
async def test_nobody_waits_for_files_that_others_bring_and_memory_is_bounded(
    made_files: Callable[[], list[Made]], is_read: bool, max_grown: int, tmp_path: Path
) -> None:
    written, end = asyncio.Event(), asyncio.Event()
    files = []
    for name, (made, content) in zip(PEOPLE, made_files(), strict=True):
        (tmp_path / name).mkdir()
        files.append(tmp_path / name / made)
        files[-1].write_bytes(content)
    async with stub.running(counts_until(written, TOKEN_SECONDS)) as model, control(tmp_path) as idle:
        deployment = Deployment(tmp_path, CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub")
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, reader=(False, []), **dict.fromkeys(PEOPLE, (False, list[str]())))
            reader = await asyncio.to_thread(server.sign_in, "reader")
            before = memory(server, "VmRSS")
            async with asyncio.timeout(400), LiveSocket(server, reader) as socket:
                body = {"text": "Count", "effort": "low", "conversation": None, "folder": None, "choice": None}
                await socket.send("send", client_id=str(uuid4()), **body, tools_off=None, temporary=None, files=None)
                clock = partial(seconds, server)
                measured = asyncio.gather(gaps(socket, end, clock), longest(f"{server.url}/healthz", end, clock), longest(idle, end))
                results = await asyncio.gather(
                    *(asyncio.to_thread(bring, server, name, file) for name, file in zip(PEOPLE, files, strict=True))
                )
                end.set()
                silence, health, machine = await measured
            written.set()
            grown = memory(server, "VmHWM") - before
        finally:
            await asyncio.to_thread(deployment.stop)
    print(f"silence {silence:.3f} s, /healthz {health:.3f} s, control {machine:.3f} s, {grown:.0f} MB more")
    assert results == [is_read] * len(PEOPLE)
    most = PAUSE_SECONDS + 3 * machine  # as tests share the machine
    assert health < most and silence < most + 2 * TOKEN_SECONDS, (silence, health, machine)
    assert grown < max_grown, grown
