"""Writes a conversation up to one answer as a Harmony training example, whose last message ends in ``<|return|>``.

In a prompt every message ends in ``<|end|>``; a training example must teach the model to stop after its answer (Harmony's format guide).
Reasoning of earlier turns is left out, as in the prompts that the model will see; that of the last turn stays, if there is any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from renderer.frame_kinds import PRODUCT_NAMES, is_answer
from renderer.frames import Frame, Header, Intent, Role, Terminator
from renderer.harmony.hip1 import as_written, pieces_of_frame
from renderer.harmony.pieces import Marker, Piece, escaped, text_of_pieces
from renderer.harmony.system_messages import DeveloperMessage, SystemMessage
from renderer.history import frames_for_prompt
from renderer.tokens import Token

_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


class NoExampleError(ValueError):
    """The frames do not end in an answer, so there is nothing to learn from them."""


def example(frames: Sequence[Frame], system: SystemMessage) -> str:
    """A training example as Harmony text. ``frames``: a branch from its beginning to a complete answer, restricted to what the reader of
    the example may see. System and developer frames among them become the developer message.

    Raises:
        NoExampleError: the last frame is not an answer.
        ParseHeaderError: a header value that Harmony needs is not allowed in a header.
    """
    if not frames or not is_answer(frames[-1].header):
        raise NoExampleError
    instructions = [frame.body for frame in frames if frame.header.role in _INSTRUCTIONS]
    opening = [Frame(Header(Role.SYSTEM), system.text(has_functions=False))]
    if instructions:
        opening.append(Frame(Header(Role.DEVELOPER), DeveloperMessage("\n\n".join(instructions)).text()))
    conversation = [frame for frame in frames if frame.header.role not in _INSTRUCTIONS]
    pieces = [piece for frame in (*opening, *_example_frames(conversation)) for piece in _pieces(frame)]
    return text_of_pieces([*pieces[:-1], Marker(Token.RETURN)])


def _example_frames(frames: Sequence[Frame]) -> list[Frame]:
    """The frames of the example: the history as in a prompt, and the whole last turn."""
    question = max((index for index, frame in enumerate(frames) if frame.header.role == Role.USER), default=-1)
    turn = [frame for frame in frames[question + 1 :] if frame.header.intent not in (Intent.DEBUG, Intent.STATUS)]
    return [*_history(frames[: question + 1]), *(frame for frame in turn if frame.header.name not in PRODUCT_NAMES)]


def _history(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The frames up to a question, as a prompt contains them. A final answer is appended while they are selected, so that the reasoning of
    all earlier turns is omitted, even of a turn that ended without an answer.
    """
    return frames_for_prompt([*frames, Frame(Header(Role.ASSISTANT, "final"), "", Terminator.END)])[:-1]


def _pieces(frame: Frame) -> list[Piece]:
    return pieces_of_frame(replace(as_written(frame), body=escaped(frame.body)))
