"""The context of a model: what of a request fits into it, and what a server's refusal says of it.

Whoever changes how a request is shortened or a refusal is read changes it here, and in no test.
"""

from datetime import UTC, datetime

from chatui.backends.base import BackendError, Usage
from chatui.backends.context_fitting import Fit
from chatui.backends.context_fitting import fit as fit
from chatui.backends.context_window import ContextWindow, overflow_of
from chatui.backends.failures import error_of_status

__all__ = ["Fit", "fit"]


def refusal(status: int, body: str) -> BackendError:
    """What becomes of an answer with this status and body."""
    return error_of_status(status, body, None, datetime.now(UTC))


def overflow_in(error: BackendError) -> tuple[int | None, int | None] | None:
    """How many tokens the server accepts, and how many it counted, if it says so; None if the prompt was not too long."""
    found = overflow_of(error)
    return (found.limit, found.prompt) if found else None


def learnt_factor(*prompts: tuple[int, float, float]) -> float:
    """How many times more tokens than estimated a prompt is taken to have, after these: the tokens that the server counted, the estimate,
    and the part of it that was counted exactly."""
    window = ContextWindow(100_000)
    for tokens, weight, counted in prompts:
        window.note(Usage(prompt_tokens=tokens), weight, counted)
    return window.factor
