"""How long others wait for a server that is busy, beside the delay of the machine itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.support.served import free_port


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


async def longest(url: str, end: asyncio.Event) -> float:
    """The longest time that an address took to answer, in seconds."""
    took = 0.0
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        while not end.is_set():
            started = time.monotonic()
            assert (await client.get(url)).status_code == 200
            took = max(took, time.monotonic() - started)
            await asyncio.sleep(0.02)
    return took
