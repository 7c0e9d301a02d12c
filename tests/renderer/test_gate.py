"""The gate's table, row by row, and the same decisions on a stream."""

from itertools import product

import pytest

from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN, SUMMARY, TOOL_LINE
from renderer.frames import Frame, Header, Terminator
from renderer.gate import (
    Audience,
    Gate,
    VisibleClosed,
    VisibleDelta,
    VisibleOpened,
    VisibleText,
    VisibleWithdrawn,
    Working,
    may_see,
    show,
    visible,
    why_hidden,
)
from tests.renderer.refusing import refused
from tests.support.cases import for_each

VISIBLE = {
    ("user", None, None),
    ("user", "final", None),
    ("assistant", None, None),
    ("assistant", None, "preamble"),
    ("assistant", "final", None),
    ("assistant", "final", "preamble"),
    ("assistant", "commentary", "preamble"),
}
ROLES = ("system", "developer", "user", "assistant", "tool", "functions.x", "User", "assistant ", "", "root")
CHANNELS = (None, "analysis", "commentary", "final", "FINAL", "finalx", "", "comment")
INTENTS = (None, "preamble", "status", "debug", "Preamble", "")


@for_each(list(product(ROLES, CHANNELS, INTENTS)))
def test_an_end_user_sees_what_the_table_lists_and_nothing_else(role: str, channel: str | None, intent: str | None) -> None:
    header = Header(role, channel=channel, intent=intent)
    assert may_see(header, Audience.END_USER) is ((role, channel, intent) in VISIBLE)


@pytest.mark.parametrize("recipient", ["functions.x", "browser.search", "python", "assistant", "User", "", "everyone"])
@pytest.mark.parametrize("role", ["assistant", "user"])
def test_a_message_to_somebody_else_is_hidden(role: str, recipient: str) -> None:
    assert not may_see(Header(role, channel="final", recipient=recipient), Audience.END_USER)


@pytest.mark.parametrize("recipient", [None, "user", "all"])
def test_a_message_to_the_person_or_to_all_is_shown(recipient: str | None) -> None:
    assert may_see(Header("assistant", channel="final", recipient=recipient), Audience.END_USER)


@for_each(list(product(ROLES, CHANNELS, INTENTS)))
def test_the_debug_audience_sees_every_frame(role: str, channel: str | None, intent: str | None) -> None:
    assert may_see(Header(role, channel=channel, intent=intent), Audience.DEBUG)


def test_showing_a_visible_frame_gives_its_text() -> None:
    text = show(Frame(Header("assistant", channel="final"), "4."), Audience.END_USER)
    assert text == "4." and isinstance(text, VisibleText)


def test_e_perm_visibility_asking_for_a_hidden_frame_raises_and_quotes_nothing() -> None:
    frame = Frame(Header("assistant", channel="analysis"), "the secret plan")
    with refused(Code.PERM_VISIBILITY) as caught:
        show(frame, Audience.END_USER)
    assert caught.value.code is Code.PERM_VISIBILITY
    assert "secret" not in str(caught.value) + repr(caught.value)


def test_no_repr_contains_a_body() -> None:
    frame = Frame(Header("assistant", channel="analysis"), "the secret plan")
    assert "secret" not in repr(frame) + repr(FrameText("secret")) + repr(VisibleDelta(VisibleText("secret")))


def test_omitting_hidden_frames_is_not_an_attempt() -> None:
    frames = [Frame(Header("assistant", channel="analysis"), "a"), Frame(Header("assistant", channel="final"), "b")]
    for audience, bodies in ((Audience.END_USER, "b"), (Audience.PROGRAM, "b"), (Audience.TRUSTED_PROGRAM, "ab"), (Audience.DEBUG, "ab")):
        assert "".join(frame.body for frame in visible(frames, audience)) == bodies


STREAM: list[RawEvent] = [
    FrameOpened(Header("assistant", channel="analysis")),
    FrameText("hidden one"),
    FrameClosed(Terminator.END),
    FrameOpened(Header("assistant", channel="commentary", recipient="functions.x", call_id="c1")),
    FrameText("hidden two"),
    FrameClosed(Terminator.CALL),
    FrameOpened(Header("assistant", channel="final", name="model-7")),
    FrameText("Shown "),
    FrameText("text"),
    FrameClosed(Terminator.RETURN),
]


def test_a_stream_shows_only_the_visible_frames_and_reports_working_once() -> None:
    gate = Gate(Audience.END_USER)
    seen = [event for event in map(gate.admit, STREAM) if event is not None]
    assert [type(event) for event in seen] == [Working, VisibleOpened, VisibleDelta, VisibleDelta, VisibleClosed]
    assert "".join(event.text for event in seen if isinstance(event, VisibleDelta)) == "Shown text"


def test_the_header_shown_to_an_end_user_names_neither_tool_nor_model() -> None:
    opened = [event for event in map(Gate(Audience.END_USER).admit, STREAM) if isinstance(event, VisibleOpened)]
    assert opened == [VisibleOpened(Header("assistant", channel="final"))]


@pytest.mark.parametrize(
    ("header", "outline"),
    [
        (Header("user", name="ada", content_type="text"), Header("user")),
        (SUMMARY, Header("assistant", "commentary", intent="preamble")),
        (TOOL_LINE, TOOL_LINE),
        (Header("assistant", "final", recipient="user", call_id="c1", constrain="JSON"), Header("assistant", "final", constrain="json")),
        (Header("assistant", "final", constrain="secret"), Header("assistant", "final")),
    ],
)
def test_the_header_shown_to_an_end_user_tells_only_the_kind_of_the_frame(header: Header, outline: Header) -> None:
    assert Gate(Audience.END_USER).admit(FrameOpened(header)) == VisibleOpened(outline)
    if header != TOOL_LINE:
        for audience in (Audience.PROGRAM, Audience.TRUSTED_PROGRAM):
            assert Gate(audience, {"functions.f"}).admit(FrameOpened(header)) == VisibleOpened(outline)
    assert Gate(Audience.DEBUG).admit(FrameOpened(header)) == VisibleOpened(header)


def test_the_debug_audience_gets_every_text_and_whole_headers() -> None:
    seen = [event for event in map(Gate(Audience.DEBUG).admit, STREAM) if event is not None]
    assert len(seen) == len(STREAM)
    assert seen[3] == VisibleOpened(Header("assistant", channel="commentary", recipient="functions.x", call_id="c1"))


def test_text_outside_an_open_visible_frame_is_dropped() -> None:
    gate = Gate(Audience.END_USER)
    assert gate.admit(FrameText("stray")) is None
    gate.admit(FrameOpened(Header("assistant", channel="final")))
    gate.admit(FrameClosed(Terminator.RETURN))
    assert gate.admit(FrameText("late")) is None
    assert gate.admit(FrameClosed(None)) is None


def test_nothing_is_sent_for_an_empty_text() -> None:
    gate = Gate(Audience.END_USER)
    gate.admit(FrameOpened(Header("assistant", channel="final")))
    assert gate.admit(FrameText("")) is None


def test_working_is_reported_again_when_the_model_hides_something_after_a_visible_frame() -> None:
    gate = Gate(Audience.END_USER)
    hidden, shown = FrameOpened(Header("assistant", channel="analysis")), FrameOpened(Header("assistant", channel="final"))
    seen = [gate.admit(event) for event in (hidden, FrameClosed(Terminator.END), hidden, shown, FrameClosed(Terminator.END), hidden)]
    assert [type(event) for event in seen] == [Working, type(None), type(None), VisibleOpened, VisibleClosed, Working]


def test_nothing_of_a_frame_is_shown_after_it_was_withdrawn() -> None:
    hidden = [(audience, [None, None]) for audience in Audience if audience is not Audience.DEBUG]
    for audience, later in (*hidden, (Audience.DEBUG, [VisibleDelta, VisibleClosed])):
        gate = Gate(audience)
        gate.admit(FrameOpened(Header("assistant", channel="final")))
        assert gate.admit(FrameWithdrawn()) == VisibleWithdrawn(BROKEN)
        seen = [gate.admit(event) for event in (FrameText("more"), FrameClosed(Terminator.END))]
        assert [event and type(event) for event in seen] == later


def test_a_trusted_program_sees_no_more_of_reasoning_that_was_withdrawn() -> None:
    gate = Gate(Audience.TRUSTED_PROGRAM)
    seen = [gate.admit(event) for event in (FrameOpened(Header("assistant", "analysis")), FrameText("a"), FrameWithdrawn(), FrameText("b"))]
    assert seen == [VisibleOpened(Header("assistant", "analysis")), VisibleDelta(VisibleText("a")), VisibleWithdrawn(BROKEN), None]


def test_a_hidden_frame_that_is_withdrawn_stays_unnoticed() -> None:
    gate = Gate(Audience.END_USER)
    assert gate.admit(FrameOpened(Header("assistant", channel="analysis"))) == Working()
    assert [gate.admit(event) for event in (FrameWithdrawn(), FrameText("more"), FrameClosed(Terminator.END))] == [None] * 3


def test_stream_and_stored_frame_agree_for_every_header() -> None:
    for role, channel, intent, recipient in product(ROLES, CHANNELS, INTENTS, (None, "user", "python")):
        header = Header(role, channel=channel, intent=intent, recipient=recipient)
        gate = Gate(Audience.END_USER)
        streamed = isinstance(gate.admit(FrameOpened(header)), VisibleOpened)
        assert streamed is may_see(header, Audience.END_USER)


RECIPIENTS = (None, "user", "all", "functions.x", "browser.search", "assistant", "User", "")
EVERY_HEADER = [
    Header(role, channel=channel, intent=intent, recipient=recipient)
    for role, channel, intent, recipient in product(ROLES, CHANNELS, INTENTS, RECIPIENTS)
]


def test_exactly_the_hidden_frames_have_a_reason_that_quotes_nothing() -> None:
    hidden = [header for header in EVERY_HEADER if not may_see(header, Audience.END_USER)]
    assert 100 < len(hidden) < len(EVERY_HEADER), "the premise: some are hidden, and some are not"
    for header in EVERY_HEADER:
        why = why_hidden(header)
        assert (why is None) is may_see(header, Audience.END_USER), header
        assert why is None or (why.endswith(".") and len(why) > 20)
    # The sentences quote neither unknown nor known values, so there are only a few of them.
    assert len({why_hidden(header) for header in hidden}) < 15
    assert why_hidden(Header("eavesdropper")) == why_hidden(Header("somebody"))


def test_a_program_sees_the_traffic_of_its_own_functions_and_of_no_others() -> None:
    own = {"functions.clock"}

    def seen(header: tuple[str, str | None, str | None, str | None, str | None]) -> bool:
        role, channel, recipient, name, intent = header
        return may_see(Header(role, channel, recipient=recipient, name=name, intent=intent, call_id="c1"), Audience.PROGRAM, own)

    visible_ones = {
        ("assistant", "commentary", "functions.clock", None, None),
        ("tool", "commentary", "assistant", "functions.clock", None),
    }
    values = (
        ("assistant", "tool", "system", "developer"),
        ("commentary", "analysis", None, "final"),
        ("functions.clock", "functions.other", "clock", "assistant"),
        (None, "functions.clock", "functions.other"),
        (None, "debug", "status"),
    )
    assert {header for header in product(*values) if seen(header)} == visible_ones  # type: ignore[arg-type]
    for role, channel, recipient, name, intent in visible_ones:
        header = Header(role, channel, recipient=recipient, name=name, intent=intent, call_id="c1")
        assert not may_see(header, Audience.END_USER, own) and not may_see(header, Audience.PROGRAM)
        with refused(Code.PERM_VISIBILITY):
            show(Frame(header, "{}"), Audience.PROGRAM)
        assert Gate(Audience.PROGRAM).admit(FrameOpened(header)) == Working()
        for audience in (Audience.PROGRAM, Audience.TRUSTED_PROGRAM):
            assert Gate(audience, own).admit(FrameOpened(header)) == VisibleOpened(Header(role, channel))
            assert show(Frame(header, "{}"), audience, own) == "{}"


@pytest.mark.parametrize("audience", [Audience.PROGRAM, Audience.TRUSTED_PROGRAM])
def test_only_a_person_sees_the_lines_about_our_own_tools(audience: Audience) -> None:
    assert may_see(TOOL_LINE, Audience.END_USER) and may_see(SUMMARY, audience)
    assert not may_see(TOOL_LINE, audience, {"functions.clock"})
    assert Gate(audience).admit(FrameOpened(TOOL_LINE)) == Working()
