"""Reports on a test run: which failed tests were retried, what could not run and why, and which modules and tests took longest."""

import resource
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from tests.support.deployments import process
from tests.tools import not_run

COST = "cost"
DEAREST = 30
"""How many modules are listed after a long run."""
_LONG_SECONDS = 120.0
_SHOWN_SECONDS = 0.005
"""--durations lists setup and teardown phases that take at least this long."""
_NOTED = pytest.StashKey[list[str]]()
_LONGEST = 20

SECOND_TRY = "second try"


def pytest_addoption(parser: pytest.Parser) -> None:
    """``make test`` has several runs write into one file, and ends with the longest tests of all."""
    parser.addoption("--longest", type=Path, metavar="FILE", help="append the longest tests to this file, each with its seconds")


def pytest_configure(config: pytest.Config) -> None:
    """Take over the notes of ``make check`` on what it could not run."""
    config.stash[_NOTED] = not_run.sentences()
    not_run.forget()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Measure each test, and retry a failed one once, naming it in the summary with its first failure: a busy machine or a preceding test
    then does not fail the run, and is not hidden either."""
    if item.config.getoption("usepdb"):
        return None
    started, used = time.monotonic(), _processor_seconds()
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    failures = [report.longreprtext for report in reports if report.failed]
    if failures and (again := getattr(item, "_initrequest", None)):
        again()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        reports[-2].user_properties.append((SECOND_TRY, [item.nodeid, *failures]))
    printed = [report for report in reports if _is_worth_telling(report, item.config)]
    printed[0].user_properties.append((COST, [time.monotonic() - started, _processor_seconds() - used]))
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in printed:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _is_worth_telling(report: pytest.TestReport, config: pytest.Config) -> bool:
    """Whether any output uses the report. Sending the two reports of setup and teardown for each test to the xdist controller took a
    thirtieth of the total time. Without xdist they cost nothing, and plugins that write files may need them."""
    is_sent = hasattr(config, "workerinput") and not config.getoption("xmlpath")
    return not is_sent or report.when == "call" or not report.passed or report.duration >= _SHOWN_SECONDS


def _processor_seconds() -> float:
    """CPU seconds used so far by this process and by its child processes that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) + process.processor_seconds()


def _costs(reporter: pytest.TerminalReporter) -> list[tuple[str, float, float]]:
    """The name of each test that ran, its elapsed seconds and its CPU seconds, with those of its processes."""
    return [
        (report.nodeid, *value)
        for report in _reports(reporter)
        for name, value in report.user_properties
        if name == COST and isinstance(value, list)
    ]


def _dearest_modules(tests: list[tuple[str, float, float]]) -> list[str]:
    """A line for each of the slowest modules and one for the total, with elapsed seconds and CPU seconds."""
    costs: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for nodeid, passed, used in tests:
        for one in (costs[nodeid.partition("::")[0]], costs["all"]):
            one[0] += passed
            one[1] += used
    if costs["all"][0] < _LONG_SECONDS:
        return []
    dearest = sorted((cost for cost in costs.items() if max(cost[1]) >= 1), key=lambda cost: -max(cost[1]))
    return [f"{passed:7.0f} s  {used:6.0f} s of a processor  {module}" for module, (passed, used) in dearest[: DEAREST + 1]]


def _reports(reporter: pytest.TerminalReporter) -> list[pytest.TestReport]:
    return [report for reports in reporter.stats.values() for report in reports if isinstance(report, pytest.TestReport)]


def _second_tries(reporter: pytest.TerminalReporter) -> dict[str, list[str]]:
    """The failures of the first attempts, by test id."""
    tries = [
        value for report in _reports(reporter) for name, value in report.user_properties if name == SECOND_TRY and isinstance(value, list)
    ]
    return {nodeid: failures for nodeid, *failures in sorted(tries)}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write a last paragraph: what ran, and what could not run and why."""
    ran: Counter[str] = Counter()
    for outcome in ("passed", "failed", "error", "xfailed", "xpassed"):
        ran.update(_part(report.nodeid) for report in terminalreporter.getreports(outcome))
    left_out: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for report in terminalreporter.getreports("skipped"):
        left_out[_reason(report)][_part(report.nodeid)] += 1

    parts = ", ".join(f"{count} of {part}" for part, count in sorted(ran.items()))
    sentences = [f"Tests that ran: {parts}." if parts else "No test ran."]
    sentences += [f"Not run: {_listed(parts)}. {reason}" for reason, parts in sorted(left_out.items())]
    if tries := _second_tries(terminalreporter):
        sentences.append(f"Tried a second time: {', '.join(tries)}.")
    for nodeid, failures in tries.items():
        terminalreporter.section(f"first try of {nodeid}", sep="_")
        terminalreporter.write_line("\n".join(failures))
    costs = _costs(terminalreporter)
    if modules := _dearest_modules(costs):
        terminalreporter.section("which modules cost most", sep="-")
        terminalreporter.write_line("\n".join(modules))
    if (file := config.getoption("longest")) and not hasattr(config, "workerinput"):
        longest = sorted(costs, key=lambda cost: -cost[1])[:_LONGEST]
        with file.open("a", encoding="utf-8") as lines:
            lines.writelines(f"{passed:7.1f} s  {used:6.1f} s of a processor  {nodeid}\n" for nodeid, passed, used in longest)
    reports = config.stash[_NOTED]
    sentences += reports
    if len(sentences) == 1:
        sentences.append("Nothing was left out.")
    terminalreporter.section("what ran and what did not", sep="-")
    terminalreporter.write_line(" ".join(sentences))


def _part(nodeid: str) -> str:
    """The directory of a test's module, such as ``tests/renderer``."""
    return Path(nodeid.split("::")[0]).parent.as_posix()


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The reason that a skip gave, as a sentence."""
    if isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ").strip()
        return reason if reason.endswith((".", "!", "?")) else f"{reason}."
    return "No reason was given."


def _listed(parts: Counter[str]) -> str:
    return ", ".join(f"{count} of {part}" for part, count in sorted(parts.items()))
