"""Changes times and sizes of the product that no setting names, by what they stand for: a test outlives a move of the code."""

import pytest

_PLACES: dict[str, tuple[str, ...]] = {
    # How often a process renews the leases of its turns, and stores what was written meanwhile.
    "lease_tick_seconds": ("chatui.turns.leases.TICK_SECONDS",),
    # After how long pages are told that an answer is still being stored.
    "saving_seconds": ("chatui.turns.publisher.SAVING_SECONDS",),
    # How often those who wait in the queue are told their place.
    "place_seconds": ("chatui.turns.slots.UPDATE_SECONDS",),
    # How often a waiting call looks for a decision that was made in another process.
    "decision_seconds": ("chatui.turns.calls.approvals.POLL_SECONDS",),
    # How long a model may take for a title, and how many conversations may wait for theirs.
    "title_seconds": ("chatui.turns.titles.ASK_SECONDS",),
    "titles_waiting": ("chatui.turns.titles.MAX_WAITING",),
    # When the line about what was asked for appears, and how long one holds that says nothing.
    "asked_line_seconds": ("chatui.turns.summarizing.ASKED_SECONDS",),
    "neutral_line_seconds": ("chatui.turns.summarizing.NEUTRAL_SECONDS",),
    # How long before its line a summarizer is asked for it.
    "summarizer_ahead_seconds": ("chatui.turns.summarizing.ASK_AHEAD",),
    # How long what the admin pages set is remembered: model servers, rules of tools, usage limits.
    "remembered_seconds": (
        "chatui.model_servers.connected.ROWS_SECONDS",
        "chatui.tools.rules.ROWS_SECONDS",
        "chatui.usage.limits.CACHE_SECONDS",
    ),
    # For how long a process erases what has expired, before it looks for other work.
    "erasing_seconds": ("chatui.turns.reaping.ENDING_SECONDS",),
    # For how long after an outage no process ends turns of another.
    "grace_seconds": ("chatui.turns.sweep.GRACE_SECONDS",),
    # How much of a long conversation is read for a model.
    "seen_chars": ("chatui.turns.opening.SEEN_CHARS",),
    # After how long without a call a tool's program ends, and how many of them a process keeps.
    "idle_program_seconds": ("chatui.tools.mcp.stdio.IDLE_SECONDS",),
    "most_programs": ("chatui.tools.mcp.stdio.MAX_IN_ALL",),
}


def change(monkeypatch: pytest.MonkeyPatch, **values: float) -> None:
    """Use these ``values`` of ``_PLACES`` until the test ends, or until they are changed again."""
    for name, value in values.items():
        for place in _PLACES[name]:
            monkeypatch.setattr(place, value)
