"""Several model servers at once: which exist, who may use which, which one a turn samples, and when connections are closed."""

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group

from chatui.backends.base import BackendError
from chatui.codes import ProductCode
from chatui.display.conversation import shown_exchange
from chatui.model_servers import choice as model_choice
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.model_servers import StoredBackend
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from chatui.turns.asks import Ask, AskKind, AskRefusedError
from tests.chatui.conftest import signed_in
from tests.support import stub, turns
from tests.support.answer_rows import rows_of
from tests.support.html_text import collapsed
from tests.support.new_process import begin_anew
from tests.support.other_processes import reap, set_lease, stored_here
from tests.support.sampling import outcome, sample_request
from tests.support.several import Configure, constant_answer, until_closed
from tests.support.several import closing as closing
from tests.support.several import configure as configure
from tests.support.turns import run, store

pytestmark = pytest.mark.django_db(transaction=True)

TWO = """
[[backend]]
name = "small"
label = "Small one"
url = "{small}"
models = ["s"]
[[backend]]
name = "large"
url = "{large}"
models = ["l", "xl"]
"""
FOR_READERS = (
    '[[backend]]\nname="small"\nurl="http://127.0.0.1:9"\n[[backend]]\nname="large"\nurl="http://127.0.0.1:9"\ngroups=["readers"]\n'
)


def ask(kind: AskKind = AskKind.SEND, **fields: Any) -> Ask:
    return turns.ask(kind, "" if kind is AskKind.REGENERATE else "Who are you?", **fields)


def begin(person: User, question: Ask) -> Turn:
    turn = store(person, question, "nobody").turn
    Turn.objects.filter(pk=turn.pk).update(state="completed")
    return turn


@database_sync_to_async
def answers(turn: Turn) -> list[str]:
    return [message.text for message in Message.objects.filter(turn=turn, is_visible=True)]


# Which there are


def test_without_configuration_there_is_only_the_demo(configure: Configure, ada: User) -> None:
    assert [spec.name for spec in connected.specs()] == ["demo"] and connected.is_demo()
    assert len(model_choice.choices_for(ada)) == 1


def test_the_variables_for_one_server_make_one_back_end(configure: Configure) -> None:
    configure(backend_url="http://127.0.0.1:9/v1", backend_kind="responses", backend_model="m", backend_key="k", backend_idle_seconds=7)
    (spec,) = connected.specs()
    assert (spec.name, spec.kind, spec.models, spec.idle_seconds) == ("main", "responses", ("m",), 7)
    assert connected.key_of(spec) == "k" and not connected.is_demo()


def test_the_file_replaces_the_variables(configure: Configure) -> None:
    configure(FOR_READERS, backend_url="http://127.0.0.1:8", backend_key="k")
    assert [spec.name for spec in connected.specs()] == ["small", "large"]
    assert [connected.key_of(spec) for spec in connected.specs()] == [None, None], "the key of the variables is for their address"


def test_rows_come_last_in_their_order_and_the_file_takes_precedence(configure: Configure) -> None:
    StoredBackend.objects.create(name="z", url="http://z", position=1)
    StoredBackend.objects.create(name="b", url="http://b", position=2)
    StoredBackend.objects.create(name="a", url="http://a", position=2)
    StoredBackend.objects.create(name="off", url="http://a", is_enabled=False)
    StoredBackend.objects.create(name="broken", url="nowhere")
    StoredBackend.objects.create(name="small", url="http://elsewhere")
    configure(FOR_READERS)
    assert connected.specs()[0].url == "http://127.0.0.1:9"
    assert [spec.name for spec in connected.specs()] == ["small", "large", "z", "a", "b"]
    configure(backend_url="http://127.0.0.1:9")
    assert [spec.name for spec in connected.specs()] == ["main", "small", "z", "a", "b"], (
        "a row does not take the place of what stands in the variables"
    )
    configure()
    assert [spec.name for spec in connected.specs()] == ["small", "z", "a", "b"], "but in that of the demo"


@pytest.mark.parametrize("text", ["[[backend]\n", "", '[[backend]]\nname="a"\nurl="nowhere"\n'])
def test_an_invalid_file_does_not_enable_the_demo(text: str, configure: Configure, ada: User) -> None:
    configure(text)
    assert connected.specs() == () and model_choice.choices_for(ada) == () and not connected.is_demo()
    with pytest.raises(BackendError) as caught:
        connected.spec_of()
    assert caught.value.code is ProductCode.NO_SUCH_MODEL


def test_a_row_takes_effect_within_two_seconds_and_costs_three_queries(
    configure: Configure, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("chatui.model_servers.connected.time.monotonic", lambda: now)
    connected.specs()
    StoredBackend.objects.create(name="new", url="http://new")
    with django_assert_num_queries(0):
        assert [spec.name for spec in connected.specs()] == ["demo"]
    now += connected.ROWS_SECONDS
    with django_assert_num_queries(3):
        assert [spec.name for spec in connected.specs()] == ["new"]
    StoredBackend.objects.update(is_enabled=False)
    now += connected.ROWS_SECONDS
    assert [spec.name for spec in connected.specs()] == ["demo"], "a change that no save announced counts too"


# Who may use which


def test_a_back_end_without_groups_is_for_everybody_and_one_with_groups_for_their_members(
    configure: Configure, ada: User, bela: User
) -> None:
    configure(FOR_READERS)
    ada.groups.add(Group.objects.create(name="readers"))
    assert [choice.value for choice in model_choice.choices_for(ada)] == ["small", "large"]
    assert [choice.value for choice in model_choice.choices_for(bela)] == ["small"]
    assert model_choice.choices_for(None) == ()
    root = User.objects.create_superuser("root")
    assert [choice.value for choice in model_choice.choices_for(root)] == ["small", "large"]
    bela.is_active = False
    assert model_choice.choices_for(bela) == ()


def test_each_model_of_a_list_is_a_choice(configure: Configure, ada: User) -> None:
    configure(TWO.format(small="http://127.0.0.1:9", large="http://127.0.0.1:9"))
    choices = model_choice.choices_for(ada)
    assert [(choice.value, choice.label) for choice in choices] == [
        ("small", "Small one"),
        ("large/l", "l"),
        ("large/xl", "xl"),
    ]
    assert "127.0.0.1" not in repr(choices)
    assert [choice.exact for choice in choices] == ["small/s", "large/l", "large/xl"], "pages name the model"


@pytest.mark.parametrize(
    ("stored", "last_model", "found"),
    [
        ("large/xl", "", "large/xl"),
        ("large/xl", "l", "large/xl"),
        ("small/s", "", "small/s"),
        ("small", "", "small/s"),
        ("small", "an alias of s", "small/s"),
        ("large", "", "large/l"),
        ("large", "xl", "large/xl"),
        ("large", "which it had before", None),
        ("large/gone", "", None),
        ("small/gone", "", None),
        ("gone", "", None),
        ("gone/l", "l", None),
        ("unlisted/m", "", "unlisted/m"),
        ("unlisted", "m", "unlisted"),
        ("tour", "", "tour"),
        ("tour/m", "", None),
        ("", "l", None),
    ],
)
def test_a_stored_choice_means_the_same_model_or_none(
    stored: str, last_model: str, found: str | None, configure: Configure, ada: User
) -> None:
    more = '[[backend]]\nname="unlisted"\nurl="http://127.0.0.1:9"\n[[backend]]\nname="tour"\nkind="demo"\n'
    configure(TWO.format(small="http://127.0.0.1:9", large="http://127.0.0.1:9") + more)
    meant = model_choice.current(model_choice.choices_for(ada), stored, last_model)
    assert (meant.exact if meant else None) == found
    assert found is None or model_choice.validated(ada, found) == found, "what a page names can be asked"


@pytest.mark.parametrize(
    ("label", "models", "shown"),
    [
        ("", '"l", "xl"', ["l", "xl"]),
        ("", '"l"', ["l"]),
        ("", "", ["large"]),
        ("Large", '"l"', ["Large"]),
        ("Large", '"l", "xl"', ["l", "xl"]),
    ],
)
def test_the_only_model_server_is_not_named_beside_its_models(
    label: str, models: str, shown: list[str], configure: Configure, ada: User
) -> None:
    configure(f'[[backend]]\nname="large"\nlabel="{label}"\nkind="chat"\nurl="http://127.0.0.1:9"\nmodels=[{models}]\n')
    assert [choice.label for choice in model_choice.choices_for(ada)] == shown


def test_a_question_that_names_no_model_goes_to_the_default_or_nowhere(configure: Configure, ada: User, bela: User) -> None:
    configure('[[backend]]\nname="first"\nurl="http://a"\ngroups=["readers"]\n[[backend]]\nname="second"\nurl="http://b"\n')
    ada.groups.add(Group.objects.create(name="readers"))
    assert begin(ada, ask()).choice == "first"
    with pytest.raises(AskRefusedError):
        begin(bela, ask())
    assert '<option value="second" data-effort="medium" selected>' in collapsed(signed_in(bela).get("/").content.decode()), (
        "but a page names one that may be asked"
    )
    bela.choice = "second"
    bela.save()
    assert begin(bela, ask()).choice == "second", "the person's own default"


@pytest.mark.parametrize("choice", ["large", "large/x", "gone", "gone/x", "/", "/x", " small", "small ", "small/ ", "SMALL", "x" * 5000])
def test_e_x_no_such_model_not_there_and_not_yours_look_the_same(choice: str, configure: Configure, ada: User) -> None:
    configure(FOR_READERS)
    with pytest.raises(AskRefusedError) as caught:
        store(ada, ask(choice=choice), "nobody")
    assert caught.value.code is ProductCode.NO_SUCH_MODEL and "available to you" in caught.value.code.sentence
    assert not Conversation.objects.exists() and not Message.objects.exists(), "nothing is stored"


def test_an_allowed_choice_is_stored_by_name(configure: Configure, ada: User) -> None:
    configure(FOR_READERS)
    turn = begin(ada, ask(choice="small"))
    assert (turn.choice, turn.conversation.choice) == ("small", "small")
    turn = begin(ada, ask())
    assert (turn.choice, turn.conversation.choice) == ("small", "small"), "the default of the moment, and the conversation stays with it"


def test_a_revoked_permission_takes_effect_with_the_next_question(configure: Configure, ada: User) -> None:
    configure(FOR_READERS)
    readers = Group.objects.create(name="readers")
    ada.groups.add(readers)
    turn = begin(ada, ask(choice="large"))
    again = {"conversation": str(turn.conversation_id), "question": str(turn.question_id)}
    assert begin(ada, ask(AskKind.REGENERATE, **again)).choice == "large", "the premise: the conversation remembers it"
    ada.groups.remove(readers)
    wants = (
        ask(conversation=again["conversation"]),
        ask(AskKind.EDIT, **again),
        ask(AskKind.REGENERATE, **again),
        ask(AskKind.REGENERATE, choice="", **again),
        ask(AskKind.REGENERATE, choice="large", **again),
    )
    for question in wants:
        with pytest.raises(AskRefusedError) as caught:
            store(ada, question, "nobody")
        assert caught.value.code is ProductCode.NO_SUCH_MODEL
    assert begin(ada, ask(AskKind.REGENERATE, choice="small", **again)).choice == "small", "another is asked once it is named"


# What a page shows


def test_the_page_offers_what_the_person_may_use_and_no_address(configure: Configure, ada: User, bela: User) -> None:
    configure(FOR_READERS)
    ada.groups.add(Group.objects.create(name="readers"))
    page = collapsed(signed_in(ada).get("/").content.decode())
    assert '<option value="small" data-effort="medium" selected>small</option>' in page and '<option value="large"' in page
    assert "127.0.0.1:9" not in page
    assert 'name="choice"' not in signed_in(bela).get("/").content.decode(), "a single option is no choice"


def test_the_page_opens_with_the_conversation_s_own_choice(configure: Configure, ada: User, conversation: Conversation) -> None:
    configure(TWO.format(small="http://127.0.0.1:9", large="http://127.0.0.1:9"))
    Conversation.objects.update(choice="large")
    page = collapsed(signed_in(ada).get(f"/c/{conversation.pk}/").content.decode())
    assert '<option value="large/l" data-effort="medium" selected>' in page and "is not offered now" not in page
    Conversation.objects.update(choice="vanished/<i>m</i>")
    page = collapsed(signed_in(ada).get(f"/c/{conversation.pk}/").content.decode())
    says = "<bdi>&lt;i&gt;m&lt;/i&gt;</bdi>is not offered now; the next answer comes from<strong><bdi>Small one</bdi></strong>."
    assert says in page
    assert '<option value="small/s" data-effort="medium" selected>' in page


def test_a_new_conversation_begins_with_the_effort_of_its_back_end(configure: Configure, ada: User) -> None:
    configure('[[backend]]\nname="a"\nkind="demo"\neffort="high"\n')
    assert '<option value="high" selected>' in signed_in(ada).get("/").content.decode()


def test_the_demo_among_other_back_ends_is_labelled(configure: Configure, ada: User) -> None:
    both = '[[backend]]\nname="a"\nurl="http://a"\n[[backend]]\nname="tour"\nlabel="Guided tour"\nkind="demo"\n'
    configure(both)
    turn = begin(ada, ask(choice="tour"))
    other = begin(ada, ask(choice="a"))
    Turn.objects.filter(pk=turn.pk).update(backend="Demo", model="demo")
    Turn.objects.filter(pk=other.pk).update(backend="vLLM at 127.0.0.1", model="m")
    client = signed_in(ada)
    assert "no model is connected" not in client.get("/").content.decode()
    shown = client.get(f"/c/{turn.conversation_id}/turns/{turn.pk}/").content.decode()
    assert "Scripted, no model" in shown and "Guided tour" in shown
    shown = client.get(f"/c/{other.conversation_id}/turns/{other.pk}/").content.decode()
    (row,) = rows_of(shown)
    assert row["facts"] == ["a", "m"] and "Scripted" not in shown and "127.0.0.1" not in shown


def test_one_back_end_needs_no_label_under_its_answers(configure: Configure, ada: User) -> None:
    configure(backend_url="http://127.0.0.1:9")
    turn = begin(ada, ask())
    answer = shown_exchange(turn.conversation, turn).answer
    assert answer is not None and (turn.choice, answer.label) == ("main", "")


# What a turn samples


async def test_one_conversation_uses_two_servers(configure: Configure, closing: None, ada: User) -> None:
    async with stub.running(constant_answer("I am small.")) as small, stub.running(constant_answer("I am large.")) as large:
        configure(TWO.format(small=small.url, large=large.url))
        first = await run(ada, ask())
        second = await run(ada, ask(conversation=str(first.conversation_id), choice="large/xl"))
        third = await run(
            ada, ask(AskKind.REGENERATE, conversation=str(first.conversation_id), question=str(second.question_id), choice="large")
        )
        assert ["I am small." in text for text in await answers(first)] == [True]
        assert ["I am large." in text for text in await answers(second)] == [True]
        assert (small.posted["model"], [request.body["model"] for request in large.requests if request.body]) == ("s", ["xl", "l"])
        contents = [message.get("content") for message in large.posted["messages"]]
        assert "I am small." in contents and "THOUGHT" not in repr(contents), "one history, without spent reasoning"
    assert [turn.choice for turn in (first, second, third)] == ["small", "large/xl", "large"]
    assert (third.conversation.choice, third.state) == ("large", "completed")


async def test_the_length_limit_of_a_back_end_comes_before_the_general_one(configure: Configure, closing: None, ada: User) -> None:
    async with stub.running(constant_answer("Hello.")) as server:
        for own, most in (("max_answer_tokens=77", 77), ("", 55)):
            configure(f'[[backend]]\nname="a"\nurl="{server.url}"\nmodels=["m"]\n{own}\n', max_answer_tokens=55)
            await run(ada, ask())
            assert server.posted["max_tokens"] == most


async def test_a_back_end_that_is_removed_meanwhile_ends_the_turn_with_a_message(configure: Configure, closing: None, ada: User) -> None:
    configure(FOR_READERS)
    asked = await stored_here(ada, choice="small")
    configure('[[backend]]\nname="other"\nurl="http://127.0.0.1:9"\n')
    await set_lease(asked, 9)
    await reap()
    await running.settle()
    turn = await Turn.objects.aget(pk=asked.pk)
    assert (turn.state, turn.error_code) == ("failed", "E-X-NO-SUCH-MODEL")


async def test_an_edited_address_gets_neither_the_key_nor_a_question(
    configure: Configure, closing: None, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stub.running(constant_answer("Good.")) as good, stub.running(constant_answer("Evil.")) as evil:
        monkeypatch.setenv("CHATUI_KEY_ACME", f"{good.url} sk-7261")
        row = await StoredBackend.objects.acreate(name="a", url=good.url, key_name="ACME", model_names="m")
        assert (await run(ada, ask())).state == "completed"
        assert good.requests[-1].headers["authorization"] == "Bearer sk-7261", "the premise: the key is used where it belongs"
        row.url = evil.url
        await row.asave()
        begin_anew(connected)
        turn = await run(ada, ask())
        assert (turn.state, turn.error_code) == ("failed", "E-X-BACKEND-SETUP")
        assert "bound to another origin" in turn.error_detail and "sk-7261" not in turn.error_detail
        assert evil.requests == []


# Connections


async def test_a_back_end_is_created_once_and_again_when_its_spec_changes(configure: Configure, closing: None) -> None:
    configure(TWO.format(small="http://127.0.0.1:9", large="http://127.0.0.1:9"))
    first = connected.backend("small")
    assert connected.backend() is first and connected.backend("small/s") is first and connected.backend("large") is not first
    configure(TWO.format(small="http://127.0.0.1:8", large="http://127.0.0.1:9"))
    assert connected.backend("small") is not first


async def test_a_key_that_was_replaced_is_used_at_once(configure: Configure, closing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stub.running(constant_answer("Hello.")) as server:
        configure(f'[[backend]]\nname="a"\nurl="{server.url}"\nmodels=["m"]\nkey_env="THE_KEY"\n')
        for key in ("one", "two"):
            monkeypatch.setenv("THE_KEY", key)
            await outcome(connected.backend(), sample_request("Hello!"))
            assert server.requests[-1].headers["authorization"] == f"Bearer {key}"
        monkeypatch.delenv("THE_KEY")
        with pytest.raises(BackendError, match="E-X-BACKEND"):
            connected.backend()
        assert len([request for request in server.requests if request.method == "POST"]) == 2


async def test_a_removed_back_end_is_closed_after_its_running_answers(configure: Configure, closing: None) -> None:
    may_end = asyncio.Event()

    async def slowly(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD + stub.chunk(content="Half "))
        await writer.drain()
        await may_end.wait()
        writer.write(stub.chunk(content="and half.") + stub.chunk(finish="stop", content="") + stub.DONE)
        await writer.drain()

    async with stub.running(slowly) as server:
        configure(TWO.format(small=server.url, large="http://127.0.0.1:9"))
        backend: Any = connected.backend("small")
        sampling = asyncio.create_task(outcome(backend, sample_request("Hello!")))
        while not any(request.method == "POST" for request in server.requests):
            await asyncio.sleep(0.01)
        configure()
        connected.backend()
        await until_closed()
        upstream = backend._chosen[1]._upstream
        assert upstream._open_requests == 1, "it writes an answer"
        may_end.set()
        assert (await sampling).visible == "Half and half."
        assert not upstream._open_requests and not upstream._connections._session


async def test_a_closed_back_end_can_be_used_once_more_and_leaves_nothing_open(configure: Configure, closing: None) -> None:
    """A runner may have got it a moment before it was given up."""
    async with stub.running(constant_answer("Hello.")) as server:
        configure(TWO.format(small=server.url, large="http://127.0.0.1:9"))
        backend: Any = connected.backend("small")
        configure()
        connected.backend()
        await until_closed()
        assert backend._is_closed, "the premise"
        assert (await outcome(backend, sample_request("Hello!"))).visible == "Hello."
        assert not backend._chosen[1]._upstream._connections._session
