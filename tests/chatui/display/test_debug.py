"""The debug view's data: turns, frames, prompts, tokens and branches."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from chatui.display import debug, debug_tokens
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.keys import first_key_at
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.store import hidden_text, requests
from renderer.frame_kinds import DOCUMENT
from renderer.frames import Frame, Header, Terminator
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.support import environment
from tests.support.messages import add_message, open_branch
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = pytest.mark.django_db

ANALYSIS = Header("assistant", channel="analysis")
FINAL = Header("assistant", channel="final")
CALL = Header("assistant", channel="commentary", recipient="functions.look", call_id="c1", constrain="json")
REPLY = Header("tool", channel="commentary", recipient="assistant", name="functions.look", call_id="c1")


@pytest.fixture(autouse=True)
def _no_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine that has not fetched the vocabulary, unless a test wants it."""

    def missing() -> Vocabulary:
        raise VocabularyError("not here")

    monkeypatch.setattr(connected, "gpt_oss_vocabulary", missing)


def test_reasoning_markers_become_headings_and_no_text_is_lost() -> None:
    body = " <|start_reason|>2 + 2 <|start_reflect|>Is it 4?<|start_introspect|><|start_other|>\n<|start_reason|>Yes."
    found = debug.sections(Frame(ANALYSIS, body))
    assert [(each.heading, each.text) for each in found] == [
        ("Step-by-step logic", "2 + 2 "),
        ("Self-critique", "Is it 4?"),
        ("Latent probes", "<|start_other|>\n"),
        ("Step-by-step logic", "Yes."),
    ]
    assert [each.text for each in debug.sections(Frame(ANALYSIS, "First. <|start_reflect|>Then."))] == ["First. ", "Then."]
    for header, text in ((ANALYSIS, "hm"), (ANALYSIS, ""), (ANALYSIS, " "), (FINAL, body), (CALL, body)):
        assert [(each.marker, each.text) for each in debug.sections(Frame(header, text))] == [("", text)], text


def test_endless_markers_make_no_endless_page() -> None:
    body = "<|start_reason|>x" * 100_000
    found = debug.sections(Frame(ANALYSIS, body))
    assert len(found) == debug.MAX_SECTIONS - 1 and "".join(each.marker + each.text for each in found) == body


class Talk:
    """Ada's conversation, built frame by frame at given times."""

    def __init__(self, row: Conversation) -> None:
        self.row = row
        self.started_at = timezone.now() - timedelta(hours=1)
        self.last: Message | None = None

    def ask(self, text: str, parent: Message | None = None) -> Message:
        self.last = add_message(self.row, parent or self.last, Frame(Header("user"), text), Author.PERSON)
        return self.last

    def turn(self, question: Message, state: str = "completed", **fields: object) -> Turn:
        values: dict[str, object] = {
            "conversation": self.row,
            "question": question,
            "asked_by": self.row.owner,
            "client_id": uuid4(),
            "state": state,
            "lease_until": self.started_at,
            "effort": "high",
            "model": "gpt-oss-20b",
            "backend": "vLLM at 10.0.0.1",
            "input_tokens": 12,
            "output_tokens": 34,
        }
        turn = Turn.objects.create(**(values | fields))
        Turn.objects.filter(pk=turn.pk).update(started_at=self.started_at, finished_at=self.started_at + timedelta(seconds=10))
        turn.refresh_from_db()
        return turn

    def write(self, turn: Turn, header: Header, body: str, after: float, terminator: Terminator = Terminator.END) -> Message:
        author = Author.PRODUCT if header.role == "tool" else Author.MODEL
        self.last = add_message(self.row, self.last, Frame(header, body, terminator), author, turn_id=turn.pk)
        Message.objects.filter(pk=self.last.pk).update(created_at=self.started_at + timedelta(seconds=after))
        return self.last

    def open(self) -> None:
        assert self.last is not None
        open_branch(self.row, self.row.owner, self.last)

    def view(self, person: User, leaf: object | None = None) -> Any:
        return debug.view(self.row, person, leaf)


@pytest.fixture
def talk(conversation: Conversation) -> Talk:
    return Talk(conversation)


@pytest.fixture
def answered(talk: Talk) -> Turn:
    """A conversation of instructions, a question, and an answer with a tool call."""
    talk.last = add_message(talk.row, None, Frame(Header("developer"), "Be kind."), Author.PRODUCT)
    turn = talk.turn(
        talk.ask("What is it?"), request=requests.pack("/v1/chat/completions", b'{"messages": [{"role": "user"}], "stream": true}')
    )
    talk.write(turn, ANALYSIS, "Let me think.", 2)
    talk.write(turn, CALL, '{"query": "it", "limit": 3}', 3, Terminator.CALL)
    talk.write(turn, REPLY, '{"ok": true}', 7)
    talk.write(turn, FINAL, "It is **that**.", 10, Terminator.RETURN)
    talk.open()
    return turn


def all_frames(view: Any) -> list[Any]:
    return [frame for group in view.groups for frame in group.frames]


def test_a_turn_is_a_question_and_answer_with_state_times_and_usage(talk: Talk, answered: Turn, grace: User) -> None:
    before, group = talk.view(grace).groups
    assert before.turn is None and [frame.text for frame in before.frames] == ["Be kind."]
    turn = group.turn
    assert turn is not None and [frame.header["role"] for frame in group.frames] == ["user", "assistant", "assistant", "tool", "assistant"]
    assert (turn.id, turn.state_name, turn.seconds, turn.effort) == (str(answered.pk), "Completed", 10.0, "high")
    assert (turn.backend, turn.model, turn.input_tokens, turn.output_tokens) == ("vLLM at 10.0.0.1", "gpt-oss-20b", 12, 34)
    assert turn.has_request and turn.fault is None


def test_the_files_of_a_question_are_in_its_turn(talk: Talk, grace: User) -> None:
    def attach(text: str) -> None:
        talk.last = add_message(talk.row, talk.last, Frame(DOCUMENT, text), Author.PERSON)

    talk.last = add_message(talk.row, None, Frame(Header("developer"), "Be kind."), Author.PRODUCT)
    attach("The first file.")
    attach("The second.")
    answered = talk.turn(talk.ask("What is in them?"))
    talk.write(answered, FINAL, "Words.", 2, Terminator.RETURN)
    attach("The third.")
    silent = talk.turn(talk.ask("And in this one?"), "failed")
    talk.open()
    assert talk.last is not None and talk.last.is_question, "the premise: the last turn has no frame of its own"
    seen = [(group.turn and group.turn.id, [frame.text for frame in group.frames]) for group in talk.view(grace).groups]
    assert seen == [
        (None, ["Be kind."]),
        (str(answered.pk), ["The first file.", "The second.", "What is in them?", "Words."]),
        (str(silent.pk), ["The third.", "And in this one?"]),
    ]


def test_the_page_knows_the_newest_turn_if_that_has_ended(talk: Talk, answered: Turn, grace: User) -> None:
    assert talk.view(grace).newest_turn == answered.pk
    running = talk.turn(talk.ask("And now?"), "running")
    Turn.objects.filter(pk=running.pk).update(started_at=talk.started_at + timedelta(minutes=1))
    assert talk.view(grace).newest_turn is None


def test_each_frame_has_its_offset_duration_and_size(talk: Talk, answered: Turn, grace: User) -> None:
    question, *rest = talk.view(grace).groups[1].frames
    assert (question.offset, question.took) == (None, None), "it was there before the turn"
    assert [(frame.offset, frame.took) for frame in rest] == [(2, 2), (3, 1), (7, 4), (10, 3)]
    assert [frame.characters for frame in rest] == [13, 27, 12, 15]
    assert {frame.tokens for frame in all_frames(talk.view(grace))} == {None}, "nothing here counts tokens"


@pytest.mark.parametrize(("header", "seconds"), [(ANALYSIS, 5), (REPLY, 9)])
def test_a_model_only_takes_time_from_the_beginning_of_its_frame(header: Header, seconds: int, talk: Talk, grace: User) -> None:
    talk.started_at = talk.started_at.replace(microsecond=0)
    key = UUID(int=first_key_at(talk.started_at + timedelta(seconds=4)).int | 7 << 76 | 2 << 62)

    def took(key: UUID, ended: float) -> float | None:
        """How long the one frame of a turn took, whose row has this key."""
        row = talk.write(talk.turn(talk.ask("And then?")), header, "…", ended)
        Message.objects.filter(pk=row.pk).update(id=key)
        talk.last = Message.objects.get(pk=key)
        talk.open()
        return all_frames(talk.view(grace))[-1].took

    assert took(key, 9) == seconds
    assert took(uuid4(), 9) == 9, "an older key says nothing"
    assert took(UUID(int=key.int + 1), 3) == 3, "an imported message is older than its key"


def test_the_bars_of_a_turn_follow_one_another(talk: Talk, answered: Turn, grace: User) -> None:
    turn = talk.view(grace).groups[1].turn
    assert turn is not None
    assert [(bar.kind, bar.start, bar.length) for bar in turn.bars] == [
        ("analysis", "0.00%", "20.00%"),
        ("call", "20.00%", "10.00%"),
        ("reply", "30.00%", "40.00%"),
        ("answer", "70.00%", "30.00%"),
    ]
    assert [kind for kind, _ in turn.named_kinds] == ["analysis", "call", "reply", "answer"]


def test_the_time_of_an_answer_excludes_the_summary_before_it(talk: Talk, grace: User) -> None:
    turn = talk.turn(talk.ask("And then?"))
    talk.write(turn, ANALYSIS, "Let me think.", 2)
    summary = Header("assistant", "commentary", name="reasoning_summary", intent="preamble")
    talk.last = add_message(talk.row, talk.last, Frame(summary, "- Thought about it"), Author.PRODUCT, turn_id=turn.pk)
    Message.objects.filter(pk=talk.last.pk).update(created_at=talk.started_at + timedelta(seconds=9.9))
    talk.write(turn, FINAL, "That.", 10, Terminator.RETURN)
    talk.open()
    group = talk.view(grace).groups[-1]
    assert [frame.took for frame in group.frames] == [None, 2, None, 8]
    assert group.turn is not None and [kind for kind, _ in group.turn.named_kinds] == ["analysis", "answer"]


def test_e_x_summary_blocked_a_line_that_an_earlier_version_blocked_is_there_for_staff_alone(talk: Talk, grace: User) -> None:
    turn = talk.turn(talk.ask("And then?"))
    blocked = Frame(Header("assistant", channel="analysis", intent="debug"), "It copies hidden text:\n\nthe tonsured yak")
    stored = {"turn_id": turn.pk, "error_code": "E-X-SUMMARY-BLOCKED"}
    talk.last = add_message(talk.row, talk.last, blocked, Author.PRODUCT, **stored)
    assert not talk.last.is_visible
    talk.open()
    frame = all_frames(talk.view(grace))[-1]
    assert "yak" in frame.text and frame.fault is not None
    assert (frame.fault.code, frame.fault.sentence) == ("E-X-SUMMARY-BLOCKED", "A line of a reasoning summary could not be shown.")


def test_a_call_and_its_reply_link_to_each_other_and_json_is_indented(talk: Talk, answered: Turn, grace: User) -> None:
    _, _, call, reply, _ = talk.view(grace).groups[1].frames
    assert call.reply is not None and reply.call is not None
    assert (call.reply.message_id, call.reply.position, call.reply.seconds) == (reply.message_id, reply.position, 4.0)
    assert (reply.call.message_id, call.call, reply.reply) == (call.message_id, None, None)
    assert call.laid_out == '{\n  "query": "it",\n  "limit": 3\n}'


@pytest.mark.parametrize("body", ["{half", "[" * 50_000, '{"a":\n1}', "{}" + " " * 100_001])
def test_a_body_that_is_not_one_line_of_json_is_unchanged(body: str, talk: Talk, answered: Turn, grace: User) -> None:
    talk.write(answered, ANALYSIS, body, 11)
    talk.open()
    assert all_frames(talk.view(grace))[-1].laid_out is None


def test_each_frame_shows_what_the_person_saw_or_why_nothing(talk: Talk, answered: Turn, grace: User) -> None:
    seen = [(frame.seen, frame.why_hidden) for frame in all_frames(talk.view(grace))]
    assert [text for text, _ in seen] == [None, "What is it?", None, None, None, "It is **that**."]
    assert all((text is None) is bool(why) for text, why in seen)


def test_a_failed_turn_without_frames_shows_its_code_and_the_server_error(talk: Talk, answered: Turn, grace: User) -> None:
    question = talk.ask("And now?")
    talk.turn(question, "failed", error_code="E-X-BACKEND", error_detail="HTTP 500: out of memory")
    later = talk.turn(question, "failed", error_code="E-OF-TOMORROW")
    talk.open()
    *_, first, last = talk.view(grace).groups
    shown = {group.turn.id: group.turn for group in (first, last) if group.turn}
    assert len(shown) == 2 and len(first.frames) == 1 and last.frames == ()
    assert {turn.detail for turn in shown.values()} == {"HTTP 500: out of memory", ""}
    faults = [turn.fault for turn in shown.values() if turn.fault]
    assert {(fault.code, fault.sentence) for fault in faults} == {
        ("E-X-BACKEND", "The model server could not answer."),
        ("E-OF-TOMORROW", ""),
    }
    assert shown[str(later.pk)].bars == ()


def test_every_branch_is_visible_and_the_owners_is_marked(talk: Talk, answered: Turn, ada: User, grace: User) -> None:
    question = Message.objects.get(role="user")
    assert question.parent is not None
    edited = talk.ask("What is it really?", question.parent)
    second = talk.turn(edited)
    end = talk.write(second, ANALYSIS, "On the other branch.", 4)
    view = talk.view(grace)
    assert [(branch.number, branch.question, branch.is_shown, branch.is_owners) for branch in view.branches] == [
        (1, "What is it?", True, True),
        (2, "What is it really?", False, False),
    ]
    assert "On the other branch." not in [frame.text for frame in all_frames(view)]
    for leaf in (end.pk, edited.pk):
        other = talk.view(grace, leaf)
        assert [frame.text for frame in all_frames(other)] == ["Be kind.", "What is it really?", "On the other branch."]
        assert [branch.is_shown for branch in other.branches] == [False, True]
    assert "On the other branch." in debug.raw_branch(talk.row, grace, str(end.pk))
    assert "On the other branch." not in debug.raw_branch(talk.row, grace, None)


def test_only_the_latest_of_many_branches_are_listed(talk: Talk, grace: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug, "MAX_LISTED", 3)
    root = talk.ask("Root")
    for number in range(5):
        talk.ask(f"Question {number}", root)
    talk.open()
    view = talk.view(grace)
    assert [branch.question for branch in view.branches] == ["Question 2", "Question 3", "Question 4"]
    assert [branch.number for branch in view.branches] == [3, 4, 5] and view.branches_left_out == 2


@pytest.mark.parametrize("key", ["x", uuid4(), ""])
def test_a_branch_or_frame_of_another_conversation_is_not_found(key: object, talk: Talk, answered: Turn, ada: User) -> None:
    other = Conversation.objects.create(owner=ada)
    foreign = add_message(other, None, Frame(Header("user"), "Elsewhere"), Author.PERSON)
    for wrong in (key, foreign.pk):
        with pytest.raises(NotFoundError):
            debug.view(talk.row, ada, wrong)
        with pytest.raises(NotFoundError):
            debug.raw_frame(talk.row, wrong)
    assert debug.raw_frame(other, foreign.pk) == "<|start|>user<|message|>Elsewhere<|end|>"


def test_an_empty_conversation_has_no_groups(talk: Talk, grace: User) -> None:
    assert not all_frames(talk.view(grace))


def test_a_request_is_shown_raw_or_formatted(talk: Talk, answered: Turn) -> None:
    exact = debug_tokens.part(talk.row, answered.pk, 1, laid_out=False)
    assert (exact.path, exact.parts, exact.text) == ("/v1/chat/completions", 1, '{"messages": [{"role": "user"}], "stream": true}')
    assert debug_tokens.whole(talk.row, answered.pk) == exact.text
    laid_out = debug_tokens.part(talk.row, answered.pk, 1, laid_out=True).text
    assert json.loads(laid_out) == json.loads(exact.text) and laid_out.count("\n") == 7


def test_a_long_request_comes_in_parts_that_form_the_whole(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug_tokens, "PART_CHARS", 7)
    turn = talk.turn(talk.ask("What?"), request=requests.pack("/x", "{not json, but sent ünd kept}".encode()))
    found = [debug_tokens.part(talk.row, turn.pk, number, laid_out=False) for number in range(1, 6)]
    assert "".join(part.text for part in found) == "{not json, but sent ünd kept}" and {part.parts for part in found} == {5}
    for number, nearest in ((0, 1), (-3, 1), (99, 5)):
        assert debug_tokens.part(talk.row, turn.pk, number, laid_out=True).part == nearest


def test_without_a_stored_request_there_is_nothing_to_show_or_save(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_STORED", 1)
    question = talk.ask("What?")
    silent, long = talk.turn(question), talk.turn(question, request=requests.pack("/x", b'{"a": 1}'))
    assert (
        debug_tokens.part(talk.row, silent.pk, 1, laid_out=True).parts,
        debug_tokens.part(talk.row, silent.pk, 1, laid_out=True).path,
    ) == (0, "")
    shown = debug_tokens.part(talk.row, long.pk, 1, laid_out=True)
    assert (shown.parts, shown.path, shown.size, shown.text) == (0, "/x", 8, "")
    for turn in (silent, long):
        with pytest.raises(NotFoundError):
            debug_tokens.whole(talk.row, turn.pk)


def test_a_turn_of_another_conversation_is_not_found(talk: Talk, answered: Turn, ada: User) -> None:
    other = Conversation.objects.create(owner=ada)
    for look in (
        lambda: debug_tokens.part(other, answered.pk, 1, laid_out=True),
        lambda: debug_tokens.whole(other, answered.pk),
        lambda: debug_tokens.page(other, answered.pk, debug_tokens.PROMPT, 0),
    ):
        with pytest.raises(NotFoundError):
            look()


def test_without_the_vocabulary_the_token_page_says_how_to_get_it(talk: Talk, answered: Turn) -> None:
    page = debug_tokens.page(talk.row, answered.pk, debug_tokens.PROMPT, 0)
    assert page.tokens == () and "fetch_vocabulary" in page.note


@pytest.fixture
def words(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, _no_vocabulary: None) -> Vocabulary:
    """A machine that has the vocabulary."""
    monkeypatch.setattr(connected, "gpt_oss_vocabulary", lambda: vocabulary)
    return vocabulary


def test_the_tokens_of_a_body_are_counted_with_the_vocabulary(talk: Talk, answered: Turn, grace: User, words: Vocabulary) -> None:
    view = talk.view(grace)
    assert all_frames(view)
    for frame in all_frames(view):
        assert frame.tokens == len(words.encode(frame.text)) > 0


def test_counting_tokens_is_limited_per_page(
    talk: Talk, answered: Turn, grace: User, words: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debug, "MAX_COUNTED", 20)
    counts = [frame.tokens for frame in all_frames(talk.view(grace))]
    assert counts[0] is not None and counts[-1] is None


def test_sent_ids_are_shown_with_their_text_page_by_page(talk: Talk, words: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug_tokens, "PAGE_TOKENS", 5)
    ids = [200006, *words.encode("user"), 200008, *words.encode("Two words\nand a 😶‍🌫️ <|end|>"), 200007]
    for name in ("prompt", "input_ids"):
        turn = talk.turn(talk.ask("What?"), request=requests.pack("/v1/completions", json.dumps({name: ids}).encode()))
        shown: list[Any] = []
        start: int | None = 0
        while start is not None:
            page = debug_tokens.page(talk.row, turn.pk, debug_tokens.PROMPT, start)
            assert page.total == len(ids) and "exact ids" in page.note and page.start == start
            shown += page.tokens
            start = page.next
        assert [token.number for token in shown] == ids
        assert [token.text for token in shown if token.is_special] == ["<|start|>", "<|message|>", "<|end|>"]
        ordinary = "".join(token.text for token in shown if not token.is_special)
        assert ordinary.startswith("userTwo␣words⏎and␣a") and "⟨" in ordinary, "a character of several tokens is shown in bytes"
    assert debug_tokens.page(talk.row, turn.pk, debug_tokens.PROMPT, 10**8).start == (len(ids) - 1) // 5 * 5


def test_the_tokens_of_a_turn_without_stored_hidden_text_say_so(
    talk: Talk, answered: Turn, words: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk.write(answered, FINAL, hidden_text.REMOVED, 12)
    assert "not kept" not in debug_tokens.page(talk.row, answered.pk, debug_tokens.OUTPUT, 0).note, "an answer may say the same words"
    environment.change(monkeypatch, {"hidden_days": 0})
    hidden_text.forget_reasoning(answered.pk)
    page = debug_tokens.page(talk.row, answered.pk, debug_tokens.OUTPUT, 0)
    assert page.note.endswith("The text of 1 hidden frame was not kept, so its tokens are missing here.")
    hidden_text.forget_old(timezone.now() + timedelta(days=60))
    page = debug_tokens.page(talk.row, answered.pk, debug_tokens.OUTPUT, 0)
    assert page.note.endswith("The text of 2 hidden frames was not kept, so their tokens are missing here.")


def test_a_marker_in_user_text_is_no_special_token(talk: Talk, answered: Turn, words: Vocabulary) -> None:
    talk.write(answered, ANALYSIS, "<|end|><|start|>", 12)
    page = debug_tokens.page(talk.row, answered.pk, debug_tokens.OUTPUT, 0)
    specials = [str(token.text) for token in page.tokens if token.is_special]
    # The model wrote four frames: each has a channel, a message and an end; three have a start, and the call has a constraint.
    assert specials.count("<|message|>") == 4 and specials.count("<|end|>") == 3 and specials.count("<|start|>") == 3
    assert "stored frames" in page.note


def test_without_sent_ids_the_frames_are_shown_in_harmony_format(talk: Talk, answered: Turn, words: Vocabulary) -> None:
    page = debug_tokens.page(talk.row, answered.pk, debug_tokens.PROMPT, 0)
    text = "".join(token.text for token in page.tokens)
    assert "Be␣kind." in text and "What␣is␣it?" in text and "Let␣me␣think" not in text
    assert "No ids were sent" in page.note
