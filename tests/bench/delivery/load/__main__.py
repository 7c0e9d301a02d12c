"""``python -m tests.bench.delivery.load`` reads a Job as JSON, runs it, and writes its Outcome as JSON."""

import asyncio
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.bench.delivery.arithmetic import percentile
from tests.bench.delivery.load.job import Job, Outcome
from tests.bench.delivery.load.page import Page
from tests.bench.delivery.process_table import memory_mb, seconds_of, waited_seconds
from tests.bench.delivery.turn_counts import TurnCounts

SETTLE_SECONDS = 0.5
USUAL_PERCENT = 25
"""The percentile of what several turns count that is a turn's. On a busy machine many of them meet the server's regular work, or wake it up
once more. The least would be that of a turn whose end was counted with the next one."""


async def run_job(job: Job) -> Outcome:
    """Open all pages, have them ask their questions, and total the results."""
    counts = TurnCounts(Path(job.counter)) if job.counter else None
    pages = [Page(job, job.cookies[number] if job.cookies else "", counts) for number in range(job.streams)]
    for page in pages:
        await page.open()
    await asyncio.sleep(SETTLE_SECONDS)
    opened = sum(page.socket.received for page in pages)
    spent, waited, others, started = _clocks(job)
    await asyncio.gather(*(page.chat(number * job.arrive / job.streams) for number, page in enumerate(pages)))
    elapsed, others = time.monotonic() - started, _clocks(job)[2] - others
    await asyncio.sleep(SETTLE_SECONDS)
    outcome = _sum(pages)
    outcome.cpu, outcome.others = seconds_of(job.pid) - spent, others / elapsed
    outcome.waited = (waited_seconds(job.pid) - waited) / (elapsed + SETTLE_SECONDS)
    outcome.received -= opened
    outcome.memory = memory_mb(job.pid)
    for page in pages:
        page.socket.close()
    return outcome


def _clocks(job: Job) -> tuple[float, float, float, float]:
    """The server's processor time and waiting time, the processor time of load and model server, and the current time."""
    return seconds_of(job.pid), waited_seconds(job.pid), time.process_time() + seconds_of(job.upstream), time.monotonic()


def _sum(pages: list[Page]) -> Outcome:
    delays = sorted(delay for page in pages for delay in page.delays)
    firsts = sorted(first for page in pages for first in page.firsts)
    all_waits = sorted(wait for page in pages for wait in page.waits)
    counted = [each for page in pages for each in page.counted]
    turns = len(firsts)
    return Outcome(
        turns=turns,
        tokens=len(delays),
        frames=sum(page.frames for page in pages),
        received=sum(page.socket.received for page in pages),
        fetched=sum(page.fetched for page in pages),
        p50=percentile(delays, 50),
        p99=percentile(delays, 99),
        first_p50=percentile(firsts, 50),
        first_p99=percentile(firsts, 99),
        wait_p50=percentile(all_waits, 50),
        wait_p99=percentile(all_waits, 99),
        first_statements=_usual(number for page in pages for number in page.first_statements),
        counted={name: _usual(each[name] for each in counted) for name in counted[0]} if counted else {},
        is_compressed=all(page.socket.is_compressed for page in pages),
        missed=sum(page.missed for page in pages),
        faults=[fault for page in pages for fault in page.faults],
    )


def _usual(counted: Iterable[int]) -> float:
    return percentile(sorted(counted), USUAL_PERCENT)


if __name__ == "__main__":
    wanted = json.load(sys.stdin)
    print(json.dumps(asdict(asyncio.run(run_job(Job(**{**wanted, "cookies": tuple(wanted["cookies"])}))))))
