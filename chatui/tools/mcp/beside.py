"""What a server sends beside its answers: notifications, and requests of its own.

Progress is shown in the tool's line, words of the server's only where the operator allows it to speak to people. A changed list of tools is
listed again. Of a server's requests, pings are answered, and forms for the person are shown where it may speak to them (elicitation);
sampling and roots are refused by name.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chatui.json_schemas import UnusableError, mapping
from chatui.tools.execution import waiting_for_person
from chatui.tools.forms import form_of, is_number
from chatui.tools.mcp import messages
from chatui.tools.person import TurnPerson
from chatui.tools.remote import definition as credentials
from chatui.tools.remote.offers import cleaned
from chatui.tools.tool import ToolError

log = logging.getLogger(__name__)

REPORT_SECONDS = 1.0
"""The progress of a call is shown at most once in this time, however often a server reports it."""
WORDS_CHARS = 100
MAX_INPUTS = 5


def _nothing() -> None:
    """Nobody wants to know."""


@dataclass(eq=False, kw_only=True)
class Beside:
    """What is done with what a server sends beside the answer to one request."""

    speaker: str = ""
    """The server's name."""
    person: TurnPerson | None = None
    """For whom it is asked, None if for nobody."""
    may_speak: bool = False
    """Whether the server's words may reach the person."""
    on_changed: Callable[[], None] = _nothing
    """Its tools have changed."""
    hidden: tuple[str, ...] = field(default=(), repr=False)
    """The credentials, which nothing that is shown may contain."""
    _reported_at: float = float("-inf")

    @property
    def wants_progress(self) -> bool:
        return self.person is not None

    def notice(self, message: Mapping[str, Any]) -> None:
        """A notification has come. It costs little, however many there are."""
        match message.get("method"):
            case "notifications/tools/list_changed":
                self.on_changed()
            case "notifications/progress" if self.person is not None and time.monotonic() - self._reported_at >= REPORT_SECONDS:
                self._report(self.person, mapping(message, "params"))

    def _report(self, person: TurnPerson, params: Mapping[str, Any]) -> None:
        done, total, words = params.get("progress"), params.get("total"), params.get("message")
        percent = None
        if is_number(done) and is_number(total) and total > 0:
            percent = round(100 * min(1.0, max(0.0, done / total)))
        for_person = cleaned(credentials.without(words, self.hidden), WORDS_CHARS) if self.may_speak and isinstance(words, str) else ""
        if percent is not None or for_person:
            self._reported_at = time.monotonic()
            person.report(self.speaker, percent, for_person)

    def response(self, message: Mapping[str, Any]) -> Mapping[str, Any] | Awaitable[Mapping[str, Any]]:
        """The response to a request of the server's; awaitable if the person is asked."""
        if message["method"] == "elicitation/create" and self.may_speak:
            return self._elicited(message)
        return messages.declined(message)

    async def _elicited(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        return messages.answered(message, {"result": await self._ask(mapping(message, "params"))})

    async def _ask(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What the person answers, as the protocol has it. Nobody is asked for a secret, or led to an address of the server's."""
        if self.person is None:
            return {"action": "cancel"}
        try:
            if params.get("mode", "form") != "form":
                raise UnusableError("the server wants to lead the person to an address of its own")
            shown = credentials.without(dict(params), self.hidden)
            form = form_of(shown.get("message"), shown.get("requestedSchema"))
        except UnusableError as error:
            log.warning("tool server %s: a form was not shown: %s", self.speaker, str(error))
            return {"action": "decline"}
        with waiting_for_person():
            answer = await self.person.ask(self.speaker, form)
        return {"action": answer.action, **({"content": dict(answer.values)} if answer.action == "accept" else {})}

    async def input_for(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with which a call is sent again, for a server without sessions that wants input.

        Raises:
            ToolError: it wants something else than a form, or nothing, or may not ask.
        """
        wanted = mapping(result, "inputRequests")
        answers: dict[str, Any] = {}
        for name, each in list(wanted.items())[:MAX_INPUTS]:
            method = each.get("method") if isinstance(each, Mapping) else None
            if method != "elicitation/create" or not self.may_speak:
                raise ToolError(f"The tool asked for more input. {messages.refusal(method)}")
            answers[name] = await self._ask(mapping(each, "params"))
        state = result.get("requestState")
        if not wanted and not isinstance(state, str):
            raise ToolError("The tool asked for more input without saying what.")
        return {**({"inputResponses": answers} if answers else {}), **({"requestState": state} if isinstance(state, str) else {})}


NOBODY = Beside()
