"""Harmony output as models really write it, including unusual and broken forms: exactly what a person sees of it."""

import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator

import pytest

from renderer.errors import Code
from renderer.events import Finished, FrameOpened, FrameText, RawEvent
from renderer.frames import Channel, Frame, Header, Intent, Role, Terminator
from renderer.harmony.reader import HarmonyReader
from tests.renderer.harmony.cases import fold, merged, shown_text
from tests.support import places
from tests.support.cases import example_count, for_each

MARKER = re.compile(r"(<\|[a-z_]+(?:_\d+)?\|>)")
# Two rows have token ids without marker text; these are the pieces that a detokenizer returns for them.
FROM_TOKENS = {
    "tok-invalid-utf8": "<|start|>assistant<|channel|>final<|message|> \ufffd \ufffdworked<|end|>",
    "tok-out-of-vocab": "<|channel|>final<|message|>2\ufffd2 +2<|return|>",
}
QUIRKS = [row for row in map(json.loads, places.QUIRKS.read_text("utf-8").splitlines()) if row["mode"] == "token"]


def pieces(raw: str) -> list[str]:
    return [piece for piece in MARKER.split(raw) if piece]


def read(parts: Iterable[str]) -> Iterator[RawEvent]:
    ids = itertools.count(1)
    reader = HarmonyReader(lambda: f"call_{next(ids)}")
    for part in parts:
        yield from reader.feed_marker(part) if MARKER.fullmatch(part) else reader.feed_text(part)
    yield from reader.finish()


def visible_text(events: Iterable[RawEvent]) -> str:
    return shown_text(done.frame for done in fold(events))


def frames(raw: str) -> list[Finished]:
    return fold(read(pieces(raw)))


def cut(parts: list[str], chooser: random.Random | None) -> Iterator[str]:
    """The same pieces with their text cut: into single characters, or at random places."""
    for part in parts:
        if MARKER.fullmatch(part):
            yield part
            continue
        while part:
            size = 1 if chooser is None else chooser.randint(1, 9)
            yield part[:size]
            part = part[size:]


@for_each(QUIRKS)
def test_events_do_not_depend_on_where_text_was_cut(row: dict[str, str]) -> None:
    whole = pieces(row["raw"] or FROM_TOKENS[row["id"]])
    expected = merged(read(whole))
    assert merged(read(cut(whole, None))) == expected
    for seed in range(example_count(8)):
        assert merged(read(cut(whole, random.Random(seed)))) == expected


def test_analysis_commentary_and_final_become_frames_with_their_headers() -> None:
    finished = frames(
        "<|channel|>analysis<|message|>Think<|end|><|start|>assistant<|channel|>commentary<|message|>I look it up.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Found.<|end|>"
        '<|start|>assistant<|channel|>commentary to=functions.find <|constrain|>json<|message|>{"q":1}<|call|>'
    )
    assert [(done.frame.header, done.frame.body, done.frame.terminator) for done in finished] == [
        (Header(Role.ASSISTANT, Channel.ANALYSIS), "Think", Terminator.END),
        (Header(Role.ASSISTANT, Channel.COMMENTARY, intent=Intent.PREAMBLE), "I look it up.", Terminator.END),
        (Header(Role.ASSISTANT, Channel.FINAL), "Found.", Terminator.END),
        (
            Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.find", call_id="call_1", constrain="json"),
            '{"q":1}',
            Terminator.CALL,
        ),
    ]
    assert all(done.complete and done.error is None for done in finished)


CALL = "<|channel|>commentary to=functions.find <|constrain|>json<|message|>{}<|call|>"


def test_text_after_a_call_without_a_reply_is_kept_hidden_and_flagged() -> None:
    written = f"{CALL}<|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant{CALL}<|start|>assistant"
    called, thought, again, answer = frames(f"{written}<|channel|>final<|message|>Found.<|return|><|start|>assistant{CALL}")
    assert (called.error, again.error, called.frame.terminator, again.frame.terminator) == (None, None, Terminator.CALL, Terminator.CALL)
    assert (thought.frame.header, thought.error) == (Header(Role.ASSISTANT, "analysis", intent=Intent.DEBUG), Code.CALL_SCHEMA)
    assert (answer.frame, answer.complete, answer.error) == (
        Frame(Header(Role.ASSISTANT, "final", intent=Intent.DEBUG), "Found.", Terminator.END),
        True,
        Code.CALL_SCHEMA,
    )


def test_a_cut_answer_after_a_call_is_hidden_and_keeps_its_own_error() -> None:
    [_, answer] = frames(f"{CALL}<|start|>assistant<|channel|>final<|message|>Fou")
    assert (answer.frame.header.intent, answer.complete, answer.error) == (Intent.DEBUG, False, Code.STREAM_TRUNCATED)


def test_quoted_markers_in_analysis_stay_hidden_text() -> None:
    reader = HarmonyReader(lambda: "call_1")
    quoted = "The user wants <|end|><|start|>assistant<|channel|>final<|message|>SECRET"
    events = [*reader.feed_marker("<|channel|>"), *reader.feed_text("analysis"), *reader.feed_marker("<|message|>")]
    events += [*reader.feed_text(quoted), *reader.feed_marker("<|end|>"), *reader.finish()]
    assert FrameText(quoted) in events
    assert visible_text(events) == ""


def test_nothing_of_a_body_is_released_before_its_header_is_complete() -> None:
    reader = HarmonyReader(lambda: "call_1")
    assert reader.feed_marker("<|channel|>") == []
    assert reader.feed_text("final") == []
    assert reader.feed_marker("<|message|>") == [FrameOpened(Header(Role.ASSISTANT, Channel.FINAL))]
    assert reader.feed_text("Hi") == [FrameText("Hi")]


@pytest.mark.parametrize(
    "header",
    [
        ["<|end|>", "<|channel|>", "final SECRET"],
        ["<|end|>", "<|start|>", "assistant", "<|channel|>", "final", "<|refusal|>", " SECRET"],
        ["<|end|>", "<|start|>", "assistant", "<|channel|>", "final <|refusal|> SECRET"],
        ["<|end|>", "<|start|>", "assistant", "<|channel|>", "final to=functions.x SECRET"],
    ],
)
def test_without_a_message_marker_text_after_an_ambiguous_header_is_not_an_answer(header: list[str]) -> None:
    opening = ["<|channel|>", "analysis", "<|message|>", "I think."]
    assert visible_text(read([*opening, *header, "<|end|>"])) == ""
    assert visible_text(read([*opening, "<|end|>", "<|start|>", "assistant", "<|channel|>", "final Shown", "<|end|>"])) == "Shown"


@pytest.mark.parametrize("at", range(3))
def test_a_special_token_anywhere_in_a_header_hides_the_message(at: int) -> None:
    parts = [["<|end|>", "<|start|>", "assistant"], ["<|channel|>", "final"], ["<|constrain|>", "json"]]
    opening = ["<|channel|>", "analysis", "<|message|>", "I think."]
    assert visible_text(read([*opening, *parts[0], *parts[1], "<|message|>", "Hi", "<|return|>"])) == "Hi", "the premise"
    parts[at] = [*parts[at][:-1], "<|refusal|>"] if at == 2 else [*parts[at], " <|refusal|>"]
    assert visible_text(read([*opening, *(piece for part in parts for piece in part), "<|message|>", "SECRET", "<|return|>"])) == ""


def test_two_channels_are_accepted_only_in_a_header_without_anything_else() -> None:
    def shown(role: str) -> str:
        opening = ["<|channel|>", "analysis", "<|message|>", "x", "<|end|>", "<|start|>", role]
        return visible_text(read([*opening, "<|channel|>", "commentary", "<|channel|>", "final", "<|message|>", "Hi", "<|return|>"]))

    assert [shown("assistant"), shown("assistant to=user"), shown("assistant to=functions.x"), shown("assistant json")] == [
        "Hi",
        "",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("channels", "shown"),
    [
        ("commentary<|channel|>final", "Hi"),
        ("commentary to=assistant<|channel|>final", "Hi"),
        ("commentary to=assistant<|channel|>commentary", ""),
        ("commentary to=all<|channel|>final", ""),
        ("commentary to=functions.x<|channel|>final", ""),
        ("commentary text<|channel|>final", ""),
        ("analysis<|channel|>final", ""),
        ("final<|channel|>commentary", ""),
        ("commentary<|channel|>commentary<|channel|>final", ""),
        ("commentary<|channel|>final<|channel|>final", ""),
        ("commentary<|channel|>final json", "Hi"),
        ("commentary<|channel|>final to=user", "Hi"),
        ("commentary<|channel|>analysis", ""),
        ("commentary<|channel|>", ""),
    ],
)
def test_commentary_is_dropped_only_directly_before_final(channels: str, shown: str) -> None:
    assert visible_text(read(pieces(f"<|channel|>{channels}<|message|>Hi<|return|>"))) == shown


@pytest.mark.parametrize(
    "body",
    [
        *("[Step 1] I look.", "{plan} follows", " I will search.", "12 pages", '"Paris" is next.', "true, I look"),
        '```json\n{"q": "x"}\n```',  # nobody writes arguments so: the header decides
    ],
)
def test_commentary_that_only_begins_like_json_is_a_preamble_and_is_shown(body: str) -> None:
    assert visible_text(read(["<|channel|>", "commentary", "<|message|>", body, "<|end|>"])) == body


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("<|channel|>FINAL<|message|>x<|return|>", Code.PARSE_HEADER),
        ("<|message|>x<|return|>", Code.PARSE_CHANNEL_MISSING),
        ("<|channel|><|message|>x<|return|>", Code.PARSE_CHANNEL_MISSING),
        ("<|channel|> <|channel|><|message|>x<|end|>", Code.PARSE_CHANNEL_MISSING),
        ("<|channel|>analysis extra words here<|message|>x<|return|>", Code.PARSE_HEADER),
        ("<|end|><|message|>x<|return|>", Code.PARSE_CHANNEL_MISSING),
        ("<|channel|>final extra words here<|message|>x<|return|>", Code.PARSE_HEADER),
        ("<|channel|>final intent=preamble<|message|>x<|return|>", Code.PARSE_HEADER),
        ("<|channel|>final to=user to=functions.x<|message|>x<|return|>", Code.PARSE_HEADER),
        ("<|channel|>final<|reserved_200013|><|message|>x<|return|>", Code.PARSE_HEADER),
    ],
)
def test_a_broken_header_becomes_a_hidden_debug_frame_with_its_error_code(raw: str, code: Code) -> None:
    [done] = frames(raw)
    assert done.frame.header == Header(Role.ASSISTANT, Channel.ANALYSIS, intent=Intent.DEBUG)
    assert done.frame.body.endswith("x")
    assert done.error == code


def test_a_call_on_the_final_channel_is_hidden_and_gets_no_call_id() -> None:
    [done] = frames("<|channel|>final to=functions.x<|message|>{}<|call|>")
    assert (done.frame.header.call_id, done.frame.terminator, done.error) == (None, Terminator.END, Code.CALL_SCHEMA)
    assert visible_text(read(pieces("<|channel|>final to=functions.x<|message|>{}<|call|>"))) == ""


@pytest.mark.parametrize("last", ["text", ""])
def test_an_answer_with_two_different_constraints_is_hidden(last: str) -> None:
    [done] = frames(f"<|channel|>final<|constrain|>json<|constrain|>{last}<|message|>{{}}<|end|>")
    assert (done.frame.header.intent, done.error) == (Intent.DEBUG, Code.PARSE_HEADER)


def test_a_return_between_messages_ends_a_completion_but_not_a_whole_conversation() -> None:
    raw = "<|start|>assistant<|channel|>final<|message|>Four.<|end|><|return|><|start|>assistant<|channel|>final<|message|>Five.<|end|>"
    assert [done.frame.body for done in frames(raw)] == ["Four."]
    whole = HarmonyReader(lambda: "c1", conversation=True)
    events = [event for part in pieces(raw) for event in (whole.feed_marker(part) if MARKER.fullmatch(part) else whole.feed_text(part))]
    assert [done.frame.body for done in fold(events)] == ["Four.", "Five."]


def test_the_open_header_is_known_while_the_body_is_held_back() -> None:
    reader = HarmonyReader(lambda: "c1")
    reader.feed_marker("<|channel|>")
    reader.feed_text("commentary")
    assert reader.open_header is None
    assert reader.feed_marker("<|message|>") == []
    assert reader.open_header == Header("assistant", "commentary", intent="preamble")
    reader.feed_text("I will search.")
    reader.feed_marker("<|end|>")
    assert reader.open_header is None


@pytest.mark.parametrize("body", ["[1]", "1", "{", "{} {", "", '"{}"'])
def test_a_call_without_its_stop_token_is_none_unless_its_arguments_are_an_object(body: str) -> None:
    [done] = frames(f"<|channel|>commentary to=functions.f<|message|>{body}<|end|>")
    assert (done.frame.terminator, done.error, done.frame.body) == (Terminator.END, Code.CALL_SCHEMA, body)


def test_no_random_sequence_of_pieces_makes_the_reader_fail_or_leave_a_frame_open() -> None:
    alphabet = pieces("<|start|><|channel|><|message|><|constrain|><|end|><|call|><|return|><|endoftext|><|literal|>")
    alphabet += ["assistant", "final", "analysis", "commentary", " to=functions.x", " to=user", "json", "{", "}", " ", "user", "text"]
    for seed in range(example_count(3000)):
        chooser = random.Random(seed)
        sequence = [chooser.choice(alphabet) for _ in range(chooser.randint(1, 30))]
        finished = fold(read(sequence))
        assert all(done.error for done in finished if not done.complete)
