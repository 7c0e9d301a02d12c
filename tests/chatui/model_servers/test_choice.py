"""The models to choose from if the operator lists none: those that the server lists, queried in the background."""

import asyncio
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from channels.db import database_sync_to_async
from django.core.cache import cache

from chatui.backends.spec import BackendSpec
from chatui.display import model_choice as model_choice_shown
from chatui.model_servers import choice as available
from chatui.model_servers import choice as model_choice
from chatui.models.conversation import Conversation
from chatui.models.model_servers import StoredBackend
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from tests.chatui.api.asking import Program, json_of, key_of
from tests.support import stub
from tests.support.several import Configure, asks, start
from tests.support.several import closing as closing
from tests.support.several import configure as configure

NAMES = {"object": "list", "data": [{"id": "one"}, {"id": "org/two"}, {"id": "bad\nname"}, {"id": "x" * 300}]}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def asking(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that ask, each of which a test awaits."""
    started: list[threading.Thread] = []

    def note(thread: threading.Thread) -> None:
        if asks(thread):
            started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", note)
    return started


async def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        await asyncio.to_thread(thread.join)


@pytest.mark.django_db(transaction=True)
async def test_models_that_a_server_lists_can_be_chosen_on_the_next_page(
    configure: Configure, asking: list[threading.Thread], ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-7261")
    async with stub.running(stub.plays(b""), models=NAMES) as server:
        configure(f'[[backend]]\nname="a"\nurl="{server.url}"\nkey_env="THE_KEY"\n')
        first = await asyncio.to_thread(model_choice.choices_for, ada)
        assert [choice.value for choice in first] == ["a"], "nobody waits: the model server itself can be chosen at once"
        await join(asking)
        again = await asyncio.to_thread(model_choice.choices_for, ada)
        assert [choice.value for choice in again] == ["a/one", "a/org/two"], "without names that could not be offered"
        assert await asyncio.to_thread(model_choice.validated, ada, "a/org/two") == "a/org/two"
        assert await asyncio.to_thread(model_choice.validated, ada, "a") == "a"
        with pytest.raises(model_choice.NoSuchModelError):
            await asyncio.to_thread(model_choice.validated, ada, "a/three")
        assert len(asking) == 1, "it is asked once a minute at most"
        assert all(request.headers["authorization"] == "Bearer sk-7261" for request in server.requests)


@pytest.mark.django_db(transaction=True)
async def test_while_the_cache_is_down_the_last_models_can_be_chosen(
    configure: Configure, asking: list[threading.Thread], ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stub.running(stub.plays(b""), models=NAMES) as server:
        configure(f'[[backend]]\nname="a"\nurl="{server.url}"\n')
        await asyncio.to_thread(model_choice.choices_for, ada)
        await join(asking)
        assert len(await asyncio.to_thread(model_choice.choices_for, ada)) == 2

        def away(*_: object, **__: object) -> None:
            raise ConnectionError

        monkeypatch.setattr(cache, "add", away)
        monkeypatch.setattr(cache, "get", away)
        choices = await asyncio.to_thread(model_choice.choices_for, ada)
        assert [choice.value for choice in choices] == ["a/one", "a/org/two"]
        assert await asyncio.to_thread(model_choice.validated, ada, "a/one") == "a/one"


async def test_a_server_that_is_down_keeps_its_models_and_nobody_waits(
    configure: Configure, asking: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stub.running(stub.plays(b""), models=NAMES) as server:
        spec = BackendSpec(name="a", url=server.url)
        with monkeypatch.context() as patch:
            patch.setattr(available, "QUERY_SECONDS", 0.01)
            available.models_of(spec)
        await join(asking)
    await asyncio.sleep(0.02)
    assert available.models_of(spec) == ("one", "org/two")
    assert len(asking) == 2, "it is asked in the background"
    await join(asking)
    assert len(asking) == 2 and available.models_of(spec) == ("one", "org/two")


def test_known_models_are_looked_up_once_a_second(asking: list[threading.Thread], monkeypatch: pytest.MonkeyPatch) -> None:
    spec, known, now, reads = BackendSpec(name="once-a-second", url="http://127.0.0.1:9"), ("one",), 1000.0, 0

    def read(keys: list[str]) -> dict[str, object]:
        nonlocal reads
        reads += 1
        return dict(zip(keys, (known, True), strict=True))

    monkeypatch.setattr(cache, "get_many", read)
    monkeypatch.setattr(available, "time", SimpleNamespace(monotonic=lambda: now))
    assert [available.models_of(spec) for _ in range(3)] == [known] * 3 and reads == 1
    now, known = now + 1, ("two",)
    assert available.models_of(spec) == known and reads == 2


async def test_a_key_for_another_origin_is_not_sent_in_the_background(
    configure: Configure, asking: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", "https://api.example.org sk-7261")
    async with stub.running(stub.plays(b""), models=NAMES) as server:
        assert available.models_of(BackendSpec(name="a", url=server.url, key_name="ACME")) is None
        await join(asking)
        assert len(asking) == 1 and server.requests == []


def test_servers_with_configured_models_and_the_demo_are_not_queried(configure: Configure, asking: list[threading.Thread]) -> None:
    assert available.models_of(BackendSpec(name="a", url="http://127.0.0.1:9", models=("m",))) == ("m",)
    assert available.models_of(BackendSpec(name="d", kind="demo")) == ()
    assert asking == []


async def test_six_hundred_models_are_all_offered_also_where_the_first_address_is_down(
    configure: Configure, asking: list[threading.Thread]
) -> None:
    many = {"data": [{"id": f"org/model-{number}"} for number in range(600)]}
    async with stub.running(stub.plays(b""), models=many) as server:
        spec = BackendSpec(name="a", url="http://127.0.0.1:9", more_urls=(server.url,))
        available.models_of(spec)
        await join(asking)
        assert available.models_of(spec) == tuple(f"org/model-{number}" for number in range(600))


async def test_a_truncated_list_is_logged(
    configure: Configure, asking: list[threading.Thread], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(available, "MAX_MODELS", 2)
    async with stub.running(stub.plays(b""), models={"data": [{"id": name} for name in "abc"]}) as server:
        spec = BackendSpec(name="a", url=server.url)
        available.models_of(spec)
        await join(asking)
        assert available.models_of(spec) == ("a", "b")
    assert "model server a lists 3 models: only the first 2 are offered" in caplog.text


@database_sync_to_async
def key_for(person: User, only: tuple[str, ...] = ()) -> str:
    return key_of(person, models=only)


async def chosen(key: str, model: str | None) -> str | None:
    """The choice that a program gets that names this model; None if it is refused."""
    response = await Program(key).post("/v1/responses", {"input": "?", "model": model, "background": True})
    if response.status_code != 200:
        error = json_of(response)["error"]
        assert (response.status_code, error["code"], error["param"]) == (404, "model_not_found", "model")
        assert not await Turn.objects.aexists()
        return None
    await running.settle()
    return (await Turn.objects.aget()).choice


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("lines", "asked", "value"),
    [
        (['name="a"\nurl="http://127.0.0.1:9"\nmodels=["tiny"]'], "tiny", "a"),
        (['name="a"\nurl="http://127.0.0.1:9"\nmodels=["tiny"]', 'name="b"\nurl="http://127.0.0.1:8"\nmodels=["org/big"]'], "org/big", "b"),
        (
            ['name="a"\nurl="http://127.0.0.1:9"\nmodels=["tiny", "big"]', 'name="b"\nurl="http://127.0.0.1:8"\nmodels=["other"]'],
            "big",
            "a/big",
        ),
        (
            ['name="a"\nurl="http://127.0.0.1:9"\nmodels=["tiny"]', 'name="b"\nurl="http://127.0.0.1:8"\nmodels=["tiny", "big"]'],
            "tiny",
            None,
        ),
        (['name="a"\nurl="http://127.0.0.1:9"\nmodels=["tiny"]'], "big", None),
    ],
)
async def test_a_program_names_a_model_by_its_own_name_if_one_back_end_has_it(
    lines: list[str], asked: str, value: str | None, configure: Configure, closing: None, ada: User
) -> None:
    configure("".join(f"[[backend]]\n{line}\n" for line in lines))
    assert await chosen(await key_for(ada), asked) == value


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("default", "only", "value"),
    [
        ("a", (), "a"),
        ("b", (), "b/one"),
        ("paused", (), None),
        ("", (), None),
        ("a", ("b/two",), "b/two"),
        ("", ("b/two",), "b/two"),
        ("a", ("gone",), None),
        ("a", ("a", "b/one"), "a"),
        ("a", ("b/one", "b/two"), None),
    ],
)
@pytest.mark.parametrize("unnamed", [None, ""])
async def test_a_program_that_names_no_model_gets_the_default_or_none(
    unnamed: str | None, default: str, only: tuple[str, ...], value: str | None, configure: Configure, closing: None, ada: User
) -> None:
    for position, (name, models) in enumerate({"a": "tiny", "b": "one\ntwo", "paused": "big"}.items()):
        settings = {"url": "http://127.0.0.1:9", "model_names": models, "is_enabled": name != "paused", "is_default": name == default}
        await StoredBackend.objects.acreate(name=name, position=position, **settings)
    assert await chosen(await key_for(ada, only), unnamed) == value


EMBEDDING = {"id": "vectors", "capabilities": ["embedding"]}


@pytest.mark.django_db(transaction=True)
async def test_a_model_that_writes_no_answers_is_not_offered_and_its_conversations_say_so(
    configure: Configure, asking: list[threading.Thread], ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(available, "QUERY_SECONDS", 0.01)
    monkeypatch.setattr(available, "READ_SECONDS", 0.0)

    def ask_again() -> None:
        time.sleep(0.02)
        available.models_of(BackendSpec(name="a", url=server.url))

    async def shown() -> model_choice_shown.ShownChoices:
        return await asyncio.to_thread(model_choice_shown.shown_choices, ada, row)

    async with stub.running(stub.plays(b""), models={"data": [{"id": "one"}, {"id": "vectors"}]}) as server:
        configure(f'[[backend]]\nname="a"\nurl="{server.url}"\n')
        row = await asyncio.to_thread(Conversation.objects.create, owner=ada, choice="a/vectors")
        for models, offered, gone in (
            ([{"id": "one"}, {"id": "vectors"}], ["one", "vectors"], ""),
            ([{"id": "one"}, EMBEDDING], ["one"], "vectors"),
            ([EMBEDDING], [], "vectors"),
        ):
            await join(asking)
            server.models = {"data": models}
            await asyncio.to_thread(ask_again)
            await join(asking)
            found = await shown()
            assert ([each.label for each in found.choices], found.gone) == (offered, gone)
            for wanted in ("a/vectors", "a/one", "a"):
                is_offered = bool(offered) if wanted == "a" else wanted.removeprefix("a/") in offered
                try:
                    assert await asyncio.to_thread(model_choice.validated, ada, wanted) == wanted and is_offered, wanted
                except model_choice.NoSuchModelError:
                    assert not is_offered, wanted


def test_a_model_is_called_by_its_name_and_its_server_only_tells_two_apart(configure: Configure, ada: User) -> None:
    def labels(*servers: str) -> list[str]:
        configure("".join(f'[[backend]]\nurl="http://127.0.0.1:9"\n{one}\n' for one in servers))
        return [choice.label for choice in model_choice.choices_for(ada)]

    ollama, llama = 'name="Ollama"\nmodels=["gpt-oss:20b", "llama3.2"]', 'name="llama.cpp"\nmodels=["gpt-oss-tiny"]'
    assert labels(ollama, llama) == ["gpt-oss:20b", "llama3.2", "gpt-oss-tiny"]
    assert labels(llama, 'name="two"\nmodels=["gpt-oss-tiny", "x"]') == ["llama.cpp · gpt-oss-tiny", "two · gpt-oss-tiny", "x"]
    assert labels(llama, 'name="two"\nlabel="Ours"\nmodels=["gpt-oss-tiny"]') == ["gpt-oss-tiny", "Ours"], "what staff call it"
    alike = ['name="a"\nlabel="Ours"\nmodels=["x", "y"]', 'name="b"\nlabel="Ours"\nmodels=["x", "z"]']
    assert labels(*alike) == ["a · x", "y", "b · x", "z"], "two display names that are the same tell nothing apart"
    unknown = 'name="c"'
    assert labels(llama, unknown) == ["gpt-oss-tiny", "c"], "until the server says what it has"
