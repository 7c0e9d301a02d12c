"""The metrics of all workers that serve behind one address: a scrape reaches one of them, which asks the others.

Each answers on a Unix socket in a directory of their parent's, which only this account may enter. Their samples are told apart by the
label ``worker``, so that the counts of one that was started again begin at 0 as those of any process do.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

LABEL = "worker"
SECONDS = 3.0
"""How long a worker may take to answer; one that stands still is left out."""


async def answer(directory: Path, number: int, own_text: Callable[[], Awaitable[str]]) -> asyncio.Server:
    """Give whoever connects ``own_text``, the metrics of this worker."""

    async def give(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            writer.write((await own_text()).encode())
            await writer.drain()

    place = directory / str(number)
    place.unlink(missing_ok=True)  # of a predecessor that was killed
    return await asyncio.start_unix_server(give, place)


async def text_of(directory: Path, number: int) -> str:
    """What another worker says; empty if it does not answer."""
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_unix_connection(directory / str(number))
            with contextlib.closing(writer):
                text = (await reader.read(-1)).decode()
    except (OSError, ValueError):  # TimeoutError is one
        return ""
    return text if text.endswith("\n") else ""  # it died meanwhile


def merged(texts: Mapping[int, str]) -> list[Metric]:
    """All metrics in the texts, each once, with the samples of every worker; and which workers have answered."""
    up = GaugeMetricFamily("chatui_worker_up", "Whether this worker answered. Left out where one process serves.", labels=[LABEL])
    families: dict[str, Metric] = {}
    for number, text in sorted(texts.items()):
        up.add_metric([str(number)], int(bool(text)))
        for family in text_string_to_metric_families(text):
            kept = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            kept.samples += [_labelled(sample, number) for sample in family.samples]
    return [up, *families.values()]


def _labelled(sample: Sample, number: int) -> Sample:
    return sample._replace(labels={**sample.labels, LABEL: str(number)})
