"""The steps of a canary run in order: ask, listen, crawl, share, search. The Watch checks everything that arrives.

The owner's questions go to the scripted servers over one open tab, and pages are checked while an answer streams.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import uuid4

from django.urls import reverse

from chatui.codes import ProductCode
from chatui.models.assistants import AssistantVersion
from chatui.models.collections import Collection
from chatui.models.saved_prompts import SavedPrompt
from chatui.models.shares import ShareLink
from chatui.models.user import User
from chatui.operations.canary import fixtures
from chatui.operations.canary.browser import Deployment, NoEventError, SimulatedBrowser, Tab
from chatui.operations.canary.crawl import Crawl, Values, known_of
from chatui.operations.canary.fixtures import Guests
from chatui.operations.canary.peer import CanaryServer
from chatui.operations.canary.programs import ProgramVisitor
from chatui.operations.canary.scripts import PAUSE, Script
from chatui.operations.canary.watch import SHARED, SOCKET, Canary, CanaryError, look_at_rows
from chatui.permissions import attempts
from renderer.errors import Code, ErrorCode

ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancel")
_OFFERED_SECONDS = 20.0
"""How long it may take until every process of the deployment offers a model server that was just added."""
_STEP_SECONDS = 60.0

_TOKEN = re.compile(r'(name="csrf-?(?:middleware)?token" (?:content|value)=")[^"]+')
_SHARED = re.compile(r"/s/([\w-]+)/")
_GONE_ON = ("completed", "incomplete", "failed")
_HOLDER = "holder of a share link"
_ANSWERS_OF_A_TALK = 40
_ANSWERS_OF_A_TAB = 7
"""A new tab may send that many commands at once."""


@dataclass(frozen=True, slots=True)
class Planted:
    """What was planted: the scripts by wire format, a transcript to import, a PNG with a hidden marker beside its pixels, the visible
    markers, and the word next to the hidden ones."""

    scripts: Mapping[str, Sequence[Script]]
    transcript: str
    picture: bytes
    visible: Canary
    bait: str


class Journey:
    """Call ``go`` once. ``problems``: receives a sentence for each failed step, because of which finding nothing would prove nothing."""

    def __init__(self, guests: Guests, planted: Planted, deployment: Deployment, peer: CanaryServer, problems: list[str]) -> None:
        self._guests = guests
        self._planted = planted
        self._deployment = deployment
        self._peer = peer
        self._watch = deployment.watch
        self._refused: Counter[str] = Counter()
        self._many: set[str] = set()
        self._problems = problems

    def go(self) -> None:
        """Run all steps. Raises CanaryError if the run cannot continue."""
        with contextlib.ExitStack() as stack:
            self._owner, self._stranger, self._nobody, self._holder = (
                stack.enter_context(SimulatedBrowser(viewer, self._deployment)) for viewer in ("owner", "stranger", "anonymous", _HOLDER)
            )
            self._meanwhile = [Crawl(self._owner), Crawl(self._stranger)]
            self._sign_in()
            rest = (
                self._ask_for_hidden,
                self._strangers_sockets,
                self._import,
                self._look_at_rows,
                self._crawl,
                self._search,
                self._programs,
                self._check_recorded,
            )
            # A part that fails must not prevent others from finding leaks.
            talks = [partial(self._talk, *one) for one in self._planted.scripts.items()]
            parts: list[Callable[[], None]] = [*talks, *rest]
            for part in parts:
                try:
                    part()
                except CanaryError as error:
                    self._problems.append(str(error))

    def _sign_in(self) -> None:
        address = reverse("sign_in")
        for browser, person in ((self._owner, self._guests.owner), (self._stranger, self._guests.stranger)):
            browser.sign_in(address, person.get_username(), self._guests.password)
        for browser in (self._nobody, self._holder):
            browser.get(address, address)  # for the CSRF token

    def _talk(self, kind: str, scripts: Sequence[Script]) -> None:
        """Every answer of a server, then changes of the first question, and the rest of an answer that was cut short."""
        asked: dict[str, Mapping[str, str]] = {}
        requested = [script for script in scripts if not script.is_aside]
        for at in range(0, len(requested), _ANSWERS_OF_A_TAB):
            with Tab(self._owner) as tab:
                for number, script in enumerate(requested[at : at + _ANSWERS_OF_A_TAB], at):
                    conversation = asked[requested[number - 1].name]["conversation"] if number % _ANSWERS_OF_A_TALK else None
                    asked[script.name] = accepted = self._ask(tab, kind, script, conversation=conversation)
                    if kind.endswith("-shapes"):
                        self._many.add(accepted["conversation"])
        if cut := next((script for script in scripts if script.ends == ("incomplete",)), None):
            first, question = scripts[0], asked[scripts[0].name]["question"]
            with Tab(self._owner) as tab:
                of = {"conversation": asked[cut.name]["conversation"]}
                self._ask(tab, kind, replace(cut, shows=(), ends=_GONE_ON), "continue", turn=asked[cut.name]["turn"], **of)
                self._ask(tab, kind, first, "edit", question=question, **of)
                self._ask(tab, kind, first, "regenerate", question=question, **of)

    def _ask(self, tab: Tab, kind: str, script: Script, how: str = "send", **fields: str | None) -> Mapping[str, str]:
        """Ask for one scripted answer and listen to its end; returns the accepting event, with the ids of question and turn.

        ``how`` and ``fields``: the socket command and its other fields.
        """
        if how in ("send", "edit"):
            fields["text"] = f"What does the canary hide in {script.name}?"
        playing = self._peer.playing(kind, script.name)
        playing.asked.clear()
        playing.may_begin.clear()
        accepted = self._accepted(tab, how, fixtures.choice(self._guests.run, kind, script.name), fields)
        # The server waits for a listener, so that the beginning is received, too.
        tab.say("subscribe", conversation=accepted["conversation"])
        tab.until("chatui:snapshot", "chatui:idle")
        self._wait_until_asked(kind, script.name)
        count_before = len(tab.heard)
        self._watch.allow_until_withdrawn(script.withdrawn)
        playing.may_begin.set()
        self._pause(tab, kind, script, accepted)
        end = tab.until(*ENDS, turn=accepted["turn"])
        self._watch.settle()
        playing.may_continue.release()
        received = "".join(tab.heard[count_before:])
        if end.get("state") not in (script.ends or ("stopped",)):
            self._problems.append(f"{kind} {script.name} ended as {end.get('state')}.")
        if missing := sum(marker not in received for marker in script.shows):
            self._problems.append(f"{kind} {script.name}: {missing} of {len(script.shows)} visible markers did not arrive live.")
        return accepted

    def _accepted(self, tab: Tab, how: str, choice: str, fields: Mapping[str, str | None]) -> Mapping[str, str]:
        until = time.monotonic() + _OFFERED_SECONDS
        while True:
            tab.say(how, choice=choice, client_id=str(uuid4()), effort="low", **fields)
            answer: Mapping[str, str] = tab.until("chatui:accepted", "chatui:refused")
            if answer["type"] == "chatui:accepted":
                return answer
            if answer["code"] != ProductCode.NO_SUCH_MODEL or time.monotonic() > until:
                raise CanaryError(f"The question for {choice} was refused: {answer['code']}.")
            time.sleep(0.5)

    def _wait_until_asked(self, kind: str, name: str) -> None:
        if not self._peer.playing(kind, name).asked.wait(self._deployment.clock.left(_STEP_SECONDS)):
            raise CanaryError(f"The deployment did not ask the canary's server for {kind} {name}. Can it reach the address of --listen?")

    def _pause(self, tab: Tab, kind: str, script: Script, accepted: Mapping[str, str]) -> None:
        playing = self._peer.playing(kind, script.name)
        for _ in range(script.steps.count(PAUSE)):
            if not playing.at_a_pause.acquire(timeout=self._deployment.clock.left(_STEP_SECONDS)):
                raise CanaryError(f"The answer {kind} {script.name} was given up before it was complete.")
            # Other models have been asked about this answer, and what came of it could be shown.
            for aside in script.asides:
                self._wait_until_asked(kind, aside)
            time.sleep(min(script.thinks_seconds, self._deployment.clock.left(_STEP_SECONDS)))
            self._in_the_middle(accepted["conversation"], accepted["turn"])
            if script.ends:
                playing.may_continue.release()
            else:
                tab.say("stop", conversation=accepted["conversation"], turn=accepted["turn"])

    def _in_the_middle(self, conversation: str, turn: str) -> None:
        """While an answer is being written: a reload, a second tab, and a stranger's requests."""
        known = [values for values in self._known() if values["conversation_id"] == conversation]
        now = {"conversation_id": conversation, "turn_id": turn, "message_id": known[0]["message_id"]}
        for crawl in self._meanwhile:
            crawl.pages_of([now])
        with Tab(self._owner) as late:
            late.say("subscribe", conversation=conversation)
            late.until("chatui:snapshot", *ENDS)
            late.say("see", conversation=conversation)

    def _ask_for_hidden(self) -> None:
        """The owner tries to watch the hidden channels of a conversation of theirs."""
        with Tab(self._owner) as tab:
            self._expect_refusal(tab, "owner", "watch", Code.PERM_VISIBILITY, conversation=self._known()[0]["conversation_id"])

    def _strangers_sockets(self) -> None:
        ids = self._known()[0]
        with Tab(self._stranger) as tab:
            for command in ("subscribe", "see", "watch", "stop", "answer_now", "make_way", "send", "edit", "regenerate", "continue"):
                fields = {"conversation": ids["conversation_id"], "turn": ids["turn_id"], "question": ids["message_id"]}
                asked = {"client_id": str(uuid4()), "effort": "low", "text": "What is hidden here?", "is_wanted": True}
                code = Code.PERM_VISIBILITY if command == "watch" else ProductCode.NOT_FOUND
                self._expect_refusal(tab, "stranger", command, code, **fields, **asked)
        with Tab(self._nobody) as tab:
            tab.until("chatui:closing")

    def _expect_refusal(self, tab: Tab, viewer: str, command: str, code: ErrorCode, **fields: object) -> None:
        try:
            answer = tab.answer_to(command, "chatui:accepted", "chatui:idle", "chatui:snapshot", "chatui:debug.snapshot", **fields)
        except NoEventError as error:
            self._problems.append(f"{command}, which was to be refused, was not answered. {error}")
            return
        if answer is None or answer.get("code") != code:
            self._watch.note(f"{command} was not refused", viewer, SOCKET, str(answer["type"]) if answer else "no answer")
        elif code is Code.PERM_VISIBILITY:
            self._refused[viewer] += 1

    def _import(self) -> None:
        """Upload a transcript with hidden frames, as anybody may."""
        address = reverse("import")
        self._owner.get(address, address)
        file = ("canary.ocml", self._planted.transcript.encode(), "text/plain")
        answer = self._owner.post(address, f"POST {address}", {}, {"file": file})
        # A page that lists what does not follow the format, or the conversation itself.
        if not self._guests.owner.conversations.exclude(imported_at=None).exists():
            self._problems.append(f"The transcript could not be imported: the page answered {answer.status_code}.")

    def _share(self) -> Values:
        """Create a share link to the first conversation; returns the known parameters with those of the link. None if sharing is off."""
        known = self._known()
        first = [values for values in known if values["conversation_id"] == known[0]["conversation_id"] and values["is_visible"]]
        ids = first[-1]  # its last message: the snapshot includes all messages above it
        address = reverse("share", args=[ids["conversation_id"]])
        if self._owner.get(address, "share").status_code != 200:
            return {}
        made = self._owner.post(address, "POST share", {"leaf": ids["message_id"], "days": "1"})
        target = made.headers.get("location", "")
        token = _SHARED.search(self._owner.get(target, "share").text) if target.startswith(address) else None
        link = ShareLink.objects.filter(created_by=self._guests.owner).values_list("pk", flat=True).first()
        if token is None or link is None:
            self._problems.append("No share link could be made.")
            return {}
        return {"token": token[1], "link_id": str(link)}

    def _folder(self) -> Values:
        """Move the first conversation into a folder with instructions, which nobody else may see; returns the folder's parameters."""
        address = reverse("folder_new")
        self._owner.get(address, address)
        words = self._planted.visible.plant("instructions of a folder")
        fields = {"name": "A canary's folder", "instructions": words, "conversation": self._known()[0]["conversation_id"]}
        if self._owner.post(address, f"POST {address}", fields).status_code != 302:
            self._problems.append("No folder could be made.")
        key = self._guests.owner.folders.values_list("pk", flat=True).first()
        return {"folder_id": str(key)} if key else {}

    def _assistant(self) -> Values:
        """Let the first conversation have an assistant, whose instructions only its page shows, with a picture, of whose file only the
        pixels are kept; returns the assistant's parameters."""
        address = reverse("assistant_new")
        self._owner.get(address, address)
        words = self._planted.visible.plant("instructions of an assistant")
        form, picture = {"name": "A canary's assistant", "instructions": words}, ("canary.png", self._planted.picture, "image/png")
        if self._owner.post(address, f"POST {address}", form, {"picture": picture}).status_code != 302:
            self._problems.append("No assistant could be made.")
        version = AssistantVersion.objects.filter(assistant__owner=self._guests.owner).first()
        if version is None:
            return {}
        if version.picture_id is None:
            self._problems.append("The picture of the assistant was not kept.")
        begun = self._guests.owner.conversations.filter(pk=self._known()[0]["conversation_id"])
        begun.update(began_with_assistant=True, assistant_version=version)
        return {"assistant_id": str(version.assistant_id), "picture_id": str(version.picture_id)}

    def _prompt(self) -> Values:
        """Let the owner save a prompt; returns its parameter."""
        address = reverse("prompt_new")
        self._owner.get(address, address)
        words = self._planted.visible.plant("text of a saved prompt")
        if self._owner.post(address, f"POST {address}", {"name": "A canary's prompt", "text": words}).status_code != 302:
            self._problems.append("No prompt could be saved.")
        key = SavedPrompt.objects.filter(owner=self._guests.owner).values_list("pk", flat=True).first()
        return {"prompt_id": str(key)} if key else {}

    def _look_at_rows(self) -> None:
        """Check the stored rows: indexed words, titles, visible messages, the audit log."""
        self._watch.seen.clear()
        look_at_rows(self._watch, self._guests.owner)
        if not self._watch.seen["owner"]:
            self._problems.append("No visible marker is kept in the database that this command sees.")

    def _collection(self) -> Values:
        """Let the owner make a collection; returns its parameter."""
        address = reverse("collection_new")
        self._owner.get(address, address)
        if self._owner.post(address, f"POST {address}", {"name": "A canary's collection"}).status_code != 302:
            self._problems.append("No collection could be made.")
        row = Collection.objects.filter(owner=self._guests.owner).first()
        return {"collection_id": str(row.pk)} if row else {}

    def _crawl(self) -> None:
        shared, own = self._share(), {**self._folder(), **self._assistant(), **self._prompt(), **self._collection()}
        self._watch.seen.clear()
        known = [{**values, **shared, **own} for values in self._known()]
        few = [known[0], next(values for values in known if values["is_visible"])]
        messages = sum(row.messages.count() for row in self._guests.owner.conversations.all())
        owner, stranger = Crawl(self._owner, follows_static=True, messages=messages), Crawl(self._stranger)
        owner.everything(known)
        stranger.everything(few)
        Crawl(self._nobody, signed_in=False).everything(few)
        if missing := set(self._planted.visible.planted.values()) - self._watch.seen["owner"]:
            self._problems.append(f"{len(missing)} visible markers were on no page of the owner's: {', '.join(sorted(missing)[:3])}.")
        if shared:
            self._follow_share_link(shared["token"])
        owner.last(known[0])
        stranger.last(few[0])
        if shared and self._holder.get(reverse("shared", args=[shared["token"]]), f"{SHARED}…/").status_code == 200:
            self._watch.note("a share link that was taken back still opens", _HOLDER, f"{SHARED}…/")
        self._refused["owner"] += owner.refused
        self._refused["stranger"] += stranger.refused

    def _follow_share_link(self, token: str) -> None:
        """Open the link without an account, and as a signed-in stranger, because operators may require an account."""
        path = reverse("shared", args=[token])
        for browser in (self._holder, self._stranger):
            Crawl(browser).page(path, f"{SHARED}…/")
        if not self._watch.seen[_HOLDER] | self._watch.seen["stranger"]:
            self._problems.append("The share link showed nothing of the conversation.")

    def _search(self) -> None:
        """A search for a word next to hidden text must reveal no more than one for a word that does not exist; in one conversation, too."""
        with SimulatedBrowser("owner", self._deployment) as again:
            again.sign_in(reverse("sign_in"), self._guests.owner.get_username(), self._guests.password)
            bait = self._planted.bait
            nowhere = "".join(secrets.choice("bcdfl") for _ in bait)
            words = (bait, nowhere, next(iter(self._planted.visible.planted)))
            holding = self._guests.owner.conversations.filter(messages__text__contains=bait).first()
            paths = {"search": reverse("search"), "find": reverse("find", args=[holding.pk]) if holding else None}
            for place, path in paths.items():
                found = {word: self._found(again, f"{path}?q={word}", word, place) for word in words if path}
                if found and found[bait] != found[nowhere]:
                    self._watch.note(f"a {place} tells that a hidden word is there", "owner", place)
                if place == "search" and found[words[-1]] == found[nowhere]:
                    self._problems.append("A search does not even find what is visible.")

    def _found(self, browser: SimulatedBrowser, path: str, word: str, place: str) -> str:
        answer = browser.get(path, place)
        return _TOKEN.sub(r"\1", answer.text.replace(word, ""))

    def _programs(self) -> None:
        """API clients at every endpoint, with every kind of key."""
        ProgramVisitor(self._guests, self._deployment, self._peer, self._problems).visit(self._planted.scripts)

    def _check_recorded(self) -> None:
        """Check that each refused access to hidden channels is recorded in the audit log, in a line or a count."""
        people: dict[str, User] = {"owner": self._guests.owner, "stranger": self._guests.stranger}
        for viewer, person in people.items():
            recorded = attempts.attempts_of(person)
            if recorded < self._refused[viewer]:
                self._watch.note(f"{self._refused[viewer] - recorded} attempts were not recorded", viewer, "audit log")

    def _known(self) -> list[dict[str, str]]:
        known = known_of(self._guests.owner, self._many)
        if not known:
            raise CanaryError("Nothing was asked and kept, so there is nothing to look at.")
        return known
