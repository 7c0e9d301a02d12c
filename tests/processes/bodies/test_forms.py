"""Anybody can send a form with a long or hostile body: nobody else waits for it, and of a body without end only a part is kept."""

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.processes.bodies.waits import control, longest, seconds
from tests.support.served import Deployment

pytestmark = [pytest.mark.asyncio, pytest.mark.served]

MIB = 1024 * 1024
PAUSE_SECONDS = 1.0
"""The longest wait that a form may cause for others, in addition to the delay of the busy machine itself. Twisted's parser of forms took
more than ten seconds for the first of these bodies."""
MULTIPART, FIELDS = "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"


def form(content: bytes, token: str = "") -> bytes:
    field = b'--x\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n%b\r\n' % token.encode()
    return field + b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + content + b"\r\n--x--\r\n"


async def endless() -> AsyncIterator[bytes]:
    """A body that does not say its length, far longer than any limit."""
    for _ in range(60):
        yield b"a=1&" * (MIB // 4)


async def test_nobody_waits_for_the_form_of_somebody_else(tmp_path: Path) -> None:
    bodies: list[tuple[str, bytes | AsyncIterator[bytes], str]] = [
        ("/sign-in/", form(b"\n" * 4 * MIB), MULTIPART),
        ("/import/", form(b"\n" * 30 * MIB), MULTIPART),
        ("/import/", form(b"--x\r\n\r\n" * MIB), MULTIPART),
        ("/sign-in/", b"a=1&" * (MIB // 5), FIELDS),
        ("/sign-in/", endless(), FIELDS),
    ]
    end = asyncio.Event()
    async with control(tmp_path) as idle, httpx.AsyncClient(trust_env=False, timeout=120) as client:
        deployment = Deployment(tmp_path)
        try:
            server = await asyncio.to_thread(deployment.start)
            measured = asyncio.gather(longest(f"{server.url}/healthz", end, partial(seconds, server)), longest(idle, end))
            statuses = []
            for path, body, kind in bodies:
                headers = {"Content-Type": kind, "Accept": "text/html"}
                statuses.append((await client.post(server.url + path, content=body, headers=headers)).status_code)
            end.set()
            health, machine = await measured
        finally:
            await asyncio.to_thread(deployment.stop)
    print(f"/healthz {health:.3f} s, control {machine:.3f} s")
    assert statuses == [403, 403, 413, 413, 413], "there is no token, or so many fields or so long a body that none is looked for"
    assert health < PAUSE_SECONDS + 3 * machine, (health, machine)


async def test_a_file_that_is_longer_than_what_is_kept_is_refused_with_a_sentence(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        server = await asyncio.to_thread(deployment.start)
        await asyncio.to_thread(deployment.make_people, ada=(False, []))
        client = await asyncio.to_thread(server.sign_in, "ada")
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get("/import/").text)
        assert found
        content = form(b"x" * 40 * MIB, found[1])
        headers = {"Content-Type": MULTIPART, "Origin": server.url}
        response = await asyncio.to_thread(client.post, "/import/", content=content, headers=headers, timeout=120)
    finally:
        await asyncio.to_thread(deployment.stop)
    assert response.status_code == 400 and "the file is larger than 32 MB" in response.text
