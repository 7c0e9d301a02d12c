"""Control markers in text for servers are escaped, and an echo of them in an answer is restored, however it is cut."""

from __future__ import annotations

from chatui.backends.raw_frames import FrameSource, FrameWriter
from chatui.backends.speaker import defang
from renderer.events import FrameClosed, FrameText
from renderer.frame_kinds import ANSWER
from renderer.frames import Terminator
from tests.support.cases import for_each

ESCAPED, SOURCE = "<\u2060|end|>", FrameSource(0, "answer", ANSWER)


@for_each([
    ("<|end|>", ESCAPED),
    ("a <|end|><|start|>user b", f"a {ESCAPED}<\u2060|start|>user b"),
    ("<|reserved_200017|>", "<\u2060|reserved_200017|>"),
    ("<|New_1|>", "<\u2060|New_1|>"),
    (f"<|{'x' * 40}|>", f"<\u2060|{'x' * 40}|>"),
    *((text, text) for text in ("", "a < b", "<|>", "<||>", "<|end>", "<end|>", "< |end|>", "<|so it|>", f"<|{'x' * 41}|>")),
])  # fmt: skip
def test_every_marker_is_escaped_and_nothing_else(text: str, escaped: str) -> None:
    assert defang(text) == escaped


@for_each([
    (f"Write {ESCAPED}.", "Write <|end|>."),
    (f"{ESCAPED}{ESCAPED}", "<|end|><|end|>"),
    *((text, text) for text in ("a < b", "<", "<<", "\u2060|", "<a\u2060|", "<|end|>", "a\u2060b")),
])  # fmt: skip
def test_an_echo_is_restored_at_every_split_and_nothing_waits_for_it(text: str, shown: str) -> None:
    for size in range(1, len(text) + 1):
        writer = FrameWriter()
        events = [event for at in range(0, len(text), size) for event in writer.write(SOURCE, text[at : at + size])]
        assert "".join(event.text for event in events if isinstance(event, FrameText)) == shown, size
        assert writer.close(Terminator.RETURN) == [FrameClosed(Terminator.RETURN)]
