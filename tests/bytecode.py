"""Divides among the xdist workers the assertion rewriting of all test modules, which in a new clone each worker would do for itself."""

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

ROOT = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Disable garbage collection while pytest collects: collected items live until the end, so there is nothing to free."""
    gc.disable()
    try:
        prepare_share(session.config, os.environ.get("PYTEST_XDIST_WORKER", ""))
        return (yield)
    finally:
        gc.enable()


def prepare_share(config: pytest.Config, worker: str) -> None:
    """Write the missing bytecode of this worker's share: every n-th module. The other workers write theirs at the same time."""
    state = config.stash.get(rewrite.assertstate_key, None)
    if not worker or state is None or state.mode != "rewrite" or ROOT not in map(Path.resolve, map(Path, config.args)):
        return
    count = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for path in sorted(ROOT.rglob("test_*.py"))[int(worker.removeprefix("gw")) % count :: count]:
        place = rewrite.get_cache_dir(path)
        bytecode = place / (path.name.removesuffix(".py") + rewrite.PYC_TAIL)
        if rewrite._read_pyc(path, bytecode) is None and rewrite.try_makedirs(place):
            digest, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, digest, bytecode)
