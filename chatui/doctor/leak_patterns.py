"""Patterns of reasoning that has leaked into an answer."""

from __future__ import annotations

import re

from chatui.doctor.faults import Fault

_MARKER = re.compile(r"<\|(?:start|channel|message|end|return|call|constrain)\|>")
_COLLAPSED = re.compile(r"assistant(?:final|analysis|commentary)|\A\s*(?:analysis|commentary)(?=[A-Z\"'*])")
_TAG = re.compile(r"</?(?:think|thinking|thought|thoughts|reasoning|reflection|analysis)>|\[/?THINK\]|◁/?think▷", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_MAX_CHARS = 20_000


def sign_of_leak(text: str) -> Fault | None:
    """The form of leak in ``text``, the answer to a question that has nothing to do with markers; None if there is none."""
    if _MARKER.search(text):
        return Fault.LEAK_MARKERS
    if _TAG.search(text):
        return Fault.LEAK_TAGS
    return Fault.LEAK_COLLAPSED if _COLLAPSED.search(text) else None


def share_a_stretch(one: str, other: str, length: int) -> bool:
    """Whether both contain the same ``length`` characters in a row, ignoring white space. Only the beginning of long texts is compared."""
    return not _stretches(one, length).isdisjoint(_stretches(other, length))


def _stretches(text: str, length: int) -> set[str]:
    text = _SPACE.sub(" ", text[:_MAX_CHARS]).strip()
    return {text[at : at + length] for at in range(len(text) - length + 1)}
