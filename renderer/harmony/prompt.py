"""Builds the Harmony prompt for model servers that take token ids.

A prompt is the system message, the developer message, the history and the point at which the model continues. Bodies are encoded as
ordinary text, so that nothing a person or a tool writes can become a control token. The ids are those of openai-harmony for the same
conversation, except where it is wrong: it drops old analysis before the first answer only (``renderer.history``: before the last), and
it ends a message to ``user`` as a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from renderer.errors import ParseHeaderError
from renderer.frames import HEADER_VALUE, Frame, Header, Role
from renderer.harmony.hip1 import pieces_of_frame
from renderer.harmony.pieces import Marker, ids_of_pieces
from renderer.harmony.system_messages import DeveloperMessage, SystemMessage
from renderer.harmony.vocabulary import Vocabulary
from renderer.history import frames_for_prompt, turns
from renderer.prompt_trimming import trim
from renderer.tokens import Token


@dataclass(frozen=True, slots=True)
class Prompt:
    """The content of a prompt. ``frames`` is the branch as it is stored; frames that are not sent again are omitted here.

    ``cut_answer`` is an assistant frame after them that stays open: the model continues at the end of its body.
    """

    frames: Sequence[Frame]
    system: SystemMessage | None = None
    developer: DeveloperMessage | None = None
    cut_answer: Frame | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """The token ids of a prompt, and how many of the oldest questions were left out, each with its answer. ``is_minimal``: no more can be
    left out.
    """

    ids: list[int]
    turns_left_out: int = 0
    is_minimal: bool = False


def build(prompt: Prompt, vocabulary: Vocabulary) -> list[int]:
    """The token ids of a whole prompt.

    Raises:
        ParseHeaderError: a header value of a frame is not allowed in a prompt.
    """
    return build_within(prompt, vocabulary, None).ids


def build_within(prompt: Prompt, vocabulary: Vocabulary, limit: int | None, *, min_turns: int = 1) -> Fitted:
    """As ``build``, but trimmed (``renderer.prompt_trimming``) to at most ``limit`` ids, or to the last ``min_turns`` turns.

    Raises as ``build``.
    """
    written: dict[Frame, list[int]] = {}

    def ids(frame: Frame) -> list[int]:
        if frame not in written:
            written[frame] = _ids(frame, vocabulary)
        return written[frame]

    before, after = turns(frames_for_prompt(prompt.frames))
    opening = [id_ for frame in (*_instructions(prompt), *before) for id_ in _ids(frame, vocabulary)]
    ending = _ending(prompt.cut_answer, vocabulary)
    max_length = None if limit is None else limit - len(opening) - len(ending)
    found = trim(after, lambda frame: len(ids(frame)), max_length, min_turns=min_turns)
    conversation = [id_ for frame in found.frames for id_ in ids(frame)]
    return Fitted([*opening, *conversation, *ending], found.turns_left_out, found.is_minimal)


def _ending(cut_answer: Frame | None, vocabulary: Vocabulary) -> list[int]:
    """The end of the prompt, where the model continues: a new message, or the cut answer without its terminator."""
    if cut_answer is not None:
        return _ids(cut_answer, vocabulary)[:-1]
    return ids_of_pieces([Marker(Token.START), Role.ASSISTANT.value], vocabulary)


def _instructions(prompt: Prompt) -> list[Frame]:
    frames = []
    developer = prompt.developer
    if prompt.system is not None:
        text = prompt.system.text(has_functions=bool(developer and developer.functions))
        frames.append(Frame(Header(Role.SYSTEM), text))
    if developer is not None and (text := developer.text()):
        frames.append(Frame(Header(Role.DEVELOPER), text))
    return frames


def _ids(frame: Frame, vocabulary: Vocabulary) -> list[int]:
    header = frame.header
    written = (header.role, header.channel, header.recipient, header.name, header.content_type, header.constrain)
    if not all(value is None or HEADER_VALUE.fullmatch(value) for value in written):
        raise ParseHeaderError("a header value contains a character that is not allowed in a prompt")
    return ids_of_pieces(pieces_of_frame(frame), vocabulary)
