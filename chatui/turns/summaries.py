"""What a turn does for a summary of its reasoning: nothing, unless its model server has summaries."""

from __future__ import annotations

from dataclasses import replace

from renderer.events import Finished, FrameOpened, RawEvent
from renderer.frame_kinds import PRODUCT_NAMES, SUMMARY_NAME
from renderer.frames import Header, Role
from renderer.summary import frame


class TurnSummary:
    """A turn that is not summarized. Pass every event through ``take`` before anybody sees it. ``finish`` returns, once, the frames to
    store; then call ``aclose``."""

    def take(self, event: RawEvent) -> RawEvent:
        """The event to pass on. A frame name that is reserved for the product is removed, or the frame is hidden, so that a model cannot
        forge a summary."""
        if not isinstance(event, FrameOpened):
            return event
        header = _without_reserved_name(event.header)
        return event if header is event.header else replace(event, header=header)

    def finish(self) -> list[Finished]:
        """The frames to store before the answer. The second call returns none."""
        return []

    async def aclose(self) -> None:
        """End the summary with the turn."""


def _without_reserved_name(header: Header) -> Header:
    if header.name == SUMMARY_NAME and header.role == Role.ASSISTANT:
        # Staff see the whole summary. People see the lines that pass the check if the operator trusts this server's summaries, and
        # otherwise nothing. The setting is the one from the start of the turn.
        return frame.ASIDE
    if header.role == Role.ASSISTANT and header.name in PRODUCT_NAMES:
        return replace(header, name=None)
    return header
