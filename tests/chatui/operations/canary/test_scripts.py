"""The scripted answers: what they hide stays hidden and what they show arrives, through the product's real backends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from functools import partial

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint, SampleRequest
from chatui.operations.canary import scripts
from chatui.operations.canary.answers import chat, harmony, labelled, responses, shaped
from chatui.operations.canary.peer import CanaryServer
from chatui.operations.canary.run import KINDS
from chatui.operations.canary.scripts import Planter, Script
from chatui.operations.canary.watch import Canary
from renderer.frames import Frame, Header
from renderer.harmony.vocabulary import Vocabulary
from tests.support.sampling import PATIENT, Outcome, outcome

BAIT = "bcdflbcdflbcdf"


class Played:
    """Every script of one wire format, sampled once, with what was planted in it."""

    def __init__(self, kind: str, vocabulary: Vocabulary | None = None) -> None:
        self.hidden, self.visible = Canary(), Canary()
        planter = Planter(kind, self.hidden, self.visible, BAIT)
        match kind:
            case "chat":
                self.scripts: Sequence[Script] = chat.scripts(planter)
            case "responses":
                self.scripts = responses.scripts(planter)
            case "harmony":
                assert vocabulary is not None
                self.scripts = harmony.scripts(planter, vocabulary)
            case _:
                self.scripts = of_the_catalogue(kind, planter, vocabulary)
        with CanaryServer(("127.0.0.1", 0), {kind: self.scripts}) as peer:
            peer.release()
            self.outcomes = {script.name: asyncio.run(sampled(peer.url(kind), kind, script, vocabulary)) for script in self.scripts}


def of_the_catalogue(kind: str, planter: Planter, vocabulary: Vocabulary | None) -> Sequence[Script]:
    """Every label, and some of the shapes; ``make attack`` plays all of them through a whole deployment."""
    chooser = random.Random(11)
    shapes = scripts.sample(scripts.all_shapes(), 80, chooser)
    match kind:
        case "chat-shapes":
            return [*labelled.by_chat(planter, list, chooser), *shaped.by_chat(planter, shapes, chooser)]
        case "responses-shapes":
            return [*labelled.by_items(planter, list, chooser), *shaped.by_items(planter, shapes, chooser)]
    assert vocabulary is not None
    return [*labelled.by_ids(planter, partial(shaped.ids_of, vocabulary=vocabulary)), *shaped.by_ids(planter, shapes, vocabulary, chooser)]


async def sampled(url: str, kind: str, script: Script, vocabulary: Vocabulary | None) -> Outcome:
    request = SampleRequest((Frame(Header("user"), "What is hidden?"),), model=script.name)
    backend = registry.KINDS[KINDS[kind]](Endpoint(url, limits=PATIENT), **({"vocabulary": lambda: vocabulary} if vocabulary else {}))
    try:
        return await outcome(backend, request)
    finally:
        await backend.aclose()


@pytest.fixture(scope="module", params=["chat", "responses", "harmony", "chat-shapes", "responses-shapes", "harmony-shapes"])
def played(request: pytest.FixtureRequest) -> Played:
    return Played(request.param, request.getfixturevalue("vocabulary") if request.param.startswith("harmony") else None)


@pytest.mark.slow
def test_nothing_that_a_script_hides_becomes_visible(played: Played) -> None:
    assert {name: found for name, done in played.outcomes.items() if (found := played.hidden.found(done.visible))} == {}
    assert not any(BAIT in done.visible for done in played.outcomes.values())


@pytest.mark.slow
def test_everything_that_a_script_shows_arrives(played: Played) -> None:
    for script in played.scripts:
        assert all(marker in played.outcomes[script.name].visible for marker in script.shows), script.name


@pytest.mark.slow
def test_the_product_takes_the_hidden_text_in_where_it_could_leak_from_there(played: Played) -> None:
    """A server whose hidden fields were simply not read would test nothing."""
    for name, done in played.outcomes.items():
        if name.startswith("ids with"):
            # A label that is none of an assistant's ends the sample. That the text would be shown without it is tested below.
            assert done.error and "calls what it sends something else" in done.error.detail
            continue
        details = done.error.detail if done.error else ""
        headers = " ".join(str(finished.frame.header) for finished in done.finished)
        assert played.hidden.found(done.hidden, details, headers), name


@pytest.mark.slow
def test_ids_without_a_label_are_shown(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled, "LABELS", {"nothing": {}})
    hidden = Canary()
    [script] = labelled.by_ids(Planter("harmony", hidden, Canary(), BAIT), partial(shaped.ids_of, vocabulary=vocabulary))
    with CanaryServer(("127.0.0.1", 0), {"harmony": [script]}) as peer:
        peer.release()
        done = asyncio.run(sampled(peer.url("harmony"), "harmony", script, vocabulary))
    assert hidden.found(done.visible) == ["harmony: ids with the label nothing"]


@pytest.mark.slow
def test_every_script_has_a_name_of_its_own_and_an_end(played: Played) -> None:
    assert len({script.name for script in played.scripts}) == len(played.scripts)
    for script in played.scripts:
        done = played.outcomes[script.name]
        assert (done.error is None) or set(script.ends) & {"failed", "interrupted"} or not script.ends, script.name


def test_requests_without_the_secret_path_are_not_answered() -> None:
    import httpx

    script = Script("one", (b"hello",), content_type="text/plain")
    with CanaryServer(("127.0.0.1", 0), {"chat": [script]}) as peer:
        peer.release()
        url = peer.url("chat")
        origin = url.rsplit("/", 2)[0]
        assert httpx.post(f"{url}/v1/chat/completions", json={"model": "one"}, trust_env=False).text == "hello"
        assert httpx.get(f"{url}/v1/models", trust_env=False).json()["data"][0]["id"] == "one"
        for other in (f"{origin}/chat", f"{origin}/{'0' * 32}/chat", origin):
            assert httpx.post(f"{other}/v1/chat/completions", json={"model": "one"}, trust_env=False).status_code == 404
            assert httpx.get(f"{other}/v1/models", trust_env=False).status_code == 404
