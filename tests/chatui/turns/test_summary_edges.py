"""What a summary takes for a heading, and for a question of the person's own."""

from dataclasses import replace

from chatui.turns.summarizing import newest_heading, written_of
from renderer.frame_kinds import NOTES
from renderer.frames import Frame, Header, Role
from tests.chatui.turns.recording import unstored

QUESTION = Frame(Header(Role.USER), "Compare trains and buses.")


def test_a_heading_is_on_one_line():
    assert newest_heading("# Comparing the options\nBecause of the price") == "Comparing the options"
    assert newest_heading("#\nBecause of the price") == newest_heading("# \n\n\nBecause of the price") == ""


def test_only_a_visible_question_that_nobody_else_wrote_lends_its_words():
    job = unstored(frames=(QUESTION,))
    hidden = Frame(replace(NOTES, name="notes"), "Compare two secrets.")
    assert written_of(job, has_tools=False).question == QUESTION.body
    assert written_of(replace(job, imported=frozenset((QUESTION.body,))), has_tools=False).question == ""
    for frames in ((hidden,), (QUESTION, hidden), ()):
        assert written_of(replace(job, frames=frames), has_tools=False).question == "", "and no turn fails"
