"""The summary lines of the demo's scripts."""

from __future__ import annotations

import re

from chatui import prompts
from chatui.backends.base import SampleRequest

_STEPS: dict[str, tuple[str, ...]] = {
    "greeting": ("Weighed how to greet somebody new", "Gathered a few things to try"),
    "day_out": ("Considered what is hard about a group of this size", "Arranged the hours of the day", "Listed what must be arranged"),
    "recursion": ("Looked for an example that shows the idea", "Followed the example by hand", "Picked a warning worth giving"),
    "reminder": ("Thought about the right tone", "Collected what the letter needs"),
    "plan": ("Thought about what a plan depends on", "Put the steps in order", "Noticed a gap worth settling"),
    "explain": ("Looked for the parts that need words", "Ordered the sections from simple to hard", "Picked one example of each kind"),
    "note": ("Saw that the person has to decide",),
    "weather": ("Saw that this must be looked up",),
    "refuse": ("Considered what can be offered instead",),
    "cut": ("Began to collect good habits",),
}
_ASKED = re.compile(r"\A## Question\n\n(?P<question>.*?)\n\n## Lines shown before\n\n(?P<shown>.*?)\n\n## New notes", re.DOTALL)
NOTHING = "none"


def question_summed_up(request: SampleRequest) -> str | None:
    """The question whose answer is summarized; None for an ordinary request."""
    found = _asked(request)
    return found["question"] if found else None


def next_step(script: str, request: SampleRequest) -> str:
    """The line after those already shown."""
    found = _asked(request)
    shown = [line for line in found["shown"].splitlines() if line != "- none"] if found else []
    steps = _STEPS[script]
    return steps[len(shown)] if len(shown) < len(steps) else NOTHING


def _asked(request: SampleRequest) -> re.Match[str] | None:
    frames = request.frames
    is_summary = len(frames) == 2 and frames[0].body == prompts.read("summary")
    return _ASKED.match(frames[1].body) if is_summary else None
