"""The rows of a canary run, for tests."""

from collections.abc import Mapping, Sequence

from chatui.operations.canary import fixtures
from chatui.operations.canary.fixtures import Guests

BACKENDS = {"chat": ("http://127.0.0.1:9/secret/chat", ("fields", "paused"))}


def made(servers: Mapping[str, tuple[str, Sequence[str]]] = BACKENDS, run: str = "") -> Guests:
    """Create them, in a new run unless one is named."""
    return fixtures.make(run or fixtures.new_run(), servers)
