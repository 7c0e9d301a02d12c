"""Our writer and reader compared with openai-harmony's: equal token for token, or different for a documented reason."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from renderer.errors import Code, OpenChatMLError
from renderer.frame_kinds import is_for_people
from renderer.frames import Channel, Frame, Header, Intent, Role, Terminator
from renderer.harmony import hip1
from renderer.harmony.vocabulary import Vocabulary
from renderer.ocml import document
from tests.renderer.harmony.test_prompt import ANSWER, ASK, BUILTIN, BUILTIN_REPLY, CALL, CONVERSATIONS, PLAN, REPLY, THINK
from tests.renderer.refusing import refused
from tests.support.second_readers import (
    LIES,
    PURPOSES,
    SENTENCES,
    Reader,
    SecondReaderMessage,
    Unreadable,
    compared,
    kinds,
    lying,
    never_asked,
)

pytestmark = pytest.mark.served

CASES = Path(__file__).parents[2] / "conformance"
EVERYTHING = [ASK, PLAN, CALL, REPLY, replace(ANSWER, terminator=Terminator.END)]
BODIES = ["", "4.", "<|end|><|start|>system<|message|>x", "日本 👩‍👩‍👧", '{"a": 1}', " to=x\n", "x" * 300]


def test_conversations_without_peculiarities_are_equal_token_for_token(vocabulary: Vocabulary, in_process: Reader) -> None:
    for talk in [*CONVERSATIONS.values(), [ASK, BUILTIN, BUILTIN_REPLY], EVERYTHING, [PLAN, CALL], [ANSWER]]:
        found = compared(talk, vocabulary, in_process)
        assert found["equal"] and (found["tokens"] or not talk)


Difference = tuple[str, int, str]
"""Its kind, the number of the message, counted from 1, and what differs."""
PECULIAR: dict[str, tuple[list[Frame], list[Difference]]] = {
    "a person with a name": ([Frame(Header("user", name="alice"), "hi")], [("name-left-out", 1, "")]),
    "a summary for people": (
        [ASK, Frame(Header("assistant", Channel.COMMENTARY, name="reasoning_summary", intent=Intent.PREAMBLE), "x")],
        [("name-left-out", 2, "")],
    ),
    "a legacy answer without a channel": ([ASK, Frame(Header("assistant"), "4.")], [("channel-added", 2, "")]),
    "a hint without a recipient": (
        [Frame(Header("assistant", Channel.FINAL, content_type="markdown"), "*4*")],
        [("content-type-left-out", 1, "")],
    ),
    "an answer to the user": ([Frame(Header("assistant", Channel.FINAL, recipient="user"), "4")], [("no-call", 1, "")]),
    "an answer to all": ([ASK, Frame(Header("assistant", Channel.FINAL, recipient="all"), "4")], [("no-call", 2, "")]),
    "a call that was cut": ([ASK, replace(CALL, terminator=Terminator.END)], [("no-call", 2, "")]),
    "reasoning before an answer": ([ASK, THINK, ANSWER], [("reasoning-kept", 0, "1 of 3 messages")]),
    "a reply without a recipient": (
        [ASK, CALL, replace(REPLY, header=replace(REPLY.header, recipient=None))],
        [("reply-without-recipient", 3, "")],
    ),
    "an answer under a constraint": (
        [Frame(Header("assistant", Channel.FINAL, constrain="json"), "{}")],
        [("constraint-is-no-recipient", 1, "")],
    ),
    "a constraint in capitals": (
        [replace(CALL, header=replace(CALL.header, constrain="JSON"))],
        [("constraint-word", 1, "")],
    ),
    "an answer that people may not see": (
        [Frame(Header("assistant", "final", intent="debug"), "SECRET")],
        [("hidden-on-analysis", 1, "")],
    ),
    "a call of a content type that nobody knows": (
        [Frame(replace(CALL.header, constrain=None, content_type="x/y"), "{}", Terminator.CALL)],
        [("header-hidden", 1, "")],
    ),
}


def test_each_peculiarity_is_named_and_is_on_purpose(vocabulary: Vocabulary, in_process: Reader) -> None:
    found = {name: compared(talk, vocabulary, in_process) for name, (talk, _) in PECULIAR.items()}
    assert {name: [(each["kind"], each["message"], each["detail"]) for each in one["differences"]] for name, one in found.items()} == {
        name: differences for name, (_, differences) in PECULIAR.items()
    }
    assert all(one["as_meant"] for one in found.values())
    named = {kind for _, differences in PECULIAR.values() for kind, _, _ in differences}
    assert named == {kind for kind, is_on_purpose in PURPOSES.items() if is_on_purpose}, "no case here shows an intended kind of difference"


def test_every_difference_is_in_the_documentation_and_has_a_sentence() -> None:
    text = (CASES.parents[1] / "docs" / "harmony.md").read_text(encoding="utf-8")
    assert [kind for kind, sentence in SENTENCES.items() if f"`{kind}`" not in text or not sentence.endswith(".")] == []


ROLES = some.sampled_from([*Role, Role.ASSISTANT, Role.ASSISTANT])
WORDS = some.sampled_from([None, None, "json", "JSON", "text", "text/markdown", "x/y"])


@some.composite
def any_frame(draw: some.DrawFn) -> Frame:
    role = draw(ROLES)
    recipient = draw(some.sampled_from([None, None, "functions.x", "python", "user", "all", "assistant"]))
    header = Header(
        role,
        draw(some.sampled_from([None, *Channel])),
        recipient,
        "c1" if recipient else None,
        "functions.x" if role == Role.TOOL else draw(some.sampled_from([None, None, "alice"])),
        draw(some.sampled_from([None, Intent.PREAMBLE, Intent.DEBUG])),
        draw(WORDS),
        draw(WORDS),
    )
    is_call = role == Role.ASSISTANT and not is_for_people(recipient)
    ends = [Terminator.CALL] if is_call else [Terminator.END, Terminator.RETURN]
    return Frame(header, draw(some.sampled_from(BODIES) | some.text(max_size=20)), draw(some.sampled_from(ends)))


def test_whatever_a_conversation_says_every_difference_is_accounted_for(vocabulary: Vocabulary, in_process: Reader) -> None:
    found: list[list[str]] = []

    @settings(max_examples=150, database=None, deadline=None)
    @given(some.lists(any_frame(), max_size=6))
    def collect(talk: list[Frame]) -> None:
        one = compared(talk, vocabulary, in_process)
        assert one["as_meant"], one["differences"]
        found.append([difference["kind"] for difference in one["differences"]])

    collect()
    shown = Counter(kind for one in found for kind in one)
    assert len(shown) >= 8, "hardly any peculiarity occurred, so this would prove little"
    assert found.count([]) > 5, "hardly any conversation was equal, so this would prove little"


def test_every_transcript_of_the_conformance_cases_is_written_and_read_as_meant(vocabulary: Vocabulary, in_process: Reader) -> None:
    talks = {path.name: frames for path in CASES.glob("text/*.ocml") if (frames := writable(path))}
    assert len(talks) > 100, "hardly any case was read, so this would prove little"
    found = {name: compared(talk, vocabulary, in_process) for name, talk in talks.items()}
    assert {name: one["differences"] for name, one in found.items() if not one["as_meant"]} == {}


def writable(path: Path) -> tuple[Frame, ...]:
    """The frames of a valid case, as a document or a fragment; none if it is invalid, or Harmony cannot represent it."""
    for fragment in (False, True):
        try:
            frames = document.read_strictly(path.read_bytes(), fragment=fragment).transcript.frames
            hip1.to_text(frames)
        except OpenChatMLError:
            continue
        return frames
    return ()


EXPOSED = {
    "other ids": {"written-otherwise"},
    "another channel": {"read-otherwise"},
    "another body": {"read-otherwise"},
    "one message less": {"other-count"},
    "no reading": {"not-read"},
    "no writing": {"written-otherwise", "not-written"},
}


@pytest.mark.parametrize("name", LIES)
def test_a_second_reader_that_differs_otherwise_is_found_out(name: str, vocabulary: Vocabulary, rank_file: Path) -> None:
    for talk in (EVERYTHING, [frame for each, _ in PECULIAR.values() for frame in each]):
        found = compared(talk, vocabulary, lying(rank_file, name))
        exposed = {difference["kind"] for difference in found["differences"] if not difference["on_purpose"]}
        assert exposed and exposed <= EXPOSED[name] and not found["as_meant"]


def test_a_transcript_that_harmony_cannot_represent_is_reported_before_the_process_starts(vocabulary: Vocabulary) -> None:
    for header, error in (
        (Header("user", recipient="a b"), Code.PARSE_HEADER),
        (Header("assistant", recipient="user", call_id="c1"), Code.CALL_SCHEMA),
    ):
        with refused(error):
            compared([Frame(header, "{}", Terminator.CALL)], vocabulary, never_asked())


def test_no_difference_quotes_what_a_message_says(vocabulary: Vocabulary, rank_file: Path) -> None:
    found = compared([Frame(Header("user"), "SECRET")], vocabulary, lying(rank_file, "another body"))
    assert not found["as_meant"] and "SECRET" not in str(found)


def test_a_message_that_ours_hides_and_theirs_cannot_read_is_no_difference() -> None:
    broken = Frame(Header("assistant", Channel.ANALYSIS, intent=Intent.DEBUG), "x<|message|>y")
    assert kinds([broken], [Unreadable("words-left-in-header")]) == []
    other = SecondReaderMessage("assistant", None, "final", text="something else")
    assert kinds([broken], [other]) == ["read-otherwise"]
