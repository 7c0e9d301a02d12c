"""How long others wait for a server that is busy, without the delay of the machine itself."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.support.served import Server, free_port


@asynccontextmanager
async def control(folder: Path) -> AsyncIterator[str]:
    """An otherwise idle server: its delay is that of the machine."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"],
        cwd=folder,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


def seconds(server: Server) -> float:
    """The time, in seconds of a clock that stands still while the event loop of the server, or of this process, could run and has to wait
    for a processor: other programs may need them all. How long that was, Linux says in ``schedstat``."""
    waited = [Path(f"/proc/{process}/schedstat").read_text().split()[1] for process in (server.process.pid, os.getpid())]
    return time.monotonic() - sum(map(int, waited)) / 1e9


async def longest(url: str, end: asyncio.Event, clock: Callable[[], float] = time.monotonic) -> float:
    """The longest time that an address took to answer, in seconds of the clock."""
    took = 0.0
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        while not end.is_set():
            started = clock()
            assert (await client.get(url)).status_code == 200
            took = max(took, clock() - started)
            await asyncio.sleep(0.02)
    return took
