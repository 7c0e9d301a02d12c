"""The frame of a row that was just written is the one that is stored, and is not parsed again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatui.models.conversation import Conversation
from chatui.models.message import Author
from chatui.store import transcripts
from renderer.frames import Frame, Header, Terminator
from renderer.ocml import document
from tests.renderer.examples import bodies, frames

ANY = st.none() | st.text(max_size=12) | st.sampled_from(["final", "analysis", "user", "<|end|>", "functions.f", "a b", "\ud800", "\x00"])
BROKEN = st.builds(
    Frame,
    st.builds(Header, st.sampled_from(["user", "assistant", "tool", "x y", "<|end|>"]), channel=ANY, recipient=ANY, name=ANY, intent=ANY),
    bodies,
    st.sampled_from(Terminator),
)


@given(frames() | BROKEN)
def test_it_is_the_frame_that_is_stored(frame: Frame) -> None:
    message = transcripts.row_of(Conversation(), frame, Author.IMPORT, transcripts.FrameMetadata()).message
    assert transcripts.frame_of(message) == document.parse_frame(message.text)


def test_it_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = Frame(Header("user"), "Hello")
    message = transcripts.row_of(Conversation(), frame, Author.PERSON, transcripts.FrameMetadata()).message
    monkeypatch.setattr(document, "parse_frame", None)
    assert transcripts.frame_of(message) == frame


def test_changed_text_is_parsed() -> None:
    message = transcripts.row_of(Conversation(), Frame(Header("user"), "Hello"), Author.PERSON, transcripts.FrameMetadata()).message
    message.text = document.dump_frame(Frame(Header("user"), "Bye"))
    assert transcripts.frame_of(message).body == "Bye"
