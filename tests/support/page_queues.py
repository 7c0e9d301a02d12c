"""The queues of a page's socket, and the places where its commands are carried out, for tests that hold one of these up."""

from collections.abc import Callable
from typing import Any

import pytest

from chatui.live import commands, consumer
from chatui.live.page_socket import InboundQueue, Outbox


def inbound(*arguments: Any) -> InboundQueue:
    """What a page has sent and nobody has read: ``await next()`` gives the next message."""
    return InboundQueue(*arguments)


def outbox(take: Callable[[str], None], note: Callable[[], None], give_up: Callable[[], None]) -> Outbox:
    """What a slow page has not read. ``take`` gets each frame that goes out; ``note`` says that the page has caught up."""
    return Outbox(take, note, give_up)


def break_receive(patch: pytest.MonkeyPatch, broken: Callable[..., Any]) -> None:
    """From now on, whatever a page sends ends so."""
    patch.setattr(consumer.ChatConsumer, "receive", broken)


def after_watch(patch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """From now on, do this each time after access to the debug view was checked, before the page gets what it watches."""
    check = commands.watch

    def slow(*arguments: Any) -> Any:
        following = check(*arguments)
        action()
        return following

    patch.setattr(commands, "watch", slow)
