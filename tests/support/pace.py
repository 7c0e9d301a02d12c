"""When this process reads the answers of its model servers. Whoever changes the parts of the pace changes it here, and in no test."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from chatui.backends.pace import PACE, AnswerPace, Pace


def factors(*looks: Callable[[], None]) -> list[float]:
    """How many times longer pauses are after each of these, which change what the clocks say."""
    pace, found = Pace(), list[float]()
    for look in looks:
        look()
        found.append(pace.factor())
    return found


async def rest(seconds: float) -> None:
    """Wait as a reader does between two reads, where load lengthens nothing."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_at(PACE.after(seconds, may_lengthen=False), over.set_result, None)  # the pace may change between two of them
    await over


class Reader:
    """Reads one answer, of which ``is_hidden`` says whether people may see nothing of what is being written."""

    def __init__(self, is_hidden: Callable[[], bool]) -> None:
        self._pace = AnswerPace(0.05, is_hidden)

    def pauses(self, count: int) -> list[bool]:
        """Of the next reads, those with a pause before them: for each, whether a busy process makes it longer."""
        found: list[bool] = []

        def after(pace: Pace, seconds: float, *, may_lengthen: bool = True) -> float:
            found.append(may_lengthen)
            return 1.0

        with patch.object(Pace, "after", after):
            for _ in range(count):
                self._pace.next_read()
        return found


@contextmanager
def counted() -> Iterator[list[None]]:
    """No reader pauses meanwhile; what this yields has an item for each pause that there would be."""
    found: list[None] = []

    def pause(pace: AnswerPace) -> float:
        found.append(None)
        return 0.0

    with patch.object(AnswerPace, "next_read", pause):
        yield found
