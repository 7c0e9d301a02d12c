"""A real server is killed in the middle of its answer: the text so far is stored, and the end is reported as an error."""

from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import BackendError, Endpoint, Taker
from renderer.errors import Code
from renderer.events import Assembler, Finished, FrameOpened, FrameText, RawEvent
from renderer.gate import Audience, may_see, show
from renderer.harmony.vocabulary import Vocabulary
from tests.llama.fixture import Server
from tests.support.cases import extended
from tests.support.sampling import PATIENT, sample_request

pytestmark = [pytest.mark.llama, pytest.mark.faults]

COUNTED = ", ".join(str(number) for number in range(1, 201))


@pytest.mark.parametrize("kind", [extended("chat"), extended("responses"), "harmony-llamacpp"])
async def test_a_server_that_is_killed_in_its_answer_leaves_what_it_wrote(
    kind: str, llama_server_of_one_test: Server, request: pytest.FixtureRequest
) -> None:
    doomed, options = llama_server_of_one_test, dict[str, Any]()
    if registry.needs_vocabulary(kind):
        words: Vocabulary = request.getfixturevalue("vocabulary")
        options["vocabulary"] = lambda: words
    backend = registry.build(Endpoint(doomed.url, limits=PATIENT), kind=kind, **options)
    assembler, finished = Assembler(), list[Finished]()
    is_visible = False

    def take(event: RawEvent) -> None:
        nonlocal is_visible
        if isinstance(event, FrameOpened):
            is_visible = may_see(event.header, Audience.END_USER)
        elif isinstance(event, FrameText) and is_visible and doomed.process.poll() is None:
            doomed.process.kill()
            doomed.process.wait()
        if done := assembler.feed(event):
            finished.append(done)

    with pytest.raises(BackendError) as caught:  # the answer is not whole
        await backend.sample(sample_request("Count from 1 to 200."), Taker(take))
    await backend.aclose()
    assert caught.value.code is Code.STREAM_TRUNCATED and not caught.value.retryable
    assert assembler.open_frame() is None, "every frame that was opened is closed"
    assert not finished[-1].complete
    visible = show(finished[-1].frame, Audience.END_USER)
    assert visible and COUNTED.startswith(visible.rstrip(", ")) and len(visible) < len(COUNTED)
