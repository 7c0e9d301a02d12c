"""What a person sees of a conversation is what the model is sent of it, over every wire format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from hypothesis import given
from hypothesis import strategies as some

from chatui.backends.chat.messages import messages
from chatui.backends.harmony.prompt import PromptInput, fitted
from chatui.backends.responses.backend import prompt
from renderer.frame_kinds import PRODUCT_NAMES
from renderer.frames import Channel, Frame, Header, Intent, Role, Terminator
from renderer.gate import Audience, may_see
from renderer.harmony.vocabulary import Vocabulary
from renderer.history import frames_for_prompt
from tests.support.sampling import sample_request

DAY = date(2026, 11, 27)
_optional = some.none()
_names = _optional | some.sampled_from(["helper", "document", "two words", *PRODUCT_NAMES])
_channels = _optional | some.sampled_from([*map(str, Channel), "plan", "two words"])
_recipients = _optional | some.sampled_from(["user", "all", "assistant", "functions.look", "two words"])
_headers = some.builds(
    Header,
    some.sampled_from([*map(str, Role), "assistant", "assistant", "critic"]),
    _channels,
    recipient=_recipients,
    call_id=_optional | some.sampled_from(["call_1", "call_2"]),
    name=_names,
    intent=_optional | some.sampled_from([*map(str, Intent), "hint"]),
    content_type=_optional | some.sampled_from(["text", "two words"]),
    constrain=_optional | some.sampled_from(["json", "two words"]),
)
_terminators = some.sampled_from([*Terminator])
_shapes = some.lists(some.tuples(_headers, _terminators), max_size=9)


def sent(history: tuple[Frame, ...], vocabulary: Vocabulary) -> Mapping[str, str]:
    """What each wire format sends of these frames, as text."""
    request = sample_request("Now?", *history)
    over_responses = prompt(request.frames)
    ids = fitted(PromptInput(request, None), vocabulary, DAY).ids
    return {
        "chat": str(messages(request.frames)),
        "responses": str(over_responses.items) + over_responses.instructions,
        "token ids": vocabulary.decode([number for number in ids if number < 199_998]).decode(),
    }


@given(_shapes)
def test_what_is_visible_is_sent_the_same_over_every_format(vocabulary: Vocabulary, shapes: list[tuple[Header, Terminator]]) -> None:
    frames = [Frame(header, f"«{number}»", terminator) for number, (header, terminator) in enumerate(shapes)]
    ours = {frame.body for frame in frames if is_ours(frame.header)}
    visible = {frame.body for frame in frames if may_see(frame.header, Audience.END_USER) and frame.terminator is not Terminator.CALL}
    for wire_format, text in sent(frames_for_prompt(frames), vocabulary).items():
        bodies = set(re.findall("«\\d+»", text))
        assert visible - ours <= bodies, wire_format
        assert not ours & bodies, wire_format


def is_ours(header: Header) -> bool:
    """Whether the product wrote it, for people or for staff."""
    return header.intent in (Intent.DEBUG, Intent.STATUS) or (header.role == Role.ASSISTANT and header.name in PRODUCT_NAMES)


def test_an_assistant_with_a_name_of_its_own_is_read_by_the_model(vocabulary: Vocabulary) -> None:
    named = Frame(Header(Role.ASSISTANT, Channel.FINAL, name="helper"), "I am the helper.")
    for text in sent(frames_for_prompt([Frame(Header(Role.USER), "Who?"), named]), vocabulary).values():
        assert "I am the helper." in text
