"""Sends the owner's questions to the scripted servers over one open tab, and checks pages while an answer streams."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from chatui.canary import fixtures
from chatui.canary.answers.planting import Pause, Script
from chatui.canary.peer import Peer, Playing
from chatui.canary.visitors.tab import Tab
from chatui.canary.watch import CanaryError, Clock
from chatui.codes import ProductCode

ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancel")
_OFFERED_SECONDS = 20.0
"""How long it may take until every process of the deployment offers a back end that was just added."""
_STEP_SECONDS = 15.0
_ASIDE_SECONDS = 0.7

AtAPause = Callable[[str, str], None]
"""Called in the middle of an answer, with the ids of its conversation and turn."""


@dataclass(frozen=True, slots=True)
class PlayedServer:
    """The scripted server of one wire format in one run, with the run's remaining time."""

    peer: Peer
    run: str
    kind: str
    clock: Clock

    def playing(self, script: str) -> Playing:
        """The state of the script of that name."""
        return self.peer.playing(self.kind, script)

    def choice(self, script: str) -> str:
        """The model choice that requests this script."""
        return fixtures.choice(self.run, self.kind, script)

    def step(self) -> float:
        """How many seconds one step may take now. Raises CanaryError if no time is left."""
        return self.clock.left(_STEP_SECONDS)


class OwnerQuestions:
    """One conversation with the scripted server of one wire format."""

    def __init__(self, tab: Tab, server: PlayedServer, at_a_pause: AtAPause, problems: list[str], conversation: str | None = None) -> None:
        """``problems``: receives a sentence for each failure. ``conversation``: one to continue."""
        self._tab = tab
        self._server = server
        self._at_a_pause = at_a_pause
        self.conversation = conversation
        self._problems = problems

    def ask(self, script: Script, how: str = "send", **fields: str) -> Mapping[str, str]:
        """Ask for one scripted answer and listen to its end; returns the accepting event, with the ids of question and turn.

        ``how`` and ``fields``: the socket command and its other fields.
        """
        if how in ("send", "edit"):
            fields["text"] = f"What does the canary hide in {script.name}?"
        self._server.playing(script.name).rewind()
        accepted = self._accepted(script, how, fields)
        self.conversation = accepted["conversation"]
        self._listen(script, accepted)
        return accepted

    def _accepted(self, script: Script, how: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        until = time.monotonic() + _OFFERED_SECONDS
        while True:
            command = {"client_id": str(uuid4()), "conversation": self.conversation, "effort": "low", **fields}
            self._tab.say(how, choice=self._server.choice(script.name), **command)
            answer: Mapping[str, str] = self._tab.until("chatui:accepted", "chatui:refused")[-1]
            if answer["type"] == "chatui:accepted":
                return answer
            if answer["code"] != ProductCode.NO_SUCH_MODEL or time.monotonic() > until:
                raise CanaryError(f"The question for {self._server.kind} {script.name} was refused: {answer['code']}.")
            time.sleep(0.5)

    def _listen(self, script: Script, accepted: Mapping[str, str]) -> None:
        playing, name = self._server.playing(script.name), f"{self._server.kind} {script.name}"
        # The server waits for a listener, so that the beginning is received, too.
        self._tab.say("subscribe", conversation=accepted["conversation"])
        self._tab.until("chatui:snapshot", "chatui:idle")
        if not playing.asked.wait(self._server.step()):
            raise CanaryError(f"The deployment did not ask the canary's server for {name}. Can it reach the address of --listen?")
        count_before = len(self._tab.heard)
        self._tab.watch.allow_until_withdrawn(script.withdrawn)
        playing.begin()
        self._pause(script, playing, accepted)
        end = self._tab.until(*ENDS, turn=accepted["turn"])[-1]
        self._tab.watch.settle()
        playing.resume()
        received = "".join(self._tab.heard[count_before:])
        if end.get("state") not in (script.ends or ("stopped",)):
            self._problems.append(f"{name} ended as {end.get('state')}.")
        if missing := sum(marker not in received for marker in script.shows):
            self._problems.append(f"{name}: {missing} of {len(script.shows)} visible markers did not arrive live.")

    def _pause(self, script: Script, playing: Playing, accepted: Mapping[str, str]) -> None:
        for _ in range(script.steps.count(Pause.HERE)):
            if not playing.at_a_pause.acquire(timeout=self._server.step()):
                raise CanaryError(f"The answer {self._server.kind} {script.name} was given up before it was complete.")
            self._wait_for_asides(script)
            self._at_a_pause(accepted["conversation"], accepted["turn"])
            if script.ends:
                playing.resume()
            else:
                self._tab.say("stop", conversation=accepted["conversation"], turn=accepted["turn"])

    def _wait_for_asides(self, script: Script) -> None:
        """Wait until requests to other models about this answer (summaries) have ended, and their text could be shown."""
        for aside in script.asides:
            if not self._server.playing(aside).asked.wait(self._server.step()):
                raise CanaryError(f"The deployment did not ask the canary's server for {self._server.kind} {aside}.")
            time.sleep(_ASIDE_SECONDS)
