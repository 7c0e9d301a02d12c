"""The simulated API clients of a canary run, which send requests to ``/v1`` and check everything that they receive.

They use HTTP and WebSocket: with an ordinary key, one that may read raw reasoning, a revoked one, and another person's.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpx
from websockets.exceptions import InvalidStatus, WebSocketException

from chatui.accounts import api_keys
from chatui.accounts.api_keys import NewKeyOptions
from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.models.programs import ApiKey
from chatui.models.user import User
from chatui.operations.canary.browser import Deployment, HttpVisitor
from chatui.operations.canary.fixtures import Guests, choice
from chatui.operations.canary.peer import CanaryServer
from chatui.operations.canary.scripts import PAUSE, Script
from chatui.operations.canary.watch import CanaryError
from chatui.permissions import attempts
from chatui.permissions import programs as permissions_programs

SOCKET = "v1/responses (socket)"
_SECONDS = 30.0
_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


class Program(HttpVisitor):
    """A simulated API client: ``with Program("program", deployment, key) as program``."""

    def __init__(self, viewer: str, deployment: Deployment, key: str) -> None:
        self._headers = {"Authorization": f"Bearer {key}"}
        super().__init__(viewer, deployment, self._headers)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        """One request below ``/v1/`` with a JSON body. Its name in the report has neither ids nor models."""
        place = re.sub(r"(resp|conv|msg)_\w+|(?<=^models/).+", "…", path.partition("?")[0])
        return self.fetch(method, f"/v1/{path}", f"{method} v1/{place}", json=body)

    def talk(self, body: Mapping[str, Any]) -> bool:
        """Request one response over the socket. Returns whether the connection was accepted."""
        try:
            with self.connected("/v1/responses", SOCKET, self._headers) as connection:
                connection.send(json.dumps({"type": "response.create", **body}))
                while True:
                    text = str(connection.recv(timeout=self.clock.left(_SECONDS)))
                    self.look(SOCKET, "event", text)
                    if json.loads(text).get("type") in _ENDS:
                        return True
        except InvalidStatus:
            return False
        except (OSError, ValueError, WebSocketException) as error:
            raise CanaryError(f"The socket of the {self.viewer} failed: {type(error).__name__}.") from error


PROGRAM, TRUSTED, REVOKED, OTHER = "program", "trusted program", "program with a revoked key", "stranger"
KINDS = ("chat", "responses", "harmony")
"""The wire formats of the requested answers."""
ANSWERS = 3
"""Per wire format: how many answers that end normally, without a pause."""
_OFFERED_SECONDS = 20.0

_EVERYTHING = "?include[]=reasoning.content&include[]=reasoning.encrypted_content"
_QUESTION = "What does the canary hide?"
_GREEDY: Mapping[str, Any] = {
    "include": ["reasoning.encrypted_content", "reasoning.content"],
    "include_reasoning": True,
    "reasoning": {"exclude": False, "summary": "detailed"},
}


class ProgramVisitor:
    """Call ``visit`` once. ``problems``: receives a sentence for each failed step, because of which finding nothing would prove nothing."""

    def __init__(self, guests: Guests, deployment: Deployment, peer: CanaryServer, problems: list[str]) -> None:
        self._guests = guests
        self._deployment = deployment
        self._peer = peer
        self._problems = problems
        self._watch = deployment.watch

    def visit(self, scripts: Mapping[str, Sequence[Script]]) -> None:
        """Request answers of each wire format at every endpoint, as each visitor."""
        if not environment().api:
            return
        owner, stranger = self._guests.owner, self._guests.stranger
        people = {PROGRAM: owner, TRUSTED: self._guests.trusted, REVOKED: owner, OTHER: stranger}
        with contextlib.ExitStack() as stack:
            programs = {
                viewer: stack.enter_context(Program(viewer, self._deployment, _key(person, viewer))) for viewer, person in people.items()
            }
            self._watch.seen.clear()
            before = attempts.attempts_of(owner)
            self._list_models(programs.values())
            for kind in KINDS:
                for script in to_be_asked_for(scripts.get(kind, ())):
                    self._peer.playing(kind, script.name).may_begin.set()
                    self._ask_for(programs, choice(self._guests.run, kind, script.name))
            for viewer in (PROGRAM, TRUSTED):
                if not self._watch.seen[viewer]:
                    self._problems.append(f"The {viewer} was sent nothing that is visible.")
            if attempts.attempts_of(owner) == before:
                self._watch.note("no attempt was recorded", PROGRAM, "audit log")

    def _list_models(self, programs: Iterable[Program]) -> None:
        for program, path in itertools.product(programs, ("models", "models/demo")):
            self._get(program, path)

    def _ask_for(self, programs: Mapping[str, Program], model: str) -> None:
        program, trusted = programs[PROGRAM], programs[TRUSTED]
        until = time.monotonic() + self._deployment.clock.left(_OFFERED_SECONDS)
        while program.ask("GET", f"models/{model}").status_code != 200 and time.monotonic() < until:
            time.sleep(0.5)
        plain = {"model": model, "input": _QUESTION}
        response = {**plain, **_GREEDY}
        completion = {"model": model, "messages": [{"role": "user", "content": _QUESTION}], **_GREEDY}
        message = {**completion, "max_tokens": 1000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
        id_match = re.search(r'"id": ?"(resp_\w+)"', program.ask("POST", "responses", response).text)
        for stream in (False, True):
            program.ask("POST", "chat/completions", completion | {"stream": stream})
            program.ask("POST", "responses", response | {"stream": stream, "store": stream})
            for sent in (message, message | {"thinking": {"type": "adaptive", "display": "omitted"}}):
                program.ask("POST", "messages", sent | {"stream": stream})
        program.ask("POST", "messages/count_tokens", {name: value for name, value in message.items() if name != "max_tokens"})
        program.ask("POST", "responses", response | {"stream": True, "background": True})
        program.ask("POST", "responses/compact", plain)
        program.ask("POST", "responses/input_tokens", response)
        if not program.talk(response):
            self._problems.append("The socket for programs let an ordinary key not in.")
        # Only this client may get raw reasoning, unless its request leaves it out; hidden text that is not reasoning is for nobody.
        trusted.ask("POST", "responses", plain)
        trusted.ask("POST", "chat/completions", completion | {"reasoning": {"exclude": True}})
        trusted.ask("POST", "messages", message)
        begun = self._begin(program, response)
        if id_match is None or begun is None:
            self._problems.append("A program got no stored response, or no conversation.")
            return
        stored = id_match[1]
        for viewer, each in programs.items():
            self._read(each, stored, is_own=viewer == PROGRAM)
            self._read_conversation(each, begun, is_own=viewer == PROGRAM)
            if viewer in (REVOKED, OTHER):
                self._is_refused(each, stored, response)
                self._is_refused_there(each, begun, response)

    def _read(self, program: Program, stored: str, *, is_own: bool) -> None:
        for path in (f"responses/{stored}", f"responses/{stored}/input_items"):
            if 200 in self._get(program, path) and not is_own:
                self._watch.note("somebody else's response was read", program.viewer, f"v1/{path.replace(stored, '…')}")
        program.ask("GET", f"responses/{stored}?stream=true")

    def _begin(self, program: Program, body: Mapping[str, Any]) -> str | None:
        """A conversation with an item and an answer."""
        begun = program.ask("POST", "conversations", {"items": [{"role": "user", "content": _QUESTION}]})
        if (found := re.search(r"conv_\w+", begun.text)) is None:
            return None
        program.ask("POST", "responses", {**body, "conversation": found[0], "stream": True})
        program.ask("POST", f"conversations/{found[0]}/items", {"items": [{"role": "assistant", "content": "It is told."}]})
        return found[0]

    def _read_conversation(self, program: Program, begun: str, *, is_own: bool) -> None:
        for path in (f"conversations/{begun}", f"conversations/{begun}/items"):
            if 200 in self._get(program, path) and not is_own:
                self._watch.note("somebody else's conversation was read", program.viewer, f"v1/{path.replace(begun, '…')}")

    def _is_refused_there(self, program: Program, begun: str, body: Mapping[str, Any]) -> None:
        """Check that only the key that began a conversation can add to it or delete it."""
        added = {"items": [{"role": "user", "content": _QUESTION}]}
        for method, path, sent in (
            ("POST", f"conversations/{begun}", {"metadata": {}}),
            ("POST", f"conversations/{begun}/items", added),
            ("POST", "responses", {**body, "conversation": begun}),
            ("DELETE", f"conversations/{begun}", None),
        ):
            if program.ask(method, path, sent).status_code < 400:
                self._watch.note("not refused", program.viewer, f"{method} v1/{path.replace(begun, '…')}")

    def _get(self, program: Program, path: str) -> set[int]:
        """Ask for it as it is, and with all that is hidden. Returns the states of both answers."""
        return {program.ask("GET", path + query).status_code for query in ("", _EVERYTHING)}

    def _is_refused(self, program: Program, stored: str, body: Mapping[str, Any]) -> None:
        """Check that only the key that created a response can continue, stop or delete it, and a revoked key can do nothing."""
        going_on = {**body, "previous_response_id": stored}
        for method, path, sent in (("POST", f"/{stored}/cancel", {}), ("POST", "", going_on), ("DELETE", f"/{stored}", None)):
            if program.ask(method, f"responses{path}", sent).status_code < 400:
                self._watch.note("not refused", program.viewer, f"{method} v1/responses{path.replace(stored, '…')}")
        asked = {**body, "max_tokens": 1000, "messages": [{"role": "user", "content": _QUESTION}]}
        if program.viewer == REVOKED and any(
            program.ask("POST", f"messages{path}", asked).status_code < 400 for path in ("", "/count_tokens")
        ):
            self._watch.note("not refused", program.viewer, "POST v1/messages")
        if program.viewer == REVOKED and program.talk(body):
            self._watch.note("not refused", program.viewer, SOCKET)


def _key(person: User, viewer: str) -> str:
    visitor = Visitor(person, "", "shell")
    views_hidden = viewer == TRUSTED and permissions_programs.may_read(person)
    wanted = NewKeyOptions(
        name="Canary",
        for_responses=True,
        for_chat=True,
        for_messages=True,
        per_minute=api_keys.MAX_PER_MINUTE,
        views_hidden=views_hidden,
    )
    made = api_keys.create(visitor, wanted)
    if viewer == REVOKED:
        api_keys.revoke(visitor, list(ApiKey.objects.filter(pk=made.id)))
    return made.text


def to_be_asked_for(scripts: Sequence[Script]) -> list[Script]:
    """Scripts that end normally, without a pause or text that is marked as hidden too late: the first ones, which leak into the answer, and
    the last, whose reasoning is separate, so that a key with the permission would be sent it."""
    ending = (script for script in scripts if script.ends == ("completed",) and script.shows and PAUSE not in script.steps)
    plain = [script for script in ending if not (script.is_aside or script.asides or script.withdrawn)]
    return [*plain[: ANSWERS - 1], *plain[ANSWERS - 1 :][-1:]]
