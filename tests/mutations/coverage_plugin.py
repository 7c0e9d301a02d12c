"""A pytest plugin that records which lines of the product each test runs, and how long each test takes."""

import os
import pickle
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

DIRECTORY = Path(".cache/mutations")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--coverage-of``: a folder whose lines are recorded."""
    parser.addoption("--coverage-of", action="append", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Start recording in each process that runs tests."""
    if config.getoption("coverage_of") and (hasattr(config, "workerinput") or not config.getoption("numprocesses")):
        config.pluginmanager.register(_Recording(config), "lines of each test")


class _Recording:
    """The lines and seconds of the tests of one process."""

    def __init__(self, config: pytest.Config) -> None:
        self._worker = getattr(config, "workerinput", {}).get("workerid", "main")
        self._seconds: dict[str, float] = {}
        self._coverage = coverage.Coverage(
            data_file=str(DIRECTORY / f"coverage.{self._worker}"), source=config.getoption("coverage_of"), config_file=False, messages=False
        )
        self._coverage.set_option("run:disable_warnings", ["trace-changed", "no-data-collected"])
        self._coverage.start()
        self._tracer = sys.gettrace()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record the lines of one test under its name."""
        if sys.gettrace() is not self._tracer:  # the last test set a tracer of its own
            self._coverage.stop()
            self._coverage.start()
            self._tracer = sys.gettrace()
        self._coverage.switch_context(item.nodeid)
        started = time.monotonic()
        result = yield
        self._seconds[item.nodeid] = time.monotonic() - started
        self._coverage.switch_context("")
        return result  # type: ignore[return-value]

    def pytest_sessionfinish(self) -> None:
        """Write the seconds by test, and the tests by file and line."""
        self._coverage.stop()
        data = self._coverage.get_data()
        root = os.getcwd() + os.sep
        lines = {file.removeprefix(root): data.contexts_by_lineno(file) for file in data.measured_files()}
        (DIRECTORY / f"lines.{self._worker}").write_bytes(pickle.dumps((self._seconds, lines)))
