"""A conversation stays with its model server, whatever an administrator changes: the next question reaches the same server, or the person
was told first which other one answers. Each change is made in Administration or by the operator, and real servers count what they get."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from django.test import Client

from chatui.codes import ProductCode
from chatui.model_servers import choice as model_choice
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.model_servers import StoredBackend
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from chatui.turns.asks import AskKind, AskRefusedError
from tests.chatui.conftest import make_person, signed_in
from tests.support import stub
from tests.support.html_text import collapsed
from tests.support.new_process import begin_anew
from tests.support.several import Configure, constant_answer
from tests.support.several import closing as closing
from tests.support.several import configure as configure
from tests.support.turns import ask, begin

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class House:
    """``own`` answered the conversation so far, with the model server "mine"; ``other`` is the address of every other model server."""

    own: stub.Stub
    other: stub.Stub
    staff: Client
    person: User
    configure: Configure

    def connect(self, name: str, url: str = "", **fields: Any) -> None:
        """As an administrator does: the fields that nobody fills in are as the form proposes them."""
        form = self.staff.get("/manage/servers/").context["form"]
        proposed = {name: form[name].value() for name in form.fields}
        filled = {key: value for key, value in proposed.items() if value not in (None, False, "", [])}
        entered = {"name": name, "url": url or self.other.url, "is_enabled": "on", "untested": "on", "kind": "chat", "model_names": "one"}
        self._save("/manage/servers/", filled | entered | fields)

    def change(self, server: str, /, **fields: Any) -> None:
        address = f"/manage/servers/{server}/settings/"
        form = self.staff.get(address).context["form"]
        before = {key: form[key].value() for key in form.fields}
        filled = {key: value for key, value in before.items() if value not in (None, False, "", [])}
        self._save(address, filled | {"untested": "on"} | fields)

    def _save(self, address: str, fields: dict[str, Any]) -> None:
        response = self.staff.post(address, {"save": "1"} | fields)
        assert response.status_code == 302, response.context["form"].errors

    def act(self, what: str, name: str = "mine") -> None:
        row = StoredBackend.objects.get(name=name)
        fields = {"seen": row.changed_at.isoformat(), "untested": "on"}
        assert self.staff.post(f"/manage/servers/{name}/{what}/", fields).status_code == 302

    def limit(self, name: str) -> None:
        group, _made = Group.objects.get_or_create(name="few")
        self.change(name, groups=[str(group.pk)])

    def set_file(self) -> None:
        self.configure(f'[[backend]]\nname="Aa"\nurl="{self.other.url}"\nkind="chat"\nmodels=["one"]\n')

    def set_variables(self) -> None:
        self.configure(backend_url=self.other.url, backend_kind="chat", backend_model="one")


Change = Callable[[House], None]


def both(*steps: Change) -> Change:
    def make(house: House) -> None:
        for step in steps:
            step(house)

    return make


def beside(step: Change) -> Change:
    """The change, where there is another model server with the same model."""
    return both(lambda house: house.connect("Other"), step)


STAYS: dict[str, Change] = {
    "nothing": lambda house: None,
    "connect one whose name sorts before": lambda house: house.connect("aaa"),
    "connect one whose name sorts before, with a capital": lambda house: house.connect("Zzz"),
    "connect one whose name sorts after": lambda house: house.connect("zzz"),
    "connect one at the first position": lambda house: house.connect("aaa", position="0"),
    "connect one that is the default": lambda house: house.connect("aaa", is_default="on"),
    "connect one with more models": lambda house: house.connect("aaa", model_names="zero\none\ntwo"),
    "set the variables": House.set_variables,
    "set a file": House.set_file,
    "pause another": beside(lambda house: house.act("pause", "Other")),
    "remove another": beside(lambda house: house.act("remove", "Other")),
    "resume after a pause": beside(both(lambda house: house.act("pause"), lambda house: house.act("offer"))),
    "move it to the end": beside(lambda house: house.change("mine", position="99")),
    "move another to the beginning": beside(lambda house: house.change("Other", position="0")),
    "make another the default": beside(lambda house: house.change("Other", is_default="on")),
    "have no default": beside(lambda house: house.change("mine", is_default="")),
    "limit another to a group": beside(lambda house: house.limit("Other")),
    "give it another display name": beside(lambda house: house.change("mine", label="Ours")),
    "add a model before": beside(lambda house: house.change("mine", model_names="zero\none")),
    "add a model behind": beside(lambda house: house.change("mine", model_names="one\ntwo")),
    "no list of models any more": beside(lambda house: house.change("mine", model_names="")),
}
GOES: dict[str, Change] = {
    "pause": beside(lambda house: house.act("pause")),
    "remove": beside(lambda house: house.act("remove")),
    "remove the only one": lambda house: house.act("remove"),
    "rename": beside(lambda house: house.change("mine", name="yours")),
    "rename, and give the name's place to another": both(
        lambda house: house.connect("mine-2"), lambda house: house.change("mine", name="yours")
    ),
    "limit it to a group": beside(lambda house: house.limit("mine")),
    "replace its model": beside(lambda house: house.change("mine", model_names="two")),
    "replace its models": beside(lambda house: house.change("mine", model_names="two\nthree")),
    "remove it, and set a file": both(House.set_file, lambda house: house.act("remove")),
    "remove it, and set the variables": both(House.set_variables, lambda house: house.act("remove")),
}


@dataclass(frozen=True)
class Shown:
    """What a page says before anything is sent: the choice that it sends, the name of that model if it shows one, and the notice."""

    choice: str
    name: str
    notice: str


def shown(person: User, conversation: object = None) -> Shown:
    page = collapsed(signed_in(person).get(f"/c/{conversation}/" if conversation else "/").content.decode())
    box = re.search(r'<chat-composer [^>]*?data-choice="([^"]*)"', page)
    option = re.search(r'<option value="([^"]*)" data-effort="[^"]*" (?:dir="rtl" )?selected>([^<]*)<', page)
    notice = re.search(r'<p id="composer-gone"[^>]*>(.*?)</p>', page)
    assert not (box and option) or box[1] == option[1], "the box sends what it shows"
    words = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", notice[1])).strip() if notice else ""
    return Shown(unescape(box[1]) if box else "", unescape(option[2]) if option else "", unescape(words))


async def asked(person: User, **fields: Any) -> str:
    """Ask, and wait for the end of the answer: the choice of the turn; the code if the question was refused."""
    kind = fields.pop("kind", AskKind.SEND)
    text = "" if kind is AskKind.REGENERATE else "Who are you?"
    try:
        started = await begin(person, ask(kind, text, **fields))
    except AskRefusedError as refused:
        return refused.code.value
    await running.settle()
    return started.turn.choice


def posts(server: stub.Stub) -> int:
    return len([request for request in server.requests if request.method == "POST"])


@database_sync_to_async
def staff() -> Client:
    verbs = [f"{verb}_storedbackend" for verb in ("add", "change", "delete", "view")]
    return signed_in(make_person("omar", *verbs, "view_hidden_channels", staff=True))


@pytest.mark.parametrize("what", [*STAYS, *GOES])
async def test_a_question_reaches_the_same_server_or_the_person_was_told_first(
    what: str, configure: Configure, closing: None, ada: User
) -> None:
    async with stub.running(constant_answer("Mine.")) as own, stub.running(constant_answer("Other.")) as other:
        house = House(own, other, await staff(), ada, configure)
        await asyncio.to_thread(house.connect, "mine", own.url)
        before = await asyncio.to_thread(shown, ada)
        assert await asked(ada, choice=before.choice) == before.choice == "mine/one"
        row = await Conversation.objects.aget()
        first = await Turn.objects.aget()
        assert (posts(own), posts(other)) == (1, 0), "the premise"

        await asyncio.to_thread((STAYS | GOES)[what], house)
        begin_anew(connected)
        after = await asyncio.to_thread(shown, ada, row.pk)
        here: dict[str, Any] = {"conversation": row.pk}
        of_question: dict[str, Any] = here | {"question": first.question_id}
        # A page that was loaded before, its queued and unsent messages, and one that names nothing.
        ways = [{"choice": choice} | here for choice in (before.choice, None, "")]
        ways += [{"choice": before.choice, "kind": kind} | of_question for kind in (AskKind.EDIT, AskKind.REGENERATE)]
        results = [await asked(ada, **way) for way in ways]
        assert posts(other) == 0, "nothing goes to another server because somebody asks as before"
        if what in STAYS:
            assert results == [before.choice] * len(ways) and posts(own) == 1 + len(ways)
            assert (after.choice, after.notice) == (before.choice, "")
        else:
            assert results == [ProductCode.NO_SUCH_MODEL.value] * len(ways) and posts(own) == 1
            gone, answers = after.notice.removesuffix(" .").split(" is not offered now; the next answer comes from ")
            assert gone in ("one", "mine · one") and gone != answers, "the page says which"
            assert after.name and answers in (after.name, after.choice.replace("/", " · ")), "and what answers, in a name that differs"
            assert after.choice != before.choice
            assert await asked(ada, choice=after.choice, **here) == after.choice, "and only then it is asked"
            again = await asyncio.to_thread(shown, ada, row.pk)
            assert (again.choice, again.notice) == (after.choice, ""), "the conversation stays there"


async def test_a_conversation_without_a_choice_of_its_own_stays_with_the_server_of_its_last_turn(
    configure: Configure, closing: None, ada: User
) -> None:
    """As an earlier version stored them."""
    async with stub.running(constant_answer("Mine.")) as own, stub.running(constant_answer("Other.")) as other:
        house = House(own, other, await staff(), ada, configure)
        await asyncio.to_thread(house.connect, "mine", own.url)
        await asked(ada, choice="mine")
        await Conversation.objects.aupdate(choice="")
        await asyncio.to_thread(house.connect, "aaa", is_default="on")
        row = await Conversation.objects.aget()
        after = await asyncio.to_thread(shown, ada, row.pk)
        assert (after.choice, after.notice) == ("mine/one", "")
        assert (await asyncio.to_thread(shown, ada)).choice == "aaa/one", "the premise: a new conversation begins elsewhere"
        assert await asked(ada, conversation=row.pk) == "mine"
        assert (posts(own), posts(other)) == (2, 0)


@pytest.mark.parametrize("what", GOES)
async def test_a_persons_own_default_stays_or_the_first_page_says_that_it_is_gone(
    what: str, configure: Configure, closing: None, ada: User
) -> None:
    async with stub.running(constant_answer("Mine.")) as own, stub.running(constant_answer("Other.")) as other:
        house = House(own, other, await staff(), ada, configure)
        await asyncio.to_thread(house.connect, "mine", own.url)
        ada.choice = "mine/one"
        await ada.asave()
        await asyncio.to_thread(GOES[what], house)
        begin_anew(connected)
        after = await asyncio.to_thread(shown, ada)
        assert "one is not offered now" in after.notice and after.choice != "mine/one"
        assert await asked(ada) == ProductCode.NO_SUCH_MODEL.value
        page = await asyncio.to_thread(lambda: signed_in(ada).get("/settings/"))
        form = page.context["form"]
        assert form["choice"].value() == "mine/one" and "one (not offered now)" in page.content.decode()
        values = {name: form[name].value() for name in form.fields} | {"name": "Ada L"}
        await asyncio.to_thread(lambda: signed_in(ada).post("/settings/", values))
        await ada.arefresh_from_db()
        assert (ada.first_name, ada.choice) == ("Ada L", "mine/one"), "other settings are saved, and this one is kept"
        assert (posts(own), posts(other)) == (0, 0)


def test_the_default_is_chosen_and_no_order_decides(configure: Configure, ada: User) -> None:
    verbs = [f"{verb}_storedbackend" for verb in ("add", "change", "delete", "view")]
    client = signed_in(make_person("omar", *verbs, "view_hidden_channels", staff=True))
    house = House(stub.Stub(lambda writer: asyncio.sleep(0)), stub.Stub(lambda writer: asyncio.sleep(0)), client, ada, configure)

    def state() -> list[tuple[str, int, bool]]:
        begin_anew(connected)
        return list(StoredBackend.objects.values_list("name", "position", "is_default"))

    house.connect("middle", "http://127.0.0.1:9")
    assert state() == [("middle", 0, True)], "the first one is"
    house.connect("after", "http://127.0.0.1:9")
    house.connect("Before", "http://127.0.0.1:9")
    assert state() == [("middle", 0, True), ("after", 1, False), ("Before", 2, False)], "a new one comes last, and is not"
    assert shown(ada).choice == "middle/one"
    house.change("after", is_default="on")
    assert [name for name, _position, is_default in state() if is_default] == ["after"], "there is one at most"
    assert shown(ada).choice == "after/one"
    page = collapsed(client.get("/manage/servers/").content.decode())
    assert page.count('<span class="manage-badge">Default for new conversations') == 1
    house.act("pause", "after")
    begin_anew(connected)
    assert connected.default() is None, "no other takes its place"
    with pytest.raises(model_choice.NoSuchModelError):
        model_choice.unnamed(ada, None)
    assert shown(ada) == Shown("middle/one", "middle · one", ""), "a page names what it begins with"
    page = collapsed(client.get("/manage/servers/").content.decode())
    assert "No model server that is offered is the default for new conversations." in page
    house.configure(backend_url="http://127.0.0.1:9", backend_model="m")
    assert connected.default() is None
    house.change("after", is_default="")
    begin_anew(connected)
    default = connected.default()
    assert default is not None and default.name == "main", "nobody chose one, so it is the operator's own"
