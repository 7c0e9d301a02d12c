"""The notes on a running turn: which text counts as visible or hidden for the check of a line, and what the requests contain."""

from __future__ import annotations

import pytest

from chatui import prompts
from chatui.turns import summarizing
from chatui.turns.summarizing import Notes
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, DOCUMENT, NOTES, PREAMBLE, SUMMARY
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.summary import frame as summary_frame
from renderer.summary.reasons import Reason
from tests.support.cases import for_each

USER = Header(Role.USER)
QUESTION = "How do I get to work fastest when it rains?"
TEXT = "marmoset gazelle zeppelin gondola walrus"
LINE = f"Looked at the {TEXT}"
CALL = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.look")
REPLY = Header(Role.TOOL, Channel.COMMENTARY, name="look", recipient="assistant")
SCHEMA = Header(Role.DEVELOPER)
VISIBLE = [USER, DOCUMENT, ANSWER, PREAMBLE, SUMMARY]
HIDDEN = [ANALYSIS, BROKEN, Header(Role.SYSTEM), SCHEMA, NOTES, CALL, REPLY, summary_frame.ASIDE]


def notes_on(*frames: Frame, is_trusted: bool = False) -> Notes:
    notes = Notes(is_trusted=is_trusted)
    notes.open([Frame(USER, QUESTION), *frames])
    return notes


def test_a_line_with_words_from_nowhere_is_refused() -> None:
    assert notes_on().judge(LINE).reason is Reason.WORD, "the premise of the tests below"


@for_each([*((header, None) for header in VISIBLE), *((header, Reason.COPY) for header in HIDDEN)])
def test_the_frames_of_the_branch_are_visible_or_hidden(header: Header, reason: Reason | None) -> None:
    assert notes_on(Frame(header, TEXT)).judge(LINE).reason is reason


@for_each([(ANSWER, None), (PREAMBLE, None), (ANALYSIS, Reason.COPY), (BROKEN, Reason.COPY), (CALL, Reason.COPY), (REPLY, Reason.COPY)])
def test_the_frames_of_the_turn_are_visible_or_hidden(header: Header, reason: Reason | None) -> None:
    for is_trusted in (True, False):
        notes = notes_on(is_trusted=is_trusted)
        for event in (FrameOpened(header), FrameText(TEXT[:20]), FrameText(TEXT[20:]), FrameClosed(None)):
            notes.feed(event)
        assert notes.judge(LINE).reason is reason


SHORT_LINE = "Looked at the ant bee cat dog elk"
"""It has too few letters for the comparison of letters."""


@for_each([(["ant bee cat dog elk", "More."], Reason.COPY), (["ant bee", "cat dog elk"], Reason.WORD)])
def test_the_last_word_of_a_hidden_frame_is_complete(texts: list[str], reason: Reason | None) -> None:
    in_branch, in_turn = notes_on(*(Frame(ANALYSIS, text) for text in texts)), notes_on()
    for text in texts:
        for event in (FrameOpened(ANALYSIS), FrameText(text), FrameClosed(None)):
            in_turn.feed(event)
    assert [notes.judge(SHORT_LINE).reason for notes in (in_branch, in_turn)] == [reason, reason]


def test_text_of_an_open_message_is_visible_only_when_the_message_is_complete() -> None:
    notes = notes_on()
    notes.feed(FrameOpened(PREAMBLE))
    notes.feed(FrameText(TEXT))
    assert notes.judge(LINE).reason is Reason.WORD
    notes.feed(FrameClosed(None))
    assert notes.judge(LINE).reason is None


def test_withdrawn_text_and_all_that_follows_in_its_frame_is_hidden() -> None:
    notes = notes_on()
    later = "otter badger weasel polecat ermine"
    for event in (FrameOpened(PREAMBLE), FrameText(TEXT), FrameWithdrawn(), FrameText(f" {later}"), FrameClosed(None)):
        notes.feed(event)
    assert notes.judge(LINE).reason is Reason.COPY
    assert notes.judge(f"Looked at the {later}").reason is Reason.COPY
    assert notes.new_chars == 0, "it is not summarized either"


def test_the_messages_before_a_withdrawn_one_stay_visible() -> None:
    notes = notes_on()
    for event in (FrameOpened(PREAMBLE), FrameText(TEXT), FrameClosed(None), FrameOpened(PREAMBLE), FrameText("Oh"), FrameWithdrawn()):
        notes.feed(event)
    assert notes.judge(LINE).reason is None


def test_a_clear_summary_does_not_make_a_server_trusted() -> None:
    assert notes_on(is_trusted=True).server_steps("**Compared ways**") == ["Compared ways"]
    notes = notes_on()
    assert notes.server_steps(f"**{LINE}**") == [] and notes.judge(LINE).reason is Reason.COPY


def test_text_outside_of_a_frame_is_ignored() -> None:
    notes = notes_on()
    notes.feed(FrameText(TEXT))
    assert (notes.judge(LINE).reason, notes.new_chars) == (Reason.WORD, 0)


@for_each([Role.SYSTEM, Role.DEVELOPER])
def test_instructions_must_not_be_paraphrased_and_reasoning_may_be(role: Role) -> None:
    text, line = "Compare the weather, the traffic and the distance.", "Compared traffic, distance and weather"
    assert notes_on(Frame(Header(role), text)).judge(line).reason is Reason.RETOLD
    assert notes_on(Frame(ANALYSIS, text)).judge(line).reason is None


def test_the_lines_before_count() -> None:
    notes = notes_on(Frame(ANALYSIS, "compare the train with a bicycle near"), Frame(USER, "compare or train or bicycle or near?"))
    assert notes.judge("with a bicycle").reason is None
    assert notes.judge("with a bicycle", ["Compare the train"]).reason is Reason.COPY


def body(notes: Notes) -> str:
    return notes.request(None, []).frames[-1].body


def test_the_lines_shown_before_are_sent() -> None:
    def sent(*lines: str) -> str:
        return notes_on().request(None, lines).frames[-1].body

    assert "\n\n## Lines shown before\n\n- none\n\n## New notes\n\n" in sent()
    assert "\n\n## Lines shown before\n\n- One\n- Two\n\n## New notes\n\n" in sent("One", "Two")


def test_the_latest_question_is_sent_and_only_its_beginning() -> None:
    question = "x" * summarizing.MAX_QUESTION_CHARS
    notes = notes_on(Frame(ANSWER, "It is near."), Frame(USER, f"{question}END"), Frame(DOCUMENT, "a file"), Frame(ANSWER, "Oh"))
    for text in (body(notes), notes.review("line", None).frames[-1].body):
        assert text.startswith(f"## Question\n\n{question}\n\n## ")


def test_the_end_of_the_new_reasoning_is_sent_once() -> None:
    notes = notes_on()
    notes.feed(FrameOpened(ANALYSIS))
    notes.feed(FrameText("START"))
    notes.feed(FrameText("y" * summarizing.MAX_NOTES_CHARS))
    assert notes.new_chars == summarizing.MAX_NOTES_CHARS + len("START")
    assert body(notes).endswith("## New notes\n\n" + "y" * summarizing.MAX_NOTES_CHARS)
    assert notes.new_chars == 0
    notes.feed(FrameText("more"))
    assert body(notes).endswith("## New notes\n\nmore") and notes.new_chars == 0


def test_the_end_of_the_instructions_is_sent_to_the_review() -> None:
    def sent(*texts: str) -> str:
        return notes_on(*(Frame(Header(Role.SYSTEM), text) for text in texts)).review("Compared ways", None).frames[-1].body

    assert sent("One.", "Two.").endswith("## Instructions\n\nOne.\n\nTwo.\n\n## Line\n\nCompared ways")
    assert sent().endswith("## Instructions\n\nnone\n\n## Line\n\nCompared ways")
    whole = "z" * summarizing.MAX_INSTRUCTIONS_CHARS
    assert f"## Instructions\n\n{whole}\n\n## Line" in sent(f"START{whole}")


@for_each([("summary", False), ("summary_review", True)])
def test_a_request_is_short_and_cheap(name: str, is_review: bool) -> None:
    notes = notes_on()
    request = notes.review("Compared ways", "small") if is_review else notes.request("small", ["Compared ways"])
    assert [(frame.header, "Compared ways" in frame.body) for frame in request.frames] == [(SCHEMA, False), (USER, True)]
    assert request.frames[0].body == prompts.read(name)
    assert (request.model, request.effort, request.max_tokens) == ("small", "low", 400)


def test_the_limits_of_what_is_sent_are_those_of_the_manual() -> None:
    limits = (summarizing.MAX_NOTES_CHARS, summarizing.MAX_QUESTION_CHARS, summarizing.MAX_INSTRUCTIONS_CHARS)
    assert limits == (4_000, 1_000, 8_000) and (summarizing.MAX_ANSWER_CHARS, summarizing.MAX_STEPS) == (2_000, 12)


@for_each(
    [
        ("allow", True),
        (" Allow.\n", True),
        ('"ALLOW!"', True),
        ("**`allow`**", True),
        ("", False),
        ("block", False),
        ("allowed", False),
        ("allow it", False),
        ("not allow", False),
        ("allow\nblock", False),
    ]
)
def test_only_the_one_word_allows_a_line(answer: str, is_allowed: bool) -> None:
    assert summarizing.is_allowed(answer) is is_allowed


@pytest.mark.parametrize("recipient", [None, "functions.look", "user"])
@pytest.mark.parametrize("intent", [None, Intent.DEBUG])
def test_only_reasoning_for_nobody_is_summarized(recipient: str | None, intent: Intent | None) -> None:
    for role in (Role.ASSISTANT, Role.USER, Role.TOOL):
        for channel in (Channel.ANALYSIS, Channel.COMMENTARY, Channel.FINAL, None):
            header = Header(role, channel, recipient=recipient, intent=intent)
            is_plain = recipient is None and intent is None and role == Role.ASSISTANT
            assert summarizing.is_reasoning(header) is (is_plain and channel == Channel.ANALYSIS)
