"""Retries of a busy server: only before the first event, after the delay it requests, and a limited number of times."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from chatui.backends import http, registry
from chatui.backends.base import BackendError, Endpoint, SampleEnded, SampleLimits, SampleRequest, Taker
from chatui.codes import ProductCode
from renderer.errors import ErrorCode
from renderer.events import FrameText, RawEvent
from tests.chatui.backends.wire import then
from tests.support import stub
from tests.support.sampling import PATIENT, sample_request
from tests.support.served import free_port
from tests.support.stub import DONE, SSE_HEAD, chunk

pytestmark = pytest.mark.served

ANSWER = then(SSE_HEAD, chunk(content="Here."), chunk("stop"), DONE)
BUSY = stub.responds("503 Service Unavailable", b"{}")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAUSES", (0.02, 0.05))


def one_after_the_other(*answers: stub.Answer) -> stub.Answer:
    left = list(answers)

    async def answer(writer: asyncio.StreamWriter) -> None:
        await left.pop(0)(writer)

    return answer


def text_of(events: list[RawEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, FrameText))


async def sampled(answer: stub.Answer, limits: SampleLimits = PATIENT) -> tuple[str, ErrorCode | None, int, float]:
    """The text, the error's code, the number of requests, and the seconds it took."""
    events, code, started = list[RawEvent](), None, time.monotonic()
    async with stub.running(answer) as server:
        backend = registry.build(Endpoint(server.url, model="stub", limits=limits, separates="always"))
        try:
            assert (await http.sample(backend, sample_request("Hello!"), Taker(events.append))).model == "stub"
        except BackendError as error:
            code = error.code
        finally:
            await backend.aclose()
    return text_of(events), code, sum(request.method == "POST" for request in server.requests), time.monotonic() - started


async def test_a_server_busy_twice_is_asked_three_times_and_answers_once() -> None:
    assert (await sampled(one_after_the_other(BUSY, BUSY, ANSWER)))[:3] == ("Here.", None, 3)


async def test_a_busy_server_is_given_up_after_three_attempts() -> None:
    assert (await sampled(one_after_the_other(BUSY, BUSY, BUSY, ANSWER)))[:3] == ("", ProductCode.BACKEND_BUSY, 3)


async def test_retry_after_is_respected() -> None:
    later = stub.responds("429 Too Many Requests", b"{}", "Retry-After: 1\r\n")
    text, code, requests, seconds = await sampled(one_after_the_other(later, ANSWER))
    assert (text, code, requests) == ("Here.", None, 2) and seconds >= 1


async def test_a_too_long_retry_after_is_not_waited_for() -> None:
    later = stub.responds("429 Too Many Requests", b"{}", "Retry-After: 3600\r\n")
    text, code, requests, seconds = await sampled(one_after_the_other(later, ANSWER))
    assert (text, code, requests) == ("", ProductCode.BACKEND_BUSY, 1) and seconds < 300


async def test_a_server_silent_after_its_first_words_is_given_up_long_before_the_time_for_the_first() -> None:
    limits = replace(PATIENT, idle=0.3)
    silent = then(SSE_HEAD, chunk(content="Here is"), 200.0, chunk(content=" more."), chunk("stop"), DONE)
    text, code, requests, seconds = await sampled(silent, limits)
    assert (text, code, requests) == ("Here is", ProductCode.TIMEOUT, 1) and 0.3 <= seconds < 100


async def test_a_request_that_is_asked_again_has_no_new_limit_for_its_first_word() -> None:
    asked: list[float | None] = []

    class Busy:
        name = "busy"

        async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
            asked.append(request.asked_at)
            raise BackendError(ProductCode.BACKEND_BUSY, "", retryable=True)

    with pytest.MonkeyPatch.context() as patience, pytest.raises(BackendError):
        patience.setattr(http, "PAUSES", (0.0, 0.0))
        await http.sample(Busy(), sample_request("Hello!"), Taker(list[RawEvent]().append))  # type: ignore[arg-type]
    assert len(asked) == 3 and len(set(asked)) == 1 and asked[0] is not None
    async with stub.running(then(200.0, SSE_HEAD)) as silent, asyncio.timeout(90):
        backend = registry.build(Endpoint(silent.url, model="stub", limits=replace(PATIENT, first=90.0)))
        with pytest.raises(BackendError) as late:
            await backend.sample(replace(sample_request("Hello!"), asked_at=time.monotonic() - 100), Taker(list[RawEvent]().append))
        assert late.value.code is ProductCode.TIMEOUT
        await backend.aclose()


@pytest.mark.parametrize("end", [chunk("stop") + DONE, b'data: {"error": {"message": "broken"}}\n\n'])
async def test_what_was_read_together_is_passed_on_together_and_whether_the_answer_ends_is_told(end: bytes) -> None:
    told = list[str]()

    def take(event: RawEvent) -> None:
        if isinstance(event, FrameText):
            told.append(event.text)

    def take_together(passes_on: Callable[[], bool]) -> bool:
        told.append("(read)")
        ends = passes_on()
        told.append("ends" if ends else "goes on")
        return ends

    async with stub.running(then(SSE_HEAD, chunk(content="Here. "), 0.5, chunk(content="There.") + end)) as server:
        backend = registry.build(Endpoint(server.url, model="stub", limits=PATIENT, separates="always"))
        with contextlib.suppress(BackendError):
            await backend.sample(replace(sample_request("Hello!"), take_together=take_together), Taker(take))
        await backend.aclose()
    assert told == ["(read)", "Here. ", "goes on", "(read)", "There.", "ends"]


async def test_a_server_started_meanwhile_is_reached() -> None:
    port = free_port()
    backend = registry.build(Endpoint(f"http://127.0.0.1:{port}", model="stub", limits=PATIENT))

    async def ask() -> str:
        events: list[RawEvent] = []
        await http.sample(backend, sample_request("Hello!"), Taker(events.append))
        return text_of(events)

    with pytest.MonkeyPatch.context() as patience:
        patience.setattr(http, "PAUSES", (0.5, 10.0))
        asking = asyncio.create_task(ask())
        await asyncio.sleep(0.1)
        accepted = stub.Stub(ANSWER)
        server = await asyncio.start_server(accepted.accept, "127.0.0.1", port)
        assert await asking == "Here."
        await backend.aclose()
        server.close()
        await server.wait_closed()
        await asyncio.gather(*accepted.connections)


async def test_cancelling_during_the_delay_ends_at_once() -> None:
    later = stub.responds("429 Too Many Requests", b"{}", "Retry-After: 15\r\n")
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await sampled(one_after_the_other(later, ANSWER))
    assert time.monotonic() - started < 14
