"""Measures the product's cost of a tool call: turns of a scripted model with calls of a trivial function, compared with turns without.

``python -m tests.bench.tool_calls``; ``make bench`` runs it, too. Processor time of all threads, the minimum of a few rounds, including the
sampling after each call, which costs almost nothing here: there is no network in it.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

CALLS = 20
TURNS = 5
ROUNDS = 3
MAX_OF_A_TURN = 0.5
"""The product's share of one call, as a part of what it does for a turn without calls: about 5 ms on a processor of 2026."""


def trivial(number: int) -> int:
    """Says the next number."""
    return number + 1


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="chatui-bench-") as place:
        for name in [name for name in os.environ if name.startswith("CHATUI_")]:
            del os.environ[name]
        os.environ |= {"CHATUI_DATA_DIR": place, "CHATUI_LOG_LEVEL": "ERROR", "DJANGO_SETTINGS_MODULE": "chatui.settings"}
        import django

        django.setup()
        from django.core.management import call_command

        from chatui.models.user import User

        call_command("migrate", verbosity=0)
        person = User.objects.create_user("bench")
        without, one = asyncio.run(_measured(person))
    print(f"A turn of a scripted model: {without * 1000:.1f} ms without a call, and {one * 1000:.2f} ms more for each call of a tool.")
    print(f"  {one / without:.2f} x the turn; at most {MAX_OF_A_TURN:.2f} are wanted.")
    return 0


async def _measured(person: Any) -> tuple[float, float]:
    from chatui.turns import running
    from tests.support.turns import ask, begin

    async def turn() -> None:
        await begin(person, ask())
        await running.settle()

    with scripted() as script:
        return await costs(script, turn)


async def costs(script: Callable[[int], None], turn: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Seconds of processor time of a turn without calls, and of each call. ``script``: sets the number of calls in the next turn.

    Turns without and with calls are measured in turn, so that a machine that is slow for a while is slow for both.
    """

    async def of_a_turn(calls: int) -> float:
        started = time.process_time()
        for _ in range(TURNS):
            script(calls)
            await turn()
        return (time.process_time() - started) / TURNS

    await of_a_turn(CALLS)  # imports and caches of the first calls
    rounds = [(await of_a_turn(0), await of_a_turn(CALLS)) for _ in range(ROUNDS)]
    without, with_calls = map(min, zip(*rounds, strict=True))
    return without, (with_calls - without) / CALLS


@contextmanager
def scripted() -> Iterator[Callable[[int], None]]:
    """Have turns answered by a script and offered the function, in a process that no test has set up."""
    from django.conf import settings

    from chatui.model_servers import connected
    from chatui.tools import catalogue
    from tests.support.offering import made
    from tests.support.scripted import ScriptedBackend

    backend, tool = ScriptedBackend(), made(trivial, source="bench")
    named: dict[str, Any] = {"tools": {tool.name: ()}, "tools_without_approval": [tool.name], "tool_facts": {tool.name: ("neither",)}}
    named |= {"tool_calls": CALLS + 5, "backend_url": "http://127.0.0.1:9"}
    plain = {**settings.STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
    with (
        mock.patch.object(settings, "STORAGES", plain),
        mock.patch.object(connected, "backend", return_value=backend),
        mock.patch.object(catalogue, "tools", return_value={tool.name: tool}),
        mock.patch.object(settings, "ENVIRONMENT", settings.ENVIRONMENT.model_copy(update=named)),
    ):
        yield lambda calls: play(backend, tool.name, calls)


def play(backend: Any, name: str, calls: int) -> None:
    """Have the model make that many calls in its next turn, one in each sampling, and then answer."""
    from tests.support.scripted import answer

    steps = [*(_called(name, number) for number in range(calls)), answer("Done.")]
    backend.script, backend.following = steps[0], steps[1:]


def _called(name: str, number: int) -> Sequence[Any]:
    from chatui.backends.base import EndReason
    from renderer.frames import Channel, Header, Role, Terminator
    from tests.support.scripted import ended, frame

    header = Header(Role.ASSISTANT, Channel.COMMENTARY, f"functions.{name}", f"call_{number}", constrain="json")
    return [*frame(header, json.dumps({"number": number}), Terminator.CALL), ended(EndReason.TOOL_CALLS)]


if __name__ == "__main__":
    sys.exit(main())
