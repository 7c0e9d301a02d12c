"""An answer ends at the first of a program's stop texts, however the text is cut into pieces, and no other frame does."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from chatui.turns.stop_texts import StopTexts
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frames import Terminator
from tests.support.cases import example_count
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE

STOPS = ("Observation:", "\n\n", "aab")


def played(events: Sequence[RawEvent], *stops: str, is_checked: bool = False) -> tuple[list[RawEvent], int]:
    """What is passed on, and how often the sampling was ended."""
    calls: list[None] = []
    stage = StopTexts(stops or STOPS, lambda: calls.append(None), is_checked=is_checked)
    passed = [each for event in events for each in stage.feed(event)]
    return [*passed, *stage.finish()], len(calls)


def text_of(events: Sequence[RawEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, FrameText))


@settings(max_examples=example_count(300), deadline=None)
@given(st.text("ab\nO:", max_size=40), st.lists(st.integers(0, 40), max_size=6), st.sampled_from(["", "Observation:", "aab"]))
def test_an_answer_ends_before_the_first_stop_text_wherever_it_is_cut(text: str, cuts: list[int], added: str) -> None:
    text = text[:20] + added + text[20:]
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [FrameText(text[start:end]) for start, end in pairwise(places)]
    passed, ended = played([FrameOpened(FINAL), *pieces, FrameClosed(Terminator.RETURN)])
    found = min((place for stop in STOPS if (place := text.find(stop)) >= 0), default=len(text))
    assert text_of(passed) == text[:found] and ended == (found < len(text))
    assert passed[0] == FrameOpened(FINAL) and passed[-1] == FrameClosed(Terminator.RETURN) and passed.count(passed[-1]) == 1


def test_what_may_begin_a_stop_text_is_held_back_and_no_more() -> None:
    stage = StopTexts(["Observation:"], lambda: None)
    stage.feed(FrameOpened(FINAL))
    assert [text_of(stage.feed(FrameText(piece))) for piece in ("Look", " Obs", "erve", " it. O")] == ["Look", " ", "Observe", " it. "]
    assert text_of(stage.feed(FrameClosed(Terminator.RETURN))) == "O"


def test_only_what_is_shown_is_searched_and_nothing_follows_a_stop() -> None:
    hidden: list[RawEvent] = [FrameOpened(ANALYSIS), FrameText("aab"), FrameClosed(Terminator.END)]
    preamble: list[RawEvent] = [FrameOpened(PREAMBLE), FrameText("y aab y"), FrameClosed(Terminator.END)]
    final: list[RawEvent] = [FrameOpened(FINAL), FrameText("x aab y"), FrameClosed(Terminator.RETURN)]
    after: list[RawEvent] = [FrameOpened(ANALYSIS), FrameText("more"), FrameWithdrawn(), FrameClosed(None)]
    passed, ended = played([*hidden, *final, *after])
    assert passed == [*hidden, FrameOpened(FINAL), FrameText("x "), FrameClosed(Terminator.RETURN)] and ended == 1
    passed, ended = played([*hidden, *preamble, *final, *after])
    assert passed == [*hidden, FrameOpened(PREAMBLE), FrameText("y "), FrameClosed(Terminator.END)] and ended == 1
    passed, ended = played([*preamble, *final], is_checked=True)
    assert passed == [*preamble, FrameOpened(FINAL), FrameText("x "), FrameClosed(Terminator.RETURN)], (
        "of a checked answer it alone is read"
    )


def test_a_withdrawn_answer_is_withdrawn_with_all_of_its_text_and_stops_nothing() -> None:
    events: list[RawEvent] = [FrameOpened(FINAL), FrameText('{"a": "aab"}'), FrameWithdrawn(), FrameClosed(Terminator.RETURN)]
    passed, ended = played(events, is_checked=True)
    assert passed == events and not ended
    passed, ended = played([FrameOpened(FINAL), FrameText("so aa"), FrameWithdrawn(), FrameText("b"), FrameClosed(None)])
    assert text_of(passed) == "so aab" and not ended, "what follows a withdrawal is hidden, whatever it is"


def test_an_answer_that_is_checked_whole_ends_before_the_stop_text() -> None:
    passed, ended = played([FrameOpened(FINAL), FrameText("1 aa"), FrameText("b 2"), FrameClosed(Terminator.RETURN)], is_checked=True)
    assert text_of(passed) == "1 " and ended == 1 and passed[-1] == FrameClosed(Terminator.RETURN)
