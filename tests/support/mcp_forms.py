"""Forms that a tool server asks the person of a call to fill in."""

import asyncio
from typing import Any

from chatui.tools.forms import Form
from tests.support.mcp_calls import Listener, Turn
from tests.support.mcp_server import Mcp, result
from tests.support.peer import PeerRequest, peer


class NotAskedError(Exception):
    """The person is not asked. The text is what the server is told."""


def asked(message: Any, schema: Any) -> Form:
    """The form that the person gets if a server asks this. Raises NotAskedError."""
    answers: list[Any] = []

    async def ask(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        params = request.json["params"]
        if "inputResponses" in params:
            answers.append(params["inputResponses"]["first"])
            value: Any = {"content": [{"type": "text", "text": "done"}]}
        else:
            wanted = {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}
            value = {"resultType": "input_required", "inputRequests": {"first": wanted}}
        await result(value)(request, writer)

    person = Listener()
    with peer(Mcp(on={"tools/call": ask})) as server:
        turn = Turn(url=server.url, speaks_to_person=True)
        assert turn.for_person(person).call() == "done"
        turn.close()
    if not person.forms:
        raise NotAskedError(str(answers[0]))
    return person.forms[0]
