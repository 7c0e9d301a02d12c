"""The frame of a row that was just written is the one that is stored, until its text changes."""

from chatui.models.conversation import Conversation
from chatui.models.message import Author
from chatui.store import transcripts
from renderer.frames import Frame, Header
from renderer.ocml import document


def test_it_is_the_frame_that_is_stored_until_the_text_changes() -> None:
    message = transcripts.row_of(Conversation(), Frame(Header("user"), "Hello"), Author.PERSON, transcripts.FrameMetadata()).message
    assert transcripts.frame_of(message) == document.parse_frame(message.text)
    message.text = document.dump_frame(Frame(Header("user"), "Bye"))
    assert transcripts.frame_of(message).body == "Bye"
